//! Batch operations: one command for many entities, on all partitions, a few items at a time.

use skep_engine::RemoteCommand;
use skep_engine::batch_operation::MAX_FILTER_BYTES;
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::value::{
    BatchOperationItem, BatchOperationType, BatchPlan, BatchProgress, HistoryDeletionType,
    HistoryDeletionValue,
};
use skep_protocol::{Key, Rejection, Response};
use skep_testkit::rig::*;

const CANCEL: BatchOperationType = BatchOperationType::CancelProcessInstance;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
}

fn asked(kind: BatchOperationType) -> CreateBatchOperation {
    CreateBatchOperation {
        kind,
        filter: r#"{"processDefinitionId":"p"}"#.into(),
        plan: BatchPlan::None,
        follow_up: None,
    }
}

fn create(rig: &mut Rig, command: CreateBatchOperation) -> Key {
    match rig.send(Command::Batch(BatchCommand::Create(Box::new(command)))) {
        Ok(Response::BatchOperationCreated { key, .. }) => key,
        other => panic!("no batch operation: {other:?}"),
    }
}

fn item(key: Key) -> BatchOperationItem {
    BatchOperationItem {
        item_key: key,
        process_instance_key: key,
        root_process_instance_key: key,
    }
}

/// The broker's command after a search in secondary storage.
fn add(
    rig: &mut Rig,
    partition: u32,
    key: Key,
    after: Key,
    items: &[Key],
    last: bool,
) -> Result<Response, Rejection> {
    let request = rig.send_to(
        partition,
        Command::Batch(BatchCommand::Add(AddBatchItems {
            batch_operation_key: key,
            resources: Vec::new(),
            items: items.iter().copied().map(item).collect(),
            after,
            last,
        })),
    );
    rig.answer(request).expect("it is answered")
}

fn choose(rig: &mut Rig, key: Key, items: &[Key]) {
    add(rig, 1, key, Key::NONE, items, true).unwrap();
}

fn suspend(rig: &mut Rig, key: Key) -> Result<Response, Rejection> {
    rig.send(Command::Batch(BatchCommand::Suspend {
        batch_operation_key: key,
    }))
}

fn resume(rig: &mut Rig, key: Key) -> Result<Response, Rejection> {
    rig.send(Command::Batch(BatchCommand::Resume {
        batch_operation_key: key,
    }))
}

fn cancel(rig: &mut Rig, key: Key) -> Result<Response, Rejection> {
    rig.send(Command::Batch(BatchCommand::Cancel {
        batch_operation_key: key,
    }))
}

fn instances(rig: &mut Rig, count: usize) -> Vec<Key> {
    (0..count).map(|_| rig.create("p", "{}")).collect()
}

/// Progress of the operation, as known to the partition that created it.
fn sum(rig: &mut Rig, key: Key) -> Option<BatchProgress> {
    let operations = &mut rig.engine(1).state.batch_operations;
    operations.get(key).map(|row| row.sum())
}

#[track_caller]
fn assert_gone(rig: &mut Rig) {
    for partition in 1..=rig.partitions.len() as u32 {
        let state = &rig.engine(partition).state;
        assert!(state.batch_operations.is_empty());
        assert_eq!(state.batch_operations.table.len(), 0);
        assert_eq!(state.batch_operations.chunks.len(), 0);
    }
}

#[test]
fn instances_are_cancelled_on_every_partition() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(process());
    let keys: Vec<Key> = (1..=3).map(|p| rig.create_on(p, "p", "{}")).collect();
    let key = create(&mut rig, asked(CANCEL));
    for partition in [2, 1, 3] {
        let own = keys[partition as usize - 1];
        assert!(rig.is_running(own));
        add(&mut rig, partition, key, Key::NONE, &[own], true).unwrap();
        assert!(!rig.is_running(own));
    }
    let of = |value_type| -> Vec<(u32, &str)> {
        let events = rig.events(value_type);
        events.map(|r| (r.partition, r.intent)).collect()
    };
    let created = of("BATCH_OPERATION_CREATION");
    assert_eq!(created, [(1, "CREATED"), (2, "CREATED"), (3, "CREATED")]);
    let completed = of("BATCH_OPERATION_LIFECYCLE_MANAGEMENT");
    assert_eq!(
        completed,
        [(1, "COMPLETED"), (2, "COMPLETED"), (3, "COMPLETED")]
    );
    let parts = of("BATCH_OPERATION_PARTITION_LIFECYCLE");
    let ended = parts.iter().filter(|(_, i)| *i == "PARTITION_COMPLETED");
    assert_eq!(ended.count(), 3);
    assert!(parts.iter().all(|(partition, _)| *partition == 1));
    assert_gone(&mut rig);
    rig.assert_nothing_left();
}

