//! Secondary storage of a partition: opened beside it, filled from its committed log, and never in its way.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use skep_export::{CommittedLog, ExportMetrics, LogError, LogProgress, Store};
use skep_storage::StorageError;
use skep_storage::log::LogReader;

use crate::config::BrokerConfig;

/// Where what happened in a partition can be searched.
#[derive(Clone)]
pub enum Secondary {
    Open(Arc<Store>),
    /// The configuration has none.
    Off,
    /// It cannot be opened, for this reason. The partition works all the same.
    Broken(String),
}

impl std::fmt::Debug for Secondary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Secondary::Open(_) => "Open",
            Secondary::Off => "Off",
            Secondary::Broken(_) => "Broken",
        })
    }
}

impl Secondary {
    /// Position of the last record that can be searched.
    pub fn exported_position(&self) -> Option<u64> {
        match self {
            Secondary::Open(store) => Some(store.status().exported_position()),
            Secondary::Off | Secondary::Broken(_) => None,
        }
    }

    /// Why nothing is stored at the moment, if nothing is.
    pub fn fault(&self) -> Option<String> {
        match self {
            Secondary::Open(store) => store.status().fault().map(|fault| fault.reason),
            Secondary::Off => None,
            Secondary::Broken(reason) => Some(reason.clone()),
        }
    }
}

pub fn open_secondary(
    config: &BrokerConfig,
    directory: &Path,
    partition: u32,
    definitions: &[Bytes],
    log: LogReader,
    progress: &Arc<LogProgress>,
    metrics: &ExportMetrics,
) -> Secondary {
    let Some(secondary) = config.secondary_storage.clone() else {
        return Secondary::Off;
    };
    let of = skep_export::Partition {
        id: partition,
        directory,
        cluster: config.cluster_id.as_deref().unwrap_or_default(),
        definitions: definitions.to_vec(),
        metrics: metrics.clone(),
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
                .map(|entry| (entry.index, entry.payload))
                .collect()),
            Err(StorageError::Compacted { first, .. }) => Err(LogError::Compacted { first }),
            Err(error) => Err(LogError::Unreadable(error.to_string())),
        }
    }
}
