//! The permissions of one caller: those granted directly, and those of every group, role and tenant that the caller belongs
//! to. There are only grants, no denials.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use skep_protocol::TenantId;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{Permission, PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentType, ResourceMatcher,
};

use crate::claims;
use crate::directory::{Directory, Parent};

/// Permissions on one resource type, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bits(u64);

impl Bits {
    fn of(permission: PermissionType) -> Bits {
        const { assert!(PermissionType::ALL.len() <= 64, "a bit for each") };
        Bits(1 << permission as u8)
    }

    fn has(self, permission: PermissionType) -> bool {
        self.0 & Bits::of(permission).0 != 0
    }

    fn add(&mut self, others: Bits) {
        self.0 |= others.0;
    }
}

/// Permissions granted on one resource type.
#[derive(Clone, Debug, Default)]
struct OnType {
    any: Bits,
    by_id: FxHashMap<Arc<str>, Bits>,
    by_property: Vec<(Arc<str>, Bits)>,
}

/// The tenants whose data a caller sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// Tenants are not checked.
    All,
    Of(BTreeSet<TenantId>),
}

impl Tenancy {
    /// Whether the caller sees data of this tenant.
    pub fn has(&self, tenant: &TenantId) -> bool {
        match self {
            Tenancy::All => true,
            Tenancy::Of(tenants) => tenants.contains(tenant),
        }
    }
}

/// The resources of a type that a caller may access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visible {
    All,
    /// Resources with these ids, sorted. An empty list means none.
    Ids(Vec<Arc<str>>),
}

/// Owners with more authorizations than these have them once for all callers.
const MANY: usize = 64;

/// Permissions by the type of the resources.
#[derive(Clone, Debug, Default)]
struct Granted(FxHashMap<ResourceType, OnType>);

impl Granted {
    fn of<'d>(all: impl Iterator<Item = &'d Arc<AuthorizationValue>>) -> Granted {
        let mut granted = Granted::default();
        all.for_each(|authorization| granted.add(authorization));
        granted
    }

    fn add(&mut self, authorization: &AuthorizationValue) {
        let mut bits = Bits::default();
        for permission in &authorization.permissions {
            bits.add(Bits::of(*permission));
        }
        let on = self.0.entry(authorization.resource_type).or_default();
        match &authorization.matcher {
            ResourceMatcher::Any => on.any.add(bits),
            ResourceMatcher::Id(id) => on.by_id.entry(id.clone()).or_default().add(bits),
            ResourceMatcher::Property(name) => on.by_property.push((name.clone(), bits)),
        }
    }
}

/// What owners with very many authorizations are granted under one version of a directory. A role may have tens of thousands, and a thousand
/// callers: together they would take gigabytes if each had all of it.
#[derive(Debug, Default)]
pub struct Shared(FxHashMap<(OwnerType, Arc<str>), Arc<Granted>>);

/// A caller's permissions. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Grants {
    user: Option<Arc<str>>,
    groups: BTreeSet<Arc<str>>,
    roles: BTreeSet<Arc<str>>,
    tenants: BTreeSet<TenantId>,
    /// Of all owners with few authorizations.
    granted: Granted,
    /// Of each owner with many.
    shared: Vec<Arc<Granted>>,
    /// The owners of the authorizations that make up these permissions.
    owners: BTreeSet<(OwnerType, Arc<str>)>,
}

impl Grants {
    /// Builds the permissions of an authenticated caller. `None`: nothing is checked for this caller.
    pub fn of(directory: &Directory, claims: &Claims) -> Option<Grants> {
        Grants::sharing(directory, claims, &mut Shared::default())
    }

