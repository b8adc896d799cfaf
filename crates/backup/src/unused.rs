//! Documents outlive the backup that wrote them, as later ones refer to them. Deletes those to which no backup refers any more.

use std::collections::{BTreeMap, BTreeSet};

use crate::backups::{BackupState, has_given_up, list, manifest};
use crate::upload::DOCUMENTS;
use crate::{BackupError, Store};

/// The objects with documents of this document store, whichever backups wrote them, and their sizes.
///
/// # Errors
/// The store cannot be used.
pub fn written_documents(
    store: &Store,
    documents: &str,
) -> Result<BTreeMap<String, u64>, BackupError> {
    let listed = store.list(&format!("{DOCUMENTS}/{documents}"))?;
    let sizes = listed.into_iter().map(|it| (it.name, it.bytes));
    Ok(sizes.collect())
}

/// What became of the documents to which no backup refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// So many objects were deleted.
    Deleted(u64),
    /// This backup may refer to any of them: it is in progress, was so when it was last heard of, or cannot be read.
    KeptFor(u64),
}

/// Deletes documents that no backup in the store has. Nothing is deleted while there is a backup that may refer to others.
///
/// # Errors
/// The store cannot be used.
pub fn delete_unused_documents(store: &Store) -> Result<Unused, BackupError> {
    // Listed before the backups: what a backup writes that begins from now on is not among them. It refers to those of a backup that has a
    // manifest already, all of which count below.
    let mut documents = store.list(DOCUMENTS)?;
    documents.retain(|object| is_written_by_a_backup(&object.name));
    if documents.is_empty() {
        return Ok(Unused::Deleted(0));
    }
    let mut used = BTreeSet::new();
    for backup in list(store, "")? {
        let manifest = match backup.manifest {
            Some(manifest) => Some(manifest),
            // The manifest of a backup that has failed may have been written all the same.
            None if backup.state == BackupState::Failed && has_given_up(store, backup.id)? => {
                manifest(store, backup.id)?
            }
            None => return Ok(Unused::KeptFor(backup.id)),
        };
        let objects = manifest.iter().flat_map(|it| it.document_objects());
        used.extend(objects.map(|object| object.name.clone()));
    }
    let mut deleted = 0;
    for object in documents {
        if !used.contains(&object.name) {
            store.delete(&object.name)?;
            deleted += 1;
        }
    }
    Ok(Unused::Deleted(deleted))
}

/// Whether it is `backup-documents/STORE/ID/N`: whatever else people have put there is not the backups'.
fn is_written_by_a_backup(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.split('/');
    let mut next = || parts.next().unwrap_or_default();
    next() == DOCUMENTS
        && !next().is_empty()
        && is_number(next())
        && is_number(next())
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::is_written_by_a_backup;

    #[test]
    fn only_what_backups_write_is_deleted() {
        assert!(is_written_by_a_backup("backup-documents/local/17/000001"));
        for other in [
            "backup-documents/notes",
            "backup-documents/local/17",
            "backup-documents/local/17/notes",
            "backup-documents/local/x/000001",
            "documents/local/17/000001",
            "backup-documents/local/17/000001/more",
        ] {
            assert!(!is_written_by_a_backup(other), "{other}");
        }
    }
}
