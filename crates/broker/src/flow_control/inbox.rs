//! What may wait in a partition's inbox, whatever it is: also commands that finish work, which the request limit never
//! refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Commands that wait for their turn.
pub const MAX_WAITING: usize = 10_000;
/// Bytes of commands that wait for their turn. One larger command may wait alone.
pub const MAX_WAITING_BYTES: usize = 64 << 20;

/// Counts what waits. Taken by the router, given back when the partition takes the command out.
#[derive(Debug, Default)]
pub struct InboxRoom {
    commands: AtomicUsize,
    bytes: AtomicUsize,
}

impl InboxRoom {
    /// Room for a command of so many bytes; `None` when there is none now.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Place> {
        let commands = self.commands.fetch_add(1, Ordering::AcqRel);
        let waiting = self.bytes.fetch_add(bytes, Ordering::AcqRel);
        // It gives itself back when it is dropped.
        let place = Place {
            room: self.clone(),
            bytes,
        };
        let alone = commands == 0;
        let fits = commands < MAX_WAITING && waiting.saturating_add(bytes) <= MAX_WAITING_BYTES;
        (alone || fits).then_some(place)
    }

    pub fn commands(&self) -> usize {
        self.commands.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The room of one command.
#[derive(Debug)]
pub struct Place {
    room: Arc<InboxRoom>,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        let commands = self.room.commands.fetch_sub(1, Ordering::AcqRel);
        let bytes = self.room.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        debug_assert!(
            commands > 0 && bytes >= self.bytes,
            "room is given back once"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_commands_are_bounded_and_room_comes_back() {
        let room = Arc::new(InboxRoom::default());
        let large = room.take(2 * MAX_WAITING_BYTES);
        assert!(large.is_some(), "a large one waits alone");
        assert!(room.take(1).is_none());
        drop(large);
        let mut places: Vec<_> = (0..MAX_WAITING).map_while(|_| room.take(1)).collect();
        assert_eq!(places.len(), MAX_WAITING);
        assert!(room.take(1).is_none());
        places.pop();
        assert!(room.take(MAX_WAITING_BYTES).is_none());
        assert!(room.take(1).is_some());
        drop(places);
        assert_eq!((room.commands(), room.bytes()), (0, 0));
    }
}
