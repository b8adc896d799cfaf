//! Operations of tenants and their members.

use skep_protocol::command::{IdentityCommand, Need, On};
use skep_protocol::grants;
use skep_protocol::value::{EntityType, ParentType};
use skep_query::entities::{MAPPING_RULE, MEMBER_CLIENT, MEMBER_GROUP, MEMBER_USER, ROLE, TENANT};

use crate::rest::decode::identity::{members, parents};
use crate::rest::operations::path::{Id, Text};
use crate::rest::operations::rows::operations;
use crate::rest::queries::identity;

operations! { "Tenants":
    POST "/v2/tenants" () createTenant {
        does: IdentityCommand(CreateTenant) = |call| parents::create(ParentType::Tenant, call.text, call.front),
    }
    PUT "/v2/tenants/{tenantId}" (tenantId: Text) updateTenant {
        does: IdentityCommand(UpdateTenant) = |call| parents::update(ParentType::Tenant, Id(tenantId), call.text, call.front),
    }
    DELETE "/v2/tenants/{tenantId}" (tenantId: Text) deleteTenant {
        does: IdentityCommand(DeleteTenant) = |call| parents::delete(ParentType::Tenant, Id(tenantId), call.text, call.front),
    }
    PUT "/v2/tenants/{tenantId}/clients/{clientId}" (tenantId: Text, clientId: Id) assignClientToTenant {
        does: IdentityCommand(AddToTenant) = |call| members::assign(((ParentType::Tenant, Id(tenantId)), (EntityType::Client, clientId)), call.text, call.front),
    }
    DELETE "/v2/tenants/{tenantId}/clients/{clientId}" (tenantId: Text, clientId: Id) unassignClientFromTenant {
        does: IdentityCommand(RemoveFromTenant) = |call| members::unassign(((ParentType::Tenant, Id(tenantId)), (EntityType::Client, clientId)), call.text, call.front),
    }
    PUT "/v2/tenants/{tenantId}/groups/{groupId}" (tenantId: Text, groupId: Id) assignGroupToTenant {
        does: IdentityCommand(AddToTenant) = |call| members::assign(((ParentType::Tenant, Id(tenantId)), (EntityType::Group, groupId)), call.text, call.front),
    }
    DELETE "/v2/tenants/{tenantId}/groups/{groupId}" (tenantId: Text, groupId: Id) unassignGroupFromTenant {
        does: IdentityCommand(RemoveFromTenant) = |call| members::unassign(((ParentType::Tenant, Id(tenantId)), (EntityType::Group, groupId)), call.text, call.front),
    }
    PUT "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}" (tenantId: Text, mappingRuleId: Id) assignMappingRuleToTenant {
        does: IdentityCommand(AddToTenant) = |call| members::assign(((ParentType::Tenant, Id(tenantId)), (EntityType::MappingRule, mappingRuleId)), call.text, call.front),
    }
    DELETE "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}" (tenantId: Text, mappingRuleId: Id) unassignMappingRuleFromTenant {
        does: IdentityCommand(RemoveFromTenant) = |call| members::unassign(((ParentType::Tenant, Id(tenantId)), (EntityType::MappingRule, mappingRuleId)), call.text, call.front),
    }
    PUT "/v2/tenants/{tenantId}/roles/{roleId}" (tenantId: Text, roleId: Id) assignRoleToTenant {
        does: IdentityCommand(AddToTenant) = |call| members::assign(((ParentType::Tenant, Id(tenantId)), (EntityType::Role, roleId)), call.text, call.front),
    }
    DELETE "/v2/tenants/{tenantId}/roles/{roleId}" (tenantId: Text, roleId: Id) unassignRoleFromTenant {
        does: IdentityCommand(RemoveFromTenant) = |call| members::unassign(((ParentType::Tenant, Id(tenantId)), (EntityType::Role, roleId)), call.text, call.front),
    }
    PUT "/v2/tenants/{tenantId}/users/{username}" (tenantId: Text, username: Id) assignUserToTenant {
        does: IdentityCommand(AddToTenant) = |call| members::assign(((ParentType::Tenant, Id(tenantId)), (EntityType::User, username)), call.text, call.front),
    }
    DELETE "/v2/tenants/{tenantId}/users/{username}" (tenantId: Text, username: Id) unassignUserFromTenant {
        does: IdentityCommand(RemoveFromTenant) = |call| members::unassign(((ParentType::Tenant, Id(tenantId)), (EntityType::User, username)), call.text, call.front),
    }
    POST "/v2/tenants/search" () searchTenants {
        does: Query(TENANT) = |call| identity::all(&TENANT, call.text, call.parts),
        needs: Need::Filters(grants![Tenant: Read]),
    }
    GET "/v2/tenants/{tenantId}" (tenantId: Text) getTenant {
        does: Query(TENANT) = |_| identity::tenant(&Id(tenantId)),
        needs: Need::AnyOf(grants![Tenant: Read], On::Found),
    }
    POST "/v2/tenants/{tenantId}/clients/search" (tenantId: Text) searchClientsForTenant {
        does: Query(MEMBER_CLIENT) = |call| identity::members(&MEMBER_CLIENT, (ParentType::Tenant, Id(tenantId)), call.text, call.parts),
        needs: Need::Filters(grants![Tenant: Read]),
    }
    POST "/v2/tenants/{tenantId}/groups/search" (tenantId: Text) searchGroupIdsForTenant {
        does: Query(MEMBER_GROUP) = |call| identity::members(&MEMBER_GROUP, (ParentType::Tenant, Id(tenantId)), call.text, call.parts),
        needs: Need::Filters(grants![Tenant: Read]),
    }
    POST "/v2/tenants/{tenantId}/mapping-rules/search" (tenantId: Text) searchMappingRulesForTenant {
        does: Query(MAPPING_RULE) = |call| identity::belonging((&MAPPING_RULE, "mappingRuleId"), (ParentType::Tenant, Id(tenantId)), call.text, call.parts),
        needs: Need::Filters(grants![MappingRule: Read]),
    }
    POST "/v2/tenants/{tenantId}/roles/search" (tenantId: Text) searchRolesForTenant {
        does: Query(ROLE) = |call| identity::belonging((&ROLE, "roleId"), (ParentType::Tenant, Id(tenantId)), call.text, call.parts),
        needs: Need::Filters(grants![Role: Read]),
    }
    POST "/v2/tenants/{tenantId}/users/search" (tenantId: Text) searchUsersForTenant {
        does: Query(MEMBER_USER) = |call| identity::members(&MEMBER_USER, (ParentType::Tenant, Id(tenantId)), call.text, call.parts),
        needs: Need::Filters(grants![Tenant: Read]),
    }
}
