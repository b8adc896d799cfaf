//! The threads that answer queries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;
use skep_query::QueryError;

use crate::target::Source;

/// Queries that wait; more are refused.
const MAX_WAITING: usize = 256;

/// What a thread does with its source; without one it tells who waits.
pub type Job = Box<dyn FnOnce(Result<&mut dyn Source, QueryError>) + Send>;

pub struct Readers {
    /// That of the threads.
    name: String,
    jobs: Mutex<Option<Sender<Job>>>,
    waiting: Receiver<Job>,
    /// Threads that wait for a job.
    idle: Arc<AtomicUsize>,
    /// Those that no thread has yet: a thread begins when it is needed.
    sources: Mutex<Vec<Box<dyn Source>>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").field("name", &self.name).finish()
    }
}

impl Readers {
    /// A thread for each source, at most; `name` is that of the threads.
    pub fn new(sources: Vec<Box<dyn Source>>, name: &str) -> Readers {
        let (jobs, waiting) = bounded::<Job>(MAX_WAITING);
        Readers {
            name: name.to_string(),
            jobs: Mutex::new(Some(jobs)),
            waiting,
            idle: Arc::default(),
            sources: Mutex::new(sources),
            threads: Mutex::default(),
        }
    }

    /// Never blocks: what cannot wait is told so at once.
    pub fn submit(&self, job: Job) {
        let Some(jobs) = self.jobs.lock().clone() else {
            return job(Err(stopping()));
        };
        match jobs.try_send(job) {
            Ok(()) => self.begin_one_more(),
            Err(TrySendError::Full(job)) => job(Err(QueryError::Busy)),
            Err(TrySendError::Disconnected(job)) => job(Err(stopping())),
        }
    }

    /// More jobs wait than threads do: one more begins, if there may be more.
    fn begin_one_more(&self) {
        if self.waiting.len() <= self.idle.load(Ordering::SeqCst) {
            return;
        }
        let Some(mut source) = self.sources.lock().pop() else {
            return;
        };
        let (waiting, idle) = (self.waiting.clone(), self.idle.clone());
        let work = move || {
            loop {
                idle.fetch_add(1, Ordering::SeqCst);
                let job = waiting.recv();
                idle.fetch_sub(1, Ordering::SeqCst);
                let Ok(job) = job else { return };
                // One query that fails so takes its answer with it, not the thread.
                if catch_unwind(AssertUnwindSafe(|| job(Ok(source.as_mut())))).is_err() {
                    tracing::error!(code = "PANIC", "a query panicked; this is a bug");
                }
            }
        };
        let thread = std::thread::Builder::new().name(self.name.clone());
        match thread.spawn(work) {
            Ok(thread) => self.threads.lock().push(thread),
            Err(error) => {
                tracing::error!(code = "SECONDARY_STORAGE", %error, "a thread for queries cannot start");
                self.refuse_waiting();
            }
        }
    }

    /// Where no thread is left nobody would ever answer.
    fn refuse_waiting(&self) {
        if self.threads.lock().is_empty() {
            for job in self.waiting.try_iter() {
                job(Err(QueryError::Busy));
            }
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
        let readers = Arc::new(Readers::new(sources, "query"));
        *known = Arc::downgrade(&readers);
        readers
    }
}

pub fn stopping() -> QueryError {
    QueryError::Unavailable("The node stops. Send the query again when it is back.".to_string())
}

#[cfg(test)]
mod tests {
    use skep_query::{Answer, Query};

    use super::*;

    struct Nothing;

    impl Source for Nothing {
        fn open(&mut self) -> Result<(), QueryError> {
            Ok(())
        }

        fn answer(&mut self, _: &Query) -> Result<Answer, QueryError> {
            Err(QueryError::Busy)
        }
    }

    #[test]
    fn threads_begin_when_they_are_needed_and_each_has_its_source() {
        let sources = (0..2).map(|_| Box::new(Nothing) as Box<dyn Source>);
        let readers = Readers::new(sources.collect(), "readers");
        assert!(readers.threads.lock().is_empty());
        // Each of these holds its thread until it is let go.
        let (started, starts) = bounded(8);
        let (release, held) = bounded::<()>(0);
        for _ in 0..3 {
            let (started, held) = (started.clone(), held.clone());
            readers.submit(Box::new(move |source| {
                let _ = started.send(source.is_ok());
                let _ = held.recv();
            }));
        }
        assert_eq!((starts.recv(), starts.recv()), (Ok(true), Ok(true)));
        assert_eq!(readers.threads.lock().len(), 2);
        assert!(starts.is_empty(), "the third waits for one of the two");
        drop(release);
        assert_eq!(starts.recv(), Ok(true));
        readers.stop();
    }

    #[test]
    fn who_finds_too_many_waiting_is_refused_at_once() {
        let readers = Readers::new(vec![Box::new(Nothing)], "readers");
        let (started, starts) = bounded(1);
        let (release, held) = bounded::<()>(0);
        readers.submit(Box::new(move |_| {
            let _ = started.send(());
            let _ = held.recv();
        }));
        assert_eq!(starts.recv(), Ok(()));
        let (told, answers) = bounded(MAX_WAITING + 1);
        let submit = || {
            let told = told.clone();
            readers.submit(Box::new(move |source| {
                let _ = told.send(source.map(drop));
            }));
        };
        (0..MAX_WAITING).for_each(|_| submit());
        assert!(answers.is_empty());
        submit();
        assert_eq!(answers.try_recv(), Ok(Err(QueryError::Busy)));
        drop(release);
        readers.stop();
        assert_eq!(
            answers.try_iter().filter(Result::is_ok).count(),
            MAX_WAITING
        );
    }
}
