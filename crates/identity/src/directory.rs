//! Users, groups, roles, tenants, mapping rules, memberships and authorizations.
//!
//! Maps share their nodes: a clone costs a pointer, and changing one leaves the other unchanged. So the engine keeps one
//! directory and hands out its version at the end of a batch.

use std::ops::Bound;
use std::sync::Arc;

use rpds::RedBlackTreeMapSync;
use serde_json_path::JsonPath;
use skep_protocol::permission::ResourceType;
use skep_protocol::value::{
    AuthorizationValue, IdentitySetupValue, MappingRuleValue, Member, OwnerType, ParentType,
    ParentValue, ResourceMatcher, UserValue,
};
use skep_protocol::{DEFAULT_TENANT, Key};

use crate::claims;
use crate::defaults;
use crate::entry::Entry;
use crate::keys::Keys;
use crate::leaves::Leaves;

type Map<K, V> = RedBlackTreeMapSync<K, V>;

/// How many different paths of mapping rules are kept in parsed form. Further ones are parsed for each caller.
const MAX_PARSED: usize = 1_000;

/// A group, role or tenant, identified by its kind and id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parent {
    pub kind: ParentType,
    pub id: Arc<str>,
}

impl Parent {
    pub fn new(kind: ParentType, id: &str) -> Parent {
        Parent {
            kind,
            id: id.into(),
        }
    }
}

/// Size limits of a directory, which is in the memory of every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Users, groups, roles, tenants and mapping rules together.
    pub entities: usize,
    pub memberships: usize,
    pub authorizations: usize,
    /// Bytes of all texts.
    pub bytes: usize,
}

impl Limits {
    pub const STANDARD: Limits = Limits {
        entities: 100_000,
        memberships: 500_000,
        authorizations: 50_000,
        bytes: 32 << 20,
    };

    /// What the entities of a set-up take, if none of them exists.
    pub fn of(setup: &IdentitySetupValue) -> Limits {
        let parents = setup.groups.len() + setup.roles.len() + setup.tenants.len();
        let members = [
            &setup.group_members,
            &setup.role_members,
            &setup.tenant_members,
        ];
        Limits {
            entities: setup.users.len() + setup.mapping_rules.len() + parents,
            memberships: members.into_iter().map(Vec::len).sum(),
            // Each user may read their own entry.
            authorizations: setup.authorizations.len() + setup.users.len(),
            bytes: 2 * setup.weight(),
        }
    }
}

/// An owner, the resources of an authorization (`None`: before all of them), and its key: earlier builds permitted two on the same
/// resources.
type OnResource = (
    OwnerType,
    Arc<str>,
    Option<(ResourceType, ResourceMatcher)>,
    Key,
);

/// Before all keys.
const FIRST: Key = Key(i64::MIN);

fn on_resource(value: &AuthorizationValue, key: Key) -> OnResource {
    let resource = (value.resource_type, value.matcher.clone());
    (
        value.owner_type,
        value.owner_id.clone(),
        Some(resource),
        key,
    )
}

/// The directory; see the [module](self). Two directories of one engine with the same version are equal.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    version: u64,
    users: Map<Arc<str>, Arc<UserValue>>,
    parents: Map<Parent, Arc<ParentValue>>,
    rules: Map<Arc<str>, Arc<MappingRuleValue>>,
    rules_by_claim: Map<(Arc<str>, Arc<str>), Arc<str>>,
    /// The parsed form of claims that are paths.
    paths: Map<Arc<str>, Arc<JsonPath>>,
    authorizations: Map<Key, Arc<AuthorizationValue>>,
    /// The same, by owner and resources: all of an owner make up the permissions of each caller, and each creation looks for the one that
    /// its owner already has on the same resources. There may be very many of one owner, and each user has one.
    by_resource: Leaves<OnResource, Arc<AuthorizationValue>>,
    /// Members, with the key of the row.
    members: Map<Parent, Leaves<Member, Key>>,
    memberships: Map<Member, Leaves<Parent, ()>>,
    /// Keys of the membership rows: the highest determines the next key.
    rows: Keys,
    bytes: usize,
}

