//! `camunda.security.initialization`: users, roles and other entities that are created at a start unless they exist.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use skep_gateway::IdentityFaults;
use skep_gateway::door::secret::Secret;
use skep_identity::{Directory, Limits, defaults};
use skep_protocol::Key;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, IdentitySetupValue, MappingRuleValue, Member, OwnerType, ParentType,
    ParentValue, PasswordHash, ResourceMatcher, UserValue,
};

use super::super::source::{Given, Source};
use super::super::value::squeeze;
use super::Security;
use super::entries::{Entry, Part};
use super::paths::{List, Of, SettingPath, setting_path};

/// Entities created unless they exist: the roles and the tenant that every cluster has, and the configured ones.
#[derive(Clone, Debug)]
pub struct Initial {
    /// All but the users.
    pub setup: IdentitySetupValue,
    pub users: Arc<[InitialUser]>,
}

impl Default for Initial {
    fn default() -> Initial {
        Initial {
            setup: defaults::setup(),
            users: Arc::default(),
        }
    }
}

/// A user whose password has not been hashed yet.
pub struct InitialUser {
    pub user: UserValue,
    pub password: Secret,
}

impl fmt::Debug for InitialUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InitialUser")
            .field(&self.user.username)
            .finish()
    }
}

/// Member fields of a role outside the list of roles.
const OF_ROLE: [&str; 5] = ["users", "clients", "groups", "mapping-rules", "mappings"];
/// Properties of user tasks that can name the caller, as in the engine.
const PROPERTIES: [&str; 3] = ["assignee", "candidateUsers", "candidateGroups"];

/// The given settings, weakest source first.
#[derive(Default)]
pub struct Initialization<'g> {
    lists: BTreeMap<List, Vec<Group<'g>>>,
    /// By role and field.
    roles: BTreeMap<(String, String), (From<'g>, Entry<'g>)>,
    problems: Vec<String>,
}

/// The entries of a list that come from one source.
struct Group<'g> {
    from: From<'g>,
    last: usize,
    entries: BTreeMap<usize, Entry<'g>>,
}

/// Two settings with the same one belong together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From<'g> {
    File(&'g std::path::Path),
    Environment,
    Outside,
}

fn from(source: &Source) -> From<'_> {
    match source {
        Source::File { path, .. } => From::File(path),
        Source::Environment(_) => From::Environment,
        _ => From::Outside,
    }
}

impl<'g> Group<'g> {
    /// Whether the entry continues this list. A file may have several documents, and each of them begins a new list.
    fn goes_on(&self, from: From<'g>, number: usize, field: &str, item: Option<usize>) -> bool {
        let entry = self.entries.get(&number);
        let again = entry.is_some_and(|entry| entry.has(field, item));
        let begins_list = matches!(from, From::File(_)) && (number < self.last || again);
        self.from == from && !begins_list
    }

    /// Whether it identifies its entries, and does not merely extend those of a weaker source, for instance by a password.
    fn names(&self, list: List) -> bool {
        self.entries
            .values()
            .any(|entry| entry.text(list.id()).is_some())
    }
}

impl<'g> Initialization<'g> {
    /// Takes a setting, if it is one of these.
    pub fn take(&mut self, given: &'g Given) -> bool {
        let SettingPath { of, field, item } = match setting_path(given) {
            None => return false,
            // An empty environment variable means "not set".
            Some(_) if given.text.trim().is_empty() => return true,
            Some(Ok(place)) => place,
            Some(Err(problem)) => {
                self.problems.push(problem);
                return true;
            }
        };
        let from = from(&given.source);
        let part = Part { item, given };
        match of {
            Of::Entry(list, number) => {
                let groups = self.lists.entry(list).or_default();
                let last = groups.last();
                if !last.is_some_and(|last| last.goes_on(from, number, &field, item)) {
                    groups.push(Group {
                        from,
                        last: number,
                        entries: BTreeMap::new(),
                    });
                }
                if let Some(group) = groups.last_mut() {
                    group.last = number;
                    let entry = group.entries.entry(number).or_default();
                    entry.add(field, part);
                }
            }
            Of::Role(role) => {
                let known = self.roles.entry((squeeze(&role), field.clone()));
                let (before, entry) = known.or_insert_with(|| (from, Entry::default()));
                if *before != from {
                    (*before, *entry) = (from, Entry::default());
                }
                entry.add(field, part);
            }
        }
        true
    }

