//! Waits for threads that use files, up to a limit: on a disk that does not answer (NFS, a flush that hangs), a thread may not end before
//! the process does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;

/// How long a stop waits for threads: a last checkpoint of a large state takes seconds.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A thread that is to end, and what blocks until it has.
pub type Wait = (&'static str, Box<dyn FnOnce() + Send>);

/// A thread that runs until it is asked to stop.
#[derive(Debug)]
pub struct Running(Mutex<Phase>);

#[derive(Debug)]
enum Phase {
    /// `None`: it could not start.
    Runs(Option<JoinHandle<()>>),
    Ends(Arc<Ending>),
}

impl Running {
    pub fn new(thread: Option<JoinHandle<()>>) -> Running {
        Running(Mutex::new(Phase::Runs(thread)))
    }

    /// Whether it was told to end.
    pub fn is_ending(&self) -> bool {
        matches!(*self.0.lock(), Phase::Ends(_))
    }

    /// Waits until the thread has ended, which was told to, and whatever else `waits` names: it gets the thread, the first time. `name`: of
    /// the thread that waits. Who comes after somebody has waited in vain does not wait again.
    ///
    /// # Errors
    /// One of them still runs, and may still write to its files.
    pub fn wait_until(
        &self,
        deadline: Instant,
        name: &str,
        waits: impl FnOnce(Option<JoinHandle<()>>) -> Vec<Wait>,
    ) -> Result<(), Overdue> {
        let mut phase = self.0.lock();
        let ending = match &mut *phase {
            Phase::Ends(ending) => Arc::clone(ending),
            Phase::Runs(thread) => Arc::new(Ending::begin(name, waits(thread.take()))),
        };
        *phase = Phase::Ends(Arc::clone(&ending));
        drop(phase);
        ending.wait_until(deadline)
    }
}

/// Threads that are about to end.
#[derive(Debug)]
struct Ending {
    /// Disconnected once all of them have ended.
    ended: Receiver<()>,
    /// Keeps `ended` connected if nothing could wait for the threads: whether they have ended is not known then.
    _unknown: Option<Sender<()>>,
    /// The thread that is waited for.
    waits_for: Arc<Mutex<&'static str>>,
    /// Somebody has waited in vain.
    is_overdue: AtomicBool,
}

/// A thread that still runs although it should have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    pub thread: &'static str,
    /// Nobody has waited in vain before.
    pub is_first: bool,
}

impl Ending {
    /// Waits for the threads beside the caller, one after the other.
    fn begin(name: &str, waits: Vec<Wait>) -> Ending {
        let (ends, ended) = crossbeam_channel::bounded(0);
        let unknown = ends.clone();
        let first = waits.first().map(|(thread, _)| *thread);
        let waits_for = Arc::new(Mutex::new(first.unwrap_or_default()));
        let current = waits_for.clone();
        let wait = move || {
            for (thread, wait) in waits {
                *current.lock() = thread;
                wait();
            }
            drop(ends);
        };
        let thread = std::thread::Builder::new().name(name.to_string());
        let begun = thread.spawn(wait);
        Ending {
            ended,
            _unknown: begun.is_err().then_some(unknown),
            waits_for,
            is_overdue: AtomicBool::new(false),
        }
    }

    fn wait_until(&self, deadline: Instant) -> Result<(), Overdue> {
        let is_overdue = self.is_overdue.load(Ordering::Acquire);
        let deadline = if is_overdue { Instant::now() } else { deadline };
        if self.ended.recv_deadline(deadline) != Err(RecvTimeoutError::Timeout) {
            return Ok(());
        }
        Err(Overdue {
            thread: *self.waits_for.lock(),
            is_first: !self.is_overdue.swap(true, Ordering::AcqRel),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Ending, Overdue, Running, Wait};

    #[test]
    fn threads_that_end_are_waited_for_and_those_that_hang_only_once_and_by_name() {
        let (release, hangs) = crossbeam_channel::bounded::<()>(0);
        let (arrives, arrived) = crossbeam_channel::bounded::<()>(1);
        let ending = Ending::begin(
            "ends",
            vec![
                (
                    "the first",
                    Box::new(move || {
                        let _ = arrives.send(());
                    }),
                ),
                (
                    "the second",
                    Box::new(move || {
                        let _ = hangs.recv();
                    }),
                ),
            ],
        );
        arrived.recv().unwrap();
        // The name of the second is set just after the first has ended.
        while *ending.waits_for.lock() != "the second" {
            std::thread::yield_now();
        }
        let overdue = |is_first| Overdue {
            thread: "the second",
            is_first,
        };
        let soon = Instant::now() + Duration::from_millis(20);
        assert_eq!(ending.wait_until(soon), Err(overdue(true)));
        let (began, late) = (Instant::now(), Duration::from_secs(600));
        assert_eq!(ending.wait_until(began + late), Err(overdue(false)));
        assert!(began.elapsed() < late / 2, "it was waited for before");
        drop(release);
        while ending.wait_until(Instant::now()).is_err() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_thread_that_ends_is_not_overdue_however_often_it_is_waited_for() {
        let running = Running::new(Some(std::thread::spawn(|| {})));
        assert!(!running.is_ending());
        let late = Instant::now() + Duration::from_secs(600);
        for is_first in [true, false] {
            let ended = running.wait_until(late, "ends", |thread| -> Vec<Wait> {
                assert!(is_first, "the thread is taken once");
                let join = move || drop(thread.map(|thread| thread.join()));
                vec![("a thread", Box::new(join))]
            });
            assert_eq!(ended, Ok(()));
            assert!(running.is_ending());
        }
    }
}
