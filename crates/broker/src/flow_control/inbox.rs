//! The limits of a partition's inbox. They hold for all commands, even those that finish work and that the request limit never refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of commands waiting for their turn.
pub const MAX_WAITING: usize = 10_000;
/// Maximum bytes of commands waiting for their turn. One larger command may wait alone.
pub const MAX_WAITING_BYTES: usize = 64 << 20;

/// Counts waiting commands. Capacity is taken by the router and given back when the partition takes the command out.
#[derive(Debug, Default)]
pub struct InboxCapacity {
    commands: AtomicUsize,
    bytes: AtomicUsize,
}

impl InboxCapacity {
    /// Takes room for a command of this many bytes; `None` if there is none now.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<InboxPermit> {
        let commands = self.commands.fetch_add(1, Ordering::AcqRel);
        let waiting = self.bytes.fetch_add(bytes, Ordering::AcqRel);
        // Gives itself back when it is dropped.
        let inbox_permit = InboxPermit {
            capacity: self.clone(),
            bytes,
        };
        let alone = commands == 0;
        let fits = commands < MAX_WAITING && waiting.saturating_add(bytes) <= MAX_WAITING_BYTES;
        (alone || fits).then_some(inbox_permit)
    }

    pub fn commands(&self) -> usize {
        self.commands.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The capacity taken by one command.
#[derive(Debug)]
pub struct InboxPermit {
    capacity: Arc<InboxCapacity>,
    bytes: usize,
}

impl Drop for InboxPermit {
    fn drop(&mut self) {
        let commands = self.capacity.commands.fetch_sub(1, Ordering::AcqRel);
        let bytes = self.capacity.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        debug_assert!(
            commands > 0 && bytes >= self.bytes,
            "room is given back once"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, InboxCapacity, MAX_WAITING, MAX_WAITING_BYTES};

    #[test]
    fn bytes_and_commands_are_bounded_and_room_comes_back() {
        let capacity = Arc::new(InboxCapacity::default());
        let large = capacity.take(2 * MAX_WAITING_BYTES);
        assert!(large.is_some(), "a large one waits alone");
        assert!(capacity.take(1).is_none());
        drop(large);
        let mut permits: Vec<_> = (0..MAX_WAITING).map_while(|_| capacity.take(1)).collect();
        assert_eq!(permits.len(), MAX_WAITING);
        assert!(capacity.take(1).is_none());
        permits.pop();
        assert!(capacity.take(MAX_WAITING_BYTES).is_none());
        assert!(capacity.take(1).is_some());
        drop(permits);
        assert_eq!((capacity.commands(), capacity.bytes()), (0, 0));
    }
}
