//! The thread that writes a log: group commit.
//!
//! Requests wait in a bounded queue. The thread takes all waiting ones, writes them at once and flushes once, then reports the number of
//! the last one. A full disk does not fail a request: the thread keeps it, reports that it is stalled, and retries until there is space or
//! the writer is stopped. Any other error ends the log.
//!
//! While nothing waits, a caller may append on its own thread ([`LogWriter::append_here`]): that saves two context switches, which cost
//! more than the write itself.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use super::ahead::Preparer;
use super::append::AppendTimes;
use super::{Frame, Log};
use crate::StorageError;

/// Limits of a writer.
#[derive(Debug, Clone)]
pub struct WriterConfig {
    /// Name of the thread.
    pub name: String,
    /// Maximum number of waiting requests. A submitter blocks when there are more. Default 1024.
    pub queue: usize,
    /// Frames are merged into one write up to about this many bytes of payload. Default 4 MiB.
    pub merge_bytes: usize,
    /// How long to wait before a write is tried again after the disk was full. Default 100 ms.
    pub retry: Duration,
}

impl Default for WriterConfig {
    fn default() -> Self {
        Self {
            name: "log-writer".into(),
            queue: 1024,
            merge_bytes: 4 << 20,
            retry: Duration::from_millis(100),
        }
    }
}

/// A report from the writer to its owner, sent from the writer's thread.
#[derive(Debug)]
pub enum Report {
    /// All appends up to this number are durable.
    Written { number: u64, times: AppendTimes },
    /// The disk is full; the append with this number waits and is retried. Sent once per stall.
    Stalled { number: u64, error: StorageError },
    /// Entries up to this index were removed from the log.
    Compacted { index: u64 },
    /// The log stopped for good; nothing submitted since the last `Written` is known to be durable.
    Failed { error: Arc<StorageError> },
}

/// The writer has stopped and accepts no more requests.
#[derive(Debug, thiserror::Error)]
#[error("the log's writer has stopped")]
pub struct WriterStopped;

enum Request {
    Append { number: u64, frames: Vec<Frame> },
    Compact { index: u64, term: u64 },
    Stop,
}

/// The log, together with the thread that prepares its next segment.
struct Writing {
    log: Log,
    preparer: Preparer,
}

/// A log and the thread that writes it. Dropping it stops the thread once everything submitted is written.
pub struct LogWriter {
    requests: Sender<Request>,
    writing: Arc<Mutex<Writing>>,
    /// Number of submitted requests that are not done.
    waiting: Arc<AtomicU64>,
    /// Ends the wait for disk space.
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Arc<StorageError>>>>,
}

impl LogWriter {
    /// Starts the thread.
    pub fn spawn(
        log: Log,
        config: WriterConfig,
        report: impl FnMut(Report) + Send + 'static,
    ) -> io::Result<Self> {
        let (requests, inbox) = bounded(config.queue.max(1));
        let writing = Arc::new(Mutex::new(Writing {
            log,
            preparer: Preparer::default(),
        }));
        let waiting = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, count, stopped) = (writing.clone(), waiting.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name(config.name.clone())
            .spawn(move || {
                let worker = Worker {
                    writing: shared,
                    waiting: count,
                    config,
                    inbox,
                    report,
                    stop: stopped,
                };
                worker.run()
            })?;
        Ok(Self {
            requests,
            writing,
            waiting,
            stop,
            thread: Some(thread),
        })
    }

    /// Hands over frames. Numbers must ascend. Blocks while the queue is full.
    pub fn append(&self, number: u64, frames: Vec<Frame>) -> Result<(), WriterStopped> {
        self.submit(Request::Append { number, frames })
    }

    /// Appends on the caller's thread, which waits for the flush, and returns the report that the writer would have sent. While something
    /// waits, or when the disk is full, the frames are handed over as by [`LogWriter::append`], and the result is `None`.
    pub fn append_here(
        &self,
        number: u64,
        frames: Vec<Frame>,
    ) -> Result<Option<Report>, WriterStopped> {
        // Nobody else submits meanwhile; and once the thread has finished a request, it no longer uses the log.
        if self.waiting.load(Ordering::Acquire) == 0
            && let Some(mut writing) = self.writing.try_lock()
        {
            match writing.log.append(&frames) {
                Ok(times) => {
                    let Writing { log, preparer } = &mut *writing;
                    preparer.look(log);
                    return Ok(Some(Report::Written { number, times }));
                }
                Err(error) if error.is_disk_full() => {}
                Err(error) => {
                    return Ok(Some(Report::Failed {
                        error: Arc::new(error),
                    }));
                }
            }
        }
        self.append(number, frames).map(|()| None)
    }

