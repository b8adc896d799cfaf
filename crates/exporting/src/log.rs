//! The committed log, as far as exporting needs to know of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::status::Status;

/// Why entries could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LogError {
    /// They are gone: the first entry that is there.
    #[error("the log begins with entry {first}")]
    Compacted { first: u64 },
    #[error("the log cannot be read: {0}")]
    Unreadable(String),
}

/// Reads committed entries, from any thread.
pub trait CommittedLog: Send + 'static {
    /// Entries from `from` to before `to`, about `max_bytes` of them: their indices and payloads. Entries that carry nothing
    /// may be left out.
    fn read(&self, from: u64, to: u64, max_bytes: usize) -> Result<Vec<(u64, Bytes)>, LogError>;
}

/// How far the log is committed: the partition tells, exporters look.
#[derive(Debug, Default)]
pub struct LogProgress {
    committed: AtomicU64,
    /// An entry that somebody knows to be committed elsewhere.
    expected: AtomicU64,
    /// How many exporters have nothing to do and want to be woken.
    asleep: AtomicUsize,
    exporters: Mutex<Vec<Arc<Status>>>,
}

impl LogProgress {
    /// Entries up to this one are committed. To be told before what depends on them leaves, so that who has an answer and
    /// then asks finds what it told of. Costs nothing while the exporters are busy.
    pub fn commit(&self, index: u64) {
        if self.committed.fetch_max(index, Ordering::Release) >= index {
            // They were woken for it already.
            return;
        }
        // An exporter says that it sleeps before it looks a last time: one of the two sees the other.
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

    /// The entry is committed, though perhaps not known to be so here: who asks now is to see it.
    pub fn expect(&self, index: u64) {
        self.expected.fetch_max(index, Ordering::Release);
    }

    /// Up to which entry what was acknowledged goes.
    pub fn acknowledged(&self) -> u64 {
        self.committed().max(self.expected.load(Ordering::Acquire))
    }

    /// The current thread is that of this exporter.
    pub(crate) fn attach(&self, exporter: &Arc<Status>) {
        *exporter.sleeper.thread.lock() = Some(std::thread::current());
        self.exporters.lock().push(exporter.clone());
    }

    pub(crate) fn detach(&self, exporter: &Arc<Status>) {
        self.exporters
            .lock()
            .retain(|known| !Arc::ptr_eq(known, exporter));
    }

    /// Sleeps until an entry after `seen` is committed, or until somebody wakes the exporter, or for `at_most`.
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

/// The thread of an exporter, which may sleep.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Sleeper {
    /// Wakes it, whatever it waits for.
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
