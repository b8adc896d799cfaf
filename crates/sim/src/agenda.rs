//! What happens when, in simulated time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What is going to happen, in the order of time; what was added first comes first.
#[derive(Debug)]
pub struct Agenda<H> {
    /// Microseconds since the world began.
    pub now: u64,
    /// What has happened so far.
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

    /// What happens next, unless it is after `end`: then it is `end` now.
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

    /// Some of it does not happen.
    pub fn retain(&mut self, mut happens: impl FnMut(&H) -> bool) {
        self.happenings.retain(|_, happening| happens(happening));
    }
}
