//! Secondary storage of a partition: the thread that fills it, and the threads that answer queries.

mod filling;
mod forgetting;
mod freshness;
mod moves;
pub(crate) mod readers;

use skep_exporting::TargetError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use skep_query::{Answer, Consistency, Query, QueryError, StorePulse};

use self::filling::Filling;
use self::freshness::Freshness;
use self::moves::{Moves, REFRESHED};
use self::readers::Readers;
use crate::audit::AuditConfig;
use crate::documents::{self, Documents};
use crate::postgres::{self, Rdbms};
use crate::sqlite::{self, SqliteError};
use crate::stored_rows::StoredRows;
use crate::target::{Source, Target};
use skep_exporting::Driver;
use skep_exporting::Position;
use skep_exporting::Status;
use skep_exporting::{CommittedLog, LogProgress};
use skep_exporting::{ExportMetrics, Sink};

/// Interval for checking the progress of another node.
const LOOK: Duration = Duration::from_millis(10);

/// Exporter ID of secondary storage, as shown to operators.
pub const ID: &str = "secondary-storage";

/// Where rows are stored.
#[derive(Clone, Debug)]
pub enum StoreLocation {
    /// In a SQLite file per partition.
    Embedded,
    /// In a PostgreSQL database shared by all partitions.
    Rdbms(Arc<Rdbms>),
    /// In OpenSearch or Elasticsearch indices shared by all partitions.
    Documents(Arc<Documents>),
}

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct Config {
    pub location: StoreLocation,
    /// How long changes are collected before they are stored, unless a query asks for them.
    pub window: Duration,
    /// Maximum time a query waits for acknowledged changes (`skep.query.max-wait`).
    pub max_wait: Duration,
    /// How long ended process instances are kept.
    pub history_ttl: Duration,
    /// Whether callers belong to tenants (`camunda.security.multi-tenancy.checks-enabled`). Rows then have an index on their tenant, in which
    /// those of a tenant are found in a time that tells nothing of other tenants.
    pub tenants: bool,
    /// Number of threads that answer queries: per partition, or in total for a shared database.
    pub readers: usize,
    pub audit: AuditConfig,
}

impl Config {
    fn sink(&self) -> Sink {
        match self.location {
            StoreLocation::Embedded | StoreLocation::Rdbms(_) => Sink::Sql,
            StoreLocation::Documents(_) => Sink::Other,
        }
    }

    /// Maximum delay between the commit of a change and its visibility to searches.
    fn visible_after(&self) -> Duration {
        match self.location {
            StoreLocation::Embedded | StoreLocation::Rdbms(_) => Duration::ZERO,
            StoreLocation::Documents(_) => REFRESHED,
        }
    }

    /// Whether all partitions keep their rows in one place.
    pub fn is_shared(&self) -> bool {
        !matches!(self.location, StoreLocation::Embedded)
    }

    /// Reads how far the rows go that all partitions keep in one place, and changes nothing there. Blocks. `None`: each partition has its
    /// own.
    ///
    /// # Errors
    /// The place cannot be reached, refuses, or its rows are of a later version of Skep.
    pub fn stored_rows(&self) -> Result<Option<StoredRows>, TargetError> {
        match &self.location {
            StoreLocation::Embedded => Ok(None),
            StoreLocation::Rdbms(database) => database.stored_rows().map(Some),
            StoreLocation::Documents(server) => server.stored_rows().map(Some),
        }
    }

    /// Empties the shared storage while nobody writes to it. The files of embedded stores are deleted with their directories.
    /// Blocks. `number` identifies the purge and is greater than that of all purges before. A completed purge is not repeated,
    /// so a node that was paused during a purge deletes nothing that was written since.
    ///
    /// # Errors
    /// The storage cannot be reached, refuses, was emptied by a later purge, or belongs to another cluster. Some data may have
    /// been deleted already; the purge has to be repeated.
    pub fn purge(&self, cluster: &str, number: u64) -> Result<(), TargetError> {
        match &self.location {
            StoreLocation::Embedded => Ok(()),
            StoreLocation::Rdbms(database) => database.purge(cluster, number),
            StoreLocation::Documents(server) => server.purge(cluster, number),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            location: StoreLocation::Embedded,
            window: Duration::from_millis(100),
            max_wait: Duration::from_secs(1),
            history_ttl: Duration::from_secs(30 * 24 * 3600),
            tenants: false,
            readers: 2,
            audit: AuditConfig::default(),
        }
    }
}