    fn submit(&self, request: Request) -> Result<(), WriterStopped> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        self.requests.send(request).map_err(|_| WriterStopped)
    }

    /// Asks to remove entries up to and including `index`, whose term is given. Blocks while the queue is full.
    pub fn compact(&self, index: u64, term: u64) -> Result<(), WriterStopped> {
        self.submit(Request::Compact { index, term })
    }

    /// Writes everything submitted, marks the log as cleanly closed, and ends the thread.
    pub fn stop(mut self) -> Result<(), Arc<StorageError>> {
        self.join()
    }

    fn join(&mut self) -> Result<(), Arc<StorageError>> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        self.stop.store(true, Ordering::Release);
        // A failed send means that the thread has ended already, which the join reports too.
        let _ = self.requests.send(Request::Stop);
        thread
            .join()
            .unwrap_or_else(|panic| Err(Arc::new(panicked(&*panic))))
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        // A caller that drops instead of calling `stop` does not want the outcome; the log verifies itself when opened.
        let _ = self.join();
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> StorageError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    StorageError::WriterPanicked(text.unwrap_or("without a text").to_string())
}

/// Appends that share one write and one flush.
struct Merged {
    /// The number of the last one.
    number: u64,
    frames: Vec<Frame>,
    requests: u64,
    /// A request after them that is not an append.
    next: Option<Request>,
}

struct Worker<F> {
    writing: Arc<Mutex<Writing>>,
    waiting: Arc<AtomicU64>,
    config: WriterConfig,
    inbox: Receiver<Request>,
    report: F,
    stop: Arc<AtomicBool>,
}

impl<F: FnMut(Report)> Worker<F> {
    fn run(mut self) -> Result<(), Arc<StorageError>> {
        // Anybody who waits for a report must learn of a bug here too.
        let worked = catch_unwind(AssertUnwindSafe(|| self.work()));
        match worked.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok(()) => self.writing.lock().log.close().map_err(Arc::new),
            Err(error) => {
                let error = Arc::new(error);
                (self.report)(Report::Failed {
                    error: Arc::clone(&error),
                });
                Err(error)
            }
        }
    }

    /// Writes until it is told to stop.
    fn work(&mut self) -> Result<(), StorageError> {
        let mut waiting = None;
        loop {
            let request = match waiting.take() {
                Some(request) => request,
                None => match self.inbox.recv() {
                    Ok(request) => request,
                    Err(_) => break,
                },
            };
            match request {
                Request::Stop => break,
                Request::Append { number, frames } => {
                    let merged = self.merge(number, frames);
                    waiting = merged.next;
                    self.append(merged.number, &merged.frames)?;
                    self.waiting.fetch_sub(merged.requests, Ordering::AcqRel);
                }
                Request::Compact { index, term } => {
                    self.compact(index, term)?;
                    self.waiting.fetch_sub(1, Ordering::AcqRel);
                }
            }
            let mut writing = self.writing.lock();
            let Writing { log, preparer } = &mut *writing;
            preparer.look(log);
        }
        Ok(())
    }

    /// Adds all waiting appends to the first one.
    fn merge(&mut self, number: u64, frames: Vec<Frame>) -> Merged {
        let size = |frames: &[Frame]| -> usize {
            frames
                .iter()
                .map(|frame| match frame {
                    Frame::Entry { payload, .. } | Frame::State(payload) => payload.len(),
                    Frame::Base { .. } | Frame::Mark => 0,
                })
                .sum()
        };
        let mut bytes = size(&frames);
        let mut merged = Merged {
            number,
            frames,
            requests: 1,
            next: None,
        };
        while bytes < self.config.merge_bytes {
            match self.inbox.try_recv() {
                Ok(Request::Append {
                    number: later,
                    frames: more,
                }) => {
                    bytes += size(&more);
                    merged.number = later;
                    merged.frames.extend(more);
                    merged.requests += 1;
                }
                Ok(other) => {
                    merged.next = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        merged
    }

    fn append(&mut self, number: u64, frames: &[Frame]) -> Result<(), StorageError> {
        let mut reported = false;
        loop {
            let appended = self.writing.lock().log.append(frames);
            match appended {
                Ok(times) => {
                    (self.report)(Report::Written { number, times });
                    return Ok(());
                }
                Err(error) if error.is_disk_full() => {
                    if !reported {
                        reported = true;
                        (self.report)(Report::Stalled { number, error });
                    } else if self.stop.load(Ordering::Acquire) {
                        return Err(error);
                    }
                    std::thread::sleep(self.config.retry);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A compaction that fails for lack of space is left for the next time.
    fn compact(&mut self, index: u64, term: u64) -> Result<(), StorageError> {
        let compacted = self.writing.lock().log.compact(index, term);
        match compacted {
            Ok(()) => (self.report)(Report::Compacted { index }),
            Err(error) if error.is_disk_full() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