#[test]
fn records_caused_by_an_item_refer_to_the_batch_operation() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 1);
    let key = create(&mut rig, asked(CANCEL));
    choose(&mut rig, key, &keys);
    let ended = rig.events("PROCESS_INSTANCE");
    let ended: Vec<_> = ended.filter(|r| r.intent == "ELEMENT_TERMINATED").collect();
    assert_eq!(ended.len(), 2);
    for record in ended {
        assert_eq!(record.json["batchOperationReference"], key.0);
    }
}

#[test]
fn an_item_that_fails_says_why_and_stops_no_other() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 3);
    rig.cancel(keys[1]).unwrap();
    let key = create(&mut rig, asked(CANCEL));
    choose(&mut rig, key, &keys);
    assert!(keys.iter().all(|key| !rig.is_running(*key)));
    let items: Vec<_> = rig.events("BATCH_OPERATION_ITEM").collect();
    let intents: Vec<_> = items.iter().map(|r| r.intent).collect();
    assert_eq!(intents, ["EXECUTED", "FAILED", "EXECUTED"]);
    let why = items[1].text("errorMessage");
    assert!(why.contains("no such process was found"), "{why}");
    let chunk = rig.events("BATCH_OPERATION_CHUNK").next().unwrap().key;
    let names: Vec<i64> = items.iter().map(|r| r.key.0 - chunk.0).collect();
    assert_eq!(
        names,
        [1, 2, 3],
        "items are named by the keys behind their chunk"
    );
    assert_gone(&mut rig);
}

#[test]
fn a_job_without_retries_gets_one_when_its_incident_is_resolved() {
    let mut rig = Rig::with(process());
    instances(&mut rig, 2);
    for job in rig.jobs("work") {
        rig.fail(&job, 0, 0);
    }
    let incidents: Vec<Key> = rig.incidents().iter().map(|i| i.key).collect();
    assert_eq!(incidents.len(), 2);
    let key = create(&mut rig, asked(BatchOperationType::ResolveIncident));
    choose(&mut rig, key, &incidents);
    assert_eq!(rig.incidents(), []);
    let retries: Vec<i32> = rig.jobs("work").iter().map(|job| job.retries).collect();
    assert_eq!(retries, [1, 1]);
}

#[test]
fn only_the_history_of_ended_instances_is_deleted() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 2);
    rig.cancel(keys[0]).unwrap();
    let key = create(&mut rig, asked(BatchOperationType::DeleteProcessInstance));
    choose(&mut rig, key, &keys);
    let deleted: Vec<_> = rig.events("HISTORY_DELETION").collect();
    assert_eq!(deleted.len(), 1);
    assert_eq!(*deleted[0].field("resourceKey"), keys[0].0);
    assert_eq!(deleted[0].text("resourceType"), "PROCESS_INSTANCE");
    assert!(rig.is_running(keys[1]));
    let failed = rig
        .events("BATCH_OPERATION_ITEM")
        .find(|r| r.intent == "FAILED");
    assert!(
        failed
            .unwrap()
            .text("errorMessage")
            .contains("it has not ended")
    );
    assert_gone(&mut rig);
}

#[test]
fn the_definition_follows_its_instances_on_every_partition() {
    let mut rig = Rig::with_partitions(2);
    let follow_up = HistoryDeletionValue {
        resource_key: Key::new(1, 77),
        kind: HistoryDeletionType::ProcessDefinition,
    };
    let command = CreateBatchOperation {
        follow_up: Some(follow_up),
        ..asked(BatchOperationType::DeleteProcessInstance)
    };
    let key = create(&mut rig, command);
    add(&mut rig, 1, key, Key::NONE, &[], true).unwrap();
    assert_eq!(rig.events("HISTORY_DELETION").count(), 0);
    add(&mut rig, 2, key, Key::NONE, &[], true).unwrap();
    let deleted: Vec<u32> = rig
        .events("HISTORY_DELETION")
        .map(|r| r.partition)
        .collect();
    assert_eq!(deleted, [1, 2]);
    assert_gone(&mut rig);
}

#[test]
fn concurrent_batch_operations_take_turns() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 80);
    let first = create(&mut rig, asked(CANCEL));
    let second = create(&mut rig, asked(CANCEL));
    rig.turn_steps(10);
    rig.interrupted = true;
    choose(&mut rig, first, &keys[..40]);
    choose(&mut rig, second, &keys[40..]);
    for _ in 0..10 {
        rig.run_work();
    }
    let progress = [first, second].map(|key| {
        let row = rig.engine(1).state.batch_operations.get(key).unwrap();
        row.progress.completed
    });
    assert!(
        progress.iter().all(|done| *done > 0 && *done < 40),
        "{progress:?}"
    );
    rig.interrupted = false;
    rig.settle(1);
    assert!(keys.iter().all(|key| !rig.is_running(*key)));
    assert_gone(&mut rig);
}

