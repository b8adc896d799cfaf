//! Batch operations over random instances: the parts of the broker and of clients.

use skep_protocol::Key;
use skep_protocol::command::*;
use skep_protocol::value::{BatchOperationItem, BatchOperationType, BatchPlan};

use skep_random::Random;

use crate::migrations;
use skep_testkit::rig::*;

pub fn command(rig: &mut Rig, random: &mut Random, elements: &[String]) {
    let partition = 1 + random.below(rig.partitions.len() as u64) as u32;
    let open = open(rig, partition);
    let some = open.get(random.below(open.len().max(1) as u64) as usize);
    match (random.below(8), some) {
        (0 | 1, _) | (_, None) => create(rig, random, elements),
        (2..=5, Some(key)) => choose(rig, random, partition, *key),
        (6, Some(key)) => {
            let fail = Command::Batch(BatchCommand::Fail {
                batch_operation_key: *key,
                message: "away".into(),
            });
            rig.send_to(partition, fail);
        }
        (_, Some(key)) => {
            let batch_operation_key = *key;
            rig.send_async(match random.below(4) {
                0 => Command::Batch(BatchCommand::Cancel {
                    batch_operation_key,
                }),
                1 => Command::Batch(BatchCommand::Suspend {
                    batch_operation_key,
                }),
                _ => Command::Batch(BatchCommand::Resume {
                    batch_operation_key,
                }),
            });
        }
    }
}

/// Open operations on a partition.
fn open(rig: &mut Rig, partition: u32) -> Vec<Key> {
    let operations = &mut rig.engine(partition).state.batch_operations;
    let mut keys = Vec::new();
    let visited = operations.table.for_each(|key, _| keys.push(key));
    visited.unwrap();
    keys.sort();
    keys
}

fn create(rig: &mut Rig, random: &mut Random, elements: &[String]) {
    let kinds = [
        BatchOperationType::CancelProcessInstance,
        BatchOperationType::ResolveIncident,
        BatchOperationType::ModifyProcessInstance,
        BatchOperationType::MigrateProcessInstance,
        BatchOperationType::DeleteProcessInstance,
    ];
    let kind = kinds[random.below(kinds.len() as u64) as usize];
    let mut element = || {
        let index = random.below(elements.len() as u64) as usize;
        elements[index].as_str().into()
    };
    let plan = match kind {
        BatchOperationType::ModifyProcessInstance => BatchPlan::Modify {
            moves: vec![(element(), element())],
        },
        BatchOperationType::MigrateProcessInstance => {
            let Some(plan) = migrations::plan(rig, random) else {
                return;
            };
            plan
        }
        _ => BatchPlan::None,
    };
    rig.send_async(Command::Batch(BatchCommand::Create(Box::new(
        CreateBatchOperation {
            kind,
            filter: "{}".into(),
            plan,
            follow_up: None,
        },
    ))));
}

/// Chooses items of the partition, some of which do not exist any more or do not fit the operation's type.
fn choose(rig: &mut Rig, random: &mut Random, partition: u32, key: Key) {
    let Some(row) = rig.engine(partition).state.batch_operations.get(key) else {
        return;
    };
    let after = row.chosen_up_to;
    let mut keys: Vec<Key> = rig.open_instances();
    keys.extend(rig.called_instances());
    keys.extend(rig.incidents().iter().map(|incident| incident.key));
    keys.retain(|key| key.partition() == Some(partition) && *key > after);
    keys.sort();
    keys.truncate(random.below(8) as usize);
    let item = |key: Key| BatchOperationItem {
        item_key: key,
        process_instance_key: key,
        root_process_instance_key: key,
    };
    let add = AddBatchItems {
        batch_operation_key: key,
        resources: Vec::new(),
        items: keys.into_iter().map(item).collect(),
        after,
        last: random.below(2) == 0,
    };
    rig.send_to(partition, Command::Batch(BatchCommand::Add(add)));
}

/// Brings all of them to their end.
pub fn finish(rig: &mut Rig) {
    let all = |rig: &mut Rig| -> Vec<(u32, Key)> {
        let partitions = 1..=rig.partitions.len() as u32;
        let of = |partition| {
            open(rig, partition)
                .into_iter()
                .map(move |key| (partition, key))
        };
        partitions.flat_map(of).collect()
    };
    for _ in 0..1_000 {
        let left = all(rig);
        for (partition, key) in &left {
            rig.send_async(Command::Batch(BatchCommand::Resume {
                batch_operation_key: *key,
            }));
            let Some(row) = rig.engine(*partition).state.batch_operations.get(*key) else {
                continue;
            };
            let add = AddBatchItems {
                batch_operation_key: *key,
                resources: Vec::new(),
                items: Vec::new(),
                after: row.chosen_up_to,
                last: true,
            };
            rig.send_to(*partition, Command::Batch(BatchCommand::Add(add)));
        }
        if left.is_empty() {
            return;
        }
        // Lost commands are resent.
        rig.advance(10_000);
    }
    panic!("batch operations never end: {:?}", all(rig));
}
