//! Batch operations take turns. Every second turn is one of a cancellation of process instances, if there is any: who wants to stop what
//! makes too much work does not wait until all of it is done.

use skep_protocol::Key;

use crate::state::batch_operations::BatchOperations;

/// Whose turn it was.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    cancellation: Key,
    other: Key,
    was_cancellation: bool,
}

impl Turns {
    pub fn next(&self, operations: &BatchOperations) -> Option<Key> {
        let cancellation = operations.next_cancellation_after(self.cancellation);
        let other = operations.next_other_after(self.other);
        match self.was_cancellation {
            true => other.or(cancellation),
            false => cancellation.or(other),
        }
    }

    /// It has its turn.
    pub fn begins(&mut self, key: Key, operations: &BatchOperations) {
        self.was_cancellation = operations.is_cancellation(key);
        match self.was_cancellation {
            true => self.cancellation = key,
            false => self.other = key,
        }
    }
}
