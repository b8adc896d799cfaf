//! Threads that answer queries.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex};
use skep_query::QueryError;

use crate::target::Source;

/// Maximum number of waiting queries; more are refused.
const MAX_WAITING: usize = 256;
/// Maximum number of waiting costly queries.
const MAX_COSTLY: usize = 32;
/// One in this many turns goes to a costly query, even if ordinary queries wait.
const COSTLY_TURN: usize = 8;

/// A query to run with a source. It receives an error if there is no source to run it with.
pub type Job = Box<dyn FnOnce(Result<&mut dyn Source, QueryError>) + Send>;

pub struct Readers {
    /// Name of the threads.
    name: String,
    desk: Arc<Desk>,
    /// Sources without a thread. Threads are started on demand.
    sources: Mutex<Vec<Box<dyn Source>>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

/// Where queries wait for threads and threads wait for queries.
#[derive(Default)]
struct Desk {
    queues: Mutex<Queues>,
    bell: Condvar,
}

/// Queues of waiting queries. Costly queries run one at a time, so that they never occupy all threads.
#[derive(Default)]
struct Queues {
    ordinary: VecDeque<Job>,
    costly: VecDeque<Job>,
    costly_runs: bool,
    turns: usize,
    /// Number of idle threads.
    idle: usize,
    stops: bool,
}

impl Queues {
    fn add(&mut self, job: Job, is_costly: bool) -> Result<(), (Job, QueryError)> {
        let (queue, most) = if is_costly {
            (&mut self.costly, MAX_COSTLY)
        } else {
            (&mut self.ordinary, MAX_WAITING)
        };
        if self.stops {
            return Err((job, stopping()));
        }
        if queue.len() >= most {
            return Err((job, QueryError::Busy));
        }
        queue.push_back(job);
        Ok(())
    }

    /// Takes the next query. Returns whether it is a costly one, too.
    fn take(&mut self) -> Option<(Job, bool)> {
        self.turns = self.turns.wrapping_add(1);
        let is_its_turn = self.ordinary.is_empty() || self.turns.is_multiple_of(COSTLY_TURN);
        if is_its_turn
            && !self.costly_runs
            && let Some(job) = self.costly.pop_front()
        {
            self.costly_runs = true;
            return Some((job, true));
        }
        self.ordinary.pop_front().map(|job| (job, false))
    }

    /// Whether another thread would have work to do.
    fn lacks_threads(&self) -> bool {
        let costly = usize::from(!self.costly.is_empty() && !self.costly_runs);
        self.ordinary.len() + costly > self.idle
    }
}

impl Desk {
    /// Waits for a query; `None`: the readers are stopping.
    fn next(&self) -> Option<(Job, bool)> {
        let mut queues = self.queues.lock();
        loop {
            if let Some(next) = queues.take() {
                return Some(next);
            }
            if queues.stops {
                return None;
            }
            queues.idle += 1;
            self.bell.wait(&mut queues);
            queues.idle -= 1;
        }
    }

    fn serve(&self, source: &mut dyn Source) {
        while let Some((job, is_costly)) = self.next() {
            // A query that panics loses its own answer, but not the thread.
            if catch_unwind(AssertUnwindSafe(|| job(Ok(&mut *source)))).is_err() {
                tracing::error!(code = "PANIC", "a query panicked; this is a bug");
            }
            if is_costly {
                self.queues.lock().costly_runs = false;
            }
        }
    }
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").field("name", &self.name).finish()
    }
}

impl Readers {
    /// Creates readers with at most one thread per source. `name` is the name of the threads.
    pub fn new(sources: Vec<Box<dyn Source>>, name: &str) -> Readers {
        Readers {
            name: name.to_string(),
            desk: Arc::default(),
            sources: Mutex::new(sources),
            threads: Mutex::default(),
        }
    }

    /// Queues a query. Never blocks: a query that cannot wait is refused at once.
    pub fn submit(&self, is_costly: bool, job: Job) {
        let mut queues = self.desk.queues.lock();
        let added = queues.add(job, is_costly);
        let lacks_threads = queues.lacks_threads();
        drop(queues);
        match added {
            Ok(()) => {
                self.desk.bell.notify_one();
                if lacks_threads {
                    self.begin_one_more();
                }
            }
            Err((job, error)) => job(Err(error)),
        }
    }

    fn begin_one_more(&self) {
        let Some(mut source) = self.sources.lock().pop() else {
            return;
        };
        let desk = Arc::clone(&self.desk);
        let thread = std::thread::Builder::new().name(self.name.clone());
        match thread.spawn(move || desk.serve(source.as_mut())) {
            Ok(thread) => self.threads.lock().push(thread),
            Err(error) => {
                tracing::error!(code = "SECONDARY_STORAGE", %error, "a thread for queries cannot start");
                self.refuse_waiting();
            }
        }
    }

    /// Refuses all waiting queries if no thread is left that could answer them.
    fn refuse_waiting(&self) {
        if self.threads.lock().is_empty() {
            let mut queues = self.desk.queues.lock();
            let mut jobs = std::mem::take(&mut queues.ordinary);
            jobs.append(&mut queues.costly);
            drop(queues);
            for job in jobs {
                job(Err(QueryError::Busy));
            }
        }
    }

