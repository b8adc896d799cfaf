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

/// A caller's permissions. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Grants {
    user: Option<Arc<str>>,
    groups: BTreeSet<Arc<str>>,
    roles: BTreeSet<Arc<str>>,
    tenants: BTreeSet<TenantId>,
    on: FxHashMap<ResourceType, OnType>,
    /// The owners of the authorizations that make up these permissions.
    owners: BTreeSet<(OwnerType, Arc<str>)>,
}

impl Grants {
    /// Builds the permissions of an authenticated caller. `None`: nothing is checked for this caller.
    pub fn of(directory: &Directory, claims: &Claims) -> Option<Grants> {
        match claims {
            Claims::Anonymous | Claims::Internal => None,
            Claims::User(principal) => {
                let mut grants = Grants::gathered(directory, OwnerType::User, principal);
                grants.user = Some(principal.id.clone());
                Some(grants)
            }
            Claims::Client(principal) => {
                Some(Grants::gathered(directory, OwnerType::Client, principal))
            }
        }
    }

    fn gathered(directory: &Directory, owner_type: OwnerType, principal: &Principal) -> Grants {
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
            for (_, authorization) in directory.authorizations_of(owner, &member.id) {
                grants.add(authorization);
                grants.owners.insert((owner, member.id.clone()));
            }
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

    fn add(&mut self, authorization: &AuthorizationValue) {
        let mut bits = Bits::default();
        for permission in &authorization.permissions {
            bits.add(Bits::of(*permission));
        }
        let on = self.on.entry(authorization.resource_type).or_default();
        match &authorization.matcher {
            ResourceMatcher::Any => on.any.add(bits),
            ResourceMatcher::Id(id) => on.by_id.entry(id.clone()).or_default().add(bits),
            ResourceMatcher::Property(name) => on.by_property.push((name.clone(), bits)),
        }
    }

    /// Whether the permission is granted for all resources of its type.
    pub fn allows_any(&self, permission: Permission) -> bool {
        let on = self.on.get(&permission.on);
        on.is_some_and(|on| on.any.has(permission.to))
    }

    /// Whether the permission is granted on at least one resource.
    pub fn allows_some(&self, permission: Permission) -> bool {
        let on = self.on.get(&permission.on);
        on.is_some_and(|on| {
            on.any.has(permission.to) || on.by_id.values().any(|bits| bits.has(permission.to))
        })
    }

    /// Whether the permission is granted on this resource.
    pub fn allows(&self, permission: Permission, id: &str) -> bool {
        let on = self.on.get(&permission.on);
        on.is_some_and(|on| {
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
        let Some(on) = self.on.get(&permission.on) else {
            return false;
        };
        let granted = on
            .by_property
            .iter()
            .filter(|(_, bits)| bits.has(permission.to));
        let user = self.user.as_deref();
        granted.into_iter().any(|(property, _)| match &**property {
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
        let on = self.on.get(&permission.on);
        let all = on.into_iter().flat_map(|on| &on.by_property);
        let granted = all.filter(|(_, bits)| bits.has(permission.to));
        granted.map(|(name, _)| name.clone()).collect()
    }

    /// The resources on which any of these permissions is granted. All permissions must be of one resource type.
    pub fn visible(&self, permissions: &[Permission]) -> Visible {
        let mut ids = BTreeSet::new();
        for permission in permissions {
            let Some(on) = self.on.get(&permission.on) else {
                continue;
            };
            if on.any.has(permission.to) {
                return Visible::All;
            }
            let granted = on.by_id.iter().filter(|(_, bits)| bits.has(permission.to));
            ids.extend(granted.map(|(id, _)| id.clone()));
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
