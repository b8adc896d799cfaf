//! Which cluster a store belongs to. Two clusters in one store would delete backups that the other one needs, and restore the other's data.
//!
//! A restored cluster keeps its id and the store. It takes the store over with its first backup, unless the cluster that it was restored from
//! still writes there, as during a drill.

use serde::{Deserialize, Serialize};
use skep_cluster::restore_of;
use skep_objects::ObjectError;

use crate::backups::{found, list, list_newest, text};
use crate::markers::times;
use crate::restores::claim_of;
use crate::{Backup, BackupError, Store};

pub(crate) const OWNER: &str = "cluster.json";
/// The newest backups, which tell whether their cluster still works.
const NEWEST: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    cluster_id: String,
    /// Milliseconds since 1970.
    since: i64,
    /// The epoch of the restore that has taken it over; 0: none. Earlier versions did not record it.
    #[serde(default)]
    restore: u64,
}

/// A cluster that wants to write to a store.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    pub cluster_id: &'a str,
    pub epoch: u64,
}

impl Writer<'_> {
    fn owner(&self, now: i64) -> Owner {
        Owner {
            cluster_id: self.cluster_id.to_string(),
            since: now,
            restore: restore_of(self.epoch),
        }
    }
}

/// Makes the store that of this cluster, if it has no backups of another one, or checks that it is.
///
/// # Errors
/// [`BackupError::OtherCluster`], [`BackupError::OtherRestore`], or the store cannot be used.
pub fn own(store: &Store, by: Writer<'_>, now: i64) -> Result<(), BackupError> {
    let restore = restore_of(by.epoch);
    let refused = |reason: String| {
        Err(BackupError::OtherRestore {
            store: store.shown().to_string(),
            reason,
        })
    };
    let owner = found::<Owner>(store, OWNER)?;
    if let Some(owner) = &owner {
        expect(store, &owner.cluster_id, by.cluster_id)?;
        if owner.restore == restore {
            return Ok(());
        }
    }
    let claim = match restore {
        0 => None,
        restore => claim_of(store, restore)?,
    };
    if claim.is_some_and(|(_, is_drill)| is_drill) {
        return refused("it was restored for a drill (--drill)".to_string());
    }
    let Some(owner) = owner else {
        return begin(store, by, now);
    };
    if owner.restore > restore {
        return refused(format!(
            "the restore with the epoch {} has taken it over. If that cluster does not work any more, delete {OWNER} in the store: the next \
             backup takes it back",
            owner.restore
        ));
    }
    // It was read-only for the restore, or the object is gone.
    let Some((restored_at, _)) = claim.filter(|_| restore > 0) else {
        return refused(format!(
            "it does not know the restore that this cluster comes from, so nobody can tell whether the cluster before it still works. If \
             that does not work any more, delete {OWNER} in the store: the next backup takes it over"
        ));
    };
    if let Some(backup) = alive(store, &owner, restored_at)? {
        return refused(format!(
            "the cluster that it was restored from has written to it since, for the backup {backup}. If that cluster does not work any more, \
             delete {OWNER} in the store"
        ));
    }
    Ok(store.put(OWNER, text(&by.owner(now)))?)
}

/// The first backup in the store.
fn begin(store: &Store, by: Writer<'_>, now: i64) -> Result<(), BackupError> {
    // Earlier versions took backups without this object.
    let backups = list(store, "")?;
    let clusters: Vec<&str> = backups.iter().filter_map(|it| it.cluster_id()).collect();
    if let Some(newest) = clusters.first()
        && !clusters.contains(&by.cluster_id)
    {
        return expect(store, newest, by.cluster_id);
    }
    let owner = by.owner(now);
    match store.create(OWNER, text(&owner)) {
        Ok(()) => Ok(()),
        Err(ObjectError::Exists { .. }) => match found::<Owner>(store, OWNER)? {
            Some(other) if other.restore == owner.restore => {
                expect(store, &other.cluster_id, by.cluster_id)
            }
            Some(other) => Err(BackupError::OtherRestore {
                store: store.shown().to_string(),
                reason: format!("the restore with the epoch {} has it", other.restore),
            }),
            None => Err(BackupError::damaged(OWNER, "it has disappeared")),
        },
        Err(error) => Err(error.into()),
    }
}

/// The newest backup for which the owner has written after this time.
fn alive(store: &Store, owner: &Owner, restored_at: i64) -> Result<Option<u64>, BackupError> {
    for backup in list_newest(store, "", NEWEST)? {
        if written_at(store, &backup, owner)?.is_some_and(|at| at > restored_at) {
            return Ok(Some(backup.id));
        }
    }
    Ok(None)
}

/// When the owner completed this backup, or marked a moment after it.
fn written_at(store: &Store, backup: &Backup, owner: &Owner) -> Result<Option<i64>, BackupError> {
    let Some(manifest) = &backup.manifest else {
        return Ok(None);
    };
    let cluster = &manifest.cluster;
    if cluster.cluster_id != owner.cluster_id || restore_of(cluster.epoch) != owner.restore {
        return Ok(None);
    }
    let marked = match times(store, backup.id) {
        Ok(times) => times.last().copied(),
        // A damaged marker must not keep other clusters from taking backups.
        Err(BackupError::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(marked.max(Some(manifest.completed_at)))
}

fn expect(store: &Store, owner: &str, cluster_id: &str) -> Result<(), BackupError> {
    if owner == cluster_id {
        return Ok(());
    }
    Err(BackupError::OtherCluster {
        store: store.shown().to_string(),
        owner: owner.to_string(),
        cluster: cluster_id.to_string(),
    })
}
