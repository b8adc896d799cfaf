//! Clients that wait for an answer, by request id.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use skep_engine::RequestId;
use skep_service::Responder;

use crate::flow_control::Permit;

/// A client on hold.
#[derive(Debug)]
pub struct Waiting {
    pub responder: Responder,
    pub received: Instant,
    pub route: Duration,
    pub inbox_wait: Duration,
    pub evaluation: Duration,
    /// `None`: it waits for something other than the partition.
    pub permit: Option<Permit>,
}

/// A slab: ids are reused once their request is answered.
#[derive(Debug, Default)]
pub struct Requests {
    slots: Vec<Option<Waiting>>,
    free: Vec<usize>,
}

impl Requests {
    /// The partition starts working on a request.
    pub fn insert(&mut self, waiting: Waiting) -> RequestId {
        waiting.responder.begins();
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index)
        {
            debug_assert!(slot.is_none(), "an id is given again once it is free");
            *slot = Some(waiting);
            return index as RequestId;
        }
        self.slots.push(Some(waiting));
        (self.slots.len() - 1) as RequestId
    }

    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Waiting> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    pub fn remove(&mut self, id: RequestId) -> Option<Waiting> {
        let waiting = self.slots.get_mut(id as usize)?.take()?;
        self.free.push(id as usize);
        debug_assert!(self.free.len() <= self.slots.len(), "an id is freed once");
        Some(waiting)
    }

    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Removes and returns all requests except these.
    pub fn drain_except(&mut self, keep: &FxHashSet<RequestId>) -> Vec<Waiting> {
        let mut drained = Vec::new();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if !keep.contains(&(index as RequestId))
                && let Some(waiting) = slot.take()
            {
                self.free.push(index);
                drained.push(waiting);
            }
        }
        debug_assert_eq!(
            self.slots.iter().filter(|slot| slot.is_none()).count(),
            self.free.len()
        );
        drained
    }

    /// Requests whose client is gone.
    pub fn abandoned(&self) -> Vec<RequestId> {
        let gone = |slot: &Option<Waiting>| {
            slot.as_ref()
                .is_some_and(|waiting| waiting.responder.is_abandoned())
        };
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| gone(slot))
            .map(|(index, _)| index as RequestId)
            .collect()
    }
}
