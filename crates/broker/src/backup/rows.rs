//! Rows in a database, which backups do not contain. The operator restores a dump of the database, and the restored cluster writes what is
//! missing there, from its log.

use std::collections::BTreeMap;

use bytes::Bytes;
use skep_backup::{
    BackupError, Fitting, Manifest, Misfit, RowPositions, Store, expect_fit, instant, moments_for,
};
use skep_exporting::Position;
use skep_protocol::batch::BatchReader;
use skep_protocol::record::DecodeError;
use skep_secondary::StoreLocation;
use skep_storage::log::Entry;

use super::restore::RestoreError;
use crate::config::BrokerConfig;

/// The rows in the configured database.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The address of the database.
    pub place: String,
    /// The cluster that they belong to; `None`: there are no tables.
    cluster: Option<String>,
    positions: BTreeMap<u32, Position>,
    /// The entries of the positions.
    entries: RowPositions,
}

impl Rows {
    /// Reads how far the rows go. Blocks. `None`: no database is configured.
    ///
    /// # Errors
    /// The database cannot be read, or a search server is configured.
    pub fn read(config: &BrokerConfig) -> Result<Option<Rows>, RestoreError> {
        let location = config.secondary_storage.as_ref().map(|it| &it.location);
        let database = match location {
            None | Some(StoreLocation::Embedded) => return Ok(None),
            Some(StoreLocation::Documents(_)) => {
                return Err(RestoreError::Refused(SEARCH_SERVER.to_string()));
            }
            Some(StoreLocation::Rdbms(database)) => database,
        };
        let stored = database.stored_rows()?;
        let entries = stored.positions.iter();
        let entries = entries.map(|(partition, position)| (*partition, position.entry));
        Ok(Some(Rows {
            place: database.shown.clone(),
            entries: entries.collect(),
            cluster: stored.cluster,
            positions: stored.positions,
        }))
    }

    /// The last entry of each partition's log of which there are rows.
    pub fn entries(&self) -> &RowPositions {
        &self.entries
    }

    /// The moments of the store that fit the rows. `cluster`: its id, if it is configured.
    ///
    /// # Errors
    /// There is none, or the store cannot be used.
    pub fn moments(&self, store: &Store, cluster: Option<&str>) -> Result<Fitting, RestoreError> {
        let cluster = cluster.or(self.cluster.as_deref());
        moments_for(store, cluster, &self.entries).map_err(|error| match error {
            BackupError::NoMoment(why) => RestoreError::Refused(format!(
                "no moment of the store fits the rows in {}: {why}. {}",
                self.place, REMEDY
            )),
            error => error.into(),
        })
    }

    /// Checks that the rows belong to the cluster of this manifest, and can be brought to its moment.
    ///
    /// # Errors
    /// They do not, or cannot.
    pub fn expect_fit(&self, manifest: &Manifest, store: &Store) -> Result<(), RestoreError> {
        let refused = |text: String| Err(RestoreError::Refused(text));
        let of = &manifest.cluster.cluster_id;
        if let Some(owner) = self.cluster.as_ref().filter(|owner| *owner != of) {
            return refused(format!(
                "the rows in {} belong to the cluster {owner}, and the backup to the cluster {of}: restore a dump of the database of that \
                 cluster, or configure the database that has it (camunda.data.secondary-storage.rdbms)",
                self.place
            ));
        }
        let Err(misfit) = expect_fit(manifest, &self.entries) else {
            return Ok(());
        };
        // Whoever has named a moment may take another one.
        let others = match self.moments(store, Some(of)) {
            Ok(fitting) => format!(
                "These rows fit moments from {} to {} (--to, or no --backup). ",
                instant(fitting.first.at),
                instant(fitting.newest.at)
            ),
            Err(_) => String::new(),
        };
        let remedy = match misfit {
            Misfit::Ahead { .. } => "restore a dump of the database that is older than the moment",
            Misfit::Behind { .. } => {
                "restore a later dump of the database, or set camunda.data.secondary-storage.type to none"
            }
        };
        refused(format!(
            "the rows in {} do not fit this moment: {misfit}. {others}For this one, {remedy}",
            self.place
        ))
    }

    /// The check of a partition's restored log.
    pub fn history(&self, partition: u32) -> RowHistory {
        RowHistory {
            partition,
            position: self.positions.get(&partition).copied().unwrap_or_default(),
            last: None,
        }
    }
}

const SEARCH_SERVER: &str = "secondary storage is a search server (camunda.data.secondary-storage.type), which backups of Skep do not \
                             contain: restore with the embedded one, a database, or none";

const REMEDY: &str = "Restore a dump of the database that was made after the first backup of the store and before its newest moment, or set \
                      camunda.data.secondary-storage.type to none";

/// Compares the position of rows with the log: entries of another restore of the same cluster have the same numbers.
#[derive(Debug)]
pub struct RowHistory {
    partition: u32,
    position: Position,
    /// The newest entry with records up to the position, and its content.
    last: Option<(u64, Bytes)>,
}

impl RowHistory {
    /// The last entry of which there are rows.
    pub fn entry(&self) -> u64 {
        self.position.entry
    }

    /// Passes the next entries of the log.
    pub fn pass(&mut self, entries: &[Entry]) {
        let up_to = entries.partition_point(|entry| entry.index <= self.position.entry);
        let known = entries.iter().take(up_to).rev();
        let mut known = known.map(|entry| (entry.index, entry.content()));
        if let Some(found) = known.find(|(_, content)| !content.is_empty()) {
            self.last = Some(found);
        }
    }

    /// Checks that the rows were made from this log. A log that has no records up to the position proves nothing.
    ///
    /// # Errors
    /// They were made from another one, or an entry cannot be read.
    pub fn expect_same(&self, place: &str) -> Result<(), RestoreError> {
        let Some((entry, content)) = &self.last else {
            return Ok(());
        };
        let partition = self.partition;
        let (record, timestamp) = last_record(content).map_err(|error| {
            RestoreError::Refused(format!(
                "entry {entry} of the log of partition {partition} cannot be read: {error}"
            ))
        })?;
        let Position {
            entry: rows,
            record: known,
            timestamp: then,
        } = self.position;
        if (record, timestamp) == (known, then) {
            return Ok(());
        }
        Err(RestoreError::Refused(format!(
            "the rows in {place} were made by another history of this cluster: those of partition {partition} end with record {known} of {} \
             at entry {rows} of its log, where the log of the backup has record {record} of {}. Restore a dump that was made by the cluster \
             of this backup, or a backup of the cluster that made the dump (--backup)",
            instant(then),
            instant(timestamp)
        )))
    }
}

/// The position of the last record in an entry, and the time of the entry.
fn last_record(content: &[u8]) -> Result<(u64, i64), DecodeError> {
    let mut reader = BatchReader::new(content)?;
    for record in reader.by_ref() {
        record?;
    }
    Ok((reader.position().saturating_sub(1), reader.timestamp()))
}
