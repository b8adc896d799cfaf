//! The committed log, as far as exporting needs to know of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

use bytes::Bytes;
use parking_lot::Mutex;

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
    /// The exporter has nothing to do and wants to be woken.
    asleep: AtomicBool,
    exporter: Mutex<Option<Thread>>,
}

impl LogProgress {
    /// Entries up to this one are committed. To be told before what depends on them leaves, so that who has an answer and
    /// then asks finds what it told of. Costs nothing while the exporter is busy.
    pub fn commit(&self, index: u64) {
        self.committed.fetch_max(index, Ordering::Release);
        // The exporter says that it sleeps before it looks a last time: one of the two sees the other.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    /// Wakes the exporter, whatever it waits for.
    pub(crate) fn wake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
        if let Some(thread) = &*self.exporter.lock() {
            thread.unpark();
        }
    }

    /// The current thread is the exporter.
    pub(crate) fn attach(&self) {
        *self.exporter.lock() = Some(std::thread::current());
    }

    /// Sleeps until an entry after `seen` is committed, or until somebody wakes the exporter, or for `at_most`.
    pub(crate) fn sleep(&self, seen: u64, at_most: std::time::Duration) {
        self.asleep.store(true, Ordering::Relaxed);
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.committed() <= seen {
            std::thread::park_timeout(at_most);
        }
        self.asleep.store(false, Ordering::Relaxed);
    }
}
