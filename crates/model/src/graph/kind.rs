//! The parts specific to each kind of element.

use std::sync::Arc;

use skep_feel::Expression;

use super::{
    AdHocSubProcess, BoundaryEvent, BusinessRuleTask, CalledElement, CatchEvent, ElementIndex,
    JobDefinition, MessageCatch, MessageThrow, MultiInstance, ScriptTask, StartEvent, ThrowEvent,
    UserTask,
};

/// The part specific to a kind of element.
#[derive(Debug)]
pub enum ElementKind {
    Process,
    SubProcess,
    EventSubProcess {
        /// Its one start event, which has a trigger.
        start: ElementIndex,
    },
    AdHocSubProcess(Box<AdHocSubProcess>),
    /// Contains one element that an ad-hoc sub-process activates; its id is `SUB-PROCESS#innerInstance`.
    AdHocSubProcessInnerInstance,
    /// Contains an activity that is repeated for each item of a collection. It shares the activity's id, and takes its place:
    /// sequence flows, boundary events and compensation belong to the body.
    MultiInstanceBody(Box<MultiInstance>),
    StartEvent(StartEvent),
    EndEvent(ThrowEvent),
    IntermediateCatchEvent(CatchEvent),
    IntermediateThrowEvent(ThrowEvent),
    BoundaryEvent(BoundaryEvent),
    ServiceTask(JobDefinition),
    SendTask(MessageThrow),
    ScriptTask(ScriptTask),
    BusinessRuleTask(BusinessRuleTask),
    UserTask(Box<UserTask>),
    ReceiveTask(MessageCatch),
    ManualTask,
    Task,
    CallActivity(CalledElement),
    ExclusiveGateway {
        /// The default sequence flow.
        default: Option<ElementIndex>,
    },
    InclusiveGateway {
        /// The default sequence flow.
        default: Option<ElementIndex>,
    },
    ParallelGateway,
    EventBasedGateway {
        /// The events it waits for, in document order of the flows that lead to them.
        events: Vec<ElementIndex>,
    },
    SequenceFlow(SequenceFlow),
    /// In a stored definition, with the reason: this release cannot compile it. A token that reaches it gets an incident.
    Unusable(Arc<str>),
}

#[derive(Debug)]
pub struct SequenceFlow {
    pub source: ElementIndex,
    pub target: ElementIndex,
    /// Only on flows that leave an exclusive or inclusive gateway.
    pub condition: Option<Expression>,
}
