//! A partition's secondary storage: the thread that fills it, and those that answer queries.

mod filling;
mod freshness;
mod readers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use skep_query::{Answer, Consistency, Query, QueryError};

use self::filling::Filling;
use self::freshness::Freshness;
use self::readers::Readers;
use crate::audit::AuditConfig;
use crate::driver::Driver;
use crate::log::{CommittedLog, LogProgress};
use crate::sqlite::{Place, Reader, SqliteError, Writer};
use crate::status::Status;
use crate::target::Source;

/// The name under which operators find secondary storage among the exporters.
pub const ID: &str = "secondary-storage";

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct Config {
    /// Changes are collected this long before they are stored, unless somebody asks for them.
    pub window: Duration,
    /// How long a query waits for what was acknowledged before it (`skep.query.max-wait`).
    pub max_wait: Duration,
    /// Ended process instances are kept this long.
    pub history_ttl: Duration,
    /// Threads that answer queries.
    pub readers: usize,
    pub audit: AuditConfig,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            window: Duration::from_millis(100),
            max_wait: Duration::from_secs(1),
            history_ttl: Duration::from_secs(30 * 24 * 3600),
            readers: 2,
            audit: AuditConfig::default(),
        }
    }
}

pub struct Store {
    config: Config,
    progress: Arc<LogProgress>,
    freshness: Arc<Freshness>,
    status: Arc<Status>,
    readers: Readers,
    exporter: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// The file within a partition's directory.
fn file(directory: &Path) -> PathBuf {
    directory.join("query.sqlite")
}

impl Store {
    /// Opens the file in `directory`, or makes it, and starts to fill it from the log.
    ///
    /// `definitions`: the bodies of the PROCESS records that the engine's state holds. They are needed when the file is new
    /// and the log no longer has them.
    ///
    /// # Errors
    /// The file cannot be opened, or is not ours.
    pub fn open(
        directory: &Path,
        partition: u32,
        config: Config,
        log: impl CommittedLog,
        progress: Arc<LogProgress>,
        definitions: Vec<Bytes>,
    ) -> Result<Store, SqliteError> {
        let place = Place::new(&file(directory));
        let writer = Writer::open(place.clone())?;
        let position = writer.position()?;
        let status = Arc::new(Status::new(ID, position));
        let freshness = Arc::new(Freshness::new(position, status.clone()));
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        for _ in 0..config.readers.max(1) {
            sources.push(Box::new(Reader::open(place.clone())?));
        }
        let readers = Readers::start(sources, &format!("query-{partition}"));
        let filling = Filling::new(
            Box::new(writer),
            position,
            config.clone(),
            freshness.clone(),
            partition,
            definitions,
        );
        let driver = Driver::new(filling, log, progress.clone(), status.clone(), partition);
        let exporter = driver.start();
        Ok(Store {
            config,
            progress,
            freshness,
            status,
            readers,
            exporter: Mutex::new(exporter),
        })
    }

    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// A client has heard of what is committed up to this entry, on another node perhaps: what it asks for is to be there.
    pub fn expect(&self, entry: u64) {
        self.progress.expect(entry);
    }

    /// Answers on a thread of the store; `done` gets the answer and how many milliseconds of acknowledged history it lacks.
    /// Never blocks.
    pub fn query(
        &self,
        query: Query,
        consistency: Consistency,
        done: impl FnOnce(Result<(Answer, u64), QueryError>) + Send + 'static,
    ) {
        let wanted = match consistency {
            Consistency::ReadYourWrites => self.progress.acknowledged(),
            Consistency::Eventual => 0,
        };
        let freshness = self.freshness.clone();
        let max_wait = self.config.max_wait;
        self.readers.submit(Box::new(move |reader| {
            let reader = match reader.and_then(|reader| reader.open().map(|()| reader)) {
                Ok(reader) => reader,
                Err(error) => return done(Err(error)),
            };
            let behind = freshness.wait_for(wanted, max_wait);
            done(reader.answer(&query).map(|answer| (answer, behind)));
        }));
    }

    /// Stores what is committed and ends the threads.
    pub fn stop(&self) {
        self.status.stop();
        if let Some(exporter) = self.exporter.lock().take() {
            let _ = exporter.join();
        }
        self.readers.stop();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
    }
}