#[test]
fn a_cancellation_has_every_second_turn_among_many_others() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 40);
    let others: Vec<Key> = (0..20)
        .map(|_| create(&mut rig, asked(BatchOperationType::ResolveIncident)))
        .collect();
    let cancellation = create(&mut rig, asked(CANCEL));
    rig.turn_steps(10);
    rig.interrupted = true;
    for other in &others {
        choose(&mut rig, *other, &keys);
    }
    choose(&mut rig, cancellation, &keys);
    let running = |rig: &mut Rig| keys.iter().filter(|key| rig.is_running(**key)).count();
    let (mut turns, mut own, mut left) = (0, 0, keys.len());
    while left > 0 && rig.run_work() {
        let now = running(&mut rig);
        turns += 1;
        own += usize::from(now < left);
        left = now;
    }
    let progress = others.iter().map(|key| {
        let row = rig.engine(1).state.batch_operations.get(*key).unwrap();
        row.progress.failed
    });
    let progress: Vec<_> = progress.collect();
    assert!(turns <= 2 * own, "{own} of {turns} turns");
    assert!(progress.iter().any(|done| *done > 0), "{progress:?}");
    rig.interrupted = false;
    rig.settle(1);
    assert_gone(&mut rig);
}

#[test]
fn a_suspended_batch_operation_waits_until_it_is_resumed() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 50);
    let key = create(&mut rig, asked(CANCEL));
    rig.turn_steps(10);
    rig.interrupted = true;
    choose(&mut rig, key, &keys);
    rig.run_work();
    suspend(&mut rig, key).unwrap();
    rig.interrupted = false;
    rig.settle(1);
    let running = keys.iter().filter(|key| rig.is_running(**key)).count();
    assert!(running > 0 && running < 50, "{running} are left");
    assert!(!rig.engine(1).has_work());
    let (kind, why) = rejected(suspend(&mut rig, key));
    assert_eq!(kind, "INVALID_STATE");
    assert!(why.contains("it is suspended already"), "{why}");
    resume(&mut rig, key).unwrap();
    assert!(keys.iter().all(|key| !rig.is_running(*key)));
    assert_gone(&mut rig);
    assert_eq!(rejected(resume(&mut rig, key)).0, "NOT_FOUND");
}

#[test]
fn a_cancelled_batch_operation_leaves_the_remaining_items_alone() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 130);
    let key = create(&mut rig, asked(CANCEL));
    rig.turn_steps(10);
    rig.interrupted = true;
    choose(&mut rig, key, &keys);
    for _ in 0..10 {
        rig.run_work();
    }
    cancel(&mut rig, key).unwrap();
    assert_eq!(rejected(cancel(&mut rig, key)).0, "NOT_FOUND");
    rig.interrupted = false;
    rig.settle(1);
    let running = keys.iter().filter(|key| rig.is_running(**key)).count();
    assert!(running > 50 && running < 130, "{running} are left");
    let deleted = rig.events("BATCH_OPERATION_CHUNK");
    let deleted = deleted.filter(|r| r.intent == "DELETED");
    let given_up: usize = deleted
        .map(|r| r.field("items").as_array().unwrap().len())
        .sum();
    assert_eq!(
        given_up, running,
        "each item that was not carried out is named"
    );
    assert_gone(&mut rig);
}

#[test]
fn items_that_are_found_twice_count_once() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 4);
    let key = create(&mut rig, asked(CANCEL));
    suspend(&mut rig, key).unwrap();
    add(&mut rig, 1, key, Key::NONE, &keys[..2], false).unwrap();
    let (kind, why) = rejected(add(&mut rig, 1, key, Key::NONE, &keys[..2], false));
    assert_eq!(kind, "INVALID_STATE");
    assert!(why.contains("already"), "{why}");
    add(&mut rig, 1, key, keys[1], &keys[2..], true).unwrap();
    assert_eq!(
        rejected(add(&mut rig, 1, key, keys[3], &[], true)).0,
        "INVALID_STATE"
    );
    assert_eq!(sum(&mut rig, key).unwrap().total, 4);
}

#[test]
fn instances_created_later_are_not_included() {
    let mut rig = Rig::with_partitions(2);
    rig.deploy(process());
    let before: Vec<Key> = (1..=2).map(|p| rig.create_on(p, "p", "{}")).collect();
    let key = create(&mut rig, asked(CANCEL));
    for partition in 1..=2 {
        let after = rig.create_on(partition, "p", "{}");
        let row = rig
            .engine(partition)
            .state
            .batch_operations
            .get(key)
            .unwrap();
        assert!(before[partition as usize - 1] < row.before && row.before <= after);
    }
}

