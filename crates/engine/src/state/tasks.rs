//! Work that others do: jobs, user tasks, the listeners of both, and the incidents that stop them.

pub mod global_listeners;
pub mod incidents;
pub mod jobs;
pub mod user_tasks;
