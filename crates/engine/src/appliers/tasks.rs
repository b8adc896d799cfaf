//! Work done outside the engine: jobs, user tasks, the listeners of both, and the incidents that block them.

pub mod global_listener;
pub mod incident;
pub mod job;
pub mod job_batch;
pub mod user_task;