impl Directory {
    /// Whether it has nobody: the cluster has not been set up yet, or the directory has not arrived.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty() && self.parents.is_empty()
    }

    /// Number of changes since it was opened.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// All rows, from which an equivalent directory can be built.
    pub fn rows(&self) -> Vec<(Key, Entry)> {
        let users = self
            .users
            .values()
            .map(|user| (user.user_key, Entry::User((**user).clone())));
        let parents = self
            .parents
            .iter()
            .map(|(parent, value)| (value.key, Entry::parent(parent.kind, (**value).clone())));
        let rules = self.rules.values();
        let rules = rules.map(|rule| (rule.mapping_rule_key, Entry::MappingRule((**rule).clone())));
        let granted = self.authorizations.iter();
        let granted = granted.map(|(key, value)| (*key, Entry::Authorization((**value).clone())));
        let members = self.members.iter().flat_map(|(parent, members)| {
            members
                .iter()
                .map(|(member, key)| (*key, Entry::membership(parent, member.clone())))
        });
        users
            .chain(parents)
            .chain(rules)
            .chain(granted)
            .chain(members)
            .collect()
    }

    /// The keys of all rows after this one, unordered.
    pub fn keys_behind(&self, key: Key) -> impl Iterator<Item = Key> + '_ {
        let range = (Bound::Excluded(key), Bound::Unbounded);
        let users = self.users.values().map(|user| user.user_key);
        let parents = self.parents.values().map(|parent| parent.key);
        let rules = self.rules.values().map(|rule| rule.mapping_rule_key);
        let unordered = users.chain(parents).chain(rules);
        let granted = self.authorizations.range(range).map(|(key, _)| *key);
        let memberships = self.rows.behind(key);
        let unordered = unordered.filter(move |of| *of > key);
        unordered.chain(granted).chain(memberships)
    }

    /// Adds a row.
    pub fn add(&mut self, key: Key, entry: &Entry) {
        self.version += 1;
        self.bytes += entry.weight();
        match entry {
            Entry::User(user) => {
                self.users
                    .insert_mut(user.username.clone(), Arc::new(user.clone()));
            }
            Entry::Group(value) => self.add_parent(ParentType::Group, value),
            Entry::Role(value) => self.add_parent(ParentType::Role, value),
            Entry::Tenant(value) => self.add_parent(ParentType::Tenant, value),
            Entry::MappingRule(rule) => {
                self.keep_path(&rule.claim_name);
                let claim = (rule.claim_name.clone(), rule.claim_value.clone());
                let id = rule.mapping_rule_id.clone();
                self.rules_by_claim.insert_mut(claim, id.clone());
                self.rules.insert_mut(id, Arc::new(rule.clone()));
            }
            Entry::Authorization(value) => {
                let value = Arc::new(self.with_known_texts(value));
                let on = on_resource(&value, key);
                self.by_resource.insert(on, Arc::clone(&value));
                self.authorizations.insert_mut(key, value);
            }
            Entry::GroupMember { parent, member } => {
                self.add_member(key, Parent::new(ParentType::Group, parent), member);
            }
            Entry::RoleMember { parent, member } => {
                self.add_member(key, Parent::new(ParentType::Role, parent), member);
            }
            Entry::TenantMember { parent, member } => {
                self.add_member(key, Parent::new(ParentType::Tenant, parent), member);
            }
        }
    }

    /// Removes an existing row.
    pub fn remove(&mut self, key: Key, entry: &Entry) {
        self.version += 1;
        self.bytes = self.bytes.saturating_sub(entry.weight());
        match entry {
            Entry::User(user) => {
                self.users.remove_mut(&user.username);
            }
            Entry::Group(value) => self.remove_parent(ParentType::Group, value),
            Entry::Role(value) => self.remove_parent(ParentType::Role, value),
            Entry::Tenant(value) => self.remove_parent(ParentType::Tenant, value),
            Entry::MappingRule(rule) => {
                let claim = (rule.claim_name.clone(), rule.claim_value.clone());
                self.rules_by_claim.remove_mut(&claim);
                self.rules.remove_mut(&rule.mapping_rule_id);
                self.drop_path(&rule.claim_name);
            }
            Entry::Authorization(value) => {
                self.by_resource.remove(&on_resource(value, key));
                self.authorizations.remove_mut(&key);
            }
            Entry::GroupMember { parent, member } => {
                self.remove_member(key, &Parent::new(ParentType::Group, parent), member);
            }
            Entry::RoleMember { parent, member } => {
                self.remove_member(key, &Parent::new(ParentType::Role, parent), member);
            }
            Entry::TenantMember { parent, member } => {
                self.remove_member(key, &Parent::new(ParentType::Tenant, parent), member);
            }
        }
    }

    /// The same authorization. Each row brings its own texts, and each user has an authorization on themselves: the text of their name is
    /// kept once.
    fn with_known_texts(&self, value: &AuthorizationValue) -> AuthorizationValue {
        let known = |text: &Arc<str>| {
            let known = self.users.get_key_value(text);
            known.map_or_else(|| text.clone(), |(known, _)| known.clone())
        };
        let mut value = value.clone();
        if value.owner_type == OwnerType::User {
            value.owner_id = known(&value.owner_id);
        }
        if let (ResourceType::User, ResourceMatcher::Id(id)) = (value.resource_type, &value.matcher)
        {
            value.matcher = ResourceMatcher::Id(known(id));
        }
        value
    }

    /// Parses the claim of a rule, if it is a path.
    fn keep_path(&mut self, claim: &Arc<str>) {
        if self.paths.size() >= MAX_PARSED || self.paths.contains_key(&**claim) {
            return;
        }
        if let Some(path) = claims::path(claim) {
            self.paths.insert_mut(claim.clone(), Arc::new(path));
        }
    }

    /// Drops the parsed form of a claim that no rule has any more.
    fn drop_path(&mut self, claim: &Arc<str>) {
        let first: (Arc<str>, Arc<str>) = (claim.clone(), "".into());
        let next = self.rules_by_claim.range(first..).next();
        if next.is_none_or(|((of, _), _)| of != claim) {
            self.paths.remove_mut(&**claim);
        }
    }

    fn add_parent(&mut self, kind: ParentType, value: &ParentValue) {
        let parent = Parent {
            kind,
            id: value.id.clone(),
        };
        self.parents.insert_mut(parent, Arc::new(value.clone()));
    }

    fn remove_parent(&mut self, kind: ParentType, value: &ParentValue) {
        self.parents.remove_mut(&Parent {
            kind,
            id: value.id.clone(),
        });
    }

    fn add_member(&mut self, key: Key, parent: Parent, member: &Member) {
        // Each row brings its own texts, and many share the same name: only one copy is kept.
        let known = self.memberships.get_key_value(member);
        let member = &known.map_or_else(|| member.clone(), |(known, _)| known.clone());
        let known = self.members.get_key_value(&parent);
        let parent = known.map_or(parent, |(known, _)| known.clone());
        let mut members = self.members.get(&parent).cloned().unwrap_or_default();
        members.insert(member.clone(), key);
        let mut parents = self.memberships.get(member).cloned().unwrap_or_default();
        parents.insert(parent.clone(), ());
        self.members.insert_mut(parent, members);
        self.memberships.insert_mut(member.clone(), parents);
        self.rows.insert(key);
    }

    fn remove_member(&mut self, key: Key, parent: &Parent, member: &Member) {
        if let Some(members) = self.members.get(parent) {
            let mut left = members.clone();
            left.remove(member);
            if left.is_empty() {
                self.members.remove_mut(parent);
            } else {
                self.members.insert_mut(parent.clone(), left);
            }
        }
        if let Some(parents) = self.memberships.get(member) {
            let mut left = parents.clone();
            left.remove(parent);
            if left.is_empty() {
                self.memberships.remove_mut(member);
            } else {
                self.memberships.insert_mut(member.clone(), left);
            }
        }
        self.rows.remove(key);
    }

    pub fn user(&self, username: &str) -> Option<&Arc<UserValue>> {
        self.users.get(username)
    }

    pub fn parent(&self, parent: &Parent) -> Option<&Arc<ParentValue>> {
        self.parents.get(parent)
    }

    /// Whether there is a tenant other than the default one.
    pub fn has_other_tenants(&self) -> bool {
        let tenants = self.parents.range(Parent::new(ParentType::Tenant, "")..);
        let mut ids = tenants.take_while(|(parent, _)| parent.kind == ParentType::Tenant);
        ids.any(|(parent, _)| *parent.id != *DEFAULT_TENANT)
    }

    /// The group, role or tenant with this id.
    pub fn parent_of(&self, kind: ParentType, id: &str) -> Option<&Arc<ParentValue>> {
        self.parents.get(&Parent::new(kind, id))
    }

    pub fn rule(&self, id: &str) -> Option<&Arc<MappingRuleValue>> {
        self.rules.get(id)
    }

    /// The id of the rule with this claim and value.
    pub fn rule_about(&self, claim: &str, value: &str) -> Option<&Arc<str>> {
        self.rules_by_claim.get(&(claim.into(), value.into()))
    }

    /// The claim, its value and the id of each rule, ordered by claim.
    pub(crate) fn by_claim(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, &Arc<str>)> {
        let rules = self.rules_by_claim.iter();
        rules.map(|((claim, value), id)| (claim, value, id))
    }

    /// The parsed form of a claim that is a path; `None` if it is not kept.
    pub(crate) fn path(&self, claim: &str) -> Option<&JsonPath> {
        self.paths.get(claim).map(|path| &**path)
    }

    pub fn rules(&self) -> impl Iterator<Item = &Arc<MappingRuleValue>> {
        self.rules.values()
    }

    pub fn authorization(&self, key: Key) -> Option<&Arc<AuthorizationValue>> {
        self.authorizations.get(&key)
    }

    /// The authorizations granted directly to this owner, in the order of their resources.
    pub fn authorizations_of(
        &self,
        owner_type: OwnerType,
        id: &Arc<str>,
    ) -> impl Iterator<Item = (Key, &Arc<AuthorizationValue>)> {
        let id = id.clone();
        let before_all = (owner_type, id.clone(), None, FIRST);
        let owned = self.by_resource.starting_at(before_all);
        let is_owned = move |of_type: OwnerType, of: &Arc<str>| of_type == owner_type && *of == id;
        let owned = owned.take_while(move |((of_type, of, ..), _)| is_owned(*of_type, of));
        owned.map(|((.., key), value)| (*key, value))
    }

    /// The authorization that the owner of this one has on the same resources.
    pub fn authorization_like(&self, value: &AuthorizationValue) -> Option<Key> {
        let (owner_type, id, on, _) = on_resource(value, FIRST);
        let before_it = (owner_type, id.clone(), on.clone(), FIRST);
        let ((of_type, of, resource, key), _) = self.by_resource.starting_at(before_it).next()?;
        ((of_type, of, resource) == (&owner_type, &id, &on)).then_some(*key)
    }

    /// The members of a group, role or tenant, with the keys of their rows.
    pub fn members(&self, parent: &Parent) -> impl Iterator<Item = (&Member, Key)> {
        let members = self.members.get(parent);
        members
            .into_iter()
            .flat_map(Leaves::iter)
            .map(|(member, key)| (member, *key))
    }

    /// Whether the role of administrators has a member of any kind.
    pub fn has_admin(&self) -> bool {
        let admins = Parent::new(ParentType::Role, defaults::ADMIN);
        self.members(&admins).next().is_some()
    }

    /// The key of a membership's row.
    pub fn membership(&self, parent: &Parent, member: &Member) -> Option<Key> {
        self.members.get(parent)?.get(member).copied()
    }

    /// The groups, roles and tenants that the member belongs to directly.
    pub fn parents_of(&self, member: &Member) -> impl Iterator<Item = &Parent> {
        let parents = self.memberships.get(member);
        let parents = parents.into_iter().flat_map(Leaves::iter);
        parents.map(|(parent, ())| parent)
    }

    /// The key for the row of the next membership: a function of the existing rows, so that all replicas choose the same.
    pub fn next_membership(&self) -> Key {
        Key(self.rows.last().map_or(1, |last| last.0 + 1))
    }

    /// The limit that one more entry would exceed. `None`: it fits.
    pub fn exceeds(&self, limits: &Limits, more: &Entry) -> Option<String> {
        let mut sum = Limits {
            bytes: more.weight(),
            ..Limits::default()
        };
        match more {
            Entry::Authorization(_) => sum.authorizations = 1,
            Entry::GroupMember { .. } | Entry::RoleMember { .. } | Entry::TenantMember { .. } => {
                sum.memberships = 1;
            }
            Entry::User(_)
            | Entry::Group(_)
            | Entry::Role(_)
            | Entry::Tenant(_)
            | Entry::MappingRule(_) => sum.entities = 1,
        }
        self.exceeds_with(limits, &sum)
    }

    /// Likewise, with these numbers added.
    pub fn exceeds_with(&self, limits: &Limits, more: &Limits) -> Option<String> {
        let entities = self.users.size() + self.parents.size() + self.rules.size();
        let sums = [
            (
                entities + more.entities,
                limits.entities,
                "users, groups, roles, tenants and mapping rules",
            ),
            (
                self.rows.len() + more.memberships,
                limits.memberships,
                "memberships",
            ),
            (
                self.authorizations.size() + more.authorizations,
                limits.authorizations,
                "authorizations",
            ),
            (
                self.bytes + more.bytes,
                limits.bytes,
                "bytes of names and texts",
            ),
        ];
        let over = sums.into_iter().find(|(sum, limit, _)| sum > limit);
        over.map(|(sum, limit, of)| format!("there would be {sum} {of}, and the limit is {limit}"))
    }
}
