//! What the engine does by itself (calls, listeners, starts, signals that it throws) needs no permission, and gives none to the caller who
//! caused it. Permissions on one process do not reach another one by a migration or a modification, and those of the creator of a batch
//! operation are the ones of the moment.

use skep_model::builder::Bpmn;
use skep_protocol::command::{
    AddBatchItems, BatchCommand, Command, CreateBatchOperation, ModifyProcessInstance,
    PublishMessage,
};
use skep_protocol::origin::Claims;
use skep_protocol::permission::{PermissionType as P, ResourceType};
use skep_protocol::value::{BatchOperationItem, BatchOperationType, BatchPlan};
use skep_protocol::{Document, Key, Response};
use skep_testkit::rig::*;

use super::authorization::{
    allowed, asking, create, created, deploy, forbidden, grant, is, on_process, process, revoke,
};
use super::modification::{terminate, within};

/// Deploys a process as anna, who may deploy.
fn deploy_as_anna(rig: &mut Rig, model: Bpmn) {
    grant(rig, "anna", ResourceType::Resource, "*", &[P::Create]);
    rig.claims = is("anna");
    rig.deploy(model);
}

/// Anna neither gets the one waiting job of a type, nor may complete it, nor change or cancel its instance.
fn assert_out_of_reach(rig: &mut Rig, job_type: &str, instance: Key) {
    rig.claims = is("anna");
    assert!(rig.jobs(job_type).is_empty(), "{job_type}");
    rig.claims = Claims::Internal;
    let job_key = rig.job(job_type).key;
    for command in [
        Command::CompleteJob {
            job_key,
            variables: Document::new(),
            result: None,
        },
        Command::SetVariables {
            element_instance_key: instance,
            variables: Document::parse(r#"{"a":1}"#).unwrap(),
            local: false,
        },
        Command::CancelProcessInstance {
            process_instance_key: instance,
        },
    ] {
        forbidden(rig, is("anna"), command);
    }
    let complete = Command::CompleteJob {
        job_key,
        variables: Document::new(),
        result: None,
    };
    allowed(rig, Claims::Internal, complete);
}

#[test]
fn a_call_gives_no_rights_on_the_process_that_it_calls() {
    let mut rig = asking(1);
    deploy(&mut rig, process("secret"));
    let model = Bpmn::process("own")
        .start("s")
        .call_activity("c", "secret")
        .end("e");
    deploy_as_anna(&mut rig, model);
    let all = [
        P::CreateProcessInstance,
        P::UpdateProcessInstance,
        P::CancelProcessInstance,
    ];
    on_process(&mut rig, "anna", "own", &all);
    let own = created(&mut rig, is("anna"), "own");
    let called = rig.instance_of("secret");
    forbidden(&mut rig, is("anna"), create("secret"));
    assert_out_of_reach(&mut rig, "work", called);
    rig.assert_completed(own);
}

#[test]
fn who_may_create_an_instance_does_not_get_the_jobs_of_its_listeners() {
    let mut rig = asking(1);
    let model = Bpmn::process("order")
        .start("s")
        .service_task("t", "work")
        .listener("start", "hook")
        .end("e");
    deploy(&mut rig, model);
    on_process(&mut rig, "anna", "order", &[P::CreateProcessInstance]);
    let instance = created(&mut rig, is("anna"), "order");
    assert_out_of_reach(&mut rig, "hook", instance);
    assert_out_of_reach(&mut rig, "work", instance);
    rig.assert_completed(instance);
}

#[test]
fn who_deploys_a_timer_gets_no_rights_on_the_instances_that_it_starts() {
    let mut rig = asking(1);
    let model = Bpmn::process("ticks")
        .start_cycle("tick", "R1/PT1H")
        .service_task("t", "work")
        .end("e");
    deploy_as_anna(&mut rig, model);
    forbidden(&mut rig, is("anna"), create("ticks"));
    rig.advance(3_600_000);
    let started = rig.instance_of("ticks");
    forbidden(&mut rig, is("anna"), create("ticks"));
    assert_out_of_reach(&mut rig, "work", started);
    rig.assert_completed(started);
}

#[test]
fn a_right_that_was_taken_stops_no_instance_that_it_has_begun() {
    let mut rig = asking(1);
    deploy(&mut rig, process("secret"));
    let model = Bpmn::process("own")
        .start("s")
        .service_task("first", "first")
        .call_activity("c", "secret")
        .end("e");
    deploy(&mut rig, model);
    let right = on_process(&mut rig, "anna", "own", &[P::CreateProcessInstance]);
    let own = created(&mut rig, is("anna"), "own");
    revoke(&mut rig, right);
    // The engine goes on for nobody in particular, so the call still happens.
    rig.claims = Claims::Internal;
    rig.work("first", "{}");
    let called = rig.instance_of("secret");
    assert_out_of_reach(&mut rig, "work", called);
    rig.assert_completed(own);
}

/// The right to publish is one on the message's name alone.
#[test]
fn who_publishes_a_message_gets_no_rights_on_the_instance_that_it_starts() {
    let mut rig = asking(1);
    let model = Bpmn::process("secret")
        .start_message("s", "order")
        .service_task("t", "work")
        .end("e");
    deploy(&mut rig, model);
    grant(
        &mut rig,
        "anna",
        ResourceType::Message,
        "order",
        &[P::Create],
    );
    let publish = |name: &str| {
        Command::PublishMessage(PublishMessage {
            name: name.into(),
            correlation_key: "k".into(),
            time_to_live: 0,
            message_id: "".into(),
            variables: Document::new(),
        })
    };
    forbidden(&mut rig, is("anna"), publish("other"));
    allowed(&mut rig, is("anna"), publish("order"));
    let started = rig.instance_of("secret");
    assert_out_of_reach(&mut rig, "work", started);
    rig.assert_completed(started);
}

/// Signals that clients broadcast are checked on each partition. Those of throw events are not, on none of them.
#[test]
fn a_signal_that_an_instance_throws_needs_no_rights_and_gives_none() {
    let mut rig = asking(2);
    let waits = Bpmn::process("secret")
        .start("s")
        .catch_signal("c", "go")
        .service_task("t", "work")
        .end("e");
    deploy(&mut rig, waits);
    let here = rig.create_on(1, "secret", "{}");
    let there = rig.create_on(2, "secret", "{}");
    let throws = Bpmn::process("own")
        .start("s")
        .throw_signal("shout", "go")
        .end("e");
    deploy_as_anna(&mut rig, throws);
    on_process(&mut rig, "anna", "own", &[P::CreateProcessInstance]);
    let own = created(&mut rig, is("anna"), "own");
    assert!(rig.completed(own).contains(&"own".to_string()));
    rig.claims = is("anna");
    assert!(rig.jobs("work").is_empty());
    rig.claims = Claims::Internal;
    let mut waiting: Vec<Key> = (rig.jobs("work").iter())
        .map(|job| job.process_instance_key)
        .collect();
    waiting.sort_unstable();
    assert_eq!(waiting, [here, there]);
}

/// The permission on the source suffices for the migration, and does not go along.
#[test]
fn who_migrates_an_instance_gets_no_rights_on_it_in_its_new_process() {
    let mut rig = asking(1);
    deploy(&mut rig, process("own"));
    deploy(&mut rig, process("secret"));
    let all = [
        P::CreateProcessInstance,
        P::UpdateProcessInstance,
        P::CancelProcessInstance,
    ];
    on_process(&mut rig, "anna", "own", &all);
    let foreign = created(&mut rig, Claims::Internal, "secret");
    let here = rig.migration(foreign, "own", &[("t", "t")]);
    forbidden(&mut rig, is("anna"), here);
    rig.claims = Claims::Internal;
    rig.work("work", "{}");
    let own = created(&mut rig, is("anna"), "own");
    let there = rig.migration(own, "secret", &[("t", "t")]);
    allowed(&mut rig, is("anna"), there);
    let back = rig.migration(own, "own", &[("t", "t")]);
    forbidden(&mut rig, is("anna"), back);
    assert_out_of_reach(&mut rig, "work", own);
    rig.assert_completed(own);
}

/// An element instance of another process instance is refused as one that does not exist.
#[test]
fn who_modifies_an_instance_reaches_no_element_of_another_one() {
    let mut rig = asking(1);
    deploy(&mut rig, process("secret"));
    let model = Bpmn::process("own")
        .start("s1")
        .call_activity("c", "secret")
        .end("e1");
    deploy(&mut rig, model);
    let all = [P::CreateProcessInstance, P::ModifyProcessInstance];
    on_process(&mut rig, "anna", "own", &all);
    let own = created(&mut rig, is("anna"), "own");
    let called = rig.instance_of("secret");
    let task = rig.element_key("t");
    let command = ModifyProcessInstance {
        process_instance_key: called,
        terminate_instructions: vec![terminate(task)],
        ..ModifyProcessInstance::default()
    };
    forbidden(
        &mut rig,
        is("anna"),
        Command::ModifyProcessInstance(command),
    );
    rig.claims = is("anna");
    let mut refusals = |key: Key| {
        let ended = rig.modify(own).terminate(terminate(key)).refused();
        let made = rig.modify(own).activate(within("c", key)).refused();
        [ended, made].map(|(kind, reason)| (kind, reason.replace(&key.to_string(), "KEY")))
    };
    let of_nothing = refusals(Key::new(1, 4711));
    assert_eq!(refusals(task), of_nothing);
    assert_eq!(refusals(called), of_nothing);
    assert_out_of_reach(&mut rig, "work", called);
    rig.assert_completed(own);
}

const CANCEL: BatchOperationType = BatchOperationType::CancelProcessInstance;
const DELETE: BatchOperationType = BatchOperationType::DeleteProcessInstance;

/// Does this to the instance by a batch operation of anna.
fn in_batch(rig: &mut Rig, kind: BatchOperationType, instance: Key) {
    let resources = match kind {
        DELETE => vec!["order".into()],
        _ => Vec::new(),
    };
    let create = CreateBatchOperation {
        kind,
        filter: "{}".into(),
        plan: BatchPlan::None,
        follow_up: None,
    };
    let create = Command::Batch(BatchCommand::Create(Box::new(create)));
    let Response::BatchOperationCreated { key, .. } = allowed(rig, is("anna"), create) else {
        panic!("a batch operation is created");
    };
    let items = vec![BatchOperationItem {
        item_key: instance,
        process_instance_key: instance,
        root_process_instance_key: instance,
    }];
    let add = Command::Batch(BatchCommand::Add(AddBatchItems {
        batch_operation_key: key,
        resources,
        items,
        after: Key::NONE,
        last: true,
    }));
    allowed(rig, Claims::Internal, add);
}

#[test]
fn a_batch_operation_does_nothing_that_its_creator_may_do_no_more() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    let first = created(&mut rig, Claims::Internal, "order");
    let second = created(&mut rig, Claims::Internal, "order");
    let creates = [P::CreateBatchCancelProcessInstance];
    grant(&mut rig, "anna", ResourceType::Batch, "*", &creates);
    let right = on_process(&mut rig, "anna", "order", &[P::CancelProcessInstance]);
    in_batch(&mut rig, CANCEL, first);
    assert_eq!(rig.open_instances(), [second]);
    // The right goes after the items were chosen, and before the first one is carried out.
    rig.interrupted = true;
    in_batch(&mut rig, CANCEL, second);
    assert_eq!(rig.open_instances(), [second]);
    revoke(&mut rig, right);
    rig.interrupted = false;
    while rig.run_work() {}
    assert_eq!(rig.open_instances(), [second]);
    let items: Vec<_> = rig.events("BATCH_OPERATION_ITEM").collect();
    let intents: Vec<_> = items.iter().map(|record| record.intent).collect();
    assert_eq!(intents, ["EXECUTED", "FAILED"]);
    let why = items[1].text("errorMessage");
    assert!(why.contains("Insufficient permissions"), "{why}");
}

