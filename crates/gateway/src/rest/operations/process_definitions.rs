//! Operations of process definitions.

use skep_protocol::command::{Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::{
    ELEMENT_DURATION, ELEMENT_INSTANCE, FORM, MESSAGE_SUBSCRIPTION, PROCESS_DEFINITION,
    PROCESS_INSTANCE, START_TIMER, VARIABLE,
};

use super::rows::operations;
use crate::rest::queries::{self, What, active_elements, statistics};

operations! { "Process definitions":
    POST "/v2/process-definitions/search" () searchProcessDefinitions {
        does: Page(PROCESS_DEFINITION),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessDefinition]),
    }
    GET "/v2/process-definitions/{processDefinitionKey}" (processDefinitionKey: Key) getProcessDefinition {
        does: One(PROCESS_DEFINITION),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessDefinition], On::Found),
    }
    GET "/v2/process-definitions/{processDefinitionKey}/xml" (processDefinitionKey: Key) getProcessDefinitionXML {
        does: Query(PROCESS_DEFINITION) = |_| queries::process_xml(processDefinitionKey),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessDefinition], On::Found),
    }
    POST "/v2/process-definitions/statistics/message-subscriptions" () getProcessDefinitionMessageSubscriptionStatistics {
        does: Query(MESSAGE_SUBSCRIPTION) = |call| statistics::subscriptions(call.text),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    POST "/v2/process-definitions/statistics/process-instances" () getProcessDefinitionInstanceStatistics {
        does: Query(PROCESS_INSTANCE) = |call| statistics::instances(call.text),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    POST "/v2/process-definitions/{processDefinitionKey}/statistics/element-instances" (processDefinitionKey: Key) getProcessDefinitionStatistics {
        does: Query(ELEMENT_INSTANCE) = |call| statistics::elements(call.text, processDefinitionKey),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    POST "/v2/process-definitions/statistics/process-instances-by-version" () getProcessDefinitionInstanceVersionStatistics {
        does: Query(PROCESS_INSTANCE) = |call| statistics::versions(call.text),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/process-definitions/{processDefinitionKey}/form" (processDefinitionKey: Key) getStartProcessForm {
        does: Query(FORM) = |_| Ok(What::StartForm(processDefinitionKey)),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessDefinition], On::Found),
    }
    POST "/v2/process-definitions/{processDefinitionKey}/variable-names/search" (processDefinitionKey: Key) searchProcessDefinitionVariableNames {
        does: Query(VARIABLE) = |call| statistics::variable_names(call.text, processDefinitionKey),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/skep/v1/process-definitions/{processDefinitionKey}/durations" (processDefinitionKey: Key) getProcessDefinitionDurations {
        does: Query(ELEMENT_DURATION) = |_| Ok(What::Durations(processDefinitionKey)),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    GET "/skep/v1/process-definitions/{processDefinitionKey}/active-elements" (processDefinitionKey: Key) getProcessDefinitionActiveElements {
        does: Query(ELEMENT_INSTANCE) = |call| active_elements::active_elements(call.parts, processDefinitionKey).map(What::ActiveElements),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    GET "/skep/v1/process-definitions/{processDefinitionKey}/start-timers" (processDefinitionKey: Key) getProcessDefinitionStartTimers {
        does: Query(START_TIMER) = |_| Ok(What::StartTimers(processDefinitionKey)),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessDefinition], On::Found),
    }
}
