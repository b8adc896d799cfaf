//! Reads the objects of a backup and verifies them against the manifest.

use std::collections::BTreeMap;

use bytes::Bytes;
use skep_storage::StorageError;
use skep_storage::kv::StreamReader;
use skep_storage::log::{Entry, EntryId};

use crate::ahead::ahead;
use crate::backups::{find, manifest};
use crate::chain::{Chain, Link};
use crate::documents::DocumentsManifest;
use crate::earlier::Earlier;
use crate::entries::decode;
use crate::listing::Listing;
use crate::manifest::{Manifest, PartitionManifest, StoredObject};
use crate::markers::{Marker, begun, times};
use crate::object::unpack;
use crate::ranges::{Moment, marker_of};
use crate::rows::RowPositions;
use crate::upload::sha256;
use crate::{BackupError, Store};

/// A complete backup, or the cluster at a marker after one.
#[derive(Debug)]
pub struct Reader {
    store: Store,
    /// The manifest for the moment: at a marker, cuts and cluster are those of the marker. After [`reach_back`](Self::reach_back), logs begin
    /// earlier.
    pub manifest: Manifest,
    pub moment: Moment,
    /// By partition: the log after the backup, up to the marker.
    continued: BTreeMap<u32, Continuation>,
    /// The backups with the log before this one, newest first.
    earlier: Vec<Earlier>,
    /// By partition: the entry before the first one in the backup itself, if the log begins earlier.
    own_bases: BTreeMap<u32, u64>,
}

#[derive(Debug)]
struct Continuation {
    chain: Chain,
    links: Vec<Link>,
    /// The last entry that is needed.
    end: u64,
}

/// The content of an object.
///
/// # Errors
/// The object is missing or damaged, or the store cannot be used.
pub fn read_object(store: &Store, object: &StoredObject) -> Result<Bytes, BackupError> {
    let stored = store.get(&object.name)?;
    if stored.len() as u64 != object.bytes || sha256(&stored) != object.sha256 {
        return Err(BackupError::damaged(
            &object.name,
            "its checksum is not the one in the manifest",
        ));
    }
    unpack(&stored).map_err(|reason| BackupError::damaged(&object.name, reason))
}

impl Reader {
    /// # Errors
    /// There is no such backup, it is not complete, or the store cannot be used.
    pub fn open(store: &Store, id: u64) -> Result<Reader, BackupError> {
        if let Some(manifest) = manifest(store, id)? {
            return Ok(Reader {
                moment: Moment {
                    backup: id,
                    marker: None,
                    at: manifest.cut_at,
                },
                store: store.clone(),
                manifest,
                continued: BTreeMap::new(),
                earlier: Vec::new(),
                own_bases: BTreeMap::new(),
            });
        }
        let backup = find(store, id)?;
        let note = backup.note.map(|note| format!(" ({note})"));
        Err(BackupError::Unusable {
            id,
            reason: format!(
                "it is {} and has no manifest{}",
                backup.state.name(),
                note.unwrap_or_default()
            ),
        })
    }

    /// # Errors
    /// The backup or the marker is missing or damaged, or the store cannot be used.
    pub fn open_at(store: &Store, moment: Moment) -> Result<Reader, BackupError> {
        let mut reader = Reader::open(store, moment.backup)?;
        let Some(marker) = marker_of(store, &reader.manifest, moment)? else {
            return Ok(reader);
        };
        let ends = marker.cuts.iter();
        let ends = ends.map(|(partition, cut)| (*partition, cut.index));
        reader.continue_to(&ends.collect())?;
        for of in &mut reader.manifest.partitions {
            let cut = marker.cuts.get(&of.partition).copied();
            of.cut = cut.unwrap_or(of.cut);
        }
        reader.manifest.cut_at = marker.at;
        reader.manifest.cluster = marker.cluster;
        reader.moment = moment;
        Ok(reader)
    }

    /// Continues the logs of these partitions after the backup, up to these entries.
    pub(crate) fn continue_to(&mut self, ends: &BTreeMap<u32, u64>) -> Result<(), BackupError> {
        for of in &self.manifest.partitions {
            let Some(end) = ends.get(&of.partition).copied() else {
                continue;
            };
            let chain = Chain::new(&self.store, self.moment.backup, of.partition, of.cut);
            let mut links = if end <= of.cut.index {
                Vec::new()
            } else {
                chain.links(of.cut.index)?
            };
            links.retain(|link| link.first <= end);
            let continuation = Continuation { chain, links, end };
            self.continued.insert(of.partition, continuation);
        }
        Ok(())
    }

