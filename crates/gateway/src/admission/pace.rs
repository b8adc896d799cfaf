//! Limits how much new work is let in at a time: less when commands wait too long for their turn.
//!
//! All work that a node has in hand shares its threads, so each piece waits for the others. If more new work is offered than
//! the node can do, it would fill every queue and hold up commands that advance existing work: the node would begin work that
//! it never finishes. So new work waits at the gate as soon as what was let in waits longer than it should.
//!
//! How long that is depends on whether work piles up. If many jobs wait for workers while workers complete others, more is
//! begun than finished: each millisecond that a completion waits is then one that new work has taken. Otherwise larger
//! batches are worth a wait.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::lane::Slots;

/// How long commands may wait for each other, at the partition's thread and at the caller's. A shorter time makes batches
/// small, which cost more.
const TOLERATED: Duration = Duration::from_millis(10);
/// How long they may wait in total while work piles up.
const TOLERATED_WITH_BACKLOG: Duration = Duration::from_millis(1);
/// Work piles up if this many jobs wait for a worker: more than are on their way to workers at any moment.
const BACKLOG: usize = 1_000;
/// Length of a window.
const WINDOW: Duration = Duration::from_millis(20);
/// Fewer answers are not significant.
const ENOUGH: u64 = 16;

/// Counts how long commands wait, and sets the number of slots of new work by it.
#[derive(Debug)]
pub struct Pace {
    /// Minimum and maximum number of slots.
    bounds: (usize, usize),
    /// Nanoseconds.
    waited: AtomicU64,
    waited_for_others: AtomicU64,
    answers: AtomicU64,
    /// Whether something was finished in this window.
    finishes: AtomicBool,
    since: Mutex<Instant>,
}

/// How long a command waited for its turns, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    pub all: u64,
    /// Without the time of the log, which other commands do not prolong.
    pub for_others: u64,
}

/// Answers of one window, judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How long a command waited for its turn, on average.
    wait: Duration,
    /// The same without the time that the log takes.
    wait_for_others: Duration,
    /// Whether work was finished in this window.
    finishes: bool,
}

impl Pace {
    /// There are at least `least` slots: enough to keep all partitions of a node busy.
    pub fn new(least: usize, most: usize) -> Pace {
        Pace {
            bounds: (least.min(most), most),
            waited: AtomicU64::new(0),
            waited_for_others: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            finishes: AtomicBool::new(false),
            since: Mutex::new(Instant::now()),
        }
    }

    /// Records that a command that finishes work has arrived.
    pub fn finishes(&self) {
        // All threads write here; mostly the flag is set already.
        if !self.finishes.load(Ordering::Relaxed) {
            self.finishes.store(true, Ordering::Relaxed);
        }
    }

    /// Counts a command by how long it waited for its turns. Returns the window that ends with it, if one does.
    pub fn waited(&self, waited: Waited, now: Instant) -> Option<Window> {
        self.waited.fetch_add(waited.all, Ordering::Relaxed);
        self.waited_for_others
            .fetch_add(waited.for_others, Ordering::Relaxed);
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
        let answers = self.answers.swap(0, Ordering::Relaxed).max(1);
        let mean = |sum: &AtomicU64| Duration::from_nanos(sum.swap(0, Ordering::Relaxed) / answers);
        Some(Window {
            wait: mean(&self.waited),
            wait_for_others: mean(&self.waited_for_others),
            finishes: self.finishes.swap(false, Ordering::Relaxed),
        })
    }

