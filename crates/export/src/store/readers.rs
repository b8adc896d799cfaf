//! The threads that answer queries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use crossbeam_channel::{Sender, TrySendError, bounded};
use parking_lot::Mutex;
use skep_query::QueryError;

use crate::target::Source;

/// Queries that wait; more are refused.
const MAX_WAITING: usize = 256;

/// What a thread does with its source; without one it tells who waits.
pub type Job = Box<dyn FnOnce(Result<&mut dyn Source, QueryError>) + Send>;

#[derive(Debug)]
pub struct Readers {
    jobs: Mutex<Option<Sender<Job>>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl Readers {
    /// A thread for each source; `name` is that of the threads.
    pub fn start(sources: Vec<Box<dyn Source>>, name: &str) -> Readers {
        let (jobs, waiting) = bounded::<Job>(MAX_WAITING);
        let mut threads = Vec::new();
        for mut source in sources {
            let waiting = waiting.clone();
            let work = move || {
                for job in waiting {
                    // One query that fails so takes its answer with it, not the thread.
                    if catch_unwind(AssertUnwindSafe(|| job(Ok(source.as_mut())))).is_err() {
                        tracing::error!(code = "PANIC", "a query panicked; this is a bug");
                    }
                }
            };
            let thread = std::thread::Builder::new().name(name.to_string());
            match thread.spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    tracing::error!(code = "SECONDARY_STORAGE", %error, "a thread for queries cannot start")
                }
            }
        }
        Readers {
            jobs: Mutex::new(Some(jobs)),
            threads: Mutex::new(threads),
        }
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

impl Drop for Readers {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The threads that answer queries of all partitions. They end with the last partition that needs them.
#[derive(Debug, Default)]
pub struct SharedReaders(Mutex<Weak<Readers>>);

impl SharedReaders {
    /// Those that there are, or `count` new ones.
    pub fn get(&self, count: usize, source: impl Fn() -> Box<dyn Source>) -> Arc<Readers> {
        let mut known = self.0.lock();
        if let Some(readers) = known.upgrade() {
            return readers;
        }
        let sources = (0..count.max(1)).map(|_| source()).collect();
        let readers = Arc::new(Readers::start(sources, "query"));
        *known = Arc::downgrade(&readers);
        readers
    }
}

pub fn stopping() -> QueryError {
    QueryError::Unavailable("The node stops. Send the query again when it is back.".to_string())
}