    /// Also reads the log before the backup, from those that it carries on, until it reaches back to the rows of each partition or there is
    /// none left ([`expect_fit`](crate::expect_fit) says so).
    ///
    /// # Errors
    /// An object is damaged, or the store cannot be used.
    pub fn reach_back(&mut self, rows: &RowPositions) -> Result<(), BackupError> {
        let mut backup = self.moment.backup;
        while self.lacks(rows) {
            let after = begun(&self.store, backup)?.and_then(|continued| continued.after);
            // Ids grow: a damaged store must not keep this going.
            let Some(before) = after.filter(|before| *before < backup) else {
                break;
            };
            let earlier = match Reader::open(&self.store, before) {
                Err(BackupError::Unknown(_)) => break,
                earlier => earlier?,
            };
            let mut ends = BTreeMap::new();
            for of in &mut self.manifest.partitions {
                let begin = earlier.manifest.partition(of.partition).map(|it| &it.log);
                let Some(begin) = begin.filter(|it| it.base_index < of.log.base_index) else {
                    continue;
                };
                let end = EntryId {
                    index: of.log.base_index,
                    term: of.log.base_term,
                };
                ends.insert(of.partition, end);
                self.own_bases.entry(of.partition).or_insert(end.index);
                of.log.base_index = begin.base_index;
                of.log.base_term = begin.base_term;
            }
            self.earlier.push(Earlier::new(earlier, ends)?);
            backup = before;
        }
        Ok(())
    }

