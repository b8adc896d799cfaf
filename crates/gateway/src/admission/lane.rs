//! Slots whose number can change while they are taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skep_protocol::command::Peer;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::shares::Counted;

/// Slots, and how many requests wait for one, first come, first served.
#[derive(Debug)]
pub struct Lane {
    slots: Arc<Semaphore>,
    /// The number of slots. Only [`Lane::resize`] changes it.
    size: AtomicUsize,
    /// Taken slots that must not be passed on when they come back, as there are fewer now.
    owed: Arc<AtomicUsize>,
    waiting: AtomicUsize,
}

/// The number of slots, and how many of them are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub all: usize,
    pub taken: usize,
}

/// The right to send a request to the broker; dropping it lets the next request in.
#[derive(Debug)]
pub struct Slot {
    /// `None` only while it is being dropped.
    permit: Option<OwnedSemaphorePermit>,
    owed: Arc<AtomicUsize>,
    /// Where clients have a share.
    pub counted: Option<Box<Counted>>,
}

impl Slot {
    /// Where the request comes from, if its sender has a share by that.
    pub fn peer(&self) -> Peer {
        let counted = self.counted.as_ref();
        counted.map_or(Peer::Unknown, |counted| counted.peer())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let one_less = |owed: usize| owed.checked_sub(1);
        let is_owed = self
            .owed
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        if let (Ok(_), Some(permit)) = (is_owed, self.permit.take()) {
            permit.forget();
        }
    }
}

impl Lane {
    pub fn new(size: usize) -> Lane {
        Lane {
            slots: Arc::new(Semaphore::new(size)),
            size: AtomicUsize::new(size),
            owed: Arc::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// More may be taken than there are, after [`Lane::resize`].
    pub fn slots(&self) -> Slots {
        let all = self.size.load(Ordering::Relaxed);
        let permits = all + self.owed.load(Ordering::Relaxed);
        let taken = permits.saturating_sub(self.slots.available_permits());
        Slots { all, taken }
    }

    pub fn enter_at_once(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(self.slot(permit))
    }

    /// Waits for a slot.
    ///
    /// # Errors
    /// There will be none any more.
    pub async fn enter(&self) -> Result<Slot, AcquireError> {
        let permit = Arc::clone(&self.slots).acquire_owned().await?;
        Ok(self.slot(permit))
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> Slot {
        Slot {
            permit: Some(permit),
            owed: Arc::clone(&self.owed),
            counted: None,
        }
    }

    /// Counts a request as waiting, and returns how many are waiting already.
    pub fn queue(&self) -> (Waiting<'_>, usize) {
        let ahead = self.waiting.fetch_add(1, Ordering::Relaxed);
        (Waiting(&self.waiting), ahead)
    }

    /// Changes the number of slots. Excess slots that are taken are given up when they come back. One caller at a time.
    pub fn resize(&self, size: usize) {
        let before = self.size.swap(size, Ordering::Relaxed);
        if let Some(fewer) = before.checked_sub(size) {
            let forgotten = self.slots.forget_permits(fewer);
            self.owed.fetch_add(fewer - forgotten, Ordering::AcqRel);
            return;
        }
        let more = size - before;
        let mut paid = 0;
        let pay = |owed: usize| {
            paid = owed.min(more);
            Some(owed - paid)
        };
        // It never fails, as it always changes something.
        let _ = self
            .owed
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, pay);
        self.slots.add_permits(more - paid);
    }
}

/// A waiting request, counted until this is dropped, also with its future.
pub struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(all: usize, taken: usize) -> Slots {
        Slots { all, taken }
    }

    fn enter_all(lane: &Lane) -> Vec<Slot> {
        std::iter::from_fn(|| lane.enter_at_once()).collect()
    }

    #[test]
    fn free_slots_go_at_once_and_taken_ones_when_they_come_back() {
        let lane = Lane::new(4);
        let mut taken = enter_all(&lane);
        assert_eq!((taken.len(), lane.slots()), (4, slots(4, 4)));
        taken.pop();
        lane.resize(1);
        assert_eq!(lane.slots(), slots(1, 3));
        for _ in 0..2 {
            taken.pop();
            assert!(lane.enter_at_once().is_none());
        }
        taken.pop();
        assert_eq!((lane.slots(), enter_all(&lane).len()), (slots(1, 0), 1));
    }

    #[test]
    fn more_slots_are_first_those_that_were_to_be_given_up() {
        let lane = Lane::new(4);
        let taken = enter_all(&lane);
        lane.resize(1);
        lane.resize(3);
        assert!(lane.enter_at_once().is_none());
        lane.resize(6);
        let more = enter_all(&lane);
        assert_eq!((more.len(), lane.slots()), (2, slots(6, 6)));
        drop((taken, more));
        assert_eq!((lane.slots(), enter_all(&lane).len()), (slots(6, 0), 6));
    }

    #[tokio::test]
    async fn a_change_wakes_those_that_wait() {
        let lane = Lane::new(1);
        let first = lane.enter_at_once();
        let (second, ()) = tokio::join!(lane.enter(), async { lane.resize(2) });
        assert_eq!(lane.slots(), slots(2, 2));
        drop((first, second));
    }
}
