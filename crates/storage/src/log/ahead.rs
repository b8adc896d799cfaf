//! Space written ahead: the next segment, filled with zeros by a thread of its own.
//!
//! If the blocks were written before, a flush has only data to flush. In a file that is being extended, or in blocks that were only
//! reserved, each flush has to commit the file system's journal as well.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use super::Log;
use super::append::extend;
use super::segment::Spare;
use crate::StorageError;
use crate::disk::Disk;

/// Bytes written and flushed at once, so that the log's own flushes are hardly delayed.
const PIECE: u64 = 1 << 20;

/// A segment that was not written ahead grows up to this size before the next one is prepared: a rarely used log stays small.
const BEGIN: u64 = 8 << 20;

/// A spare segment to be created, on any thread.
pub struct Preparation {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    length: u64,
}

impl Preparation {
    /// Writes the zeros. Returns false, and leaves no file, if it was told to stop.
    ///
    /// # Errors
    /// The disk failed; there is no file in that case either. The log does without: it grows where it is.
    pub fn run(&self, stop: &AtomicBool) -> Result<bool, StorageError> {
        let made = self.write(stop);
        if !matches!(made, Ok(true)) {
            // Its space belongs to those that need it now. A file that cannot be removed is used as it is.
            drop(self.disk.remove(&self.path));
        }
        made
    }

    fn write(&self, stop: &AtomicBool) -> Result<bool, StorageError> {
        let failed = |operation| move |error| StorageError::io(operation, &self.path, error);
        let file = self
            .disk
            .open(&self.path, true)
            .map_err(failed("creating"))?;
        let mut at = 0;
        while at < self.length {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let started = Instant::now();
            let end = self.length.min(at + PIECE);
            extend(&*file, at, end).map_err(failed("extending"))?;
            file.sync_data().map_err(failed("flushing"))?;
            at = end;
            // The log writer needs the disk as well, and there is time.
            std::thread::sleep(started.elapsed());
        }
        Ok(true)
    }
}

impl Log {
    /// The next segment to prepare, if it is time to and there is none: run it on another thread, then call [`Log::prepared`]. One at a
    /// time.
    pub fn preparation(&self) -> Option<Preparation> {
        let length = self.config.segment_bytes;
        let begin = match self.allocated {
            // Segments that the log frees come in time to be reused.
            allocated if allocated >= length => length / 2,
            _ => (length / 2).min(BEGIN),
        };
        let wanted = self.spares.is_empty() && self.end >= begin;
        wanted.then(|| Preparation {
            disk: Arc::clone(&self.disk),
            path: ahead_path(&self.directory),
            length,
        })
    }

    /// The preparation has ended. `made`: the result of [`Preparation::run`].
    pub fn prepared(&mut self, made: bool) {
        if made {
            self.spares.push(Spare {
                path: ahead_path(&self.directory),
                length: self.config.segment_bytes,
            });
        }
    }
}

fn ahead_path(directory: &Path) -> PathBuf {
    directory.join("ahead.spare")
}

/// The thread that prepares the next segment of a log, while there is one to prepare.
#[derive(Default)]
pub(super) struct Preparer {
    running: Option<(JoinHandle<bool>, Arc<AtomicBool>)>,
    /// Set if the disk had no space, or failed: not tried again for this segment.
    failed_at: Option<u64>,
}

impl Preparer {
    /// Called after each append: hands over the prepared segment, and starts the next preparation.
    pub(super) fn look(&mut self, log: &mut Log) {
        let generation = log.generation();
        match &self.running {
            Some((thread, _)) if !thread.is_finished() => return,
            Some(_) => {
                let made = self.join();
                log.prepared(made);
                self.failed_at = (!made).then_some(generation);
            }
            None => {}
        }
        if self.failed_at == Some(generation) {
            return;
        }
        let Some(preparation) = log.preparation() else {
            return;
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("log-ahead".into())
            .spawn(move || preparation.run(&stopped).unwrap_or(false));
        match thread {
            Ok(thread) => self.running = Some((thread, stop)),
            Err(_) => self.failed_at = Some(generation),
        }
    }

    fn join(&mut self) -> bool {
        let running = self.running.take();
        running.is_some_and(|(thread, _)| thread.join().unwrap_or(false))
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        if let Some((_, stop)) = &self.running {
            stop.store(true, Ordering::Relaxed);
        }
        self.join();
    }
}
