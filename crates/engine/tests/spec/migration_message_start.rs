//! Migration of instances that messages have started: the correlation key is held in the target's process from then on.

use skep_engine::{EngineConfig, OldestNode};
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::Response;
use skep_protocol::command::{AddBatchItems, BatchCommand, Command, CreateBatchOperation};
use skep_protocol::value::{BatchOperationItem, BatchOperationType, BatchPlan};
use skep_testkit::rig::*;

/// A process that messages named like it start.
fn started(process: &str) -> Bpmn {
    Bpmn::process(process)
        .start_message("s", process)
        .service_task("task", process)
        .end("e")
}

/// A process that clients start.
fn plain(process: &str) -> Bpmn {
    Bpmn::process(process)
        .start("s")
        .service_task("task", process)
        .end("e")
}

/// An instance of `a`, started by a message with the key `k`, and the process `target`.
fn rig(target: Bpmn) -> (Rig, Key) {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(started("a"));
    rig.deploy(target);
    rig.publish("a", "k", 0, "{}");
    let instance = rig.instance_of("a");
    (rig, instance)
}

/// Number of instances of this process that messages have started.
fn count(rig: &Rig, process: &str) -> usize {
    let starts = rig.events("MESSAGE_START_EVENT_SUBSCRIPTION");
    let starts = starts.filter(|r| r.intent == "CORRELATED");
    starts
        .filter(|r| r.text("bpmnProcessId") == process)
        .count()
}

/// Completes all jobs of these types.
fn complete_all(rig: &mut Rig, types: &[&str]) {
    for job_type in types {
        for job in rig.jobs(job_type) {
            rig.complete(&job, "{}");
        }
    }
}

#[test]
fn the_key_is_free_in_the_source_and_held_in_the_target() {
    let (mut rig, instance) = rig(started("b"));
    rig.migrate(instance, "b", &[("task", "task")]).unwrap();
    rig.publish("b", "k", 0, "{}");
    assert_eq!(count(&rig, "b"), 0);
    rig.publish("b", "other", 0, "{}");
    assert_eq!(count(&rig, "b"), 1);
    rig.publish("a", "k", 0, "{}");
    assert_eq!(count(&rig, "a"), 2);
    rig.cancel(instance).unwrap();
    rig.publish("b", "k", 0, "{}");
    assert_eq!(count(&rig, "b"), 2);
    complete_all(&mut rig, &["a", "b"]);
    rig.assert_nothing_left();
}

