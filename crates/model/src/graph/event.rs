//! Events: the triggers they wait for, and the results they throw.

use std::sync::Arc;

use skep_feel::Expression;

use super::{ElementIndex, FormReference, JobDefinition, TextValue};

/// A start event: of the process, of a sub-process (without trigger) or of an event sub-process.
#[derive(Debug)]
pub struct StartEvent {
    /// None for a none start event.
    pub event: Option<CatchEvent>,
    /// Of an event sub-process: whether its start terminates everything else in its scope. True elsewhere.
    pub interrupting: bool,
    /// The form for starting the process; only on a none start event, without effect in the engine.
    pub form: Option<FormReference>,
}

#[derive(Debug)]
pub struct BoundaryEvent {
    pub attached_to: ElementIndex,
    pub interrupting: bool,
    pub event: CatchEvent,
}

/// Trigger of an event. Its allowed positions are checked when the model is read.
#[derive(Debug)]
pub enum CatchEvent {
    Timer(Timer),
    Message(MessageCatch),
    /// On a start event of the process: the name of the message, whatever its correlation key.
    MessageStart(Arc<str>),
    Signal(Signal),
    Conditional(Condition),
    /// `None` catches every error code.
    Error {
        code: Option<Arc<str>>,
    },
    /// `None` catches every escalation code.
    Escalation {
        code: Option<Arc<str>>,
    },
    /// On a boundary event: the activity that undoes the one it is attached to.
    Compensation {
        handler: ElementIndex,
    },
    /// An intermediate catch event where link throw events of this name in the same scope continue.
    Link {
        name: Arc<str>,
    },
}

impl CatchEvent {
    /// The name in records (`bpmnEventType`).
    pub fn event_type(&self) -> &'static str {
        match self {
            CatchEvent::Timer(_) => "TIMER",
            CatchEvent::Message(_) | CatchEvent::MessageStart(_) => "MESSAGE",
            CatchEvent::Signal(_) => "SIGNAL",
            CatchEvent::Conditional(_) => "CONDITIONAL",
            CatchEvent::Error { .. } => "ERROR",
            CatchEvent::Escalation { .. } => "ESCALATION",
            CatchEvent::Compensation { .. } => "COMPENSATION",
            CatchEvent::Link { .. } => "LINK",
        }
    }
}

/// Effect of an end event or intermediate throw event. Errors and termination belong to end events, links to throw events.
#[derive(Debug)]
pub enum ThrowEvent {
    None,
    Terminate,
    Error {
        code: TextValue,
    },
    Message(MessageThrow),
    Signal(Signal),
    Escalation {
        code: TextValue,
    },
    Compensation {
        /// The activity to compensate; `None`: everything in the scope.
        activity: Option<ElementIndex>,
    },
    Link {
        /// The catch event where the token continues.
        target: ElementIndex,
    },
}

impl ThrowEvent {
    /// The name in records (`bpmnEventType`).
    pub fn event_type(&self) -> &'static str {
        match self {
            ThrowEvent::None => "NONE",
            ThrowEvent::Terminate => "TERMINATE",
            ThrowEvent::Error { .. } => "ERROR",
            ThrowEvent::Message(_) => "MESSAGE",
            ThrowEvent::Signal(_) => "SIGNAL",
            ThrowEvent::Escalation { .. } => "ESCALATION",
            ThrowEvent::Compensation { .. } => "COMPENSATION",
            ThrowEvent::Link { .. } => "LINK",
        }
    }
}

#[derive(Debug)]
pub enum Timer {
    /// ISO 8601 date-time with zone.
    Date(TextValue),
    /// ISO 8601 duration.
    Duration(TextValue),
    /// `R[n]/duration`, `R[n]/start/duration` or cron; on start events of the process, and on events that do not interrupt.
    Cycle(TextValue),
}

#[derive(Debug)]
pub struct MessageCatch {
    pub name: TextValue,
    pub correlation_key: Expression,
}

/// A signal, by the name under which it is caught and thrown. It is constant on start events of the process.
#[derive(Debug)]
pub struct Signal {
    pub name: TextValue,
}

/// Trigger of a conditional event: the expression becomes true when variables change.
#[derive(Debug)]
pub struct Condition {
    pub expression: Expression,
    /// The variables whose changes count; empty for all.
    pub variable_names: Vec<Arc<str>>,
    /// Which changes count.
    pub on_create: bool,
    pub on_update: bool,
}

/// How a message is thrown, by an event or a send task.
#[derive(Debug)]
pub enum MessageThrow {
    /// A job for a worker.
    Job(JobDefinition),
    /// `zeebe:publishMessage`, which is accepted and raises an incident when it is reached, as in the reference engine.
    Publish,
}
