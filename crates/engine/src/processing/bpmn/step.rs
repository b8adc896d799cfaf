//! The queue of life-cycle steps of one command.

use std::sync::Arc;

use skep_model::ElementIndex;
use skep_protocol::Key;
use skep_protocol::value::ErrorType;

use super::{Problem, Subject, incidents, lifecycle};
use crate::processing::Context;
use crate::remote::Variables;
use crate::state::DeployedProcess;

/// Steps that one command may take before what is left becomes an incident: a loop without a wait state would never end.
pub(crate) const MAX_STEPS: usize = 10_000;

pub(crate) enum Step {
    Activate(Activation),
    /// The element has what it waited for.
    Complete(Key),
    CompleteInto(Key, ElementIndex),
    Terminate(Key),
    /// The last child of a terminating scope has ended.
    Terminated(Key),
}

/// An element to be activated within a scope.
pub(crate) struct Activation {
    pub process: Arc<DeployedProcess>,
    pub element: ElementIndex,
    pub scope: Key,
    /// The sequence flow that leads here; `None` for joins, boundary and start events.
    pub via: Option<ElementIndex>,
    /// Sequence flow tokens that the activation consumes.
    pub consumed_flows: u32,
    /// Variables of the event that triggered a boundary event.
    pub variables: Variables,
}

impl Activation {
    /// An activation that no sequence flow leads to.
    pub fn new(process: Arc<DeployedProcess>, element: ElementIndex, scope: Key) -> Activation {
        Activation {
            process,
            element,
            scope,
            via: None,
            consumed_flows: 0,
            variables: Variables::new(),
        }
    }
}

/// Carries out all queued steps and those that they queue.
pub(crate) fn run(cx: &mut Context<'_>) {
    let mut taken = 0;
    while let Some(step) = cx.steps.pop_front() {
        match step {
            // Ending things always comes to an end.
            Step::Terminate(key) => lifecycle::terminate(cx, key),
            Step::Terminated(key) => lifecycle::terminated(cx, key),
            _ if taken >= MAX_STEPS => put_off(cx, step),
            Step::Activate(activation) => {
                taken += 1;
                match lifecycle::activating(cx, &activation) {
                    Some(el) => {
                        lifecycle::activate(cx, &el);
                        lifecycle::accept(cx, &el, &activation.variables);
                    }
                    None => lifecycle::child_ended(cx, activation.scope),
                }
            }
            Step::Complete(key) => {
                taken += 1;
                lifecycle::complete(cx, key, None);
            }
            Step::CompleteInto(key, flow) => {
                taken += 1;
                lifecycle::complete(cx, key, Some(flow));
            }
        }
    }
}

/// The command has taken too many steps: this one waits for its incident to be resolved.
fn put_off(cx: &mut Context<'_>, step: Step) {
    let el = match step {
        Step::Activate(activation) => {
            let el = lifecycle::activating(cx, &activation);
            if let Some(el) = &el {
                lifecycle::accept(cx, el, &activation.variables);
            }
            el
        }
        Step::Complete(key) | Step::CompleteInto(key, _) => Subject::load(cx, key),
        Step::Terminate(_) | Step::Terminated(_) => None,
    };
    if let Some(el) = el {
        incidents::raise(cx, &el, too_many_steps());
    }
}

/// Queues terminations before everything else: what ends shall not go on meanwhile.
pub(crate) fn terminate_first(cx: &mut Context<'_>, keys: impl DoubleEndedIterator<Item = Key>) {
    for key in keys.rev() {
        cx.steps.push_front(Step::Terminate(key));
    }
}

fn too_many_steps() -> Problem {
    Problem::new(
        ErrorType::Unknown,
        format!(
            "The process took {MAX_STEPS} steps without a wait state; a loop in the model may never end. \
             Check its conditions, then resolve the incident to let it go on."
        ),
    )
}
