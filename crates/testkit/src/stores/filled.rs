//! A store filled with the records of a rig's engines.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value as Json;
use skep_exporting::LogProgress;
use skep_query::{Answer, Consistency, Entity, Query, QueryError, answer, entities, merge, search};
use skep_secondary::{AuditConfig, Config, Partition, Store, StoreLocation};

use super::Backend;
use crate::committed_log::Log;
use crate::rig::Rig;

/// The store of one partition.
pub struct Filled {
    partition: u32,
    log: Log,
    progress: Arc<LogProgress>,
    store: Store,
    config: Config,
    directory: tempfile::TempDir,
}

impl Filled {
    /// `window`: how long changes are collected before they are written.
    pub fn new(backend: Backend, partition: u32, window: Duration) -> Filled {
        Filled::with(
            backend,
            partition,
            Config {
                window,
                ..settings()
            },
        )
    }

    /// A store at this location.
    pub fn at(location: StoreLocation, partition: u32, window: Duration) -> Filled {
        Filled::open(
            partition,
            Config {
                location,
                window,
                ..settings()
            },
        )
    }

    /// A store at its own location, with these settings.
    pub fn with(backend: Backend, partition: u32, config: Config) -> Filled {
        let own = backend.config();
        Filled::open(
            partition,
            Config {
                location: own.location,
                max_wait: own.max_wait,
                ..config
            },
        )
    }

    fn open(partition: u32, config: Config) -> Filled {
        let directory = tempfile::tempdir().unwrap();
        let (log, progress) = (Log::default(), Arc::new(LogProgress::default()));
        let of = self::partition(partition, directory.path());
        let opened = Store::open(of, config.clone(), log.clone(), progress.clone());
        Filled {
            partition,
            log,
            progress,
            store: opened.expect("a store"),
            config,
            directory,
        }
    }

    /// Ends the store without storing what it has collected, and opens it again.
    #[must_use]
    pub fn crashed(self) -> Filled {
        self.store.abandon();
        drop(self.store);
        let of = self::partition(self.partition, self.directory.path());
        let (log, progress) = (self.log.clone(), self.progress.clone());
        let opened = Store::open(of, self.config.clone(), log, progress);
        Filled {
            store: opened.expect("a store"),
            ..self
        }
    }

    /// Where the file of an embedded store is.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Applies the records written by the rig's engines since the last call.
    pub fn follow(&self, batches: &[(u32, Vec<u8>)]) {
        let own = batches.iter().filter(|(id, _)| *id == self.partition);
        let own = own.map(|(_, batch)| Bytes::from(batch.clone()));
        self.log.commit(own, &self.progress);
    }

    pub fn fault(&self) -> Option<String> {
        self.store.status().fault().map(|fault| fault.reason)
    }

    /// Index of the last entry that need not be kept.
    pub fn durable(&self) -> u64 {
        self.store.status().durable().entry
    }

    /// Index of the last entry that searches find.
    pub fn exported(&self) -> u64 {
        self.store.status().exported_entry()
    }

    pub fn pulse(&self) -> skep_query::StorePulse {
        self.store.pulse()
    }

    pub fn committed(&self) -> u64 {
        self.progress.committed()
    }

    /// Stops the store; returns its fault at that time, if any.
    pub fn stop(self) -> Option<String> {
        self.store.stop();
        self.fault()
    }

    pub fn try_ask(&self, query: Query) -> Result<(Answer, u64), QueryError> {
        let (done, answer) = mpsc::channel();
        self.query(query, Consistency::ReadYourWrites, move |answered| {
            let _ = done.send(answered);
        });
        answer.recv().unwrap()
    }

    /// Sends a query without waiting for the answer.
    pub fn query(
        &self,
        query: Query,
        consistency: Consistency,
        done: impl FnOnce(Result<(Answer, u64), QueryError>) + Send + 'static,
    ) {
        self.store.query(query, consistency, done);
    }

