//! Scheduled events in simulated time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The pending events, ordered by time and then by insertion.
#[derive(Debug)]
pub struct Agenda<H> {
    /// Current time in microseconds since the start of the simulation.
    pub now: u64,
    /// Number of events that have happened.
    pub steps: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    happenings: BTreeMap<u64, H>,
    sequence: u64,
}

impl<H> Default for Agenda<H> {
    fn default() -> Agenda<H> {
        Agenda {
            now: 0,
            steps: 0,
            queue: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            sequence: 0,
        }
    }
}

impl<H> Agenda<H> {
    pub fn after(&mut self, delay: u64, happening: H) {
        self.sequence += 1;
        self.queue.push(Reverse((self.now + delay, self.sequence)));
        self.happenings.insert(self.sequence, happening);
    }

    /// Takes the next event. If there is none up to `end`, advances the time to `end` and returns `None`.
    pub fn next(&mut self, end: u64) -> Option<H> {
        while let Some(Reverse((time, number))) = self.queue.peek().copied() {
            if time > end {
                break;
            }
            self.queue.pop();
            self.now = time;
            if let Some(happening) = self.happenings.remove(&number) {
                self.steps += 1;
                return Some(happening);
            }
        }
        self.now = end;
        None
    }

    /// Removes events that should not happen.
    pub fn retain(&mut self, mut happens: impl FnMut(&H) -> bool) {
        self.happenings.retain(|_, happening| happens(happening));
    }
}
