//! The permissions that the caller of a command or query must have. Rows state them; the engine and the gateways check
//! them.

use std::fmt;
use std::sync::Arc;

use super::{DecisionRef, ProcessRef};
use crate::document::Document;
use crate::key::Key;
use crate::permission::Permission;

/// The required permissions.
#[derive(Clone, Debug)]
pub enum Need<'c> {
    /// Any one of these, on this resource.
    AnyOf(&'static [Permission], On<'c>),
    /// Any one of `any_of` on the user task that the command is about, or on its process. One of `or_assignee` is enough for
    /// the current assignee, and one of the second part of `or_for` for the user in its first part, who gets the task.
    OfTask {
        any_of: &'static [Permission],
        or_assignee: &'static [Permission],
        or_for: Option<(&'c str, &'static [Permission])>,
    },
    /// One of the permissions to delete resources, depending on what the key names; with history, also the permission to
    /// delete the process instances or decision instances.
    ToDelete { key: Key, history: bool },
    /// To start or continue each process that the event reaches: `CREATE_PROCESS_INSTANCE` for a start event,
    /// `UPDATE_PROCESS_INSTANCE` for an instance that waits. If one is missing, the whole command is refused.
    OfEachReached(Reached<'c>),
    /// `CREATE_PROCESS_INSTANCE` on each process that starts: that of this definition, or of all whose conditions hold with
    /// these variables.
    OfEachStarted(Option<Key>, &'c Document),
    /// Nothing is refused: entities on which the caller lacks the permission are skipped.
    Filters(&'static [Permission]),
    /// Every authenticated caller may do it.
    Nothing,
    /// No client can send it: it comes from the management port, or from this partition itself.
    Internal,
}

/// An event that reaches processes its sender does not name.
#[derive(Clone, Debug)]
pub enum Reached<'c> {
    Message {
        name: &'c Arc<str>,
        correlation_key: &'c Arc<str>,
    },
    Signal(&'c Arc<str>),
}

/// The resource on which a permission is needed.
#[derive(Clone, Debug)]
pub enum On<'c> {
    /// `*`: these permissions are granted for all resources of their type, or not at all.
    Any,
    /// The resource with this id.
    Id(&'c str),
    /// The process with this key or id.
    Process(&'c ProcessRef),
    /// The decision with this key or id.
    Decision(&'c DecisionRef),
    /// The process whose instance contains the subject of the command.
    ItsProcess,
    /// The process of this instance. Another partition may have it: the gateway finds it there.
    Instance(Key),
    /// The resource of the entity that was found.
    Found,
    /// The decision of this evaluation.
    DecisionOf(Key),
    /// Each of the resources with these ids.
    Each(&'c [Arc<str>]),
}

/// As in the documentation: the alternative permissions, and what is special about them.
impl fmt::Display for Need<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::AnyOf(permissions, _) => one_of(f, permissions),
            Need::OfTask {
                any_of,
                or_assignee,
                or_for,
            } => {
                one_of(f, any_of)?;
                if !or_assignee.is_empty() {
                    f.write_str("; of the assignee ")?;
                    one_of(f, or_assignee)?;
                }
                match or_for {
                    Some((_, permissions)) => {
                        f.write_str("; for oneself ")?;
                        one_of(f, permissions)
                    }
                    None => Ok(()),
                }
            }
            Need::ToDelete { .. } => f.write_str("to delete what the key names"),
            Need::OfEachReached(_) => {
                f.write_str("to start or to update each process that is reached")
            }
            Need::OfEachStarted(..) => f.write_str("to start each process that starts"),
            Need::Filters(permissions) => {
                one_of(f, permissions)?;
                f.write_str(" (filter)")
            }
            Need::Nothing => f.write_str("–"),
            Need::Internal => f.write_str("no client"),
        }
    }
}

fn one_of(f: &mut fmt::Formatter<'_>, permissions: &[Permission]) -> fmt::Result {
    for (at, permission) in permissions.iter().enumerate() {
        let or = if at == 0 { "" } else { " or " };
        write!(f, "{or}{permission}")?;
    }
    Ok(())
}
