//! Limits how much new work is let in at a time: less when commands wait too long for their turn.
//!
//! All work that a node has in hand shares its threads, so each piece waits for the others. If more new work is offered than
//! the node can do, it would fill every queue and hold up commands that advance existing work: the node would begin work that
//! it never finishes. So new work waits at the gate as soon as what was let in waits longer than it should.
//!
//! How long that is depends on whether work piles up. If many jobs wait for workers while workers complete others, more is
//! begun than finished: each millisecond that a completion waits, at the partition's thread or for the log, is then one that
//! new work has taken. Otherwise larger batches are worth a wait.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::lane::Slots;

#[cfg(test)]
mod node;

/// How long commands may wait for each other, at the partition's thread and at the caller's. A shorter time makes batches
/// small, which cost more.
const TOLERATED: Duration = Duration::from_millis(10);
/// How long they may wait in total while work piles up.
const TOLERATED_WITH_BACKLOG: Duration = Duration::from_millis(1);
/// Work piles up if this many jobs wait for a worker: more than are on their way to workers at any moment.
const BACKLOG: usize = 1_000;
/// Workers that finish less than one in this many commands are slow by themselves, whatever else the node does.
const FINISHING: u64 = 64;
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
    /// Commands of this window that finish work.
    finishes: AtomicU64,
    windows: Mutex<Windows>,
}

/// The windows until now. With a slow disk answers come in bursts that are further apart than windows, so shares are known from several.
#[derive(Debug)]
struct Windows {
    /// When the current one began.
    begun: Instant,
    answers: u64,
    finishes: u64,
}

impl Windows {
    fn note(&mut self, answers: u64, finishes: u64) {
        let recent = |sum: u64, more: u64| (sum - sum / 8).saturating_add(more);
        self.answers = recent(self.answers, answers);
        self.finishes = recent(self.finishes, finishes);
    }

    fn finishes(&self) -> bool {
        self.finishes > 0 && self.finishes.saturating_mul(FINISHING) >= self.answers
    }
}

/// How long a command waited, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// For its turns and for the log.
    pub all: u64,
    /// Without the time that the log takes however little is written.
    pub for_others: u64,
}

/// Answers of one window, judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How long a command waited, on average.
    wait: Duration,
    /// The same without the time that the log takes.
    wait_for_others: Duration,
    /// Whether a good part of the commands finish work.
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
            finishes: AtomicU64::new(0),
            windows: Mutex::new(Windows {
                begun: Instant::now(),
                answers: 0,
                finishes: 0,
            }),
        }
    }

    /// Records that a command that finishes work has arrived.
    pub fn finishes(&self) {
        self.finishes.fetch_add(1, Ordering::Relaxed);
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
        let mut windows = self.windows.try_lock().ok()?;
        if now.saturating_duration_since(windows.begun) < WINDOW {
            return None;
        }
        windows.begun = now;
        let answers = self.answers.swap(0, Ordering::Relaxed).max(1);
        windows.note(answers, self.finishes.swap(0, Ordering::Relaxed));
        let mean = |sum: &AtomicU64| Duration::from_nanos(sum.swap(0, Ordering::Relaxed) / answers);
        Some(Window {
            wait: mean(&self.waited),
            wait_for_others: mean(&self.waited_for_others),
            finishes: windows.finishes(),
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

/// Of the tests.
#[cfg(test)]
const MOST: usize = 256;
#[cfg(test)]
const LEAST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

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
    fn finishing_commands_count_beyond_their_window_if_they_are_a_good_part() {
        let pace = Pace::new(LEAST, MOST);
        let mut now = Instant::now();
        let mut next = |finishing: u64, answers: u64| {
            (0..finishing).for_each(|_| pace.finishes());
            now += WINDOW;
            let windows = (0..answers).filter_map(|at| {
                // The last answer ends the window.
                let now = if at + 1 < answers {
                    now - WINDOW / 2
                } else {
                    now
                };
                pace.waited(for_others(0), now)
            });
            windows.last().expect("a window").finishes
        };
        assert!(!next(0, 100));
        assert!(next(50, 100));
        // A burst of completions, and windows without any.
        for _ in 0..10 {
            assert!(next(0, 100));
        }
        // Workers that need a minute for each job, beside a flood of creations.
        let slow: Vec<bool> = (0..40).map(|_| next(1, 200)).collect();
        assert!(!slow[39], "{slow:?}");
        assert!(next(30, 200));
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
}
