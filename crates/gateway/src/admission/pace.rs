//! How much new work is let in at a time: less, when commands wait too long for their turn.
//!
//! Everything that a node has in hand shares its threads, and each waits for the others. Where more new work is offered than
//! the node can do, it would fill every queue, and what takes work further would wait behind it: the node would begin work that
//! it never ends. So new work waits at the gate instead, as soon as what was let in waits longer than it should.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::lane::Slots;

/// Commands may wait so long for their turn: for the partition's thread, and for the caller's. A shorter time makes
/// batches small, which cost more.
const TOLERATED: Duration = Duration::from_millis(10);
/// The time that is judged as one.
const WINDOW: Duration = Duration::from_millis(20);
/// Fewer answers say nothing.
const ENOUGH: u64 = 16;

/// Counts how long commands wait, and sets the number of slots of new work by it.
#[derive(Debug)]
pub struct Pace {
    /// It never has fewer slots, nor more.
    bounds: (usize, usize),
    waited: AtomicU64,
    answers: AtomicU64,
    since: Mutex<Instant>,
}

/// Answers of a while, judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How long a command waited, on average.
    mean: Duration,
}

impl Pace {
    /// There are at least `least` slots: so many keep all partitions of a node busy.
    pub fn new(least: usize, most: usize) -> Pace {
        Pace {
            bounds: (least.min(most), most),
            waited: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            since: Mutex::new(Instant::now()),
        }
    }

    /// Counts a command that waited so long for its turns. Returns the window that ends with it, if one does.
    pub fn waited(&self, nanos: u64, now: Instant) -> Option<Window> {
        self.waited.fetch_add(nanos, Ordering::Relaxed);
        let answers = self.answers.fetch_add(1, Ordering::Relaxed) + 1;
        if answers < ENOUGH {
            return None;
        }
        // The window is judged by the thread that finds it unlocked.
        let mut since = self.since.try_lock().ok()?;
        if now.saturating_duration_since(*since) < WINDOW {
            return None;
        }
        *since = now;
        let waited = self.waited.swap(0, Ordering::Relaxed);
        let answers = self.answers.swap(0, Ordering::Relaxed).max(1);
        let mean = Duration::from_nanos(waited / answers);
        Some(Window { mean })
    }

    /// The number of slots from now on, by those that there are.
    pub fn next(&self, window: Window, slots: Slots) -> usize {
        let (least, most) = self.bounds;
        let next = if window.mean > TOLERATED {
            // Slots that are not taken make nobody wait.
            let taken = slots.taken.min(slots.all);
            taken - taken / 8
        } else {
            slots.all + (slots.all / 8).max(1)
        };
        next.clamp(least, most)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const MOST: usize = 256;
    const LEAST: usize = 16;

    fn slots(all: usize, taken: usize) -> Slots {
        Slots { all, taken }
    }

    fn window(millis: u64) -> Window {
        let mean = Duration::from_millis(millis);
        Window { mean }
    }

    #[test]
    fn a_window_ends_after_its_time_with_enough_answers() {
        let pace = Pace::new(LEAST, MOST);
        let start = Instant::now();
        for _ in 1..ENOUGH {
            assert_eq!(pace.waited(3_000_000, start + WINDOW * 9), None);
        }
        let end = start + WINDOW * 10;
        assert_eq!(pace.waited(3_000_000, end), Some(window(3)));
        // The next one has begun.
        for _ in 0..2 * ENOUGH {
            assert_eq!(pace.waited(5_000_000, end), None);
        }
        assert_eq!(pace.waited(5_000_000, end + WINDOW), Some(window(5)));
    }

    #[test]
    fn what_is_not_taken_is_given_up_at_once_when_commands_wait() {
        let pace = Pace::new(LEAST, 100_000);
        assert_eq!(pace.next(window(11), slots(100_000, 800)), 700);
        assert_eq!(pace.next(window(11), slots(700, 900)), 613);
        assert_eq!(pace.next(window(11), slots(17, 17)), LEAST);
        assert_eq!(pace.next(window(600), slots(LEAST, 0)), LEAST);
    }

    #[test]
    fn all_slots_are_back_within_a_second_of_calm() {
        let pace = Pace::new(LEAST, MOST);
        let mut size = LEAST;
        let mut windows = 0;
        while size < MOST {
            size = pace.next(window(1), slots(size, 0));
            windows += 1;
        }
        assert!(WINDOW * windows < Duration::from_secs(1), "{windows}");
        assert_eq!(pace.next(window(1), slots(size, 0)), MOST);
    }

    /// A request in the hands of a node, which does one after the other.
    enum Work {
        Creation,
        /// A job goes to the worker.
        Activation,
        Completion,
    }

    /// Jobs that the worker has at a time.
    const WORKER: usize = 256;
    /// What each request costs. An instance needs all three.
    const COST: Duration = Duration::from_micros(100);

    /// Instances that a node completes in so long a time, while more callers wait than it can serve. The gate lets in as many
    /// creations as `next` says after each answer.
    fn completed(long: Duration, mut next: impl FnMut(Duration, Duration, usize) -> usize) -> u32 {
        let mut queue: VecDeque<(Duration, Work)> = VecDeque::new();
        let (mut now, mut size) = (Duration::ZERO, MOST);
        let (mut creations, mut jobs, mut with_worker, mut completed) = (0, 0, 0, 0);
        while now < long {
            while creations < size {
                queue.push_back((now, Work::Creation));
                creations += 1;
            }
            while jobs > 0 && with_worker < WORKER {
                queue.push_back((now, Work::Activation));
                (jobs, with_worker) = (jobs - 1, with_worker + 1);
            }
            let Some((since, work)) = queue.pop_front() else {
                panic!("there is always a creation");
            };
            let waited = now - since;
            now += COST;
            match work {
                Work::Creation => (creations, jobs) = (creations - 1, jobs + 1),
                Work::Activation => queue.push_back((now, Work::Completion)),
                Work::Completion => (with_worker, completed) = (with_worker - 1, completed + 1),
            }
            size = next(now, waited, creations);
        }
        completed
    }

    #[test]
    fn a_flood_of_new_work_does_not_keep_a_node_from_ending_what_it_began() {
        let long = Duration::from_secs(5);
        let most = u32::try_from(long.as_nanos() / (3 * COST).as_nanos()).unwrap();
        let pace = Pace::new(LEAST, MOST);
        let (start, mut size) = (Instant::now(), MOST);
        let paced = completed(long, |now, waited, taken| {
            let nanos = u64::try_from(waited.as_nanos()).unwrap();
            if let Some(window) = pace.waited(nanos, start + now) {
                size = pace.next(window, slots(size, taken));
            }
            size
        });
        assert!(paced > most / 100 * 95, "{paced} of {most}");
        // It is the pace that does it.
        let flooded = completed(long, |_, _, _| MOST);
        assert!(flooded < most / 100 * 75, "{flooded} of {most}");
    }
}
