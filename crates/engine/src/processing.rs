//! Processors: command in, events out. A processor checks everything first and emits afterwards, so that a refused command
//! leaves no trace but its rejection.

pub(crate) mod ad_hoc;
pub(crate) mod authorization;
pub(crate) mod banning;
pub mod batch_operation;
pub(crate) mod bpmn;
pub(crate) mod clock;
pub(crate) mod cluster_variable;
pub(crate) mod context;
pub(crate) mod deployment;
pub(crate) mod exporting;
mod expressions;
pub(crate) mod global_listener;
pub mod identity;
pub(crate) mod incident_commands;
pub(crate) mod job;
pub(crate) mod kept;
pub(crate) mod message;
pub(crate) mod not_found;
pub(crate) mod process_instance;
pub(crate) mod scaling;
pub(crate) mod session;
pub(crate) mod signal;
pub(crate) mod timer;
pub(crate) mod user_task;
pub(crate) mod variable;

pub(crate) use context::{Context, Volatile};
pub(crate) use expressions::named::{CAMUNDA, Named};
pub(crate) use expressions::{conditional_evaluation, conditions, decision, evaluated, expression};
pub(crate) use message::slots;

use skep_protocol::{Rejection, RejectionType};
use std::borrow::Cow;

/// Outcome of a client command: a response now, a response later (`None`), or a rejection.
pub(crate) type Outcome = Result<Option<skep_protocol::Response>, Rejection>;

pub(crate) fn reject(
    kind: RejectionType,
    intent: &'static str,
    reason: impl Into<Cow<'static, str>>,
) -> Rejection {
    Rejection::new(kind, intent, reason)
}
