//! Operations of decisions.

use skep_protocol::command::{BatchCommand, Command, Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::{DECISION_DEFINITION, DECISION_INSTANCE, DECISION_REQUIREMENTS};

use super::path::EvaluationKey;
use super::rows::operations;
use crate::rest::decode::{batch_operations, decisions};
use crate::rest::queries::{self, What};

operations! { "Decisions":
    POST "/v2/decision-definitions/evaluation" () evaluateDecision {
        does: Command(EvaluateDecision) = |call| decisions::evaluate(call.text, call.front),
        rpc: [EvaluateDecision],
    }
    POST "/v2/decision-instances/{decisionEvaluationKey}/deletion" (decisionEvaluationKey: Key) deleteDecisionInstance {
        does: BatchCommand(DeleteHistory) = |call| batch_operations::delete_decision_instance(decisionEvaluationKey, call.text, call.front),
    }
    POST "/v2/decision-definitions/search" () searchDecisionDefinitions {
        does: Page(DECISION_DEFINITION),
        needs: Need::Filters(grants![DecisionDefinition: ReadDecisionDefinition]),
    }
    GET "/v2/decision-definitions/{decisionDefinitionKey}" (decisionDefinitionKey: Key) getDecisionDefinition {
        does: One(DECISION_DEFINITION),
        needs: Need::AnyOf(grants![DecisionDefinition: ReadDecisionDefinition], On::Found),
    }
    GET "/v2/decision-definitions/{decisionDefinitionKey}/xml" (decisionDefinitionKey: Key) getDecisionDefinitionXML {
        does: Query(DECISION_REQUIREMENTS) = |_| Ok(What::DecisionXml(decisionDefinitionKey)),
        needs: Need::AnyOf(grants![DecisionDefinition: ReadDecisionDefinition], On::Found),
    }
    POST "/v2/decision-instances/search" () searchDecisionInstances {
        does: Page(DECISION_INSTANCE),
        needs: Need::Filters(grants![DecisionDefinition: ReadDecisionInstance]),
    }
    GET "/v2/decision-instances/{decisionEvaluationInstanceKey}" (decisionEvaluationInstanceKey: EvaluationKey) getDecisionInstance {
        does: Query(DECISION_INSTANCE) = |_| queries::decision_instance(&decisionEvaluationInstanceKey),
        needs: Need::AnyOf(grants![DecisionDefinition: ReadDecisionInstance], On::Found),
    }
    POST "/v2/decision-requirements/search" () searchDecisionRequirements {
        does: Page(DECISION_REQUIREMENTS),
        needs: Need::Filters(grants![DecisionRequirementsDefinition: Read]),
    }
    GET "/v2/decision-requirements/{decisionRequirementsKey}" (decisionRequirementsKey: Key) getDecisionRequirements {
        does: One(DECISION_REQUIREMENTS),
        needs: Need::AnyOf(grants![DecisionRequirementsDefinition: Read], On::Found),
    }
    GET "/v2/decision-requirements/{decisionRequirementsKey}/xml" (decisionRequirementsKey: Key) getDecisionRequirementsXML {
        does: Query(DECISION_REQUIREMENTS) = |_| queries::requirements_xml(decisionRequirementsKey),
        needs: Need::AnyOf(grants![DecisionRequirementsDefinition: Read], On::Found),
    }
}
