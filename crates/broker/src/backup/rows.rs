//! Rows in a database or a search server, which backups do not contain. The operator restores a dump or a snapshot of it, and the restored
//! cluster writes what is missing there, from its log.

use std::collections::BTreeMap;

use bytes::Bytes;
use skep_backup::{
    BackupError, Fitting, Manifest, Misfit, RowPositions, Store, expect_fit, instant, moments_for,
};
use skep_exporting::Position;
use skep_protocol::batch::BatchReader;
use skep_protocol::record::DecodeError;
use skep_storage::log::Entry;

use super::restore::RestoreError;
use crate::config::BrokerConfig;

/// The rows in the configured database or search server.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Its address.
    pub place: String,
    /// The cluster that they belong to; `None`: there are none.
    cluster: Option<String>,
    positions: BTreeMap<u32, Position>,
    /// The entries of the positions.
    entries: RowPositions,
}

impl Rows {
    /// Reads how far the rows go. Blocks. `None`: they are not outside of backups.
    ///
    /// # Errors
    /// They cannot be read, or are those of a snapshot that was taken while they were written.
    pub fn read(config: &BrokerConfig) -> Result<Option<Rows>, RestoreError> {
        let Some(secondary) = &config.secondary_storage else {
            return Ok(None);
        };
        let Some(stored) = secondary.stored_rows()? else {
            return Ok(None);
        };
        if let Some(partition) = stored.half {
            return Err(RestoreError::Refused(format!(
                "the rows of partition {partition} in {} were being written when the snapshot was taken, and some of them are of later work: \
                 restore a snapshot that was taken while exporting was paused (POST /actuator/exporting/pause)",
                stored.place
            )));
        }
        let entries = stored.positions.iter();
        let entries = entries.map(|(partition, position)| (*partition, position.entry));
        Ok(Some(Rows {
            entries: entries.collect(),
            place: stored.place,
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
                "the rows in {} belong to the cluster {owner}, and the backup to the cluster {of}: restore a dump or snapshot of that \
                 cluster's rows, or configure the place that has them (camunda.data.secondary-storage)",
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
            Misfit::Ahead { .. } => "restore a dump or snapshot that is older than the moment",
            Misfit::Behind { .. } => {
                "restore a later dump or snapshot, or set camunda.data.secondary-storage.type to none"
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

const REMEDY: &str = "Restore a dump or snapshot that was made after the first backup of the store and before its newest moment, or set \
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
             at entry {rows} of its log, where the log of the backup has record {record} of {}. Restore a dump or snapshot of the cluster of \
             this backup, or a backup of the cluster that wrote the rows (--backup)",
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
