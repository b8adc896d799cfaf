//! The life cycle of element instances.
//!
//! [`lifecycle`] moves an instance through its states. The specifics of an element type are an [`ElementBehavior`], one
//! file per type, plus a [`Container`] for types with children. Steps are queued, not called recursively, so the depth of a
//! model costs no stack; [`queue`] bounds what one command does at a time.

mod binding;
pub(crate) mod compensation;
mod events;
pub(crate) mod flows;
mod gateways;
pub(crate) mod incidents;
pub(crate) mod lifecycle;
pub(crate) mod listeners;
pub(crate) mod mappings;
pub(crate) mod modification;
pub(crate) mod pass_through;
pub(crate) mod queue;
mod scopes;
pub(crate) mod start_instructions;
pub(crate) mod step;
pub(crate) mod subject;
mod tasks;
pub(crate) mod unusable;

use skep_model::{
    BusinessRuleTask, ElementIndex, ElementKind, MessageThrow, ScriptTask as Script, ThrowEvent,
};
use skep_protocol::Key;
use skep_protocol::value::ErrorType;
use smallvec::SmallVec;

use container::Container;
use events::subscriptions::start::NextStart;
pub(crate) use events::{
    boundary_event, catching, end_event, intermediate_catch_event, start_event, subscriptions,
    throw_event, throwing, triggers,
};
pub(crate) use gateways::{
    event_based_gateway, exclusive_gateway, inclusive_gateway, parallel_gateway,
};
pub(crate) use queue::{Budget, Steps};
pub(crate) use scopes::{
    ad_hoc_sub_process, call_activity, container, event_sub_process, multi_instance,
    output_collection, process, sub_process,
};
pub(crate) use skep_protocol::value::Step;
pub(crate) use subject::Subject;
pub(crate) use tasks::{business_rule_task, job_task, linked_resources, script_task, user_task};

use super::Context;
use crate::remote::Variables;

/// The reason why an element cannot continue; it becomes an incident.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub error_type: ErrorType,
    pub message: String,
    /// The scope whose variables an expression saw. None: the element itself.
    pub variable_scope: Key,
}

impl Problem {
    pub fn new(error_type: ErrorType, message: impl Into<String>) -> Problem {
        Problem {
            error_type,
            message: message.into(),
            variable_scope: Key::NONE,
        }
    }

    /// Sets the scope whose variables an expression of the element saw.
    pub fn seen_from(self, variable_scope: Key) -> Problem {
        Problem {
            variable_scope,
            ..self
        }
    }
}

/// How an element proceeds once it is activated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// It waits for a job, an event or its children.
    Wait,
    /// It is done; it completes when its turn comes.
    Complete,
    /// A gateway: it is left in the same step, by these sequence flows or by all.
    Leave(Option<Flows>),
}

/// Sequence flows taken when leaving an element, in order.
pub(crate) type Flows = SmallVec<[ElementIndex; 2]>;

/// Whether an element ends immediately on termination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ending {
    Now,
    /// Its children or the called instance end first. Whichever ends last queues [`Step::Terminated`].
    Waits,
}

/// The behavior of one element type.
pub(crate) trait ElementBehavior: Sync {
    /// The element is activating, and its input mappings are not applied yet: sets what they may read from it. Repeated
    /// when they are retried.
    fn prepare(&self, _cx: &mut Context<'_>, _el: &Subject) -> Result<(), Problem> {
        Ok(())
    }

    /// The element is activating, and its input mappings are applied. Everything that can fail comes first; then the
    /// behavior calls [`lifecycle::activated`] and starts what the element waits for.
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem>;

    /// The incident of an activated element is resolved. The element itself had it, because its completion was deferred.
    fn resume(&self, cx: &mut Context<'_>, el: &Subject) {
        match self.as_container() {
            // Its tokens were stuck: someone may have changed that.
            Some(_) => container::child_ended(cx, el.key),
            None => cx.steps.push(Step::Complete(el.key)),
        }
    }