    /// The new number of slots, from the current slots and the jobs that wait for a worker.
    pub fn next(&self, window: Window, slots: Slots, waiting_jobs: usize) -> usize {
        let (least, most) = self.bounds;
        let piles_up = window.finishes && waiting_jobs >= BACKLOG;
        let too_long = if piles_up {
            window.wait > TOLERATED_WITH_BACKLOG
        } else {
            window.wait_for_others > TOLERATED
        };
        let next = if too_long {
            // Slots that are not taken cause no waiting.
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
        let wait = Duration::from_millis(millis);
        Window {
            wait,
            wait_for_others: wait,
            finishes: false,
        }
    }

    fn for_others(nanos: u64) -> Waited {
        Waited {
            all: nanos,
            for_others: nanos,
        }
    }

    #[test]
    fn a_window_ends_after_its_time_with_enough_answers() {
        let pace = Pace::new(LEAST, MOST);
        let start = Instant::now();
        for _ in 1..ENOUGH {
            assert_eq!(pace.waited(for_others(3_000_000), start + WINDOW * 9), None);
        }
        let end = start + WINDOW * 10;
        assert_eq!(pace.waited(for_others(3_000_000), end), Some(window(3)));
        // The next window has begun.
        for _ in 0..2 * ENOUGH {
            assert_eq!(pace.waited(for_others(5_000_000), end), None);
        }
        assert_eq!(
            pace.waited(for_others(5_000_000), end + WINDOW),
            Some(window(5))
        );
    }

    #[test]
    fn unused_slots_are_given_up_at_once_when_commands_wait() {
        let pace = Pace::new(LEAST, 100_000);
        assert_eq!(pace.next(window(11), slots(100_000, 800), 0), 700);
        assert_eq!(pace.next(window(11), slots(700, 900), 0), 613);
        assert_eq!(pace.next(window(11), slots(17, 17), 0), LEAST);
        assert_eq!(pace.next(window(600), slots(LEAST, 0), 0), LEAST);
    }

    #[test]
    fn slots_shrink_while_work_piles_up_and_some_is_finished() {
        let pace = Pace::new(LEAST, MOST);
        let at = |finishes, waiting_jobs| {
            let window = Window {
                finishes,
                ..window(2)
            };
            pace.next(window, slots(80, 80), waiting_jobs)
        };
        assert_eq!(at(true, BACKLOG), 70);
        assert_eq!(at(true, BACKLOG - 1), 90);
        // Workers would not be faster with fewer creations.
        assert_eq!(at(false, BACKLOG), 90);
    }

    #[test]
    fn the_log_counts_only_while_work_piles_up() {
        let pace = Pace::new(LEAST, MOST);
        let log = Waited {
            all: 12_000_000,
            for_others: 0,
        };
        let mut now = Instant::now();
        let mut next = |waiting_jobs| {
            now += WINDOW;
            pace.finishes();
            let windows = (0..ENOUGH).filter_map(|_| pace.waited(log, now));
            let window = windows.last().expect("a window");
            pace.next(window, slots(80, 80), waiting_jobs)
        };
        assert_eq!(next(0), 90);
        assert_eq!(next(BACKLOG), 70);
    }

    #[test]
    fn each_window_has_its_own_finishing_commands() {
        let pace = Pace::new(LEAST, MOST);
        let mut now = Instant::now();
        let mut next = || {
            now += WINDOW;
            let windows = (0..2 * ENOUGH).filter_map(|_| pace.waited(for_others(0), now));
            windows.last().expect("a window").finishes
        };
        assert!(!next());
        pace.finishes();
        assert!(next());
        assert!(!next());
    }

    #[test]
    fn all_slots_return_within_a_second_once_waits_are_short() {
        let pace = Pace::new(LEAST, MOST);
        let mut size = LEAST;
        let mut windows = 0;
        while size < MOST {
            size = pace.next(window(1), slots(size, 0), 0);
            windows += 1;
        }
        assert!(WINDOW * windows < Duration::from_secs(1), "{windows}");
        assert_eq!(pace.next(window(1), slots(size, 0), 0), MOST);
    }

    /// A request being processed by a node, which handles one at a time.
    enum Work {
        Creation,
        /// A job is sent to the worker.
        Activation,
        Completion,
    }

    /// Maximum number of jobs that the worker holds.
    const WORKER: usize = 256;
    const LONG: Duration = Duration::from_secs(5);

    /// Decides after each answer how many creations are admitted.
    trait Gate {
        fn next(&mut self, now: Duration, waited: Duration, creations: usize, jobs: usize)
        -> usize;
    }

    struct Open;

    impl Gate for Open {
        fn next(&mut self, _: Duration, _: Duration, _: usize, _: usize) -> usize {
            MOST
        }
    }

    struct Paced {
        pace: Pace,
        start: Instant,
        size: usize,
    }

    impl Gate for Paced {
        fn next(&mut self, now: Duration, waited: Duration, taken: usize, jobs: usize) -> usize {
            let nanos = u64::try_from(waited.as_nanos()).unwrap();
            self.pace.finishes();
            if let Some(window) = self.pace.waited(for_others(nanos), self.start + now) {
                let all = self.size;
                self.size = self.pace.next(window, Slots { all, taken }, jobs);
            }
            self.size
        }
    }

    /// Number of instances that a node completes in [`LONG`], with more callers waiting than it can serve and this cost of each request. An
    /// instance needs three requests.
    fn completed(cost: Duration, gate: &mut impl Gate) -> u32 {
        let mut queue: VecDeque<(Duration, Work)> = VecDeque::new();
        let (mut now, mut size) = (Duration::ZERO, MOST);
        let (mut creations, mut jobs, mut with_worker, mut completed) = (0, 0, 0, 0);
        while now < LONG {
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
            now += cost;
            match work {
                Work::Creation => (creations, jobs) = (creations - 1, jobs + 1),
                Work::Activation => queue.push_back((now, Work::Completion)),
                Work::Completion => (with_worker, completed) = (with_worker - 1, completed + 1),
            }
            size = gate.next(now, waited, creations, jobs);
        }
        completed
    }

    #[test]
    fn a_flood_of_new_work_does_not_keep_a_node_from_finishing_work() {
        // An unoptimized build, and an optimized one, where many commands fit into a short wait.
        for cost in [100, 20].map(Duration::from_micros) {
            let most = u32::try_from(LONG.as_nanos() / (3 * cost).as_nanos()).unwrap();
            let mut paced = Paced {
                pace: Pace::new(LEAST, MOST),
                start: Instant::now(),
                size: MOST,
            };
            let paced = completed(cost, &mut paced);
            assert!(paced > most / 100 * 95, "{cost:?}: {paced} of {most}");
            // Without the pace throughput drops.
            let flooded = completed(cost, &mut Open);
            assert!(flooded < most / 100 * 75, "{cost:?}: {flooded} of {most}");
        }
    }
}
