//! Secondary storage of a partition: opened beside it and filled from its committed log, without ever delaying it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use skep_exporting::{CommittedLog, ExportMetrics, LogError, LogProgress};
use skep_query::{Answer, QueryError};
use skep_secondary::Store;
use skep_storage::StorageError;
use skep_storage::log::LogReader;

use super::PartitionHandle;
use crate::config::BrokerConfig;

/// The answer, and since when there may be rows that it lacks.
pub type QueryResult = Result<(Answer, u64), QueryError>;

/// Where a partition's history can be searched.
#[derive(Clone)]
pub enum Secondary {
    Open(Arc<Store>),
    /// None is configured.
    Off,
    /// It lacks entries that the log no longer has: another node provides a copy.
    Fetching,
    /// It cannot be opened, for this reason. The partition works all the same.
    Broken(String),
}

impl std::fmt::Debug for Secondary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Secondary::Open(_) => "Open",
            Secondary::Off => "Off",
            Secondary::Fetching => "Fetching",
            Secondary::Broken(_) => "Broken",
        })
    }
}

impl Secondary {
    /// The store, if there is one to query.
    pub fn opened(self) -> Option<Arc<Store>> {
        match self {
            Secondary::Open(store) => Some(store),
            Secondary::Off | Secondary::Fetching | Secondary::Broken(_) => None,
        }
    }

    /// Position of the last record that can be searched.
    pub fn exported_position(&self) -> Option<u64> {
        match self {
            Secondary::Open(store) => Some(store.status().exported_position()),
            Secondary::Off | Secondary::Fetching | Secondary::Broken(_) => None,
        }
    }

    /// Why nothing can be stored at the moment, if so.
    pub fn fault(&self) -> Option<String> {
        match self {
            Secondary::Open(store) => store.status().fault().map(|fault| fault.reason),
            Secondary::Off => None,
            Secondary::Fetching => Some(
                "it lacks the changes made while the node was away, and is being fetched from another node"
                    .to_string(),
            ),
            Secondary::Broken(reason) => Some(reason.clone()),
        }
    }
}

/// The secondary storage of a partition, which may be replaced.
#[derive(Debug)]
pub struct SecondaryCell(RwLock<Secondary>);

impl SecondaryCell {
    pub fn new(secondary: Secondary) -> SecondaryCell {
        SecondaryCell(RwLock::new(secondary))
    }

    /// Not to be kept for long: the store may have to be closed.
    pub fn get(&self) -> Secondary {
        self.0.read().clone()
    }

    pub fn replace(&self, by: Secondary) -> Secondary {
        std::mem::replace(&mut *self.0.write(), by)
    }
}

/// The owner of a store, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct StoreOf<'a> {
    pub config: &'a BrokerConfig,
    pub directory: &'a Path,
    pub partition: u32,
    pub metrics: &'a ExportMetrics,
}

/// Opens a copy received from another node.
pub fn reopen_secondary(of: StoreOf<'_>, log: LogReader, progress: &Arc<LogProgress>) -> Secondary {
    // The copy has the definitions.
    open_secondary(of, &[], log, progress)
}

pub fn open_secondary(
    of: StoreOf<'_>,
    definitions: &[Bytes],
    log: LogReader,
    progress: &Arc<LogProgress>,
) -> Secondary {
    let StoreOf {
        config,
        directory,
        partition,
        metrics,
    } = of;
    let Some(secondary) = config.secondary_storage.clone() else {
        return Secondary::Off;
    };
    let of = skep_secondary::Partition {
        id: partition,
        directory,
        cluster: config.cluster_id.as_deref().unwrap_or_default(),
        definitions: definitions.to_vec(),
        metrics: metrics.clone(),
        elsewhere: config.cluster.is_some() && secondary.is_shared(),
    };
    let opened = Store::open(of, secondary, Entries(log), progress.clone());
    match opened {
        Ok(store) => Secondary::Open(Arc::new(store)),
        Err(error) => {
            tracing::error!(code = "SECONDARY_STORAGE", partition, %error, "secondary storage cannot be opened; nothing can be searched");
            Secondary::Broken(error.to_string())
        }
    }
}

/// The log as exporters read it.
pub struct Entries(pub LogReader);

impl CommittedLog for Entries {
    fn read(&self, from: u64, to: u64, max_bytes: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        match self.0.read(from, to, max_bytes) {
            Ok(entries) => Ok(entries
                .into_iter()
                .map(|entry| (entry.index, entry.content()))
                .collect()),
            Err(StorageError::Compacted { first, .. }) => Err(LogError::Compacted { first }),
            Err(error) => Err(LogError::Unreadable(error.to_string())),
        }
    }
}

/// Ends a store that another one replaces. Its files must be closed before that one is created: whoever closes them last deletes files by
/// their names.
pub fn forget(store: Secondary) {
    let Secondary::Open(store) = store else {
        return;
    };
    while Arc::strong_count(&store) > 1 {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(store);
}

/// File name prefix of copies for other nodes.
pub const COPY: &str = "query-copy-";

/// Removes copies for other nodes that were left when the node ended.
pub fn forget_copies(directory: &Path) {
    let Ok(files) = std::fs::read_dir(directory) else {
        return;
    };
    for file in files.flatten() {
        if file.file_name().to_string_lossy().starts_with(COPY) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// How complete a store is, compared with what its partition has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoreState {
    /// There is no store that could answer.
    None,
    /// It lacks rows that were acknowledged more than a moment ago.
    Behind,
    Whole,
}

impl StoreState {
    /// The state of a local replica's store, given that other replicas had this entry a while ago.
    pub(crate) fn of(handle: &PartitionHandle, others_had: u64) -> StoreState {
        let Some(store) = handle.secondary.get().opened() else {
            return StoreState::None;
        };
        let status = store.status();
        if status.is_stopping() {
            StoreState::None
        } else if status.fault().is_none() && status.exported_entry() >= others_had {
            StoreState::Whole
        } else {
            StoreState::Behind
        }
    }
}