    /// Answers a query. On a busy machine a server may take longer to create an index and answer than a query waits: then it is retried.
    pub fn ask(&self, query: Query) -> Answer {
        self.ask_or_be_refused(query).expect("an answer")
    }

    /// The same for a query that the store may refuse.
    ///
    /// # Errors
    /// The store refuses it.
    pub fn ask_or_be_refused(&self, query: Query) -> Result<Answer, QueryError> {
        let deadline = Instant::now() + Duration::from_secs(600);
        let is_busy = |error: &QueryError| {
            matches!(
                error,
                QueryError::Unavailable(_) | QueryError::TooLong { .. }
            )
        };
        let (answer, behind) = loop {
            match self.try_ask(query.clone()) {
                Err(error) if is_busy(&error) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                answered => break answered?,
            }
        };
        let fault = self.store.status().fault().map(|fault| fault.reason);
        assert_eq!((behind, fault), (0, None));
        Ok(answer)
    }

    /// The rows found by a search, as JSON.
    pub fn find(&self, entity: &'static Entity, filter: &str) -> Vec<Json> {
        let body = format!(r#"{{"filter": {filter}, "page": {{"limit": 10000}}}}"#);
        let mut search = search(entity, &body).unwrap_or_else(|error| panic!("{body}: {error}"));
        search.details = true;
        match self.ask(Query::Search(search)) {
            Answer::Page(found) => {
                let rows = found.rows.iter();
                rows.map(|row| serde_json::from_str(&answer::row(entity, row)).unwrap())
                    .collect()
            }
            other => panic!("{body}: {other:?}"),
        }
    }

    /// Checks that every list can be paged through to its end, with each row exactly once.
    pub fn check_pages(&self) {
        for entity in entities::ALL {
            let all = self.find(entity, "{}").len();
            let mut walked = 0;
            let mut after = String::new();
            loop {
                let body = format!(r#"{{"page": {{"limit": 2{after}}}}}"#);
                let search = search(entity, &body);
                let search = search.unwrap_or_else(|error| panic!("{}: {error}", entity.table));
                let Answer::Page(found) = self.ask(Query::Search(search.clone())) else {
                    panic!("{}: {body}", entity.table);
                };
                walked += found.rows.len();
                let Some(last) = found.rows.last() else {
                    break;
                };
                let cursor = merge::cursor_of(&search, last).encode(search.entity);
                after = format!(r#", "after": "{cursor}""#);
            }
            assert_eq!(walked, all, "{}", entity.table);
        }
    }

    pub fn one(&self, entity: &'static Entity, filter: &str) -> Json {
        let mut found = self.find(entity, filter);
        assert_eq!(found.len(), 1, "{filter}: {found:?}");
        found.remove(0)
    }
}

/// Keeps everything: the rig's clock shows a past date.
fn settings() -> Config {
    Config {
        history_ttl: Duration::from_secs(100 * 365 * 24 * 3600),
        max_wait: Backend::Embedded.config().max_wait,
        ..Config::default()
    }
}

/// A store of one partition with this audit log.
pub fn audited(backend: Backend, audit: AuditConfig) -> Filled {
    Filled::with(
        backend,
        1,
        Config {
            window: Duration::from_millis(5),
            audit,
            ..settings()
        },
    )
}

/// A rig with one partition and its store.
pub fn rig(backend: Backend) -> (Rig, Filled) {
    let mut rig = Rig::new();
    rig.record_batches();
    (rig, Filled::new(backend, 1, Duration::from_millis(5)))
}

pub fn follow(rig: &mut Rig, store: &Filled) {
    store.follow(&std::mem::take(&mut rig.batches));
}

/// A partition of a cluster that is called "test".
pub fn partition(id: u32, directory: &Path) -> Partition<'_> {
    Partition {
        id,
        directory,
        cluster: "test",
        definitions: vec![],
        metrics: Default::default(),
        elsewhere: false,
    }
}
