//! Checkpoints that an operator has discarded: the API shows none of them any more, and nothing continues them. They can still be restored.

use serde::{Deserialize, Serialize};

use crate::backups::{found, newest_complete, text};
use crate::markers::{Broken, break_off};
use crate::{BackupError, Store, Writer, own};

const FORGOTTEN: &str = "forgotten.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Forgotten {
    /// This backup and all earlier ones.
    upto: u64,
    /// Milliseconds since 1970.
    at: i64,
}

/// Discards the checkpoints up to the newest complete backup and ends the range that continues it. A backup in progress is not discarded.
/// A store without a complete backup stays as it is.
///
/// # Errors
/// [`BackupError::OtherCluster`], [`BackupError::OtherRestore`], or the store cannot be used.
pub fn forget(store: &Store, by: Writer<'_>, now: i64) -> Result<(), BackupError> {
    let Some(newest) = newest_complete(store, None, |_| true)? else {
        return Ok(());
    };
    own(store, by, now)?;
    let upto = newest.backup_id;
    // First, or a marker could follow that is not shown.
    let reason = "its checkpoint state was deleted".to_string();
    break_off(store, upto, &Broken { reason, at: now })?;
    let forgotten = Forgotten { upto, at: now };
    Ok(store.put(FORGOTTEN, text(&forgotten))?)
}

/// The newest backup of those whose checkpoints were discarded.
///
/// # Errors
/// The object is damaged, or the store cannot be used.
pub fn forgotten(store: &Store) -> Result<Option<u64>, BackupError> {
    let forgotten: Option<Forgotten> = found(store, FORGOTTEN)?;
    Ok(forgotten.map(|it| it.upto))
}
