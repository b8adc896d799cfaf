//! The committed log, as seen by exporters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::commit_times::CommitTimes;
use crate::status::Status;

/// Reasons why entries could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LogError {
    /// They have been compacted. `first` is the first entry that is left.
    #[error("the log begins with entry {first}")]
    Compacted { first: u64 },
    #[error("the log cannot be read: {0}")]
    Unreadable(String),
}

/// Reads committed entries from any thread.
pub trait CommittedLog: Send + 'static {
    /// Reads entries from `from` up to but excluding `to`, about `max_bytes` in total: their indices and payloads. Entries
    /// without payload may be omitted.
    fn read(&self, from: u64, to: u64, max_bytes: usize) -> Result<Vec<(u64, Bytes)>, LogError>;
}

/// The commit progress of the log: the partition updates it, exporters read it.
#[derive(Debug, Default)]
pub struct LogProgress {
    committed: AtomicU64,
    /// An entry known to be committed on another node.
    expected: AtomicU64,
    times: Mutex<CommitTimes>,
    /// Number of exporters that are idle and want to be woken.
    asleep: AtomicUsize,
    exporters: Mutex<Vec<Arc<Status>>>,
}

impl LogProgress {
    /// Marks entries up to this one as committed. Must be called before any effect of them becomes visible, so that a client
    /// with an answer finds the change by a query. Costs little while the exporters are busy.
    pub fn commit(&self, index: u64) {
        let before = self.acknowledged();
        if self.committed.fetch_max(index, Ordering::Release) >= index {
            // They were already woken for it.
            return;
        }
        self.note(before, index);
        // An exporter announces its sleep before it checks one last time, so one of the two sees the other.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) > 0 {
            for exporter in self.exporters.lock().iter() {
                exporter.sleeper.wake_if_asleep();
            }
        }
    }

    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    /// Marks an entry as committed on another node, so that queries wait for it.
    pub fn expect(&self, index: u64) {
        let before = self.acknowledged();
        self.expected.fetch_max(index, Ordering::Release);
        self.note(before, index);
    }

    /// The entries known after a start were committed at an unknown time.
    fn note(&self, before: u64, index: u64) {
        if before > 0 && index > before {
            self.times.lock().note(before + 1, Instant::now());
        }
    }

    /// When the first entry after `reached` was committed, about; `None` if that is unknown, as for entries from before the start.
    pub fn committed_at(&self, reached: u64) -> Option<Instant> {
        self.times.lock().of_first_after(reached)
    }

    /// Forgets the times of entries up to this one: secondary storage has them.
    pub fn forget_times(&self, reached: u64) {
        self.times.lock().forget(reached);
    }

    /// The entry up to which changes have been acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.committed().max(self.expected.load(Ordering::Acquire))
    }

    /// Registers the current thread as that of the exporter.
    pub(crate) fn attach(&self, exporter: &Arc<Status>) {
        *exporter.sleeper.thread.lock() = Some(std::thread::current());
        self.exporters.lock().push(exporter.clone());
    }

    pub(crate) fn detach(&self, exporter: &Arc<Status>) {
        self.exporters
            .lock()
            .retain(|known| !Arc::ptr_eq(known, exporter));
    }

    /// Sleeps until an entry after `seen` is committed, the exporter is woken, or `at_most` has passed.
    pub(crate) fn sleep(&self, exporter: &Sleeper, seen: u64, at_most: Duration) {
        exporter.asleep.store(true, Ordering::Relaxed);
        self.asleep.fetch_add(1, Ordering::Relaxed);
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.committed() <= seen {
            std::thread::park_timeout(at_most);
        }
        self.asleep.fetch_sub(1, Ordering::Relaxed);
        exporter.asleep.store(false, Ordering::Relaxed);
    }
}

/// The thread of an exporter, which may be asleep.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Sleeper {
    /// Wakes the thread, whatever it waits for.
    pub fn wake(&self) {
        if let Some(thread) = &*self.thread.lock() {
            thread.unpark();
        }
    }

    fn wake_if_asleep(&self) {
        if self.asleep.swap(false, Ordering::Relaxed) {
            self.wake();
        }
    }
}