#[test]
fn a_buffered_message_starts_the_next_instance_of_the_source_at_once() {
    let (mut rig, instance) = rig(started("b"));
    rig.publish("a", "k", MINUTE, r#"{"turn":2}"#);
    rig.publish("a", "k", MINUTE, r#"{"turn":3}"#);
    assert_eq!(count(&rig, "a"), 1);
    rig.migrate(instance, "b", &[("task", "task")]).unwrap();
    assert_eq!(count(&rig, "a"), 2);
    assert_eq!(rig.variable(rig.instance_of("a"), "turn").unwrap(), "2");
}

#[test]
fn messages_of_the_target_wait_for_the_end_of_the_migrated_instance() {
    let (mut rig, instance) = rig(started("b"));
    rig.migrate(instance, "b", &[("task", "task")]).unwrap();
    rig.publish("b", "k", MINUTE, "{}");
    assert_eq!(count(&rig, "b"), 0);
    rig.work("a", "{}");
    assert!(!rig.is_running(instance));
    assert_eq!(count(&rig, "b"), 1);
}

#[test]
fn it_is_refused_if_an_instance_of_the_target_has_the_same_key() {
    let (mut rig, instance) = rig(started("b"));
    rig.publish("b", "k", 0, "{}");
    let other = rig.instance_of("b");
    let seen = rig.seen.len();
    let (kind, reason) = rejected(rig.migrate(instance, "b", &[("task", "task")]));
    assert_eq!(kind, "INVALID_STATE");
    let target = rig.definition("b");
    assert_eq!(
        reason,
        format!(
            "Expected to migrate process instance '{instance}' but target process definition '{target}' has an active instance \
             triggered by a message start event with correlation key 'k'. Only one instance per correlation key is allowed for \
             message start events."
        )
    );
    assert!(rig.seen[seen..].iter().all(|record| !record.is_event()));
    rig.cancel(other).unwrap();
    rig.migrate(instance, "b", &[("task", "task")]).unwrap();
}

#[test]
fn a_target_that_no_message_starts_holds_no_key() {
    let (mut rig, instance) = rig(plain("b"));
    rig.migrate(instance, "b", &[("task", "task")]).unwrap();
    rig.publish("a", "k", 0, "{}");
    assert_eq!(count(&rig, "a"), 2);
    assert!(rig.is_running(instance));
    complete_all(&mut rig, &["a"]);
    rig.assert_nothing_left();
}

#[test]
fn a_new_version_of_the_process_keeps_the_key() {
    let (mut rig, instance) = rig(started("a").version_tag("next"));
    rig.migrate(instance, "a", &[("task", "task")]).unwrap();
    rig.publish("a", "k", 0, "{}");
    assert_eq!(count(&rig, "a"), 1);
    rig.work("a", "{}");
    rig.publish("a", "k", 0, "{}");
    assert_eq!(count(&rig, "a"), 2);
}

#[test]
fn an_instance_without_a_key_holds_none_in_the_target() {
    let mut rig = Rig::with(plain("a"));
    rig.deploy(started("b"));
    let instance = rig.create("a", "{}");
    rig.migrate(instance, "b", &[("task", "task")]).unwrap();
    rig.publish("b", "k", 0, "{}");
    rig.publish("b", "", 0, "{}");
    assert_eq!(count(&rig, "b"), 2);
}

/// A message may start an instance of the target while the migration is still checking.
#[test]
fn a_migration_in_turns_checks_the_key_again_before_it_changes_anything() {
    let wide = |process: &str| {
        Bpmn::process(process)
            .start_message("s", process)
            .service_task("task", process)
            .for_each("=items", "item")
            .end("e")
    };
    let mut rig = Rig::with(wide("a"));
    rig.deploy(wide("b"));
    let items: Vec<usize> = (0..2000).collect();
    rig.publish("a", "k", 0, &format!(r#"{{"items":{items:?}}}"#));
    let instance = rig.instance_of("a");
    rig.interrupted = true;
    let command = rig.migration(instance, "b", &[("task", "task")]);
    let request = rig.send_async(command);
    assert!(rig.answer(request).is_none());
    rig.publish("b", "k", 0, r#"{"items":[1]}"#);
    while rig.run_work() {}
    rig.interrupted = false;
    let (kind, reason) = rejected(rig.answer(request).unwrap());
    assert_eq!(kind, "INVALID_STATE", "{reason}");
    assert!(reason.contains("correlation key 'k'"), "{reason}");
    let intents = rig.intents("PROCESS_INSTANCE");
    assert!(!intents.contains(&"ELEMENT_MIGRATED"));
}

/// The only item of a batch operation that migrates to `b`.
fn migrate_in_a_batch(rig: &mut Rig, instance: Key) {
    let create = CreateBatchOperation {
        kind: BatchOperationType::MigrateProcessInstance,
        filter: "{}".into(),
        plan: BatchPlan::Migrate {
            target_process_definition_key: rig.definition("b"),
            mapping: vec![("task".into(), "task".into())],
        },
        follow_up: None,
    };
    let created = rig.send(Command::Batch(BatchCommand::Create(Box::new(create))));
    let Ok(Response::BatchOperationCreated { key, .. }) = created else {
        panic!("no batch operation: {created:?}");
    };
    let add = AddBatchItems {
        batch_operation_key: key,
        resources: Vec::new(),
        items: vec![BatchOperationItem {
            item_key: instance,
            process_instance_key: instance,
            root_process_instance_key: instance,
        }],
        after: Key::NONE,
        last: true,
    };
    rig.send(Command::Batch(BatchCommand::Add(add))).unwrap();
}

/// A batch operation of the earlier version is continued by the leader of the new version, while the other nodes are still to be upgraded:
/// the event that moves the key would stop their replicas.
#[test]
fn an_item_of_a_batch_is_refused_while_a_node_does_not_know_that_keys_move() {
    let oldest_node = OldestNode::default();
    let mut rig = Rig::with_configs(1, |id| EngineConfig {
        oldest_node: oldest_node.clone(),
        ..config(id, 1)
    });
    rig.deploy(started("a"));
    rig.deploy(started("b"));
    rig.deploy(plain("c"));
    rig.publish("a", "k", 0, "{}");
    let instance = rig.instance_of("a");

    oldest_node.speaks(Some(3));
    let seen = rig.seen.len();
    migrate_in_a_batch(&mut rig, instance);
    let failed = rig.events("BATCH_OPERATION_ITEM");
    let failed: Vec<String> = failed
        .filter(|seen| seen.intent == "FAILED")
        .map(|seen| seen.text("errorMessage").to_string())
        .collect();
    assert_eq!(failed.len(), 1, "{:?}", &rig.seen[seen..]);
    let expected = format!(
        "Expected to migrate process instance '{instance}', but a message has started it: moving its correlation key needs \
         version 4 of the protocol between nodes, and a node of the cluster speaks version 3. Nothing was done; upgrade all nodes, \
         then migrate it again"
    );
    assert!(failed[0].contains(&expected), "{}", failed[0]);
    assert!(
        rig.seen[seen..]
            .iter()
            .all(|seen| seen.intent != "MIGRATED")
    );

    // What needs no such event is migrated as before.
    let other = rig.create("c", "{}");
    migrate_in_a_batch(&mut rig, other);
    oldest_node.speaks(Some(4));
    migrate_in_a_batch(&mut rig, instance);
    let migrated = rig.seen[seen..].iter().filter(|seen| {
        seen.value_type == "PROCESS_INSTANCE_MIGRATION" && seen.intent == "MIGRATED"
    });
    let keys: Vec<Key> = migrated.map(|seen| seen.key).collect();
    assert_eq!(keys, [other, instance]);
}
