//! Types of BPMN elements as the record model names them.

use serde::{Deserialize, Serialize};

macro_rules! element_types {
    ($($variant:ident $name:literal,)+) => {
        /// Element types of the record model (`bpmnElementType`). Their order stands in the log: new ones go to the end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        pub enum ElementType {
            $($variant,)+
        }

        impl ElementType {
            pub const ALL: &'static [ElementType] = &[$(ElementType::$variant,)+];

            /// The name in records, for instance `SERVICE_TASK`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ElementType::$variant => $name,)+
                }
            }
        }
    };
}

element_types! {
    Process "PROCESS",
    SubProcess "SUB_PROCESS",
    EventSubProcess "EVENT_SUB_PROCESS",
    AdHocSubProcess "AD_HOC_SUB_PROCESS",
    AdHocSubProcessInnerInstance "AD_HOC_SUB_PROCESS_INNER_INSTANCE",
    StartEvent "START_EVENT",
    IntermediateCatchEvent "INTERMEDIATE_CATCH_EVENT",
    IntermediateThrowEvent "INTERMEDIATE_THROW_EVENT",
    BoundaryEvent "BOUNDARY_EVENT",
    EndEvent "END_EVENT",
    ServiceTask "SERVICE_TASK",
    ReceiveTask "RECEIVE_TASK",
    UserTask "USER_TASK",
    ManualTask "MANUAL_TASK",
    Task "TASK",
    ExclusiveGateway "EXCLUSIVE_GATEWAY",
    ParallelGateway "PARALLEL_GATEWAY",
    EventBasedGateway "EVENT_BASED_GATEWAY",
    InclusiveGateway "INCLUSIVE_GATEWAY",
    SequenceFlow "SEQUENCE_FLOW",
    MultiInstanceBody "MULTI_INSTANCE_BODY",
    CallActivity "CALL_ACTIVITY",
    BusinessRuleTask "BUSINESS_RULE_TASK",
    ScriptTask "SCRIPT_TASK",
    SendTask "SEND_TASK",
}