    /// The entries of all lists: a stronger source replaces a list as a whole, as Spring has it, unless it only adds to its entries.
    fn entries(&mut self) -> Vec<(List, usize, Entry<'g>)> {
        let mut all = Vec::new();
        for (list, groups) in std::mem::take(&mut self.lists) {
            let mut entries: BTreeMap<usize, Entry<'g>> = BTreeMap::new();
            for group in groups {
                if group.names(list) {
                    entries.clear();
                }
                for (number, entry) in group.entries {
                    entries.entry(number).or_default().extend(entry);
                }
            }
            all.extend(
                entries
                    .into_iter()
                    .map(|(number, entry)| (list, number, entry)),
            );
        }
        all
    }

    /// Builds the initial entities; faults are added to `problems`. `largest`: bytes of the largest request of a client.
    pub fn finish(
        mut self,
        security: &Security,
        largest: usize,
        problems: &mut Vec<String>,
    ) -> Initial {
        let mut draft = Draft::new(security.identity().manages_groups, largest);
        let mut report = |name: String, entry: &Entry<'_>, faults: IdentityFaults<'_>| {
            if let Err(wrong) = faults.none() {
                let source = entry.source();
                let name = format!("camunda.security.initialization.{name}");
                problems.push(format!("{name} ({source}): {wrong}"));
            }
        };
        for (list, number, entry) in self.entries() {
            let mut faults = IdentityFaults::new(&security.ids);
            entry.knows(list.fields(), &mut faults);
            draft.entry(list, &entry, &mut faults);
            report(format!("{}[{number}]", list.name()), &entry, faults);
        }
        // Roles of the list are known before members are given to them.
        for ((role, _), (_, entry)) in &self.roles {
            let mut faults = IdentityFaults::new(&security.ids);
            entry.knows(&OF_ROLE, &mut faults);
            draft.role(role, entry, &mut faults);
            report(format!("default-roles.{role}"), entry, faults);
        }
        problems.extend(self.problems);
        problems.extend(draft.too_much());
        Initial {
            setup: draft.setup,
            users: draft.users.into(),
        }
    }
}

struct Draft {
    setup: IdentitySetupValue,
    users: Vec<InitialUser>,
    /// False: group ids belong to the identity provider.
    manages_groups: bool,
    /// Bytes of the largest request of a client.
    largest: usize,
}

impl Draft {
    fn new(manages_groups: bool, largest: usize) -> Draft {
        Draft {
            setup: defaults::setup(),
            users: Vec::new(),
            manages_groups,
            largest,
        }
    }

