//! Operations of groups and their members.

use skep_protocol::command::{IdentityCommand, Need, On};
use skep_protocol::grants;
use skep_protocol::value::{EntityType, ParentType};
use skep_query::entities::{GROUP, MAPPING_RULE, MEMBER_CLIENT, MEMBER_USER, ROLE};

use crate::rest::decode::identity::{members, parents};
use crate::rest::operations::path::Id;
use crate::rest::operations::rows::operations;
use crate::rest::queries::identity;

operations! { "Groups":
    POST "/v2/groups" () createGroup {
        does: IdentityCommand(CreateGroup) = |call| parents::create(ParentType::Group, call.text, call.front),
    }
    PUT "/v2/groups/{groupId}" (groupId: Id) updateGroup {
        does: IdentityCommand(UpdateGroup) = |call| parents::update(ParentType::Group, groupId, call.text, call.front),
    }
    DELETE "/v2/groups/{groupId}" (groupId: Id) deleteGroup {
        does: IdentityCommand(DeleteGroup) = |call| parents::delete(ParentType::Group, groupId, call.text, call.front),
    }
    PUT "/v2/groups/{groupId}/clients/{clientId}" (groupId: Id, clientId: Id) assignClientToGroup {
        does: IdentityCommand(AddToGroup) = |call| members::assign(((ParentType::Group, groupId), (EntityType::Client, clientId)), call.text, call.front),
    }
    DELETE "/v2/groups/{groupId}/clients/{clientId}" (groupId: Id, clientId: Id) unassignClientFromGroup {
        does: IdentityCommand(RemoveFromGroup) = |call| members::unassign(((ParentType::Group, groupId), (EntityType::Client, clientId)), call.text, call.front),
    }
    PUT "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}" (groupId: Id, mappingRuleId: Id) assignMappingRuleToGroup {
        does: IdentityCommand(AddToGroup) = |call| members::assign(((ParentType::Group, groupId), (EntityType::MappingRule, mappingRuleId)), call.text, call.front),
    }
    DELETE "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}" (groupId: Id, mappingRuleId: Id) unassignMappingRuleFromGroup {
        does: IdentityCommand(RemoveFromGroup) = |call| members::unassign(((ParentType::Group, groupId), (EntityType::MappingRule, mappingRuleId)), call.text, call.front),
    }
    PUT "/v2/groups/{groupId}/users/{username}" (groupId: Id, username: Id) assignUserToGroup {
        does: IdentityCommand(AddToGroup) = |call| members::assign(((ParentType::Group, groupId), (EntityType::User, username)), call.text, call.front),
    }
    DELETE "/v2/groups/{groupId}/users/{username}" (groupId: Id, username: Id) unassignUserFromGroup {
        does: IdentityCommand(RemoveFromGroup) = |call| members::unassign(((ParentType::Group, groupId), (EntityType::User, username)), call.text, call.front),
    }
    POST "/v2/groups/search" () searchGroups {
        does: Query(GROUP) = |call| identity::all(&GROUP, call.text, call.parts),
        needs: Need::Filters(grants![Group: Read]),
    }
    GET "/v2/groups/{groupId}" (groupId: Id) getGroup {
        does: Query(GROUP) = |_| identity::group(&groupId),
        needs: Need::AnyOf(grants![Group: Read], On::Found),
    }
    POST "/v2/groups/{groupId}/clients/search" (groupId: Id) searchClientsForGroup {
        does: Query(MEMBER_CLIENT) = |call| identity::members(&MEMBER_CLIENT, (ParentType::Group, groupId), call.text, call.parts),
        needs: Need::Filters(grants![Group: Read]),
    }
    POST "/v2/groups/{groupId}/mapping-rules/search" (groupId: Id) searchMappingRulesForGroup {
        does: Query(MAPPING_RULE) = |call| identity::belonging((&MAPPING_RULE, "mappingRuleId"), (ParentType::Group, groupId), call.text, call.parts),
        needs: Need::Filters(grants![MappingRule: Read]),
    }
    POST "/v2/groups/{groupId}/roles/search" (groupId: Id) searchRolesForGroup {
        does: Query(ROLE) = |call| identity::roles_of_group(groupId, call.text, call.parts),
        needs: Need::Filters(grants![Role: Read]),
    }
    POST "/v2/groups/{groupId}/users/search" (groupId: Id) searchUsersForGroup {
        does: Query(MEMBER_USER) = |call| identity::members(&MEMBER_USER, (ParentType::Group, groupId), call.text, call.parts),
        needs: Need::Filters(grants![Group: Read]),
    }
}
