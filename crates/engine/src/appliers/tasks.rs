//! Work that others do: jobs, user tasks, the listeners of both, and the incidents that stop them.

pub mod global_listener;
pub mod incident;
pub mod job;
pub mod job_batch;
pub mod user_task;