/// A batch operation of anna deletes three instances that have ended, each in a turn of its own; before the turns of the second and the third
/// she loses one right to delete. Returns the instances, the deleted ones, and why the others were not.
fn deleted_while_rights_go(oldest: u32) -> ([Key; 3], Vec<i64>, Vec<String>) {
    let mut rig = asking(1);
    let config = rig.engine(1).config();
    config.oldest_node.speaks(Some(oldest));
    deploy(&mut rig, process("order"));
    let ended = [(); 3].map(|()| {
        let instance = created(&mut rig, Claims::Internal, "order");
        rig.cancel(instance).unwrap();
        instance
    });
    let creates = [P::CreateBatchDeleteProcessInstance];
    grant(&mut rig, "anna", ResourceType::Batch, "*", &creates);
    let rights = ["order", "refund"]
        .map(|process| on_process(&mut rig, "anna", process, &[P::DeleteProcessInstance]));
    in_batch(&mut rig, DELETE, ended[0]);
    for (instance, right) in ended[1..].iter().zip(rights) {
        rig.interrupted = true;
        in_batch(&mut rig, DELETE, *instance);
        revoke(&mut rig, right);
        rig.interrupted = false;
        while rig.run_work() {}
    }
    let events = rig.events("HISTORY_DELETION");
    let keys = events.map(|record| record.field("resourceKey").as_i64());
    let deleted = keys.map(Option::unwrap).collect();
    let items = rig.events("BATCH_OPERATION_ITEM");
    let failed = items.filter(|item| item.intent == "FAILED");
    let why = failed.map(|item| item.text("errorMessage").to_string());
    (ended, deleted, why.collect())
}

#[test]
fn a_batch_operation_deletes_no_history_that_its_creator_may_delete_no_more() {
    let (ended, deleted, why) = deleted_while_rights_go(u32::MAX);
    assert_eq!(deleted, [ended[0].0]);
    assert_eq!(why.len(), 2);
    assert!(why[0].contains("'[*, order]'"), "{}", why[0]);
}

/// Until the last node is upgraded nothing says which process an instance that has ended belongs to: what was chosen by the right to delete
/// it stays chosen, until the creator may delete nothing.
#[test]
fn beside_an_earlier_node_deletions_of_history_stop_when_their_creator_may_delete_none() {
    let (ended, deleted, why) = deleted_while_rights_go(7);
    assert_eq!(deleted, [ended[0].0, ended[1].0]);
    assert_eq!(why.len(), 1);
    assert!(why[0].contains("Insufficient permissions"), "{}", why[0]);
}
