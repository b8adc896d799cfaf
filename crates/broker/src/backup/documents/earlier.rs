//! Documents that an earlier backup has written already: the next one refers to them.

use std::ops::RangeInclusive;

use skep_backup::{
    BackupError, Begun, DocumentsManifest, Listing, Manifest, Reader, Store, StoredObject,
    newest_complete, written_documents,
};

use super::{Found, Limits};

/// What a small file takes in an object beside its content.
const OVERHEAD: u64 = 80;

/// An object of an earlier backup.
pub(super) struct Kept {
    pub(super) object: StoredObject,
    pub(super) content_bytes: u64,
    /// What it has is written again.
    pub(super) is_damaged: bool,
}

/// What the newest backup has of a document store.
#[derive(Default)]
pub(super) struct Earlier {
    pub(super) kept: Vec<Kept>,
    /// By object of that backup: its place among those that are kept.
    places: Vec<Option<u32>>,
    listing: Listing,
}

/// What the backup has of the document store, if it has its documents.
fn has<'m>(manifest: &'m Manifest, documents: &str) -> Option<&'m DocumentsManifest> {
    let mut stores = manifest.documents.iter();
    stores.find(|of| of.store == documents && of.objects.is_some())
}

impl Earlier {
    /// # Errors
    /// The store cannot be used.
    pub(super) fn of_newest(
        (store, begun): (&Store, &Begun),
        documents: &str,
        limits: Limits,
    ) -> Result<Earlier, BackupError> {
        // Earlier versions let several clusters have one store: each has documents of its own.
        let newest = newest_complete(store, None, |it| {
            it.cluster.cluster_id == begun.cluster_id && has(it, documents).is_some()
        })?;
        let Some(newest) = newest else {
            return Ok(Earlier::default());
        };
        match Earlier::of(store, newest.backup_id, documents, limits) {
            // It is damaged, or was deleted meanwhile.
            Err(error)
                if error.is_loss()
                    || matches!(
                        error,
                        BackupError::Unusable { .. } | BackupError::Unknown(_)
                    ) =>
            {
                tracing::warn!(
                    earlier = newest.backup_id,
                    %error,
                    "an earlier backup cannot be read: all documents of the store '{documents}' are written again"
                );
                Ok(Earlier::default())
            }
            earlier => earlier,
        }
    }

    fn of(
        store: &Store,
        backup: u64,
        documents: &str,
        limits: Limits,
    ) -> Result<Earlier, BackupError> {
        let reader = Reader::open(store, backup)?;
        let Some(of) = has(&reader.manifest, documents) else {
            return Ok(Earlier::default());
        };
        // Without a listing there were too many documents, as there are now: an even earlier backup would be given up half-way.
        let Some(listing) = reader.listing(of)? else {
            return Ok(Earlier::default());
        };
        let contents = of.listed.iter().flat_map(|it| &it.content_bytes).copied();
        let objects = of.objects.iter().flatten().cloned();
        let mut needed = vec![0_u64; of.objects.iter().flatten().count()];
        for row in listing.rows() {
            let each = row.bytes / (u64::from(row.last - row.first) + 1) + OVERHEAD;
            for object in row.objects() {
                if let Some(bytes) = needed.get_mut(object) {
                    *bytes = bytes.saturating_add(each);
                }
            }
        }
        let there = written_documents(store, documents)?;
        let mut found = Vec::new();
        for ((object, content_bytes), needed) in objects.zip(contents).zip(needed) {
            // Somebody may have deleted it. And what is needed of it is written again if that is less than half of it: deleted documents take at
            // most as much space as the others.
            let is_there = there.get(&object.name) == Some(&object.bytes);
            let keeps = is_there && needed.saturating_mul(2) >= content_bytes;
            let kept = Kept {
                object,
                content_bytes,
                is_damaged: false,
            };
            found.push((kept, keeps));
        }
        let is_small = |kept: &Kept| limits.is_small(kept.content_bytes);
        let small = found
            .iter()
            .filter(|(kept, keeps)| *keeps && is_small(kept));
        let joins = small.count() > limits.small;
        let mut earlier = Earlier {
            listing,
            ..Earlier::default()
        };
        for (kept, keeps) in found {
            let keeps = keeps && !(joins && is_small(&kept));
            let place = u32::try_from(earlier.kept.len()).ok().filter(|_| keeps);
            earlier.places.push(place);
            if keeps {
                earlier.kept.push(kept);
            }
        }
        Ok(earlier)
    }

    /// The places of the kept objects that have this file.
    pub(super) fn find(&self, path: &str, found: Found) -> Option<RangeInclusive<u32>> {
        let row = self.listing.find(path)?;
        if (row.stamp, row.bytes) != (found.stamp, found.bytes) {
            return None;
        }
        let place = |object: usize| {
            let place = self.places.get(object).copied().flatten()?;
            let kept = self.kept.get(place as usize)?;
            (!kept.is_damaged).then_some(place)
        };
        if !row.objects().all(|object| place(object).is_some()) {
            return None;
        }
        // All between them are kept, so they are still next to each other.
        Some(place(row.first as usize)?..=place(row.last as usize)?)
    }
}