#[test]
fn a_partition_that_cannot_choose_fails_with_its_reason() {
    let mut rig = Rig::with_partitions(2);
    rig.deploy(process());
    let own = rig.create_on(1, "p", "{}");
    let other = rig.create_on(2, "p", "{}");
    let key = create(&mut rig, asked(CANCEL));
    add(&mut rig, 2, key, Key::NONE, &[other], false).unwrap();
    let failure = Command::Batch(BatchCommand::Fail {
        batch_operation_key: key,
        message: "the disk is gone".into(),
    });
    let request = rig.send_to(2, failure);
    rig.answer(request).unwrap().unwrap();
    assert!(rig.is_running(other), "half of what is meant is not done");
    choose(&mut rig, key, &[own]);
    assert!(!rig.is_running(own));
    let ended = rig.events("BATCH_OPERATION_LIFECYCLE_MANAGEMENT");
    let ended: Vec<_> = ended.filter(|r| r.partition == 1).collect();
    assert_eq!(ended[0].intent, "COMPLETED");
    let error = &ended[0].field("errors")[0];
    assert_eq!(error["partitionId"], 2);
    assert_eq!(error["type"], "QUERY_FAILED");
    assert_eq!(error["message"], "the disk is gone");
    assert_gone(&mut rig);
}

#[test]
fn where_no_partition_can_choose_the_operation_fails() {
    let mut rig = Rig::new();
    let key = create(&mut rig, asked(CANCEL));
    rig.send_async(Command::Batch(BatchCommand::Fail {
        batch_operation_key: key,
        message: "away".into(),
    }));
    let intents = rig.intents("BATCH_OPERATION_LIFECYCLE_MANAGEMENT");
    assert_eq!(intents, ["FAILED"]);
    assert_gone(&mut rig);
}

#[test]
fn reports_between_partitions_may_be_lost_or_repeated() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(process());
    let keys: Vec<Key> = (1..=3).map(|p| rig.create_on(p, "p", "{}")).collect();
    let mut count = 0;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::BatchPart { .. } => {
            count += 1;
            [Fate::Lost, Fate::Lost, Fate::Twice][count % 3]
        }
        _ => Fate::Twice,
    });
    let key = create(&mut rig, asked(CANCEL));
    for partition in 1..=3 {
        let own = keys[partition as usize - 1];
        add(&mut rig, partition, key, Key::NONE, &[own], true).unwrap();
    }
    for _ in 0..6 {
        rig.advance(10_000);
    }
    let ended = rig.events("BATCH_OPERATION_LIFECYCLE_MANAGEMENT");
    assert_eq!(ended.count(), 3);
    assert_gone(&mut rig);
}

#[test]
fn a_filter_is_required_and_has_a_limit() {
    let mut rig = Rig::new();
    for (filter, expected) in [
        (String::new(), "no filter"),
        ("x".repeat(MAX_FILTER_BYTES + 1), "more than"),
    ] {
        let command = CreateBatchOperation {
            filter: filter.into(),
            ..asked(CANCEL)
        };
        let (kind, why) =
            rejected(rig.send(Command::Batch(BatchCommand::Create(Box::new(command)))));
        assert_eq!(kind, "INVALID_ARGUMENT");
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn the_number_of_instances_cancelled_at_a_time_is_bounded() {
    let mut rig = Rig::with(process());
    let keys = instances(&mut rig, 50);
    let key = create(&mut rig, asked(CANCEL));
    // Each cancellation takes more than one turn.
    rig.turn_steps(1);
    rig.interrupted = true;
    choose(&mut rig, key, &keys);
    let mut most = 0;
    while rig.run_work() {
        most = most.max(rig.engine(1).state.continuations.len());
    }
    assert!(most <= 20, "{most} at a time");
    assert!(keys.iter().all(|key| !rig.is_running(*key)));
    assert_gone(&mut rig);
}

#[test]
fn tokens_are_moved() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .service_task("b", "b")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let keys = instances(&mut rig, 2);
    let command = CreateBatchOperation {
        plan: BatchPlan::Modify {
            moves: vec![("a".into(), "b".into())],
        },
        ..asked(BatchOperationType::ModifyProcessInstance)
    };
    let key = create(&mut rig, command);
    choose(&mut rig, key, &keys);
    assert_eq!(rig.jobs("a").len(), 0);
    assert_eq!(rig.jobs("b").len(), 2);
    assert_gone(&mut rig);
}