    /// The same, sharing with other callers of this directory what very many authorizations make up.
    pub fn sharing(directory: &Directory, claims: &Claims, shared: &mut Shared) -> Option<Grants> {
        let (owner_type, principal) = match claims {
            Claims::Anonymous | Claims::Internal => return None,
            Claims::User(principal) => (OwnerType::User, principal),
            Claims::Client(principal) => (OwnerType::Client, principal),
        };
        let mut grants = Grants::gathered(directory, owner_type, principal, shared);
        if owner_type == OwnerType::User {
            grants.user = Some(principal.id.clone());
        }
        Some(grants)
    }

    fn gathered(
        directory: &Directory,
        owner_type: OwnerType,
        principal: &Principal,
        shared: &mut Shared,
    ) -> Grants {
        let mut grants = Grants::default();
        let mut open = vec![(
            owner_type,
            Member {
                entity_type: owner_type.entity_type(),
                id: principal.id.clone(),
            },
        )];
        for rule in matching(directory, principal) {
            open.push((
                OwnerType::MappingRule,
                Member {
                    entity_type: EntityType::MappingRule,
                    id: rule,
                },
            ));
        }
        // Groups named by the token replace those managed here.
        let managed_groups = principal.groups.is_none();
        for group in principal.groups.iter().flatten() {
            grants.enter_group(group, &mut open);
        }
        let mut seen: FxHashSet<Member> = FxHashSet::default();
        while let Some((owner, member)) = open.pop() {
            if !seen.insert(member.clone()) {
                continue;
            }
            grants.take((owner, &member.id), directory, shared);
            for parent in directory.parents_of(&member) {
                grants.enter(parent, managed_groups, &mut open);
            }
        }
        grants
    }

    fn enter(
        &mut self,
        parent: &Parent,
        managed_groups: bool,
        open: &mut Vec<(OwnerType, Member)>,
    ) {
        match parent.kind {
            ParentType::Group if managed_groups => self.enter_group(&parent.id, open),
            ParentType::Group => {}
            ParentType::Role => {
                if self.roles.insert(parent.id.clone()) {
                    let id = parent.id.clone();
                    let entity_type = EntityType::Role;
                    open.push((OwnerType::Role, Member { entity_type, id }));
                }
            }
            ParentType::Tenant => {
                self.tenants.insert(TenantId::new(&parent.id));
            }
        }
    }

    fn enter_group(&mut self, id: &Arc<str>, open: &mut Vec<(OwnerType, Member)>) {
        if self.groups.insert(id.clone()) {
            let (entity_type, id) = (EntityType::Group, id.clone());
            open.push((OwnerType::Group, Member { entity_type, id }));
        }
    }

    /// Takes the permissions of this owner.
    fn take(&mut self, owner: (OwnerType, &Arc<str>), directory: &Directory, shared: &mut Shared) {
        let (owner_type, id) = owner;
        let all = || {
            let all = directory.authorizations_of(owner_type, id);
            all.map(|(_, authorization)| authorization)
        };
        if all().next().is_none() {
            return;
        }
        let owner = (owner_type, id.clone());
        if all().nth(MANY).is_some() {
            let granted = shared.0.entry(owner.clone());
            let granted = granted.or_insert_with(|| Arc::new(Granted::of(all())));
            self.shared.push(Arc::clone(granted));
        } else {
            all().for_each(|authorization| self.granted.add(authorization));
        }
        self.owners.insert(owner);
    }

    /// The permissions on a type, of all owners.
    fn on(&self, resource_type: ResourceType) -> impl Iterator<Item = &OnType> {
        let granted = self.granted.0.get(&resource_type);
        let shared = self.shared.iter();
        let shared = shared.filter_map(move |granted| granted.0.get(&resource_type));
        granted.into_iter().chain(shared)
    }

    /// Whether the permission is granted for all resources of its type.
    pub fn allows_any(&self, permission: Permission) -> bool {
        let mut all = self.on(permission.on);
        all.any(|on| on.any.has(permission.to))
    }