pub struct Store {
    partition: u32,
    config: Config,
    progress: Arc<LogProgress>,
    freshness: Arc<Freshness>,
    status: Arc<Status>,
    readers: Arc<Readers>,
    exporter: Mutex<Option<std::thread::JoinHandle<()>>>,
    /// The file of an embedded store.
    file: sqlite::DatabaseFile,
}

/// Data about a partition that its store needs.
pub struct Partition<'a> {
    pub id: u32,
    /// Directory for files.
    pub directory: &'a Path,
    /// The cluster ID.
    pub cluster: &'a str,
    /// Bodies of the PROCESS records in the engine's state. They are needed when the store is new and the log no longer
    /// contains them.
    pub definitions: Vec<Bytes>,
    pub metrics: ExportMetrics,
    /// Another node may fill the shared store. This node then waits for [`Status::set_elsewhere`].
    pub elsewhere: bool,
}

/// The database file in a partition's directory.
fn file(directory: &Path) -> PathBuf {
    directory.join("query.sqlite")
}

/// The position of the embedded store in this directory, or the beginning if there is none.
///
/// # Errors
/// The store exists but cannot be read.
pub fn stored_position(directory: &Path) -> Result<Position, SqliteError> {
    let file = file(directory);
    if !file.exists() {
        return Ok(Position::default());
    }
    sqlite::position(&sqlite::DatabaseFile::new(&file))
}

/// The position of a copy made by [`Store::copy`].
///
/// # Errors
/// It cannot be read.
pub fn copied_position(copy: &Path) -> Result<Position, SqliteError> {
    sqlite::position(&sqlite::DatabaseFile::new(copy))
}