    pub fn stop(&self) {
        self.desk.queues.lock().stops = true;
        self.desk.bell.notify_all();
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

/// Threads that answer queries for all partitions. They end with the last partition that uses them.
#[derive(Debug, Default)]
pub struct SharedReaders(Mutex<Weak<Readers>>);

impl SharedReaders {
    /// The existing threads, or `count` new ones.
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
    QueryError::Unavailable(
        "The node is stopping. Send the query again when it is back.".to_string(),
    )
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::bounded;
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
        // Each of these jobs blocks its thread until it is released.
        let (started, starts) = bounded(8);
        let (release, held) = bounded::<()>(0);
        for _ in 0..3 {
            let (started, held) = (started.clone(), held.clone());
            readers.submit(
                false,
                Box::new(move |source| {
                    let _ = started.send(source.is_ok());
                    let _ = held.recv();
                }),
            );
        }
        assert_eq!((starts.recv(), starts.recv()), (Ok(true), Ok(true)));
        assert_eq!(readers.threads.lock().len(), 2);
        assert!(starts.is_empty(), "the third waits for one of the two");
        drop(release);
        assert_eq!(starts.recv(), Ok(true));
        readers.stop();
    }

    #[test]
    fn a_query_is_refused_at_once_when_too_many_wait() {
        let readers = Readers::new(vec![Box::new(Nothing)], "readers");
        let (started, starts) = bounded(1);
        let (release, held) = bounded::<()>(0);
        readers.submit(
            false,
            Box::new(move |_| {
                let _ = started.send(());
                let _ = held.recv();
            }),
        );
        assert_eq!(starts.recv(), Ok(()));
        let (sender, answers) = bounded(MAX_WAITING + 1);
        let submit = || {
            let sender = sender.clone();
            readers.submit(
                false,
                Box::new(move |source| {
                    let _ = sender.send(source.map(drop));
                }),
            );
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

    /// Jobs that report their start and block until they are released.
    struct Held {
        started: crossbeam_channel::Sender<&'static str>,
        starts: crossbeam_channel::Receiver<&'static str>,
        go: crossbeam_channel::Sender<()>,
        held: crossbeam_channel::Receiver<()>,
    }

    impl Held {
        fn new() -> Held {
            let (started, starts) = bounded(64);
            let (go, held) = bounded(0);
            Held {
                started,
                starts,
                go,
                held,
            }
        }

        fn submit(&self, readers: &Readers, name: &'static str) {
            let (started, held) = (self.started.clone(), self.held.clone());
            let job: Job = Box::new(move |_| {
                let _ = started.send(name);
                let _ = held.recv();
            });
            readers.submit(name == "costly", job);
        }
    }

    #[test]
    fn costly_queries_leave_a_thread_to_others() {
        let sources = (0..2).map(|_| Box::new(Nothing) as Box<dyn Source>);
        let readers = Readers::new(sources.collect(), "readers");
        let held = Held::new();
        for _ in 0..4 {
            held.submit(&readers, "costly");
        }
        assert_eq!(held.starts.recv(), Ok("costly"));
        held.submit(&readers, "ordinary");
        assert_eq!(held.starts.recv(), Ok("ordinary"));
        // Whichever of the two ends first, the thread of the ordinary job does not take a second costly one.
        assert!(held.starts.is_empty());
        drop(held.go);
        readers.stop();
        assert_eq!(held.starts.try_iter().count(), 3, "all have their turn");
    }

    #[test]
    fn one_of_eight_turns_is_a_costly_querys() {
        let readers = Readers::new(vec![Box::new(Nothing)], "readers");
        let held = Held::new();
        held.submit(&readers, "ordinary");
        assert_eq!(held.starts.recv(), Ok("ordinary"));
        for _ in 0..3 {
            held.submit(&readers, "costly");
        }
        for _ in 0..20 {
            held.submit(&readers, "ordinary");
        }
        drop(held.go);
        readers.stop();
        let order: Vec<_> = held.starts.try_iter().collect();
        let places = order.iter().enumerate();
        let places = places.filter(|(_, name)| **name == "costly");
        let places: Vec<_> = places.map(|(place, _)| place).collect();
        // Turns are counted from the first job, which has started before.
        assert_eq!(places.len(), 3);
        let between: Vec<_> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            between.iter().all(|turns| *turns == COSTLY_TURN),
            "{order:?}"
        );
    }

    #[test]
    fn too_many_costly_queries_are_refused_and_others_are_not() {
        let readers = Readers::new(vec![Box::new(Nothing)], "readers");
        let held = Held::new();
        held.submit(&readers, "costly");
        assert_eq!(held.starts.recv(), Ok("costly"));
        let (sender, answers) = bounded(MAX_COSTLY + 2);
        for is_costly in (0..=MAX_COSTLY).map(|_| true).chain([false]) {
            let sender = sender.clone();
            let job: Job = Box::new(move |source| {
                let _ = sender.send((is_costly, source.is_ok()));
            });
            readers.submit(is_costly, job);
        }
        assert_eq!(answers.try_recv(), Ok((true, false)), "one too many");
        assert!(answers.is_empty());
        drop(held.go);
        readers.stop();
        assert_eq!(
            answers.try_iter().filter(|(_, served)| *served).count(),
            MAX_COSTLY + 1
        );
    }
}