    /// Whether the permission is granted on at least one resource.
    pub fn allows_some(&self, permission: Permission) -> bool {
        let mut all = self.on(permission.on);
        all.any(|on| {
            on.any.has(permission.to) || on.by_id.values().any(|bits| bits.has(permission.to))
        })
    }

    /// Whether the permission is granted on this resource.
    pub fn allows(&self, permission: Permission, id: &str) -> bool {
        let mut all = self.on(permission.on);
        all.any(|on| {
            on.any.has(permission.to)
                || on.by_id.get(id).is_some_and(|bits| bits.has(permission.to))
        })
    }

    /// Whether the permission is granted on a user task whose properties name the caller.
    pub fn allows_by_property(
        &self,
        permission: Permission,
        assignee: &str,
        candidate_users: &[Arc<str>],
        candidate_groups: &[Arc<str>],
    ) -> bool {
        let all = self.on(permission.on).flat_map(|on| &on.by_property);
        let mut granted = all.filter(|(_, bits)| bits.has(permission.to));
        let user = self.user.as_deref();
        granted.any(|(property, _)| match &**property {
            "assignee" => user.is_some_and(|user| user == assignee),
            "candidateUsers" => {
                user.is_some_and(|user| candidate_users.iter().any(|c| **c == *user))
            }
            "candidateGroups" => candidate_groups
                .iter()
                .any(|candidate| self.groups.contains(candidate)),
            _ => false,
        })
    }

    /// The properties by which the permission is granted on user tasks.
    pub fn properties(&self, permission: Permission) -> Vec<Arc<str>> {
        let all = self.on(permission.on).flat_map(|on| &on.by_property);
        let granted = all.filter(|(_, bits)| bits.has(permission.to));
        granted.map(|(name, _)| name.clone()).collect()
    }

    /// The resources on which any of these permissions is granted. All permissions must be of one resource type.
    pub fn visible(&self, permissions: &[Permission]) -> Visible {
        let mut ids = BTreeSet::new();
        for permission in permissions {
            for on in self.on(permission.on) {
                if on.any.has(permission.to) {
                    return Visible::All;
                }
                let granted = on.by_id.iter().filter(|(_, bits)| bits.has(permission.to));
                ids.extend(granted.map(|(id, _)| id.clone()));
            }
        }
        Visible::Ids(ids.into_iter().collect())
    }

    /// The ids with COMPONENT:ACCESS, `*` for all.
    pub fn components(&self) -> Vec<Arc<str>> {
        let access = const { Permission::of(ResourceType::Component, PermissionType::Access) };
        match self.visible(&[access]) {
            Visible::All => vec!["*".into()],
            Visible::Ids(ids) => ids,
        }
    }

    /// The name of the user; none for a client.
    pub fn user(&self) -> Option<&Arc<str>> {
        self.user.as_ref()
    }

    pub fn groups(&self) -> &BTreeSet<Arc<str>> {
        &self.groups
    }

    pub fn roles(&self) -> &BTreeSet<Arc<str>> {
        &self.roles
    }

    pub fn tenants(&self) -> &BTreeSet<TenantId> {
        &self.tenants
    }

    /// The owners of the authorizations that make up these permissions: the caller, and the groups, roles and mapping rules that
    /// have some. Sorted by type.
    pub fn owners(&self) -> &BTreeSet<(OwnerType, Arc<str>)> {
        &self.owners
    }
}

