//! The cluster that a store belongs to. Two clusters in one store would delete and restore each other's backups.

use serde::{Deserialize, Serialize};
use skep_objects::ObjectError;

use crate::backups::{found, list, text};
use crate::{BackupError, Store};

pub(crate) const OWNER: &str = "cluster.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    cluster_id: String,
    /// Milliseconds since 1970.
    since: i64,
}

/// Makes the store that of this cluster, if it has no backups of another one.
///
/// # Errors
/// [`BackupError::OtherCluster`], or the store cannot be used.
pub fn own(store: &Store, cluster_id: &str, now: i64) -> Result<(), BackupError> {
    if let Some(owner) = found::<Owner>(store, OWNER)? {
        return expect(store, &owner.cluster_id, cluster_id);
    }
    // Earlier versions took backups without this object.
    let backups = list(store, "")?;
    let clusters: Vec<&str> = backups.iter().filter_map(|it| it.cluster_id()).collect();
    if let Some(newest) = clusters.first()
        && !clusters.contains(&cluster_id)
    {
        return expect(store, newest, cluster_id);
    }
    let owner = Owner {
        cluster_id: cluster_id.to_string(),
        since: now,
    };
    match store.create(OWNER, text(&owner)) {
        Ok(()) => Ok(()),
        Err(ObjectError::Exists { .. }) => match found::<Owner>(store, OWNER)? {
            Some(owner) => expect(store, &owner.cluster_id, cluster_id),
            None => Err(BackupError::damaged(OWNER, "it has disappeared")),
        },
        Err(error) => Err(error.into()),
    }
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
