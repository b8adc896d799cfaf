//! What its caller must be allowed to do so that a command is carried out. Stated in the rows; nobody asks for it yet.

use super::{DecisionRef, ProcessRef};
use crate::key::Key;
use crate::permission::Permission;

/// The permissions that a command takes.
#[derive(Clone, Debug)]
pub enum Need<'c> {
    /// Any one of these, on this resource.
    AnyOf(&'static [Permission], On<'c>),
    /// Any one of `any_of` on the user task that the command is about, or on its process; who has the task now needs only one of `or_assignee`.
    OfTask {
        any_of: &'static [Permission],
        or_assignee: &'static [Permission],
    },
    /// One of the permissions to delete resources, which depends on what the key names.
    ToDelete(Key),
    /// To start or go on with each process that the event reaches: `CREATE_PROCESS_INSTANCE` for a start event,
    /// `UPDATE_PROCESS_INSTANCE` for an instance that waits. One that is missing refuses all of it.
    OfEachReached,
    /// `CREATE_PROCESS_INSTANCE` on each process that starts: of this definition, or of all whose conditions hold.
    OfEachStarted(Option<Key>),
    /// Nothing is refused: what the caller may not do this to is passed over.
    Filters(&'static [Permission]),
    /// No client can send it: it comes from the management port, or from this partition itself.
    Internal,
}

/// On which resource a permission is needed.
#[derive(Clone, Debug)]
pub enum On<'c> {
    /// `*`: these are granted for all of their type, or not at all.
    Any,
    /// The resource with this id.
    Id(&'c str),
    /// The process with this key or id.
    Process(&'c ProcessRef),
    /// The decision with this key or id.
    Decision(&'c DecisionRef),
    /// The process to whose instance belongs what the command is about.
    ItsProcess,
    /// The decision of this evaluation.
    DecisionOf(Key),
}