/// The ids of the mapping rules that the token matches.
fn matching(directory: &Directory, principal: &Principal) -> Vec<Arc<str>> {
    if principal.token.is_empty() {
        return Vec::new();
    }
    let Ok(token) = serde_json::from_str::<Value>(&principal.token) else {
        return Vec::new();
    };
    let (mut looked_up, mut found) = (None, Vec::new());
    let mut matched = Vec::new();
    for (claim, value, rule) in directory.by_claim() {
        // Many rules look at the same claim, for other values.
        if looked_up != Some(claim) {
            found = claims::find(claim, directory.path(claim), &token);
            looked_up = Some(claim);
        }
        if found.iter().any(|found| claims::has(found, value)) {
            matched.push(rule.clone());
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use skep_protocol::{Key, grants};

    use super::*;
    use crate::Entry;

    fn authorization(
        owner: (OwnerType, &str),
        on: ResourceType,
        matcher: ResourceMatcher,
        to: PermissionType,
    ) -> AuthorizationValue {
        AuthorizationValue {
            authorization_key: Key::NONE,
            owner_type: owner.0,
            owner_id: owner.1.into(),
            resource_type: on,
            matcher,
            permissions: vec![to],
        }
    }

    /// The role `clerk` with this many processes and a property, and two members who may start another process each.
    fn directory(many: usize) -> Directory {
        let clerk = (OwnerType::Role, "clerk");
        let create = |owner, id: &str| {
            let matcher = ResourceMatcher::Id(id.into());
            let to = PermissionType::CreateProcessInstance;
            authorization(owner, ResourceType::ProcessDefinition, matcher, to)
        };
        let property = ResourceMatcher::Property("assignee".into());
        let property = authorization(
            clerk,
            ResourceType::UserTask,
            property,
            PermissionType::Read,
        );
        let mut all = vec![property];
        all.extend((1..many).map(|n| create(clerk, &format!("process-{n}"))));
        let users = ["anna", "bert"];
        all.extend(users.map(|name| create((OwnerType::User, name), &format!("of-{name}"))));
        let mut entries: Vec<Entry> = all.into_iter().map(Entry::Authorization).collect();
        let role = Parent::new(ParentType::Role, "clerk");
        entries.extend(users.map(|name| {
            let member = Member::new(EntityType::User, name);
            Entry::membership(&role, member)
        }));
        let mut directory = Directory::default();
        for (key, entry) in (1..).zip(entries) {
            directory.add(Key(key), &entry);
        }
        directory
    }

    fn claims(name: &str) -> Claims {
        Claims::User(Arc::new(Principal {
            id: name.into(),
            ..Principal::default()
        }))
    }

    #[test]
    fn callers_share_the_permissions_of_an_owner_with_many_authorizations() {
        for (many, are_shared) in [(MANY, false), (MANY + 1, true)] {
            let (directory, mut shared) = (directory(many), Shared::default());
            let mut of = |name| Grants::sharing(&directory, &claims(name), &mut shared).unwrap();
            let (anna, bert) = (of("anna"), of("bert"));
            assert_eq!(anna.shared.len(), usize::from(are_shared), "{many}");
            let mut both = anna.shared.iter().zip(&bert.shared);
            assert!(both.all(|(a, b)| Arc::ptr_eq(a, b)));
            assert_eq!(anna.owners().len(), 2);
        }
    }

    #[test]
    fn shared_permissions_add_to_those_of_the_caller() {
        for many in [MANY, MANY + 1] {
            let anna = Grants::of(&directory(many), &claims("anna")).unwrap();
            let create = grants![ProcessDefinition: CreateProcessInstance][0];
            let read = grants![UserTask: Read][0];
            let last = format!("process-{}", many - 1);
            for (id, expected) in [
                ("of-anna", true),
                ("process-1", true),
                (last.as_str(), true),
                ("of-bert", false),
                ("process-0", false),
            ] {
                assert_eq!(anna.allows(create, id), expected, "{many}: {id}");
            }
            assert!(anna.allows_some(create) && !anna.allows_any(create));
            let Visible::Ids(ids) = anna.visible(&[create]) else {
                panic!("not all are visible");
            };
            assert_eq!(ids.len(), many, "{many}");
            assert!(anna.allows_by_property(read, "anna", &[], &[]));
            assert!(!anna.allows_by_property(read, "bert", &[], &[]));
            let properties = anna.properties(read);
            assert_eq!(properties.len(), 1);
            assert_eq!(&*properties[0], "assignee");
        }
    }
}
