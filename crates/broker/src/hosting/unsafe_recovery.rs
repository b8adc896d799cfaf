//! Unsafe recovery of a replica: it becomes the only voter of its group, because the others are lost for good.

use std::io::{Error, Result};
use std::path::Path;
use std::sync::Arc;

use skep_cluster::State;
use skep_replication::{EntryId, force_single_voter};
use skep_storage::disk::RealDisk;
use skep_storage::kv::{FjallConfig, FjallKv, KvStore};
use skep_storage::log::{Log, LogConfig};

use crate::partition::checkpoint::CheckpointMeta;
use crate::replica_file::ReplicaOf;

/// Turns the replica in this directory into that of the member `own`, as the state requires. Repeated after a crash.
///
/// # Errors
/// Files cannot be read or written.
pub(crate) fn begin(
    directory: &Path,
    own: u64,
    state: &State,
    partition: u32,
) -> Result<ReplicaOf> {
    let kv =
        FjallKv::open(directory.join("state"), FjallConfig::default()).map_err(Error::other)?;
    let meta = kv.meta().map_err(Error::other)?;
    let meta = CheckpointMeta::read(meta.as_deref()).map_err(Error::other)?;
    drop(kv);
    let config = LogConfig::default();
    let opened = Log::open(Arc::new(RealDisk), directory.join("log"), config);
    let (mut log, found) = opened.map_err(Error::other)?;
    let checkpoint = EntryId {
        index: meta.index,
        term: meta.term,
    };
    let members = force_single_voter(
        partition,
        (&mut log, &found),
        checkpoint,
        own,
        state.revision,
    );
    let members = members.map_err(Error::other)?;
    log.close().map_err(Error::other)?;
    tracing::error!(
        code = "CLUSTER_STATE",
        partition,
        term = found.last.term,
        index = found.last.index,
        "the partition has lost the majority of its copies and continues from this node's copy: acknowledged entries that are not in it \
         are lost"
    );
    // From here on it is the new member; after a crash before this point, everything is repeated.
    let replica = ReplicaOf { own, members };
    replica.write(directory)?;
    Ok(replica)
}
