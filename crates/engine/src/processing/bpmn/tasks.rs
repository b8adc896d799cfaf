//! Tasks: work done by a job worker, a person, a decision or an expression.

pub(crate) mod business_rule_task;
pub(crate) mod job_task;
pub(crate) mod linked_resources;
pub(crate) mod script_task;
pub(crate) mod user_task;
