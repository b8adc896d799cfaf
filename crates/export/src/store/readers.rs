//! The threads that answer queries.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Sender, TrySendError, bounded};
use parking_lot::Mutex;
use skep_query::QueryError;

use crate::sqlite::{Place, Reader, SqliteError};

/// Queries that wait; more are refused.
const MAX_WAITING: usize = 256;

/// What a thread does with its connection; without one it tells who waits.
pub type Job = Box<dyn FnOnce(Result<&mut Reader, QueryError>) + Send>;

pub struct Readers {
    jobs: Mutex<Option<Sender<Job>>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl Readers {
    pub fn start(place: &Place, partition: u32, count: usize) -> Result<Readers, SqliteError> {
        let (jobs, waiting) = bounded::<Job>(MAX_WAITING);
        let mut threads = Vec::new();
        for _ in 0..count.max(1) {
            let mut reader = Reader::open(place.clone())?;
            let waiting = waiting.clone();
            let work = move || {
                for job in waiting {
                    // One query that fails so takes its answer with it, not the thread.
                    if catch_unwind(AssertUnwindSafe(|| job(Ok(&mut reader)))).is_err() {
                        tracing::error!(
                            code = "PANIC",
                            partition,
                            "a query panicked; this is a bug"
                        );
                    }
                }
            };
            let thread = std::thread::Builder::new().name(format!("query-{partition}"));
            match thread.spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    tracing::error!(code = "SECONDARY_STORAGE", partition, %error, "a thread for queries cannot start")
                }
            }
        }
        Ok(Readers {
            jobs: Mutex::new(Some(jobs)),
            threads: Mutex::new(threads),
        })
    }

    /// Never blocks: what cannot wait is told so at once.
    pub fn submit(&self, job: Job) {
        let Some(jobs) = self.jobs.lock().clone() else {
            return job(Err(stopping()));
        };
        match jobs.try_send(job) {
            Ok(()) => {}
            Err(TrySendError::Full(job)) => job(Err(QueryError::Busy)),
            Err(TrySendError::Disconnected(job)) => job(Err(stopping())),
        }
    }

    pub fn stop(&self) {
        self.jobs.lock().take();
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
    }
}

fn stopping() -> QueryError {
    QueryError::Unavailable("The node stops. Send the query again when it is back.".to_string())
}
