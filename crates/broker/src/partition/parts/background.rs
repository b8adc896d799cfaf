//! Long-running work beside the partition's thread. The parts of a partition start it only through this trait, so a simulation decides when
//! it is done.

use std::io::Result;

/// A handle to wait for started work. Dropping it detaches the work.
pub struct Task(Box<dyn FnOnce() + Send>);

impl Task {
    /// `wait` blocks until the work has ended.
    pub fn new(wait: impl FnOnce() + Send + 'static) -> Task {
        Task(Box::new(wait))
    }

    /// Blocks until it has ended.
    pub fn wait(self) {
        (self.0)();
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Task")
    }
}

/// Starts work beside the partition's thread.
pub trait Background: Send + Sync {
    /// # Errors
    /// It cannot be started.
    fn run(&self, name: &str, job: Box<dyn FnOnce() + Send>) -> Result<Task>;
}
