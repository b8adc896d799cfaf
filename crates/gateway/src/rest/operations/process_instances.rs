//! Operations of process instances.

use skep_protocol::command::{BatchCommand, Command, Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};

use super::rows::operations;
use crate::rest::decode::{ad_hoc, batch_operations, migration, modification, process_instances};
use crate::rest::queries::wait_states::WAIT_STATE;
use crate::rest::queries::{self, What};

operations! { "Process instances":
    POST "/v2/process-instances" () createProcessInstance {
        does: Command(CreateProcessInstance) = |call| process_instances::create(call.text, call.front),
        rpc: [CreateProcessInstance, CreateProcessInstanceWithResult],
    }
    POST "/v2/process-instances/{processInstanceKey}/cancellation" (processInstanceKey: Key) cancelProcessInstance {
        does: Command(CancelProcessInstance) = |call| process_instances::cancel(processInstanceKey, call.text, call.front),
        rpc: [CancelProcessInstance],
    }
    POST "/v2/process-instances/{processInstanceKey}/migration" (processInstanceKey: Key) migrateProcessInstance {
        does: Command(MigrateProcessInstance) = |call| migration::migrate(processInstanceKey, call.text, call.front),
        rpc: [MigrateProcessInstance],
    }
    POST "/v2/process-instances/{processInstanceKey}/modification" (processInstanceKey: Key) modifyProcessInstance {
        does: Command(ModifyProcessInstance) = |call| modification::modify(processInstanceKey, call.text, call.front),
        rpc: [ModifyProcessInstance],
    }
    PUT "/v2/element-instances/{elementInstanceKey}/variables" (elementInstanceKey: Key) createElementInstanceVariables {
        does: Command(SetVariables) = |call| process_instances::set_variables(elementInstanceKey, call.text, call.front),
        rpc: [SetVariables],
    }
    POST "/v2/element-instances/ad-hoc-activities/{adHocSubProcessInstanceKey}/activation" (adHocSubProcessInstanceKey: Key) activateAdHocSubProcessActivities {
        does: Command(ActivateAdHoc) = |call| ad_hoc::activate(adHocSubProcessInstanceKey, call.text, call.front),
    }
    POST "/v2/process-instances/{processInstanceKey}/deletion" (processInstanceKey: Key) deleteProcessInstance {
        does: BatchCommand(DeleteHistory) = |call| batch_operations::delete_process_instance(processInstanceKey, call.text, call.front),
    }
    POST "/v2/process-instances/{processInstanceKey}/incident-resolution" (processInstanceKey: Key) resolveProcessInstanceIncidents {
        does: BatchCommand(Create) = |call| batch_operations::incidents_of(processInstanceKey, call.text, call.front),
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::Found),
    }
    POST "/v2/process-instances/search" () searchProcessInstances {
        does: Page(PROCESS_INSTANCE),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/process-instances/{processInstanceKey}" (processInstanceKey: Key) getProcessInstance {
        does: One(PROCESS_INSTANCE),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    GET "/v2/process-instances/{processInstanceKey}/call-hierarchy" (processInstanceKey: Key) getProcessInstanceCallHierarchy {
        does: Query(PROCESS_INSTANCE) = |_| Ok(What::CallHierarchy(processInstanceKey)),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    GET "/v2/process-instances/{processInstanceKey}/sequence-flows" (processInstanceKey: Key) getProcessInstanceSequenceFlows {
        does: Query(ELEMENT_INSTANCE) = |_| Ok(What::SequenceFlows(processInstanceKey)),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    GET "/v2/process-instances/{processInstanceKey}/statistics/element-instances" (processInstanceKey: Key) getProcessInstanceStatistics {
        does: Query(ELEMENT_INSTANCE) = |_| Ok(What::ElementStatistics(processInstanceKey)),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/process-instances/{processInstanceKey}/statistics/wait-states" (processInstanceKey: Key) getProcessInstanceWaitStateStatistics {
        does: Query(WAIT_STATE) = |_| Ok(What::WaitStateStatistics(processInstanceKey)),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/process-instances/{processInstanceKey}/waiting-states" (processInstanceKey: Key) getProcessInstanceWaitingStates {
        does: Query(WAIT_STATE) = |_| Ok(What::WaitingStates(processInstanceKey)),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/skep/v1/process-instances/{processInstanceKey}/diagnosis" (processInstanceKey: Key) getProcessInstanceDiagnosis {
        does: Query(WAIT_STATE) = |_| Ok(What::Diagnosis(processInstanceKey)),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
}
