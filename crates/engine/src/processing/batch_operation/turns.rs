//! Batch operations take turns. Every second turn belongs to a cancellation of process instances, if there is one: whoever
//! wants to stop excess work must not have to wait until all of it is done.

use skep_protocol::Key;

use crate::state::batch_operations::BatchOperations;

/// The operations that had their turn last.
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
        if self.was_cancellation {
            other.or(cancellation)
        } else {
            cancellation.or(other)
        }
    }

    /// Records that this operation has its turn.
    pub fn begins(&mut self, key: Key, operations: &BatchOperations) {
        self.was_cancellation = operations.is_cancellation(key);
        if self.was_cancellation {
            self.cancellation = key
        } else {
            self.other = key
        }
    }
}