/// Moves the damaged embedded store in this directory aside and returns its new path. Nobody may have it open. A store that was
/// moved there earlier is replaced.
///
/// # Errors
/// The directory cannot be written.
pub fn set_aside(directory: &Path) -> std::io::Result<PathBuf> {
    let (file, aside) = (file(directory), directory.join("query.damaged"));
    for beside in ["-wal", "-shm"] {
        let with = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(beside);
            name
        };
        match std::fs::rename(with(&file), with(&aside)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(file, &aside)?;
    Ok(aside)
}

/// Replaces the embedded store in this directory with a copy. Nobody may have the store open.
///
/// # Errors
/// The directory cannot be written. Either the copy or the previous store is still in place.
pub fn put_copy(copy: &Path, directory: &Path) -> std::io::Result<()> {
    let file = file(directory);
    std::fs::File::open(copy)?.sync_all()?;
    for beside in ["-wal", "-shm"] {
        let mut name = file.clone().into_os_string();
        name.push(beside);
        match std::fs::remove_file(name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(copy, file)?;
    std::fs::File::open(directory)?.sync_all()
}

impl Store {
    /// Bytes of the embedded store's file and of its write-ahead log; `None` if rows are stored elsewhere.
    pub fn room(&self) -> Option<(u64, u64)> {
        (!self.config.is_shared()).then(|| self.file.taken())
    }

    /// Opens or creates the file in `directory`, or uses the shared database, and starts filling the store from the log.
    ///
    /// # Errors
    /// The file cannot be opened or is not a Skep store. A database need not be reachable yet.
    pub fn open(
        partition: Partition<'_>,
        config: Config,
        log: impl CommittedLog,
        progress: Arc<LogProgress>,
    ) -> Result<Store, SqliteError> {
        let id = partition.id;
        let measured = |position| {
            let metrics = partition.metrics.of(id, ID, config.sink());
            let status = Status::new(ID, position, metrics);
            status.set_elsewhere(partition.elsewhere);
            Arc::new(status)
        };
        let database =
            sqlite::DatabaseFile::new(&file(partition.directory)).with_tenants(config.tenants);
        let (target, known, status, readers): (Box<dyn Target>, _, _, _) = match &config.location {
            StoreLocation::Embedded => {
                let writer = sqlite::Writer::open(database.clone())?;
                let position = writer.position()?;
                let source =
                    |_| -> Box<dyn Source> { Box::new(sqlite::Reader::new(database.clone())) };
                let sources = (0..config.readers.max(1)).map(source).collect();
                let readers = Readers::new(sources, &format!("query-{id}"));
                let status = measured(position);
                (Box::new(writer), Some(position), status, Arc::new(readers))
            }
            StoreLocation::Rdbms(database) => {
                let status = measured(Position::default());
                let writer =
                    postgres::Writer::new(database.clone(), partition.cluster, id, status.clone());
                let readers = database.readers(config.readers);
                (Box::new(writer), None, status, readers)
            }
            StoreLocation::Documents(server) => {
                let status = measured(Position::default());
                let writer =
                    documents::Writer::new(server.clone(), partition.cluster, id, status.clone());
                let readers = server.readers(config.readers);
                (Box::new(writer), None, status, readers)
            }
        };
        let position = known.unwrap_or_default();
        let moves = Moves::new(config.visible_after());
        let freshness = Arc::new(Freshness::new(
            known,
            status.clone(),
            progress.clone(),
            moves,
        ));
        let filling = Filling::new(
            target,
            position,
            config.clone(),
            freshness.clone(),
            id,
            partition.definitions,
        );
        let driver = Driver::new(filling, log, progress.clone(), status.clone(), id);
        let exporter = driver.start();
        Ok(Store {
            partition: id,
            config,
            progress,
            freshness,
            status,
            readers,
            exporter: Mutex::new(exporter),
            file: database,
        })
    }

    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// Whether all partitions keep their rows in one place, so that a query to one of them covers all.
    pub fn is_shared(&self) -> bool {
        self.config.is_shared()
    }

    /// This store's part of the pulse.
    pub fn pulse(&self) -> StorePulse {
        let fills = !self.freshness.is_elsewhere();
        let acknowledged = self.progress.acknowledged();
        StorePulse {
            partition: self.partition,
            start: self.freshness.moves.start(),
            fills,
            behind_ms: if fills {
                self.freshness.behind(acknowledged)
            } else {
                0
            },
            counts: self.freshness.moves.counts(Instant::now()),
        }
    }

    /// Records that a client has seen changes up to this entry, perhaps on another node. Its queries must include them.
    pub fn expect(&self, entry: u64) {
        self.progress.expect(entry);
    }

    /// Answers a query on a thread of the store. Calls `done` with the answer and how many milliseconds of acknowledged history
    /// it lacks. Never blocks.
    pub fn query(
        &self,
        query: Query,
        consistency: Consistency,
        done: impl FnOnce(Result<(Answer, u64), QueryError>) + Send + 'static,
    ) {
        self.query_with(&[], query, consistency, done);
    }

    /// Like [`query`](Store::query), but also waits for acknowledged changes of other partitions that share the storage.
    pub fn query_with(
        &self,
        others: &[Arc<Store>],
        query: Query,
        consistency: Consistency,
        done: impl FnOnce(Result<(Answer, u64), QueryError>) + Send + 'static,
    ) {
        if self.status.is_stopping() {
            return done(Err(readers::stopping()));
        }
        let stores = std::iter::once(self).chain(others.iter().map(|store| &**store));
        let entry = |store: &Store| match consistency {
            Consistency::ReadYourWrites => store.progress.acknowledged(),
            Consistency::Eventual => 0,
        };
        let wanted: Vec<Wanted> = stores
            .map(|store| Wanted {
                partition: store.partition,
                freshness: store.freshness.clone(),
                entry: entry(store),
            })
            .collect();
        let max_wait = self.config.max_wait;
        let is_costly = query.is_costly();
        let job: readers::Job = Box::new(move |reader| {
            let reader = match reader.and_then(|reader| reader.open().map(|()| reader)) {
                Ok(reader) => reader,
                Err(error) => return done(Err(error)),
            };
            let deadline = Instant::now() + max_wait;
            let waited = wait_for_all(reader, &wanted, deadline);
            done(waited.and_then(|behind| {
                if consistency == Consistency::ReadYourWrites {
                    let elsewhere = wanted.iter().any(|one| one.freshness.is_elsewhere());
                    reader.catch_up(&query, elsewhere)?;
                }
                Ok((reader.answer(&query)?, behind))
            }));
        });
        self.readers.submit(is_costly, job);
    }

    /// Writes a copy of the embedded store in its current state to this file. This takes as long as reading and writing the
    /// whole store, but blocks nobody.
    ///
    /// # Errors
    /// The file cannot be written, or the store cannot be read.
    pub fn copy(&self, to: &Path) -> Result<(), SqliteError> {
        sqlite::copy(&self.file, to)
    }

    /// Whether corruption was found in the file of the embedded store. Its data is then unreliable.
    pub fn is_damaged(&self) -> bool {
        self.file.is_damaged()
    }

    /// Bytes of the embedded store.
    pub fn bytes(&self) -> u64 {
        self.file.taken().0
    }

    /// Tells the thread that fills the store to end without storing what is left: another store will replace this one. Does not wait for that:
    /// the thread may be in the middle of a write. [`Store::stop`] does, and so does the end of the store.
    pub fn abandon(&self) {
        self.freshness.abandon();
        self.status.stop();
    }

    /// Stores all committed changes and stops the threads. Queries that wait for others are answered that they should be sent again.
    pub fn stop(&self) {
        self.status.stop();
        if let Some(exporter) = self.exporter.lock().take() {
            let _ = exporter.join();
        }
        self.freshness.abandon();
        if !self.is_shared() {
            self.readers.stop();
        }
    }
}

/// The entry of a partition that a query must see.
struct Wanted {
    partition: u32,
    freshness: Arc<Freshness>,
    entry: u64,
}

/// Waits for all wanted entries until the deadline. Returns by how many milliseconds the furthest one lags behind then, or 0.
fn wait_for_all(
    reader: &mut dyn Source,
    wanted: &[Wanted],
    deadline: Instant,
) -> Result<u64, QueryError> {
    let (far, near): (Vec<&Wanted>, Vec<&Wanted>) =
        wanted.iter().partition(|one| one.freshness.is_elsewhere());
    // All stores are asked to hurry before the first is waited for.
    near.iter().for_each(|one| one.freshness.demand(one.entry));
    let mut behind = 0;
    for one in near {
        let lacking = one.freshness.wait_for(one.entry, deadline);
        if one.freshness.is_abandoned() {
            return Err(ended(one.partition));
        }
        let lacking = lacking.ok_or_else(|| not_reached(one.freshness.fault()))?;
        behind = lacking.max(behind);
    }
    // A store on another node cannot be asked to hurry, but its windows are short.
    while far.iter().any(|one| one.entry > 0) {
        let positions = reader.positions()?;
        let lacks = |one: &&Wanted| {
            let known = positions.iter().find(|(id, _)| *id == one.partition);
            let position = known.map(|(_, position)| *position).unwrap_or_default();
            one.freshness.lacking(position, one.entry)
        };
        let lacking = far.iter().map(lacks).max().unwrap_or_default();
        if lacking == 0 || Instant::now() >= deadline {
            return Ok(behind.max(lacking));
        }
        std::thread::sleep(LOOK);
    }
    Ok(behind)
}

/// The error for a store whose position is not known yet.
fn not_reached(fault: Option<String>) -> QueryError {
    let reason = fault.unwrap_or_else(|| "it is not connected yet".to_string());
    QueryError::Unavailable(format!(
        "Secondary storage cannot be used: {reason}. Send the query again when that is fixed."
    ))
}

/// The error for a store that is not filled any more.
fn ended(partition: u32) -> QueryError {
    QueryError::Unavailable(format!(
        "The rows of partition {partition} on this node are about to be removed or replaced, or the node is stopping. Send the query again."
    ))
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop();
    }
}
