//! Work of a command beyond its budget: steps that wait for a later batch.

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::origin::Origin;

/// An element of the scope's process, to be activated within the scope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    pub scope: Key,
    pub element: u32,
    /// The sequence flow that leads here; `None` for joins and start events.
    pub via: Option<u32>,
    /// Sequence flow tokens that the activation consumes.
    pub consumed_flows: u32,
}

/// One step in the life of an element instance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    Activate(Activation),
    /// The target of this trigger (PROCESS_EVENT TRIGGERING) is activated.
    ActivateTriggered(Key),
    /// The element has received the event it waited for.
    Complete(Key),
    Terminate(Key),
    /// The children of a scope end, this one first; with none, the oldest.
    TerminateChildren {
        scope: Key,
        next: Key,
        /// The newest of them; with none, all.
        last: Key,
    },
    /// The next inner instance of this multi-instance body begins.
    ActivateInner(Key),
    /// The process that this call activity calls begins.
    Call {
        caller: Key,
        definition: Key,
    },
    /// The last child of a terminating scope has ended.
    Terminated(Key),
    /// A published message goes to the subscriptions that wait for it.
    CorrelateMessage(Key),
    /// An activated event throws its signal.
    ThrowSignal(Key),
    /// A signal goes to the subscriptions behind this one.
    DeliverSignal {
        signal: Key,
        after: Key,
    },
    /// Variables have changed that this subscription's condition may see.
    EvaluateCondition(Key),
    /// The same for very many of them: those of a scope behind this one.
    CheckConditions {
        check: Key,
        after: Key,
    },
    /// The conditions that start processes are evaluated: those behind this one.
    EvaluateStarts {
        evaluation: Key,
        after: Key,
    },
    /// A compensation is thrown: this completed activity is next to be compensated.
    Compensate {
        thrower: Key,
        subscription: Key,
    },
    /// The migration of this process instance continues.
    Migrate(Key),
    /// Everything that must be compensated has been found: the handlers are activated, this one first.
    ActivateHandlers {
        thrower: Key,
        handler: Key,
    },
    /// The modification of a process instance: the next of its instructions is carried out, counted through all of them.
    Modify {
        instance: Key,
        next: u32,
    },
    /// An element that a modification terminates begins to terminate with all that is in it: this element instance is next.
    ModifyTerminate {
        instance: Key,
        next: u32,
        at: Key,
    },
    /// It has terminated from the inside: the content of this one is next.
    ModifyTerminated {
        instance: Key,
        next: u32,
        at: Key,
    },
    /// A user, group, role, tenant or mapping rule is being deleted: the next of its memberships and authorizations go. Since version 7 of
    /// the protocol between nodes.
    DeleteIdentity(Key),
}

/// A step with the number of steps that led to it since the last wait: this reveals a loop that never waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedStep {
    pub step: Step,
    pub chain: u32,
}

/// CONTINUED: this many steps were taken off the front of the continuation, and these were added at its end. One without
/// steps has ended. The record's key names the continuation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinuationValue {
    pub taken: u32,
    pub steps: Vec<QueuedStep>,
    /// Too many steps waited: nothing more is activated or completed by it.
    pub runaway: bool,
    /// The origin of the command whose work was postponed; set when it begins. `None`: there is nothing to record.
    pub origin: Option<Box<Origin>>,
}