    fn lacks(&self, rows: &RowPositions) -> bool {
        let mut partitions = self.manifest.partitions.iter();
        partitions.any(|of| rows.get(&of.partition).copied().unwrap_or(0) < of.log.base_index)
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Number of bytes that a restore of this partition reads from the store.
    pub fn bytes(&self, of: &PartitionManifest) -> u64 {
        let rows = of.state.iter().chain(of.query.iter().flatten());
        let earlier = self.earlier.iter().map(|it| it.bytes(of.partition));
        rows.map(|object| object.bytes).sum::<u64>() + self.log_bytes(of) + earlier.sum::<u64>()
    }

    /// Number of bytes of the partition's log in the backup and after it.
    pub(crate) fn log_bytes(&self, of: &PartitionManifest) -> u64 {
        let continued = self.continued.get(&of.partition);
        let links = continued.iter().flat_map(|it| &it.links);
        let own = of.log.objects.iter().map(|object| object.bytes);
        own.sum::<u64>() + links.map(|link| link.bytes).sum::<u64>()
    }

    /// The content of an object.
    ///
    /// # Errors
    /// The object is missing or damaged, or the store cannot be used.
    pub fn content(&self, object: &StoredObject) -> Result<Bytes, BackupError> {
        read_object(&self.store, object)
    }

    /// The contents of these objects, in their order. Some are read ahead, in threads of their own.
    pub fn contents(
        &self,
        objects: &[StoredObject],
    ) -> impl Iterator<Item = Result<Bytes, BackupError>> + use<> {
        let store = self.store.clone();
        ahead(objects.to_vec(), move |object| read_object(&store, &object))
    }

    /// Which files of the document store are in the backup. `None`: all that its objects have.
    ///
    /// # Errors
    /// An object is missing or damaged, or the store cannot be used.
    pub fn listing(&self, of: &DocumentsManifest) -> Result<Option<Listing>, BackupError> {
        let Some(listed) = &of.listed else {
            return Ok(None);
        };
        let mut listing = Listing::default();
        let objects = of.objects.iter().flatten().count();
        for object in &listed.objects {
            let content = self.content(object)?;
            let added = listing.add(content, objects);
            added.map_err(|reason| BackupError::damaged(&object.name, reason))?;
        }
        Ok(Some(listing))
    }

    /// The rows of the checkpoint.
    ///
    /// # Errors
    /// An object is missing or damaged.
    pub fn state(
        &self,
        of: &PartitionManifest,
    ) -> Result<StreamReader<impl Iterator<Item = Result<Bytes, StorageError>> + use<>>, StorageError>
    {
        let snapshot = |error: BackupError| StorageError::Snapshot(error.to_string());
        let chunks = self.contents(&of.state);
        StreamReader::new(chunks.map(move |content| content.map_err(snapshot)))
    }

    /// The entries of the log up to the cut, one object at a time. They are consecutive.
    pub fn log<'r>(
        &'r self,
        of: &'r PartitionManifest,
    ) -> impl Iterator<Item = Result<Vec<Entry>, BackupError>> + 'r {
        let partition = of.partition;
        let own_base = self.own_bases.get(&partition).copied();
        let earlier = self.earlier.iter().rev();
        earlier
            .flat_map(move |it| it.log(partition))
            .chain(self.own_log(of, own_base.unwrap_or(of.log.base_index)))
    }

    /// The same without the log before the backup, which begins after the entry `base_index`.
    pub(crate) fn own_log<'r>(
        &'r self,
        of: &'r PartitionManifest,
        base_index: u64,
    ) -> impl Iterator<Item = Result<Vec<Entry>, BackupError>> + 'r {
        let continued = self.continued.get(&of.partition);
        let base_end = continued.map_or(of.cut.index, |it| it.chain.first() - 1);
        let mut next = base_index + 1;
        let objects = of.log.objects.iter();
        let objects = objects.zip(self.contents(&of.log.objects));
        let base = objects.enumerate().map(move |(number, (object, content))| {
            let damaged = |reason: String| BackupError::damaged(&object.name, reason);
            let entries = decode(content?).map_err(damaged)?;
            for entry in &entries {
                if entry.index != next {
                    return Err(damaged(format!("entry {next} is missing")));
                }
                next += 1;
            }
            if number + 1 == of.log.objects.len() && next != base_end + 1 {
                return Err(damaged(format!(
                    "it ends with entry {}, and the backup with entry {base_end}",
                    next - 1
                )));
            }
            Ok(entries)
        });
        base.chain(continued.into_iter().flat_map(Continuation::entries))
    }

    /// The markers after the backup, in the order of their times.
    ///
    /// # Errors
    /// A marker is damaged, or the store cannot be used.
    pub fn markers(&self) -> Result<Vec<Marker>, BackupError> {
        let times = times(&self.store, self.moment.backup)?.into_iter();
        let markers = times.map(|at| Marker::read(&self.store, &self.manifest, at));
        markers.collect()
    }

    /// The log that was shipped after the backup, one object at a time. The entries are consecutive.
    ///
    /// # Errors
    /// The store cannot be used. The objects are read later.
    pub fn shipped(
        &self,
        of: &PartitionManifest,
    ) -> Result<impl Iterator<Item = Result<Vec<Entry>, BackupError>> + use<>, BackupError> {
        debug_assert!(
            self.moment.marker.is_none(),
            "the log after a backup begins where that is cut"
        );
        let chain = Chain::new(&self.store, self.moment.backup, of.partition, of.cut);
        let links = chain.links(of.cut.index)?;
        let mut next = chain.first();
        let read = chain.read_ahead(&links);
        Ok(links.into_iter().zip(read).map(move |(link, entries)| {
            if link.first != next {
                return Err(BackupError::damaged(
                    &chain.name(link.first),
                    format!("entry {next} is missing: no earlier object has it"),
                ));
            }
            let entries = entries?;
            next += entries.len() as u64;
            Ok(entries)
        }))
    }
}

impl Continuation {
    /// The entries up to the end, one object at a time.
    fn entries(&self) -> impl Iterator<Item = Result<Vec<Entry>, BackupError>> + '_ {
        let (mut next, end) = (self.chain.first(), self.end);
        let ends = (next <= end && self.links.is_empty()).then(|| {
            let name = self.chain.name(next);
            Err(BackupError::damaged(&name, "it is missing"))
        });
        let links = self.links.iter().zip(self.chain.read_ahead(&self.links));
        let entries = links.enumerate().map(move |(number, (link, entries))| {
            let name = self.chain.name(link.first);
            let damaged = |reason: String| BackupError::damaged(&name, reason);
            if link.first != next {
                return Err(damaged(format!(
                    "entry {next} is missing: no earlier object has it"
                )));
            }
            let mut entries = entries?;
            next += entries.len() as u64;
            if number + 1 < self.links.len() {
                return Ok(entries);
            }
            entries.retain(|entry| entry.index <= end);
            if next <= end {
                return Err(damaged(format!(
                    "it ends with entry {}, and the marker with entry {end}",
                    next - 1
                )));
            }
            Ok(entries)
        });
        ends.into_iter().chain(entries)
    }
}
