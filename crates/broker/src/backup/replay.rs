//! Replays a backup without a cluster: each partition's engine is built from its rows and applies its log, as a restored node does, and then
//! the log that was shipped after the backup. It must pass every cut with the same record and the same key.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use skep_backup::{Cut, Marker, PartitionManifest, Reader};
use skep_engine::{Engine, OldestNode};

use super::restore::{RestoreError, install_state};
use crate::config::BrokerConfig;
use crate::partition::pending_rows::PendingRows;
use crate::partition::{STACK_BYTES, engine_config, open_engine};

/// Applies everything that the backup contains, and everything in the store that continues it. `scratch`: an empty directory for the rows,
/// one partition at a time. Blocks. Returns the number of applied records.
///
/// # Errors
/// A row or record cannot be applied, or a partition does not pass a cut as the manifest or a marker says.
pub fn replay(config: &BrokerConfig, reader: &Reader, scratch: &Path) -> Result<u64, RestoreError> {
    // Before the logs: a marker has its logs in the store.
    let markers = reader.markers()?;
    let mut records = 0;
    for of in &reader.manifest.partitions {
        let rows = scratch.join(of.partition.to_string());
        std::fs::create_dir_all(&rows)?;
        let cuts = Cuts::of(of, &markers);
        records += on_own_stack(|| replay_partition(config, reader, of, cuts, &rows))?;
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
    mut cuts: Cuts,
    rows: &Path,
) -> Result<u64, RestoreError> {
    let partition = of.partition;
    let differs = |what: String| RestoreError::Refused(format!("partition {partition} {what}"));
    let kv = install_state(reader, of, rows)?;
    let routing = Arc::new(reader.manifest.cluster.routing());
    let engine_config = engine_config(config, partition, 0, routing, OldestNode::default());
    let opened = open_engine(&kv, &PendingRows::default(), &engine_config);
    let (mut engine, meta) = opened.map_err(|error| differs(error.to_string()))?;
    if meta.index != of.checkpoint_index {
        return Err(differs(format!(
            "has the rows of entry {}, but the manifest says {}",
            meta.index, of.checkpoint_index
        )));
    }
    let first = engine.next_position();
    let misses = |missed: Missed| differs(missed.to_string());
    cuts.pass(meta.index, &engine).map_err(misses)?;
    for entries in reader.log(of).chain(reader.shipped(of)?) {
        for entry in entries?.iter().filter(|entry| entry.index > meta.index) {
            let content = entry.content();
            if !content.is_empty() {
                engine.apply(&content).map_err(|error| {
                    differs(format!("cannot apply entry {}: {error}", entry.index))
                })?;
            }
            cuts.pass(entry.index, &engine).map_err(misses)?;
        }
    }
    cuts.expect_none().map_err(misses)?;
    engine
        .promote()
        .map_err(|error| differs(error.to_string()))?;
    Ok(engine.next_position() - first)
}

/// Where a partition was cut: by the backup and by the markers after it.
struct Cuts {
    /// Those that are not passed yet, the last one first, with the time of the marker.
    left: Vec<(Cut, Option<i64>)>,
}

impl Cuts {
    fn of(of: &PartitionManifest, markers: &[Marker]) -> Cuts {
        let marked = markers.iter().filter_map(|marker| {
            let cut = marker.cuts.get(&of.partition)?;
            Some((*cut, Some(marker.at)))
        });
        let mut left: Vec<_> = std::iter::once((of.cut, None)).chain(marked).collect();
        left.sort_by_key(|(cut, _)| std::cmp::Reverse(cut.index));
        Cuts { left }
    }

    /// Compares the engine, which has applied the log up to this entry, with the cuts there.
    fn pass(&mut self, index: u64, engine: &Engine) -> Result<(), Missed> {
        while let Some((cut, marker)) = self.left.pop_if(|(cut, _)| cut.index == index) {
            let last = engine.next_position().saturating_sub(1);
            let last_key = engine.state.next_key().counter().saturating_sub(1);
            if (last, last_key) != (cut.position, cut.last_key) {
                return Err(Missed::Otherwise {
                    last,
                    last_key,
                    cut,
                    by: marker.map_or(By::Manifest, By::Marker),
                });
            }
        }
        Ok(())
    }

    fn expect_none(&self) -> Result<(), Missed> {
        self.left
            .last()
            .map_or(Ok(()), |(cut, _)| Err(Missed::NoEntry(cut.index)))
    }
}

/// A cut that the replayed partition does not pass.
#[derive(Debug, thiserror::Error)]
enum Missed {
    #[error(
        "ends with record {last} and key counter {last_key} at entry {}, but {by} says {} and {}",
        .cut.index, .cut.position, .cut.last_key
    )]
    Otherwise {
        last: u64,
        last_key: u64,
        cut: Cut,
        by: By,
    },
    #[error("is cut at entry {0}, which its log lacks")]
    NoEntry(u64),
}

/// What says where a partition is cut.
#[derive(Debug)]
enum By {
    Manifest,
    /// Of this time.
    Marker(i64),
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            By::Manifest => f.write_str("the manifest"),
            By::Marker(at) => write!(f, "the marker of {at}"),
        }
    }
}