    /// The incident of a terminating element is resolved.
    fn resume_termination(&self, _cx: &mut Context<'_>, _el: &Subject) {}

    /// The element is completing, and its output mappings are applied.
    fn complete(&self, _cx: &mut Context<'_>, _el: &Subject) -> Result<(), Problem> {
        Ok(())
    }

    /// The last step before completion: returns the result for whatever waits for it.
    fn hand_on(&self, _cx: &mut Context<'_>, _el: &Subject) -> Result<Variables, Problem> {
        Ok(Variables::new())
    }

    /// Nothing keeps the element from ending any more; its row is still there. Returns what begins in its place once it has ended.
    fn ending(&self, _cx: &mut Context<'_>, _el: &Subject) -> Option<NextStart> {
        None
    }

    /// The element has completed and its row is gone; `el` remembers it.
    fn completed(&self, _cx: &mut Context<'_>, _el: &Subject, _handed_on: Variables) {}

    /// The element is terminating; jobs, timers, subscriptions and incidents are already gone.
    fn terminate(&self, _cx: &mut Context<'_>, _el: &Subject) -> Ending {
        Ending::Now
    }

    /// The same for an element terminated by a modification: no listener runs, and its content is ended separately.
    fn terminate_at_once(&self, _cx: &mut Context<'_>, _el: &Subject) {}

    /// Whether the element is left through sequence flows.
    fn takes_flows(&self) -> bool {
        true
    }

    /// The element has terminated and its row is gone.
    fn terminated(&self, _cx: &mut Context<'_>, _el: &Subject) {}

    /// The element as a container, if it can have children.
    fn as_container(&self) -> Option<&'static dyn Container> {
        None
    }
}

/// The problem when a behavior runs for an element of another type: [`behavior_of`] is wrong.
fn wrong_kind(cx: &Context<'_>, el: &Subject) -> Problem {
    let id = &el.element().id;
    cx.broken(format_args!(
        "'{id}' is run by the behavior of another element type"
    ));
    Problem::new(ErrorType::Unknown, format!("'{id}' cannot be run."))
}

pub(crate) fn behavior_of(kind: &ElementKind) -> &'static dyn ElementBehavior {
    match kind {
        ElementKind::Process => &process::Process,
        ElementKind::SubProcess => &sub_process::SubProcess,
        ElementKind::EventSubProcess { .. } => &event_sub_process::EventSubProcess,
        ElementKind::StartEvent(_) => &start_event::StartEvent,
        ElementKind::ManualTask | ElementKind::Task => &pass_through::PassThrough,
        ElementKind::ParallelGateway => &parallel_gateway::ParallelGateway,
        ElementKind::EndEvent(
            event @ (ThrowEvent::Message(_)
            | ThrowEvent::Signal(_)
            | ThrowEvent::Escalation { .. }
            | ThrowEvent::Compensation { .. }),
        ) => throws(event),
        ElementKind::EndEvent(_) => &end_event::EndEvent,
        ElementKind::IntermediateCatchEvent(_) | ElementKind::ReceiveTask(_) => {
            &intermediate_catch_event::CatchEvent
        }
        ElementKind::BoundaryEvent(_) => &boundary_event::BoundaryEvent,
        ElementKind::BusinessRuleTask(BusinessRuleTask::Decision(_)) => {
            &business_rule_task::BusinessRuleTask
        }
        ElementKind::ServiceTask(_)
        | ElementKind::SendTask(MessageThrow::Job(_))
        | ElementKind::ScriptTask(Script::Job(_))
        | ElementKind::BusinessRuleTask(BusinessRuleTask::Job(_)) => &job_task::JobTask,
        ElementKind::ScriptTask(Script::Expression { .. }) => &script_task::ScriptTask,
        ElementKind::SendTask(MessageThrow::Publish) => &throw_event::PublishMessage,
        ElementKind::IntermediateThrowEvent(event) => throws(event),
        ElementKind::UserTask(_) => &user_task::UserTask,
        ElementKind::CallActivity(_) => &call_activity::CallActivity,
        ElementKind::ExclusiveGateway { .. } => &exclusive_gateway::ExclusiveGateway,
        ElementKind::MultiInstanceBody(_) => &multi_instance::MultiInstanceBody,
        ElementKind::AdHocSubProcess(_) => &ad_hoc_sub_process::AdHocSubProcess,
        ElementKind::AdHocSubProcessInnerInstance => &ad_hoc_sub_process::InnerInstance,
        ElementKind::InclusiveGateway { .. } => &inclusive_gateway::InclusiveGateway,
        ElementKind::Unusable(_) => &unusable::Unusable,
        ElementKind::EventBasedGateway { .. } => &event_based_gateway::EventBasedGateway,
        // A sequence flow never becomes an instance: it is taken.
        ElementKind::SequenceFlow(_) => &pass_through::PassThrough,
    }
}

/// The behavior of end events and intermediate throw events, by what they throw.
fn throws(event: &ThrowEvent) -> &'static dyn ElementBehavior {
    match event {
        ThrowEvent::None | ThrowEvent::Link { .. } => &throw_event::ThrowEvent,
        ThrowEvent::Message(MessageThrow::Job(_)) => &job_task::JobTask,
        ThrowEvent::Message(MessageThrow::Publish) => &throw_event::PublishMessage,
        ThrowEvent::Terminate | ThrowEvent::Error { .. } => &end_event::EndEvent,
        ThrowEvent::Signal(_) | ThrowEvent::Escalation { .. } => &throwing::Throwing,
        ThrowEvent::Compensation { .. } => &compensation::CompensationEvent,
    }
}
