//! Operations of mapping rules.

use skep_protocol::command::{IdentityCommand, Need, On};
use skep_protocol::grants;
use skep_query::entities::MAPPING_RULE;

use crate::rest::decode::identity::mapping_rules;
use crate::rest::operations::path::Id;
use crate::rest::operations::rows::operations;
use crate::rest::queries::identity;

operations! { "Mapping rules":
    POST "/v2/mapping-rules" () createMappingRule {
        does: IdentityCommand(CreateMappingRule) = |call| mapping_rules::create(call.text, call.front),
    }
    PUT "/v2/mapping-rules/{mappingRuleId}" (mappingRuleId: Id) updateMappingRule {
        does: IdentityCommand(UpdateMappingRule) = |call| mapping_rules::update(mappingRuleId, call.text, call.front),
    }
    DELETE "/v2/mapping-rules/{mappingRuleId}" (mappingRuleId: Id) deleteMappingRule {
        does: IdentityCommand(DeleteMappingRule) = |call| mapping_rules::delete(mappingRuleId, call.text, call.front),
    }
    POST "/v2/mapping-rules/search" () searchMappingRule {
        does: Query(MAPPING_RULE) = |call| identity::all(&MAPPING_RULE, call.text, call.parts),
        needs: Need::Filters(grants![MappingRule: Read]),
    }
    GET "/v2/mapping-rules/{mappingRuleId}" (mappingRuleId: Id) getMappingRule {
        does: Query(MAPPING_RULE) = |_| identity::mapping_rule(&mappingRuleId),
        needs: Need::AnyOf(grants![MappingRule: Read], On::Found),
    }
}