    /// The value of a field that has no limit of characters: from a client it would have to fit into a request.
    fn bounded<'g>(
        &self,
        field: &str,
        entry: &Entry<'g>,
        faults: &mut IdentityFaults<'_>,
    ) -> Option<&'g str> {
        let text = entry.text(field)?;
        if text.len() > self.largest {
            faults.add(format!(
                "The {field} has {} bytes, and {} are allowed, as in a request of a client (camunda.api.grpc.max-message-size, \
                 camunda.cluster.network.max-message-size)",
                text.len(),
                self.largest
            ));
        }
        Some(text)
    }

    /// Why no directory can have all of these.
    fn too_much(&self) -> Option<String> {
        let setup = IdentitySetupValue {
            users: self.users.iter().map(|one| one.user.clone()).collect(),
            ..self.setup.clone()
        };
        let nobody = Directory::default();
        let why = nobody.exceeds_with(&Limits::STANDARD, &Limits::of(&setup))?;
        Some(format!(
            "camunda.security.initialization has more than a cluster may have: {why}. Configure fewer"
        ))
    }

    fn entry(&mut self, list: List, entry: &Entry<'_>, faults: &mut IdentityFaults<'_>) {
        match list {
            List::Users => self.user(entry, faults),
            List::MappingRules => self.mapping_rule(entry, faults),
            List::Authorizations => {
                let authorization = authorization(entry, faults);
                self.setup.authorizations.extend(authorization);
            }
            List::Roles => self.parent(ParentType::Role, "role-id", entry, faults),
            List::Groups => self.parent(ParentType::Group, "group-id", entry, faults),
            List::Tenants => self.parent(ParentType::Tenant, "tenant-id", entry, faults),
        }
    }

    fn user(&mut self, entry: &Entry<'_>, faults: &mut IdentityFaults<'_>) {
        let username = faults.id("username", entry.text("username"));
        let password = entry.text("password").unwrap_or_default();
        if password.trim().is_empty() {
            faults.add("No password provided".to_string());
        }
        faults.password(password);
        if self
            .users
            .iter()
            .any(|other| other.user.username == username)
        {
            faults.add(format!("The user '{username}' is configured twice"));
        }
        let user = UserValue {
            user_key: Key::NONE,
            name: faults.optional_name("name", entry.text("name").unwrap_or_default()),
            email: faults.email(entry.text("email").unwrap_or_default()),
            username,
            password: PasswordHash::default(),
        };
        let password = Secret::new(password.to_string());
        self.users.push(InitialUser { user, password });
    }

    fn mapping_rule(&mut self, entry: &Entry<'_>, faults: &mut IdentityFaults<'_>) {
        let id = faults.id("mapping-rule-id", entry.text("mapping-rule-id"));
        let claim_name = self.bounded("claim-name", entry, faults);
        let claim_value = self.bounded("claim-value", entry, faults);
        let rule = MappingRuleValue {
            mapping_rule_key: Key::NONE,
            claim_name: faults.claim("claim-name", claim_name),
            claim_value: faults.said("claim-value", claim_value),
            name: id.clone(),
            mapping_rule_id: id,
        };
        for other in &self.setup.mapping_rules {
            if other.mapping_rule_id == rule.mapping_rule_id {
                faults.add(format!(
                    "The mapping rule '{}' is configured twice",
                    rule.mapping_rule_id
                ));
            }
            if (&other.claim_name, &other.claim_value) == (&rule.claim_name, &rule.claim_value) {
                faults.add(format!(
                    "The mapping rule '{}' has the same claim and value",
                    other.mapping_rule_id
                ));
            }
        }
        self.setup.mapping_rules.push(rule);
    }

    fn parent(
        &mut self,
        kind: ParentType,
        field: &str,
        entry: &Entry<'_>,
        faults: &mut IdentityFaults<'_>,
    ) {
        let id = match kind {
            ParentType::Tenant => faults.tenant_id(field, entry.text(field)),
            _ => faults.id(field, entry.text(field)),
        };
        let description = self.bounded("description", entry, faults);
        let value = ParentValue {
            key: Key::NONE,
            name: entry.name(&id, faults),
            description: description.unwrap_or_default().into(),
            id: id.clone(),
            member: None,
        };
        let (parents, members) = match kind {
            ParentType::Group => (&mut self.setup.groups, &mut self.setup.group_members),
            ParentType::Role => (&mut self.setup.roles, &mut self.setup.role_members),
            ParentType::Tenant => (&mut self.setup.tenants, &mut self.setup.tenant_members),
        };
        match parents.iter().position(|other| other.id == id) {
            None => parents.push(value),
            // Entities that every cluster has keep their names and get the members.
            Some(at) if at < every_cluster_has(kind) => {}
            Some(_) => faults.add(format!("The {field} '{id}' is configured twice")),
        }
        members.extend(named(&id, entry.members(self.manages_groups, faults)));
    }

    fn role(&mut self, role: &str, entry: &Entry<'_>, faults: &mut IdentityFaults<'_>) {
        let wanted = squeeze(role);
        let found = self
            .setup
            .roles
            .iter()
            .find(|one| squeeze(&one.id) == wanted);
        let Some(id) = found.map(|found| found.id.clone()) else {
            let known: Vec<&str> = self.setup.roles.iter().map(|one| &*one.id).collect();
            faults.add(format!(
                "There is no role '{role}', only {}; create others below roles",
                known.join(", ")
            ));
            return;
        };
        let members = named(&id, entry.members(self.manages_groups, faults));
        self.setup.role_members.extend(members);
    }
}

