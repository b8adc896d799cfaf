//! The roles and the tenant that every cluster has, with their permissions. They are created at a start if they are
//! missing.

use std::sync::Arc;

use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, IdentitySetupValue, Member, OwnerType, ParentValue,
    ResourceMatcher,
};
use skep_protocol::{DEFAULT_TENANT, Key};

use PermissionType as P;
use ResourceType as R;

/// The role whose members may do everything.
pub const ADMIN: &str = "admin";

/// Why nobody can become the first administrator any more.
pub const HAS_ADMIN: &str = "Expected to create the first administrator, but the role 'admin' has members already. Ask one of them";

const ROLES: [(&str, &str); 6] = [
    (ADMIN, "Admin"),
    ("readonly-admin", "Readonly Admin"),
    ("connectors", "Connectors"),
    ("rpa", "RPA"),
    ("app-integrations", "App Integrations"),
    ("task-worker", "Task Worker"),
];

/// Whether this is a role that always exists and whose permissions cannot be changed.
pub fn is_role(id: &str) -> bool {
    ROLES.iter().any(|(role, _)| *role == id)
}

/// The part of the set-up that always applies.
pub fn setup() -> IdentitySetupValue {
    let role = |(id, name): (&str, &str)| parent(id, name);
    IdentitySetupValue {
        roles: ROLES.map(role).into(),
        tenants: vec![parent(DEFAULT_TENANT, "Default")],
        authorizations: authorizations(),
        tenant_members: ROLES.map(in_default_tenant).into(),
        ..IdentitySetupValue::default()
    }
}

fn parent(id: &str, name: &str) -> ParentValue {
    ParentValue {
        key: Key::NONE,
        id: id.into(),
        name: name.into(),
        description: "".into(),
        member: None,
    }
}

fn in_default_tenant((role, _): (&str, &str)) -> (Arc<str>, Member) {
    (DEFAULT_TENANT.into(), Member::new(EntityType::Role, role))
}

fn authorizations() -> Vec<AuthorizationValue> {
    let mut all: Vec<AuthorizationValue> = ResourceType::ALL
        .iter()
        .map(|on| {
            let permissions = on.permissions().iter().map(|(permission, _)| *permission);
            granted(ADMIN, *on, ResourceMatcher::Any, permissions.collect())
        })
        .collect();
    for (role, on, permissions) in GRANTED {
        all.push(granted(
            role,
            *on,
            ResourceMatcher::Any,
            permissions.to_vec(),
        ));
    }
    for property in ["assignee", "candidateUsers", "candidateGroups"] {
        let matcher = ResourceMatcher::Property(property.into());
        let permissions = vec![P::Read, P::Claim, P::Complete];
        all.push(granted("task-worker", R::UserTask, matcher, permissions));
    }
    all
}

fn granted(
    role: &str,
    on: ResourceType,
    matcher: ResourceMatcher,
    mut permissions: Vec<PermissionType>,
) -> AuthorizationValue {
    permissions.sort_by_key(|permission| permission.name());
    AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: OwnerType::Role,
        owner_id: role.into(),
        resource_type: on,
        matcher,
        permissions,
    }
}

type Granted = (&'static str, ResourceType, &'static [PermissionType]);

/// Permissions on all resources of a type. Source: section 3 of the facts on identity, "Default roles".
const GRANTED: &[Granted] = &[
    ("readonly-admin", R::AuditLog, &[P::Read]),
    ("readonly-admin", R::Authorization, &[P::Read]),
    ("readonly-admin", R::Batch, &[P::Read]),
    ("readonly-admin", R::ClusterVariable, &[P::Read]),
    ("readonly-admin", R::Component, &[P::Access]),
    (
        "readonly-admin",
        R::DecisionDefinition,
        &[P::ReadDecisionDefinition, P::ReadDecisionInstance],
    ),
    (
        "readonly-admin",
        R::DecisionRequirementsDefinition,
        &[P::Read],
    ),
    ("readonly-admin", R::Document, &[P::Read]),
    ("readonly-admin", R::GlobalListener, &[P::ReadTaskListener]),
    ("readonly-admin", R::Group, &[P::Read]),
    ("readonly-admin", R::MappingRule, &[P::Read]),
    ("readonly-admin", R::Message, &[P::Read]),
    (
        "readonly-admin",
        R::ProcessDefinition,
        &[
            P::ReadProcessDefinition,
            P::ReadProcessInstance,
            P::ReadUserTask,
        ],
    ),
    ("readonly-admin", R::Resource, &[P::Read]),
    ("readonly-admin", R::Role, &[P::Read]),
    (
        "readonly-admin",
        R::System,
        &[P::Read, P::ReadJobMetric, P::ReadUsageMetric],
    ),
    ("readonly-admin", R::Tenant, &[P::Read]),
    ("readonly-admin", R::User, &[P::Read]),
    ("readonly-admin", R::UserTask, &[P::Read]),
    ("connectors", R::ClusterVariable, &[P::Read]),
    ("connectors", R::Document, &[P::Create, P::Delete, P::Read]),
    ("connectors", R::Expression, &[P::Evaluate]),
    ("connectors", R::Message, &[P::Create]),
    (
        "connectors",
        R::ProcessDefinition,
        &[
            P::CreateProcessInstance,
            P::ReadProcessDefinition,
            P::ReadProcessInstance,
            P::UpdateProcessInstance,
        ],
    ),
    ("rpa", R::ProcessDefinition, &[P::UpdateProcessInstance]),
    ("rpa", R::Resource, &[P::Read]),
    ("app-integrations", R::Document, &[P::Create]),
    (
        "app-integrations",
        R::ProcessDefinition,
        &[
            P::ClaimUserTask,
            P::CompleteUserTask,
            P::CreateProcessInstance,
            P::ReadProcessDefinition,
            P::ReadProcessInstance,
            P::ReadUserTask,
            P::UpdateProcessInstance,
            P::UpdateUserTask,
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_roles_have_only_permissions_that_exist() {
        for authorization in authorizations() {
            for permission in &authorization.permissions {
                let of_type = authorization.resource_type.permissions();
                assert!(
                    of_type.iter().any(|(known, _)| known == permission),
                    "{authorization:?}"
                );
            }
            assert!(is_role(&authorization.owner_id), "{authorization:?}");
        }
    }
}
