//! Work done outside the engine: jobs, user tasks, the listeners of both, and the incidents that block them.

pub mod global_listeners;
pub mod incidents;
pub mod jobs;
pub mod user_tasks;
