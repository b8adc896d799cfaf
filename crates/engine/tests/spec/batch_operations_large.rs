//! Batch operations with many items, and many batch operations.

use skep_engine::batch_operation::MAX_UNFINISHED;
use skep_protocol::command::*;
use skep_protocol::value::{BatchOperationItem, BatchOperationType, BatchPlan};
use skep_protocol::{Key, Response};
use skep_testkit::rig::*;

use super::lone::{Lone, deployed};

const PAGE: usize = 1_000;

fn choose(lone: &mut Lone, key: Key, items: &[Key]) {
    for page in 0..items.len().div_ceil(PAGE) {
        add_page(lone, key, items, page);
    }
}

/// Adds the page of this number, as if a search had found it.
fn add_page(lone: &mut Lone, key: Key, items: &[Key], page: usize) {
    let items_of = |key: &Key| BatchOperationItem {
        item_key: *key,
        process_instance_key: *key,
        root_process_instance_key: *key,
    };
    let (from, to) = (page * PAGE, ((page + 1) * PAGE).min(items.len()));
    lone.send(Command::Batch(BatchCommand::Add(AddBatchItems {
        batch_operation_key: key,
        resources: Vec::new(),
        items: items[from..to].iter().map(items_of).collect(),
        after: from.checked_sub(1).map_or(Key::NONE, |last| items[last]),
        last: to == items.len(),
    })))
    .unwrap();
}

#[test]
fn other_work_proceeds_beside_ten_thousand_items() {
    let mut lone = deployed();
    // One in four exists; the others fail, and take as much work.
    let some = |n: u64| match n % 4 {
        0 => None,
        _ => Some(Key::new(1, 1_000_000 + n)),
    };
    let keys: Vec<Key> = (0..10_000)
        .map(|n| some(n).unwrap_or_else(|| lone.instance()))
        .collect();
    let key = lone.batch().unwrap();
    choose(&mut lone, key, &keys);
    let (mut turns, mut others) = (0, Vec::new());
    while lone.engine.has_work() {
        let records = lone.work();
        assert!(records < 5_000, "one turn wrote {records} records");
        // A command of another client arrives in between and is carried out at once.
        others.push(lone.instance());
        turns += 1;
    }
    assert!(turns > 20, "{turns} turns");
    assert_eq!(lone.engine.state.elements.table.len(), 2 * others.len());
    assert!(lone.engine.state.batch_operations.is_empty());
    assert!(lone.engine.state.dump() == lone.follower.state.dump());
}

#[test]
fn a_cancellation_has_every_second_turn_beside_fifty_modifications_of_200_000_instances() {
    const DONE: u64 = 20_000;
    let mut lone = deployed();
    // None of them exists: an item that fails takes as much work.
    let keys: Vec<Key> = (0..200_000).map(|n| Key::new(1, 1_000_000 + n)).collect();
    let modified: Vec<Key> = keys
        .chunks(4_000)
        .map(|items| {
            let moves = vec![("task".into(), "task".into())];
            let kind = BatchOperationType::ModifyProcessInstance;
            let key = lone.batch_of(kind, BatchPlan::Modify { moves }).unwrap();
            choose(&mut lone, key, items);
            key
        })
        .collect();
    assert_eq!(modified.len(), 50);
    let cancellation = lone.batch().unwrap();
    choose(&mut lone, cancellation, &keys[..30_000]);
    let (mut turns, mut own, mut done) = (0, 0, 0);
    while done < DONE {
        assert!(lone.work() > 0);
        turns += 1;
        let before = std::mem::replace(&mut done, handled(&mut lone, cancellation));
        own += u64::from(done > before);
    }
    assert!(turns <= 2 * own + 1, "{own} of {turns} turns");
    let modified: u64 = modified.iter().map(|key| handled(&mut lone, *key)).sum();
    assert!(modified > DONE / 4, "{modified}: the others have turns too");
}

/// Items of the operation that were carried out, or failed.
fn handled(lone: &mut Lone, key: Key) -> u64 {
    let row = lone.engine.state.batch_operations.get(key).unwrap();
    row.progress.completed + row.progress.failed
}

#[test]
fn a_batch_operation_continues_after_a_restart() {
    let mut lone = deployed();
    let keys: Vec<Key> = (0..450).map(|_| lone.instance()).collect();
    let key = lone.batch().unwrap();
    lone.restart();
    let to_choose: Vec<Key> = lone.engine.state.batch_operations.to_choose().collect();
    assert_eq!(
        to_choose,
        [key],
        "what has no items yet is looked for again"
    );
    choose(&mut lone, key, &keys);
    let mut restarts = 0;
    while lone.engine.has_work() {
        lone.engine.set_turn_steps(25);
        lone.work();
        lone.restart();
        restarts += 1;
    }
    assert!(restarts > 10, "{restarts} restarts");
    assert_eq!(lone.engine.state.elements.table.len(), 0);
    assert!(lone.engine.state.batch_operations.is_empty());
    assert_eq!(lone.engine.state.batch_operations.chunks.len(), 0);
}

#[test]
fn unfinished_operations_have_a_limit() {
    let mut lone = Lone::new();
    let first = lone.batch().unwrap();
    for _ in 1..MAX_UNFINISHED {
        lone.batch().unwrap();
    }
    let (kind, why) = rejected(lone.batch().map(|_| Response::Empty));
    assert_eq!(kind, "INVALID_STATE");
    assert!(why.contains("have not ended yet. Wait for them"), "{why}");
    lone.send(Command::Batch(BatchCommand::Cancel {
        batch_operation_key: first,
    }))
    .unwrap();
    lone.batch().unwrap();
}
