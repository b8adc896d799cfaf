//! Documents outlive the backup that wrote them, as later ones refer to them. Deletes those to which no backup refers any more.

use std::collections::{BTreeMap, BTreeSet};

use crate::backups::{BackupState, list};
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

/// Deletes documents that no backup in the store has. Returns how many objects these were. A backup in progress may refer to any of them, and
/// so may one that this version cannot read: nothing is deleted while there is one.
///
/// # Errors
/// The store cannot be used.
pub fn delete_unused_documents(store: &Store) -> Result<u64, BackupError> {
    // Listed before the backups: what a backup writes that begins from now on is not among them. It can refer to none that no complete backup
    // has, as it takes them from a complete one.
    let mut documents = store.list(DOCUMENTS)?;
    documents.retain(|object| is_written_by_a_backup(&object.name));
    if documents.is_empty() {
        return Ok(0);
    }
    let backups = list(store, "")?;
    let may_refer = |state| matches!(state, BackupState::InProgress | BackupState::Incompatible);
    if backups.iter().any(|backup| may_refer(backup.state)) {
        return Ok(0);
    }
    let manifests = backups.iter().filter_map(|backup| backup.manifest.as_ref());
    let used = manifests.flat_map(|manifest| manifest.document_objects());
    let used: BTreeSet<&str> = used.map(|object| object.name.as_str()).collect();
    let mut deleted = 0;
    for object in documents {
        if !used.contains(object.name.as_str()) {
            store.delete(&object.name)?;
            deleted += 1;
        }
    }
    Ok(deleted)
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
