//! Operations of roles and their members.

use skep_protocol::command::{IdentityCommand, Need, On};
use skep_protocol::grants;
use skep_protocol::value::{EntityType, ParentType};
use skep_query::entities::{MAPPING_RULE, MEMBER_CLIENT, MEMBER_GROUP, MEMBER_USER, ROLE};

use crate::rest::decode::identity::{members, parents};
use crate::rest::operations::path::Id;
use crate::rest::operations::rows::operations;
use crate::rest::queries::identity;

operations! { "Roles":
    POST "/v2/roles" () createRole {
        does: IdentityCommand(CreateRole) = |call| parents::create(ParentType::Role, call.text, call.front),
    }
    PUT "/v2/roles/{roleId}" (roleId: Id) updateRole {
        does: IdentityCommand(UpdateRole) = |call| parents::update(ParentType::Role, roleId, call.text, call.front),
    }
    DELETE "/v2/roles/{roleId}" (roleId: Id) deleteRole {
        does: IdentityCommand(DeleteRole) = |call| parents::delete(ParentType::Role, roleId, call.text, call.front),
    }
    PUT "/v2/roles/{roleId}/clients/{clientId}" (roleId: Id, clientId: Id) assignRoleToClient {
        does: IdentityCommand(AddToRole) = |call| members::assign(((ParentType::Role, roleId), (EntityType::Client, clientId)), call.text, call.front),
    }
    DELETE "/v2/roles/{roleId}/clients/{clientId}" (roleId: Id, clientId: Id) unassignRoleFromClient {
        does: IdentityCommand(RemoveFromRole) = |call| members::unassign(((ParentType::Role, roleId), (EntityType::Client, clientId)), call.text, call.front),
    }
    PUT "/v2/roles/{roleId}/groups/{groupId}" (roleId: Id, groupId: Id) assignRoleToGroup {
        does: IdentityCommand(AddToRole) = |call| members::assign(((ParentType::Role, roleId), (EntityType::Group, groupId)), call.text, call.front),
    }
    DELETE "/v2/roles/{roleId}/groups/{groupId}" (roleId: Id, groupId: Id) unassignRoleFromGroup {
        does: IdentityCommand(RemoveFromRole) = |call| members::unassign(((ParentType::Role, roleId), (EntityType::Group, groupId)), call.text, call.front),
    }
    PUT "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}" (roleId: Id, mappingRuleId: Id) assignRoleToMappingRule {
        does: IdentityCommand(AddToRole) = |call| members::assign(((ParentType::Role, roleId), (EntityType::MappingRule, mappingRuleId)), call.text, call.front),
    }
    DELETE "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}" (roleId: Id, mappingRuleId: Id) unassignRoleFromMappingRule {
        does: IdentityCommand(RemoveFromRole) = |call| members::unassign(((ParentType::Role, roleId), (EntityType::MappingRule, mappingRuleId)), call.text, call.front),
    }
    PUT "/v2/roles/{roleId}/users/{username}" (roleId: Id, username: Id) assignRoleToUser {
        does: IdentityCommand(AddToRole) = |call| members::assign(((ParentType::Role, roleId), (EntityType::User, username)), call.text, call.front),
    }
    DELETE "/v2/roles/{roleId}/users/{username}" (roleId: Id, username: Id) unassignRoleFromUser {
        does: IdentityCommand(RemoveFromRole) = |call| members::unassign(((ParentType::Role, roleId), (EntityType::User, username)), call.text, call.front),
    }
    POST "/v2/roles/search" () searchRoles {
        does: Query(ROLE) = |call| identity::all(&ROLE, call.text, call.parts),
        needs: Need::Filters(grants![Role: Read]),
    }
    GET "/v2/roles/{roleId}" (roleId: Id) getRole {
        does: Query(ROLE) = |_| identity::role(&roleId),
        needs: Need::AnyOf(grants![Role: Read], On::Found),
    }
    POST "/v2/roles/{roleId}/clients/search" (roleId: Id) searchClientsForRole {
        does: Query(MEMBER_CLIENT) = |call| identity::members(&MEMBER_CLIENT, (ParentType::Role, roleId), call.text, call.parts),
        needs: Need::Filters(grants![Role: Read]),
    }
    POST "/v2/roles/{roleId}/groups/search" (roleId: Id) searchGroupsForRole {
        does: Query(MEMBER_GROUP) = |call| identity::members(&MEMBER_GROUP, (ParentType::Role, roleId), call.text, call.parts),
        needs: Need::Filters(grants![Role: Read]),
    }
    POST "/v2/roles/{roleId}/mapping-rules/search" (roleId: Id) searchMappingRulesForRole {
        does: Query(MAPPING_RULE) = |call| identity::belonging((&MAPPING_RULE, "mappingRuleId"), (ParentType::Role, roleId), call.text, call.parts),
        needs: Need::Filters(grants![MappingRule: Read]),
    }
    POST "/v2/roles/{roleId}/users/search" (roleId: Id) searchUsersForRole {
        does: Query(MEMBER_USER) = |call| identity::members(&MEMBER_USER, (ParentType::Role, roleId), call.text, call.parts),
        needs: Need::Filters(grants![Role: Read]),
    }
}
