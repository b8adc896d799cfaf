//! Verifies a backup without a cluster: the checksum of every object, every row and every record.

use skep_protocol::batch::BatchReader;
use skep_storage::log::Entry;

use crate::backups::verify_begun;
use crate::chain::Chain;
use crate::documents::{DocumentsManifest, decode_pieces};
use crate::listing::Listing;
use crate::manifest::{Cut, PartitionManifest};
use crate::read::Reader;
use crate::{BackupError, Store};

/// Counts for a backup that has passed all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub objects: u64,
    /// Bytes of the objects as stored.
    pub bytes: u64,
    /// Rows of checkpoints.
    pub rows: u64,
    pub entries: u64,
    pub records: u64,
    /// Files of document stores.
    pub files: u64,
    /// Moments after the backup to which the cluster can be restored as well.
    pub markers: u64,
}

/// Reads the whole backup and everything that continues it.
///
/// # Errors
/// Reports the first object, row, record or marker that is missing or damaged.
pub fn verify(store: &Store, id: u64) -> Result<Verified, BackupError> {
    let reader = Reader::open(store, id)?;
    verify_begun(store, id)?;
    let mut verified = Verified::default();
    for object in reader.manifest.objects() {
        verified.objects += 1;
        verified.bytes += object.bytes;
    }
    verified.files = files(&reader)?;
    let markers = reader.markers()?;
    verified.markers = markers.len() as u64;
    let wanted = reader.manifest.cluster.partitions;
    for partition in 1..=wanted {
        let of = reader
            .manifest
            .partition(partition)
            .ok_or_else(|| BackupError::Unusable {
                id,
                reason: format!("partition {partition} of {wanted} is missing"),
            })?;
        verified.rows += rows(&reader, of)?;
        // Only the checksums of secondary storage are verified; its file is not opened.
        for content in reader.contents(of.query.as_deref().unwrap_or_default()) {
            content?;
        }
        let mut position = 0;
        for entries in reader.log(of) {
            for entry in entries? {
                verified.entries += 1;
                verified.records += records(&entry, &mut position)
                    .map_err(|reason| BackupError::damaged(&of_entry(of, &entry), reason))?;
            }
        }
        if position != 0 && position != of.cut.position {
            return Err(BackupError::Unusable {
                id,
                reason: format!(
                    "the log of partition {partition} ends with record {position}, and the manifest says {}",
                    of.cut.position
                ),
            });
        }
        // A log without records ends where the rows end, and that position is not recorded elsewhere.
        let position = if position == 0 {
            of.cut.position
        } else {
            position
        };
        let cuts = markers.iter().filter_map(|marker| {
            let cut = marker.cuts.get(&partition)?;
            Some((*cut, marker.at))
        });
        continued(
            store,
            &reader,
            of,
            (cuts.collect(), position),
            &mut verified,
        )?;
    }
    Ok(verified)
}

/// Verifies the log after the backup, and that each marker lies within it. `position`: position of the last record in the
/// backup.
fn continued(
    store: &Store,
    reader: &Reader,
    of: &PartitionManifest,
    (mut cuts, mut position): (Vec<(Cut, i64)>, u64),
    verified: &mut Verified,
) -> Result<(), BackupError> {
    let id = reader.manifest.backup_id;
    let chain = Chain::new(store, id, of.partition, of.cut);
    let mut next = chain.first();
    cuts.sort_unstable_by_key(|(cut, _)| std::cmp::Reverse(cut.index));
    let lies_not = |(cut, at): (Cut, i64)| BackupError::Unusable {
        id,
        reason: format!(
            "the marker of {at} cuts partition {} at entry {} of term {} with record {}, and its log has no such entry",
            of.partition, cut.index, cut.term, cut.position
        ),
    };
    let mut pass = |index: u64, term: u64, position: u64| {
        while let Some(&(cut, at)) = cuts.last().filter(|(cut, _)| cut.index == index) {
            if (cut.term, cut.position) != (term, position) {
                return Err(lies_not((cut, at)));
            }
            cuts.pop();
        }
        Ok(())
    };
    pass(of.cut.index, of.cut.term, of.cut.position)?;
    for link in chain.links(of.cut.index)? {
        if link.first != next {
            return Err(BackupError::damaged(
                &chain.name(link.first),
                format!("entry {next} is missing: no earlier object has it"),
            ));
        }
        (verified.objects, verified.bytes) = (verified.objects + 1, verified.bytes + link.bytes);
        for entry in chain.read(link.first)? {
            verified.entries += 1;
            verified.records += records(&entry, &mut position)
                .map_err(|reason| BackupError::damaged(&of_entry(of, &entry), reason))?;
            pass(entry.index, entry.term, position)?;
            next = entry.index + 1;
        }
    }
    cuts.pop().map_or(Ok(()), |cut| Err(lies_not(cut)))
}

/// Counts the files of document stores.
fn files(reader: &Reader) -> Result<u64, BackupError> {
    let stores = reader.manifest.documents.iter();
    stores.map(|of| files_of(reader, of)).sum()
}

/// Counts the files of a document store. All that are listed have to be there, whole.
fn files_of(reader: &Reader, of: &DocumentsManifest) -> Result<u64, BackupError> {
    let listing = reader.listing(of)?;
    let (mut files, mut bytes) = (0, 0);
    for (number, object) in of.objects.iter().flatten().enumerate() {
        let pieces = decode_pieces(reader.content(object)?);
        let pieces = pieces.map_err(|reason| BackupError::damaged(&object.name, reason))?;
        let is_listed = |path: &str| listing.as_ref().is_none_or(|it| it.has(path, number));
        let pieces = pieces
            .iter()
            .filter(|it| !of.lacks(&it.path) && is_listed(&it.path));
        for piece in pieces {
            files += u64::from(piece.place == 0);
            bytes += piece.bytes.len() as u64;
        }
    }
    let Some(rows) = listing.as_ref().map(Listing::rows) else {
        return Ok(files);
    };
    let listed_bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    let listed = (rows.len() as u64, listed_bytes);
    if listed == (files, bytes) {
        return Ok(files);
    }
    Err(BackupError::Unusable {
        id: reader.manifest.backup_id,
        reason: format!(
            "{} files with {} bytes of the document store '{}' are listed, and its objects have {files} of them with {bytes} bytes",
            listed.0, listed.1, of.store
        ),
    })
}

fn of_entry(of: &PartitionManifest, entry: &Entry) -> String {
    format!("entry {} of partition {}", entry.index, of.partition)
}

fn rows(reader: &Reader, of: &PartitionManifest) -> Result<u64, BackupError> {
    let name = format!("the state of partition {}", of.partition);
    let rows = reader
        .state(of)
        .map_err(|error| BackupError::damaged(&name, error))?;
    let mut count = 0;
    for row in rows {
        row.map_err(|error| BackupError::damaged(&name, error))?;
        count += 1;
    }
    Ok(count)
}

/// Counts the records of an entry, which are numbered without gaps. `last`: position of the last record so far.
fn records(entry: &Entry, last: &mut u64) -> Result<u64, String> {
    let content = entry.content();
    if content.is_empty() {
        return Ok(0);
    }
    let mut count = 0;
    let batch = BatchReader::new(&content).map_err(|error| error.to_string())?;
    for record in batch {
        let record = record.map_err(|error| error.to_string())?;
        if *last != 0 && record.position != *last + 1 {
            return Err(format!("record {} follows record {last}", record.position));
        }
        *last = record.position;
        count += 1;
    }
    Ok(count)
}
