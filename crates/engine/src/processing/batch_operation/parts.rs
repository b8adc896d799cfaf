//! BATCH_OPERATION_PARTITION_LIFECYCLE: partitions report their progress to the one that created an operation, which ends
//! the operation when all are done.

use skep_protocol::Key;
use skep_protocol::intent::BatchOperationIntent as Intent;
use skep_protocol::value::{
    BatchOperationError, BatchOperationPartitionLifecycleValue, BatchProgress,
};

use super::managed;
use crate::processing::Context;
use crate::processing::deployment::distribution;
use crate::remote::{Distributed, RemoteCommand};
use crate::state::{BatchOperation, BatchPart, BatchPhase};

/// Reports the progress of this partition. A lost report is repeated with the next progress, and by [`retry`].
pub(crate) fn report(cx: &mut Context<'_>, key: Key) {
    let own = cx.state.partition;
    let home = cx.config.routing.home(key);
    let (Some(row), Some(sums_up)) = (cx.state.batch_operations.get(key), home) else {
        return;
    };
    let part = part_of(row);
    if sums_up == own {
        receive_report(cx, key, own, &part);
    } else {
        let command = RemoteCommand::BatchPart {
            batch_operation_key: key,
            partition: own,
            part,
        };
        cx.effects.sends.push((sums_up, command.into()));
    }
}

fn part_of(row: &BatchOperation) -> BatchPart {
    BatchPart {
        progress: row.progress,
        ended: matches!(row.phase, BatchPhase::Done | BatchPhase::Failed),
        error: row.error.clone(),
    }
}

/// Receives a partition's report, possibly again, and possibly late.
pub(crate) fn receive_report(cx: &mut Context<'_>, key: Key, partition: u32, part: &BatchPart) {
    let Some(row) = cx.state.batch_operations.get(key) else {
        return;
    };
    let Some(known) = row.parts.get(&partition) else {
        return;
    };
    if known.ended || !(part.ended || is_further(&part.progress, &known.progress)) {
        return;
    }
    let (before, sum) = (known.progress, row.sum());
    let value = BatchOperationPartitionLifecycleValue {
        batch_operation_key: key,
        source_partition_id: partition,
        progress: part.progress,
        sum: BatchProgress {
            total: sum.total + part.progress.total - before.total,
            completed: sum.completed + part.progress.completed - before.completed,
            failed: sum.failed + part.progress.failed - before.failed,
        },
        error: part.error.clone(),
    };
    let event = match (part.ended, &part.error) {
        (false, _) => Intent::Progressed,
        (true, None) => Intent::PartitionCompleted,
        (true, Some(_)) => Intent::PartitionFailed,
    };
    cx.event(key, event, &value);
    let row = cx.state.batch_operations.get(key);
    if row.is_some_and(|row| row.is_over_everywhere()) {
        end(cx, key);
    }
}

/// Whether the report is newer. The numbers never decrease, so those of a later report are not smaller.
fn is_further(new: &BatchProgress, known: &BatchProgress) -> bool {
    new != known
        && new.total >= known.total
        && new.completed >= known.completed
        && new.failed >= known.failed
}

fn end(cx: &mut Context<'_>, key: Key) {
    let Some(row) = cx.state.batch_operations.get(key) else {
        return;
    };
    let errors = row.parts.values().filter_map(|part| part.error.clone());
    let errors: Vec<BatchOperationError> = errors.collect();
    let event = if errors.len() == row.parts.len() {
        Intent::Failed
    } else {
        Intent::Completed
    };
    managed(cx, key, event, &errors);
    let command = Distributed::ManageBatchOperation {
        key,
        event: event as u8,
        errors,
    };
    let distribution_key = cx.next_key();
    distribution::spread(cx, distribution_key, command);
}

/// Repeats the reports of parts that have ended, until the operation has.
pub(crate) fn retry(cx: &mut Context<'_>) {
    let keys: Vec<Key> = cx.state.batch_operations.finished_here().collect();
    for key in keys {
        if cx.config.routing.home(key) != Some(cx.state.partition) {
            report(cx, key);
        }
    }
}
