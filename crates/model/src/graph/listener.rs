//! Listeners: jobs that run when an element or user task changes.

use super::TextValue;

/// The job of an execution listener or task listener.
#[derive(Debug)]
pub struct ListenerDefinition {
    pub job_type: TextValue,
    /// Text of a whole number, or an expression that yields one.
    pub retries: TextValue,
}
