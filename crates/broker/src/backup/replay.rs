//! Replays a backup without a cluster: each partition's engine is built from its rows and applies its log, as a restored node does. It must
//! end where the partition was cut.

use std::path::Path;
use std::sync::Arc;

use skep_backup::{PartitionManifest, Reader};

use super::restore::{RestoreError, install_state};
use crate::config::BrokerConfig;
use crate::partition::pending_rows::PendingRows;
use crate::partition::{STACK_BYTES, engine_config, open_engine};

/// Applies everything that the backup contains. `scratch`: an empty directory for the rows, one partition at a time. Blocks. Returns the
/// number of applied records.
///
/// # Errors
/// A row or record cannot be applied, or a partition does not end where the manifest says.
pub fn replay(config: &BrokerConfig, reader: &Reader, scratch: &Path) -> Result<u64, RestoreError> {
    let mut records = 0;
    for of in &reader.manifest.partitions {
        let rows = scratch.join(of.partition.to_string());
        std::fs::create_dir_all(&rows)?;
        records += on_own_stack(|| replay_partition(config, reader, of, &rows))?;
        std::fs::remove_dir_all(&rows)?;
    }
    Ok(records)
}

/// Applying a log may need as much stack here as in the partition's thread.
fn on_own_stack<T: Send>(
    work: impl FnOnce() -> Result<T, RestoreError> + Send,
) -> Result<T, RestoreError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| {
            Err(RestoreError::Refused(
                "a record of the log makes this version of Skep panic: see above".to_string(),
            ))
        })
    })
}

fn replay_partition(
    config: &BrokerConfig,
    reader: &Reader,
    of: &PartitionManifest,
    rows: &Path,
) -> Result<u64, RestoreError> {
    let partition = of.partition;
    let differs = |what: String| RestoreError::Refused(format!("partition {partition} {what}"));
    let kv = install_state(reader, of, rows)?;
    let routing = Arc::new(reader.manifest.cluster.routing());
    let engine_config = engine_config(config, partition, 0, routing);
    let opened = open_engine(&kv, &PendingRows::default(), &engine_config);
    let (mut engine, meta) = opened.map_err(|error| differs(error.to_string()))?;
    if meta.index != of.checkpoint_index {
        return Err(differs(format!(
            "has the rows of entry {}, but the manifest says {}",
            meta.index, of.checkpoint_index
        )));
    }
    let first = engine.next_position();
    for entries in reader.log(of) {
        for entry in entries?.iter().filter(|entry| entry.index > meta.index) {
            let content = entry.content();
            if content.is_empty() {
                continue;
            }
            engine
                .apply(&content)
                .map_err(|error| differs(format!("cannot apply entry {}: {error}", entry.index)))?;
        }
    }
    engine
        .promote()
        .map_err(|error| differs(error.to_string()))?;
    let (last, last_key) = (
        engine.next_position().saturating_sub(1),
        engine.state.next_key().counter().saturating_sub(1),
    );
    if (last, last_key) != (of.cut.position, of.cut.last_key) {
        return Err(differs(format!(
            "ends with record {last} and key counter {last_key}, but the manifest says {} and {}",
            of.cut.position, of.cut.last_key
        )));
    }
    Ok(engine.next_position() - first)
}