/// Number of built-in entities of this kind that precede the configured ones.
fn every_cluster_has(kind: ParentType) -> usize {
    let setup = defaults::setup();
    match kind {
        ParentType::Group => setup.groups.len(),
        ParentType::Role => setup.roles.len(),
        ParentType::Tenant => setup.tenants.len(),
    }
}

fn named(parent: &Arc<str>, members: Vec<Member>) -> impl Iterator<Item = (Arc<str>, Member)> {
    let parent = parent.clone();
    members
        .into_iter()
        .map(move |member| (parent.clone(), member))
}

/// `None`: faults were reported.
fn authorization(entry: &Entry<'_>, faults: &mut IdentityFaults<'_>) -> Option<AuthorizationValue> {
    let owner_types = OwnerType::ALL.iter().map(|one| (one.name(), *one));
    let resource_types = ResourceType::ALL.iter().map(|one| (one.name(), *one));
    let owner_id = faults.id("owner-id", entry.text("owner-id"));
    let owner_type = one_of("owner-type", entry.text("owner-type"), owner_types, faults);
    let given = entry.text("resource-type");
    let resource_type = one_of("resource-type", given, resource_types, faults);
    let matcher = matcher(entry, resource_type, faults);
    let granted = resource_type.map(ResourceType::permissions);
    let granted = granted.unwrap_or_default().iter();
    let granted = granted.map(|(permission, _)| (permission.name(), *permission));
    let mut permissions: Vec<PermissionType> = Vec::new();
    let texts = entry.texts("permissions");
    if texts.is_empty() {
        faults.add("No permissions provided".to_string());
    }
    // Without a resource type they cannot be checked.
    for text in texts.into_iter().filter(|_| resource_type.is_some()) {
        permissions.extend(one_of("permissions", Some(text), granted.clone(), faults));
    }
    permissions.sort_unstable_by_key(|permission| permission.name());
    permissions.dedup();
    Some(AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: owner_type?,
        owner_id,
        resource_type: resource_type?,
        matcher: matcher?,
        permissions,
    })
}

fn matcher(
    entry: &Entry<'_>,
    resource_type: Option<ResourceType>,
    faults: &mut IdentityFaults<'_>,
) -> Option<ResourceMatcher> {
    let property = entry.text("resource-property-name");
    match (entry.text("resource-id"), property) {
        (Some("*"), None) => Some(ResourceMatcher::Any),
        (Some(id), None) => Some(ResourceMatcher::Id(match resource_type {
            Some(ResourceType::Tenant) => faults.tenant_id("resource-id", Some(id)),
            _ => faults.id("resource-id", Some(id)),
        })),
        (None, Some(name)) if resource_type == Some(ResourceType::UserTask) => {
            let properties = PROPERTIES.iter().map(|name| (*name, *name));
            let name = one_of("resource-property-name", Some(name), properties, faults)?;
            Some(ResourceMatcher::Property(name.into()))
        }
        (None, Some(_)) => {
            faults.add("Only properties of USER_TASK can be named".to_string());
            None
        }
        _ => {
            faults.add("One of resource-id and resource-property-name is required".to_string());
            None
        }
    }
}

/// Finds the value with this name, in any spelling.
fn one_of<T: Copy>(
    field: &str,
    text: Option<&str>,
    all: impl Iterator<Item = (&'static str, T)> + Clone,
    faults: &mut IdentityFaults<'_>,
) -> Option<T> {
    let text = faults.said(field, text);
    if text.is_empty() {
        return None;
    }
    let wanted = squeeze(&text);
    let found = all.clone().find(|(name, _)| squeeze(name) == wanted);
    if found.is_none() {
        let names: Vec<&str> = all.map(|(name, _)| name).collect();
        faults.add(format!(
            "The {field} '{text}' is not one of {}",
            names.join(", ")
        ));
    }
    found.map(|(_, one)| one)
}
