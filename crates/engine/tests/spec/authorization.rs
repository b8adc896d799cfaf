//! Authorization checks, which precede the first record of a command.

use skep_engine::{EngineConfig, IdentityConfig};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::record::RecordType;
use skep_protocol::value::*;
use skep_protocol::{Document, Key, Rejection, RejectionType, Response};

use super::identity::{authorization, member, new, user};
use skep_testkit::rig::*;

/// A rig with authorization checks and the users anna and bert, who have no permissions.
pub fn asking(partitions: u32) -> Rig {
    asking_with(partitions, EngineConfig::default())
}

/// The same with these settings.
fn asking_with(partitions: u32, settings: EngineConfig) -> Rig {
    let mut rig = Rig::with_configs(partitions, |partition| EngineConfig {
        partition,
        routing: std::sync::Arc::new(skep_protocol::Routing::new(partitions)),
        identity: IdentityConfig {
            authorizations: true,
            ..IdentityConfig::default()
        },
        ..settings.clone()
    });
    rig.claims = Claims::Internal;
    for name in ["anna", "bert"] {
        identity(&mut rig, IdentityCommand::CreateUser(user(name))).unwrap();
    }
    rig
}

fn identity(rig: &mut Rig, command: IdentityCommand) -> Result<Response, Rejection> {
    rig.send(Command::Identity(command))
}

pub fn is(name: &str) -> Claims {
    let principal = Principal {
        id: name.into(),
        ..Principal::default()
    };
    Claims::User(principal.into())
}

fn client(name: &str) -> Claims {
    let principal = Principal {
        id: name.into(),
        ..Principal::default()
    };
    Claims::Client(principal.into())
}

/// Gives a user permissions on one resource, or on all.
pub fn grant(
    rig: &mut Rig,
    name: &str,
    on: ResourceType,
    id: &str,
    permissions: &[PermissionType],
) -> Key {
    let matcher = match id {
        "*" => ResourceMatcher::Any,
        id => ResourceMatcher::Id(id.into()),
    };
    let value = authorization((OwnerType::User, name), on, matcher, permissions);
    let before = std::mem::replace(&mut rig.claims, Claims::Internal);
    let answer = identity(rig, IdentityCommand::CreateAuthorization(value)).unwrap();
    rig.claims = before;
    let Response::AuthorizationCreated { authorization_key } = answer else {
        panic!("{answer:?}");
    };
    authorization_key
}

pub fn on_process(rig: &mut Rig, name: &str, id: &str, permissions: &[PermissionType]) -> Key {
    grant(rig, name, ResourceType::ProcessDefinition, id, permissions)
}

/// Refused for lack of permissions. The rejection is the only record besides the command.
pub fn forbidden(rig: &mut Rig, claims: Claims, command: Command) -> String {
    rig.claims = claims;
    let from = rig.seen.len();
    let rejection = rig.send(command.clone()).expect_err("it is refused");
    assert_eq!(
        rejection.kind,
        RejectionType::Forbidden,
        "{command:?}: {rejection:?}"
    );
    let records: Vec<_> = rig.seen[from..].iter().map(|r| r.record_type).collect();
    let expected = [RecordType::Command, RecordType::CommandRejection];
    assert_eq!(records, expected, "{command:?}");
    rejection.reason.to_string()
}

pub fn allowed(rig: &mut Rig, claims: Claims, command: Command) -> Response {
    rig.claims = claims;
    rig.send(command).expect("it is allowed")
}

pub fn process(id: &str) -> Bpmn {
    Bpmn::process(id)
        .start("s")
        .service_task("t", "work")
        .end("e")
}

pub fn deploy(rig: &mut Rig, model: Bpmn) {
    rig.claims = Claims::Internal;
    rig.deploy(model);
}

/// The key of the last created entity of this type.
pub fn last(rig: &Rig, value_type: &str) -> Key {
    let created = rig
        .events(value_type)
        .filter(|r| r.intent == "CREATED")
        .last();
    created.expect("one was created").key
}

pub fn create(id: &str) -> Command {
    Rig::creation(id, "{}").into_command()
}

pub fn created(rig: &mut Rig, claims: Claims, id: &str) -> Key {
    match allowed(rig, claims, create(id)) {
        Response::ProcessInstanceCreated(created) => created.process_instance_key,
        other => panic!("{other:?}"),
    }
}

use PermissionType as P;

#[test]
fn callers_without_grants_may_do_nothing_and_internal_callers_everything() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    let text = forbidden(&mut rig, is("anna"), create("order"));
    assert_eq!(
        text,
        "Insufficient permissions to perform operation 'CREATE_PROCESS_INSTANCE' on resource 'PROCESS_DEFINITION', required resource \
         identifiers are one of '[*, order]'"
    );
    // A client of the same name is a different caller.
    on_process(&mut rig, "anna", "order", &[P::CreateProcessInstance]);
    forbidden(&mut rig, client("anna"), create("order"));
    created(&mut rig, is("anna"), "order");
    created(&mut rig, Claims::Anonymous, "order");
    created(&mut rig, Claims::Internal, "order");
    forbidden(&mut rig, is("nobody"), create("order"));
}

#[test]
fn missing_objects_are_not_found_even_without_permissions() {
    let mut rig = asking(1);
    rig.claims = is("anna");
    let nothing = Key::new(1, 4711);
    for command in [
        create("nothing"),
        Command::CancelProcessInstance {
            process_instance_key: nothing,
        },
        Command::ResolveIncident {
            incident_key: nothing,
        },
        Command::CompleteJob {
            job_key: nothing,
            variables: Document::new(),
            result: None,
        },
    ] {
        let rejection = rig.send(command.clone()).unwrap_err();
        assert_eq!(rejection.kind, RejectionType::NotFound, "{command:?}");
    }
}

#[test]
fn each_command_needs_its_permission_on_the_process_it_concerns() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    deploy(&mut rig, process("other"));
    let instance = created(&mut rig, Claims::Internal, "order");
    let job = rig.jobs("work")[0].key;
    let complete = Command::CompleteJob {
        job_key: job,
        variables: Document::new(),
        result: None,
    };
    let set = Command::SetVariables {
        element_instance_key: instance,
        variables: Document::parse(r#"{"a":1}"#).unwrap(),
        local: false,
    };
    let cancel = Command::CancelProcessInstance {
        process_instance_key: instance,
    };
    for (command, permission) in [
        (set, P::UpdateProcessInstance),
        (complete, P::UpdateProcessInstance),
    ] {
        forbidden(&mut rig, is("anna"), command.clone());
        let other = on_process(&mut rig, "anna", "other", &[permission]);
        forbidden(&mut rig, is("anna"), command.clone());
        let own = on_process(&mut rig, "anna", "order", &[permission]);
        allowed(&mut rig, is("anna"), command);
        revoke(&mut rig, own);
        revoke(&mut rig, other);
    }
    let instance = created(&mut rig, Claims::Internal, "order");
    let again = Command::CancelProcessInstance {
        process_instance_key: instance,
    };
    drop(cancel);
    forbidden(&mut rig, is("anna"), again.clone());
    on_process(&mut rig, "anna", "*", &[P::CancelProcessInstance]);
    allowed(&mut rig, is("anna"), again);
}

/// An id is no pattern, and neither its beginning nor its spelling counts.
#[test]
fn a_right_on_an_id_holds_for_exactly_this_id() {
    let mut rig = asking(1);
    let others = ["orde", "order2", "order-x", "Order", "ordеr"];
    for id in others.into_iter().chain(["order"]) {
        deploy(&mut rig, process(id));
    }
    for pattern in ["ord*", "order*", "", "**", ".*"] {
        on_process(&mut rig, "bert", pattern, &[P::CreateProcessInstance]);
    }
    on_process(&mut rig, "anna", "order", &[P::CreateProcessInstance]);
    for id in others {
        forbidden(&mut rig, is("anna"), create(id));
        forbidden(&mut rig, is("bert"), create(id));
    }
    forbidden(&mut rig, is("bert"), create("order"));
    created(&mut rig, is("anna"), "order");
}

pub fn revoke(rig: &mut Rig, authorization_key: Key) {
    rig.claims = Claims::Internal;
    let gone = IdentityCommand::DeleteAuthorization { authorization_key };
    identity(rig, gone).unwrap();
}

#[test]
fn a_right_that_was_taken_is_gone_with_the_answer_on_every_partition() {
    let mut rig = asking(3);
    deploy(&mut rig, process("order"));
    let right = on_process(&mut rig, "anna", "order", &[P::CreateProcessInstance]);
    for partition in 1..=3 {
        rig.claims = is("anna");
        let request = rig.send_to(partition, create("order"));
        assert!(rig.answer(request).unwrap().is_ok());
    }
    revoke(&mut rig, right);
    for partition in 1..=3 {
        rig.claims = is("anna");
        let request = rig.send_to(partition, create("order"));
        let refused = rig.answer(request).unwrap().unwrap_err();
        assert_eq!(refused.kind, RejectionType::Forbidden);
    }
}

#[test]
fn a_poll_gets_the_jobs_of_processes_that_the_caller_may_update() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    deploy(&mut rig, process("other"));
    for id in ["other", "order", "other", "order"] {
        created(&mut rig, Claims::Internal, id);
    }
    rig.claims = is("anna");
    assert!(rig.jobs("work").is_empty());
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    rig.claims = is("anna");
    let jobs = rig.jobs("work");
    let of: Vec<&str> = jobs.iter().map(|job| &*job.bpmn_process_id).collect();
    assert_eq!(of, ["order", "order"]);
    rig.claims = Claims::Internal;
    assert_eq!(rig.jobs("work").len(), 2, "the others stay");
}

/// A rig in which a poll examines five jobs for anna, who may take those of the process "order". Instances of these processes wait.
fn examining_five(instances: &[&str]) -> Rig {
    let settings = EngineConfig {
        max_looked_at: 5,
        ..EngineConfig::default()
    };
    let mut rig = asking_with(1, settings);
    deploy(&mut rig, process("order"));
    deploy(&mut rig, process("other"));
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    for id in instances {
        created(&mut rig, Claims::Internal, id);
    }
    rig.claims = is("anna");
    rig
}

#[test]
fn a_poll_continues_behind_the_jobs_that_the_last_one_passed_over() {
    let mut rig = examining_five(&[
        "other", "other", "other", "other", "other", "other", "order",
    ]);
    assert!(rig.jobs("work").is_empty(), "five others were examined");
    assert_eq!(rig.jobs("work").len(), 1);
    // The last poll went around to other jobs: the new one is behind its end.
    created(&mut rig, Claims::Internal, "order");
    rig.claims = is("anna");
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn a_poll_that_has_examined_the_newest_job_continues_at_the_oldest() {
    let mut rig = examining_five(&[
        "order", "other", "other", "other", "other", "other", "other", "order",
    ]);
    let oldest = rig.jobs("work");
    assert_eq!(oldest.len(), 1);
    let newest = rig.jobs("work");
    assert_eq!(newest.len(), 1);
    assert!(newest[0].key > oldest[0].key);
    rig.fail(&oldest[0], 2, 0);
    let again = rig.jobs("work");
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].key, oldest[0].key);
}

#[test]
fn a_poll_begins_at_the_oldest_job_after_permissions_have_changed() {
    let mut rig = examining_five(&["other", "other", "other", "other", "other", "other"]);
    assert!(rig.jobs("work").is_empty());
    on_process(&mut rig, "anna", "other", &[P::UpdateProcessInstance]);
    rig.claims = is("anna");
    let keys: Vec<Key> = rig.jobs("work").iter().map(|job| job.key).collect();
    assert_eq!(keys.len(), 5);
    assert!(keys.is_sorted(), "they are the oldest: {keys:?}");
}

#[test]
fn a_job_that_waits_is_for_those_of_the_process_it_was_migrated_to() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    deploy(&mut rig, process("other"));
    let instance = created(&mut rig, Claims::Internal, "order");
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    on_process(&mut rig, "bert", "other", &[P::UpdateProcessInstance]);
    rig.claims = Claims::Internal;
    rig.migrate(instance, "other", &[("t", "t")]).unwrap();
    rig.claims = is("anna");
    assert!(rig.jobs("work").is_empty());
    rig.claims = is("bert");
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn a_stream_with_room_passes_over_the_jobs_that_its_client_may_not_take() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    deploy(&mut rig, process("other"));
    for id in ["other", "other", "order", "other", "order"] {
        created(&mut rig, Claims::Internal, id);
    }
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    rig.streams.claims = is("anna");
    rig.streams.open("work", 10);
    let pushed = rig.push_waiting("work");
    let pushed: Vec<&str> = pushed.iter().map(|job| &*job.bpmn_process_id).collect();
    assert_eq!(pushed, ["order", "order"]);
}

#[test]
fn a_stream_gets_the_jobs_behind_more_than_a_turn_may_examine() {
    let mut rig = examining_five(&["other"; 23]);
    created(&mut rig, Claims::Internal, "order");
    created(&mut rig, Claims::Internal, "order");
    rig.streams.claims = is("anna");
    rig.streams.open("work", 1);
    let pushed = rig.push_waiting("work");
    assert_eq!(pushed.len(), 1);
    assert_eq!(&*pushed[0].bpmn_process_id, "order");
    // The next search continues there.
    rig.streams.open("work", 1);
    assert_eq!(rig.push_waiting("work").len(), 1);
}

#[test]
fn a_search_for_a_stream_goes_around_all_waiting_jobs_once() {
    let mut rig = examining_five(&["other"; 23]);
    rig.streams.claims = is("anna");
    rig.streams.open("work", 30);
    assert!(rig.push_waiting("work").is_empty());
    // Wherever the next search begins, it finds all that may be taken now.
    on_process(&mut rig, "anna", "other", &[P::UpdateProcessInstance]);
    let pushed = (0..5).map(|_| rig.push_waiting("work").len());
    assert_eq!(pushed.sum::<usize>(), 23);
}

#[test]
fn a_search_ends_with_the_credit_of_all_streams() {
    let mut rig = examining_five(&["order"; 23]);
    rig.streams.claims = is("anna");
    rig.streams.open("work", 1);
    let (now, engine) = (rig.now, &mut rig.partitions[0].engine);
    let pushed = engine.push_waiting_jobs(now, "work", 10, &mut rig.streams);
    assert_eq!(pushed.jobs, 1);
    let is_over = !pushed.more && !engine.has_work();
    assert!(is_over, "the other jobs are not examined");
}

#[test]
fn a_push_is_checked_against_the_permissions_at_its_time() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    deploy(&mut rig, process("other"));
    rig.streams.claims = is("anna");
    rig.streams.open("work", 10);
    created(&mut rig, Claims::Internal, "order");
    assert!(rig.streams.take().is_empty());
    let right = on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    created(&mut rig, Claims::Internal, "other");
    created(&mut rig, Claims::Internal, "order");
    let pushed: Vec<String> = (rig.streams.take().iter())
        .map(|job| job.bpmn_process_id.to_string())
        .collect();
    assert_eq!(pushed, ["order"]);
    revoke(&mut rig, right);
    created(&mut rig, Claims::Internal, "order");
    assert!(rig.streams.take().is_empty(), "revoked");
}

fn waits_for_message(id: &str) -> Bpmn {
    Bpmn::process(id)
        .start("s")
        .catch_message("c", "paid", "=key")
        .end("e")
}

#[test]
fn correlating_a_message_needs_the_permission_for_every_waiting_process() {
    let mut rig = asking(1);
    deploy(&mut rig, waits_for_message("order"));
    deploy(&mut rig, waits_for_message("other"));
    rig.claims = Claims::Internal;
    for id in ["order", "other"] {
        rig.create(id, r#"{"key":"k"}"#);
    }
    let correlate = Command::CorrelateMessage(CorrelateMessage {
        name: "paid".into(),
        correlation_key: "k".into(),
        variables: Document::new(),
    });
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    forbidden(&mut rig, is("anna"), correlate.clone());
    on_process(&mut rig, "anna", "other", &[P::UpdateProcessInstance]);
    allowed(&mut rig, is("anna"), correlate);
}

#[test]
fn correlating_a_message_needs_the_permission_to_start_what_it_starts() {
    let mut rig = asking(1);
    let model = Bpmn::process("order").start_message("s", "paid").end("e");
    deploy(&mut rig, model);
    let correlate = Command::CorrelateMessage(CorrelateMessage {
        name: "paid".into(),
        correlation_key: "k".into(),
        variables: Document::new(),
    });
    on_process(&mut rig, "anna", "*", &[P::UpdateProcessInstance]);
    forbidden(&mut rig, is("anna"), correlate.clone());
    on_process(&mut rig, "anna", "order", &[P::CreateProcessInstance]);
    allowed(&mut rig, is("anna"), correlate);
}

#[test]
fn a_signal_reaches_all_or_nothing_of_each_partition() {
    let mut rig = asking(2);
    let waits = |id| {
        Bpmn::process(id)
            .start("s")
            .catch_signal("c", "go")
            .end("e")
    };
    deploy(&mut rig, waits("order"));
    deploy(&mut rig, waits("other"));
    rig.claims = Claims::Internal;
    let request = rig.send_to(1, create("order"));
    assert!(rig.answer(request).unwrap().is_ok());
    let request = rig.send_to(2, create("other"));
    assert!(rig.answer(request).unwrap().is_ok());
    let signal = Command::BroadcastSignal(BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::new(),
    });
    forbidden(&mut rig, is("anna"), signal.clone());
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    allowed(&mut rig, is("anna"), signal.clone());
    assert_eq!(rig.open_instances().len(), 1, "the other partition refused");
    on_process(&mut rig, "anna", "other", &[P::UpdateProcessInstance]);
    allowed(&mut rig, is("anna"), signal);
    assert_eq!(rig.open_instances().len(), 0);
}

#[test]
fn an_evaluation_is_refused_if_a_condition_of_a_forbidden_process_holds() {
    let mut rig = asking(1);
    let starts = |id, condition: &str| Bpmn::process(id).start_condition("s", condition).end("e");
    deploy(&mut rig, starts("small", "=amount < 10"));
    deploy(&mut rig, starts("large", "=amount > 100"));
    on_process(&mut rig, "anna", "small", &[P::CreateProcessInstance]);
    let evaluate = |amount: i64| {
        Command::EvaluateConditionals(EvaluateConditionals {
            process_definition_key: None,
            variables: Document::parse(&format!(r#"{{"amount":{amount}}}"#)).unwrap(),
        })
    };
    let Response::ConditionalsEvaluated(evaluated) = allowed(&mut rig, is("anna"), evaluate(1))
    else {
        panic!("conditions are evaluated");
    };
    assert_eq!(evaluated.started.len(), 1);
    forbidden(&mut rig, is("anna"), evaluate(1000));
}

pub fn task() -> Bpmn {
    Bpmn::process("order").start("s").user_task("ask").end("e")
}

pub fn assign(user_task_key: Key, assignee: &str, claim: bool) -> Command {
    Command::AssignUserTask(AssignUserTask {
        user_task_key,
        assignee: assignee.into(),
        action: "".into(),
        claim,
    })
}

#[test]
fn claiming_a_task_needs_less_than_assigning_it_to_others() {
    let mut rig = asking(1);
    deploy(&mut rig, task());
    created(&mut rig, Claims::Internal, "order");
    let key = last(&rig, "USER_TASK");
    forbidden(&mut rig, is("anna"), assign(key, "anna", true));
    on_process(&mut rig, "anna", "order", &[P::ClaimUserTask]);
    forbidden(&mut rig, is("anna"), assign(key, "bert", true));
    forbidden(&mut rig, is("anna"), assign(key, "anna", false));
    allowed(&mut rig, is("anna"), assign(key, "anna", true));
    // The assignee may unassign the task.
    let give_back = assign(key, "", false);
    forbidden(&mut rig, is("bert"), give_back.clone());
    allowed(&mut rig, is("anna"), give_back);
}

#[test]
fn users_named_by_a_property_of_a_task_have_what_was_granted_by_it() {
    let mut rig = asking(1);
    deploy(&mut rig, task());
    created(&mut rig, Claims::Internal, "order");
    let key = last(&rig, "USER_TASK");
    rig.claims = Claims::Internal;
    let value = authorization(
        (OwnerType::User, "anna"),
        ResourceType::UserTask,
        ResourceMatcher::Property("assignee".into()),
        &[P::Complete],
    );
    identity(&mut rig, IdentityCommand::CreateAuthorization(value)).unwrap();
    let complete = Command::CompleteUserTask(CompleteUserTask {
        user_task_key: key,
        action: "".into(),
        variables: Document::new(),
    });
    forbidden(&mut rig, is("anna"), complete.clone());
    allowed(&mut rig, Claims::Internal, assign(key, "anna", false));
    allowed(&mut rig, is("anna"), complete);
}

#[test]
fn batch_operations_use_the_permissions_of_their_creator() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    deploy(&mut rig, process("other"));
    let own = created(&mut rig, Claims::Internal, "order");
    let foreign = created(&mut rig, Claims::Internal, "other");
    let create = Command::Batch(BatchCommand::Create(Box::new(CreateBatchOperation {
        kind: BatchOperationType::CancelProcessInstance,
        filter: "{}".into(),
        plan: BatchPlan::None,
        follow_up: None,
    })));
    forbidden(&mut rig, is("anna"), create.clone());
    let cancels = [P::CreateBatchCancelProcessInstance];
    grant(&mut rig, "anna", ResourceType::Batch, "*", &cancels);
    on_process(&mut rig, "anna", "order", &[P::CancelProcessInstance]);
    let Response::BatchOperationCreated { key, .. } = allowed(&mut rig, is("anna"), create) else {
        panic!("a batch operation is created");
    };
    let item = |process_instance_key| BatchOperationItem {
        item_key: process_instance_key,
        process_instance_key,
        root_process_instance_key: process_instance_key,
    };
    let add = Command::Batch(BatchCommand::Add(AddBatchItems {
        batch_operation_key: key,
        resources: Vec::new(),
        items: vec![item(own), item(foreign)],
        after: Key::NONE,
        last: true,
    }));
    allowed(&mut rig, Claims::Internal, add);
    while rig.run_work() {}
    assert_eq!(rig.open_instances(), [foreign]);
}

#[test]
fn incidents_of_one_instance_are_resolved_by_callers_who_may_update_it() {
    let mut rig = asking(1);
    for id in ["order", "other"] {
        deploy(&mut rig, process(id));
    }
    let resolve = |instance| {
        let create = CreateBatchOperation::incidents_of(instance);
        Command::Batch(BatchCommand::Create(Box::new(create)))
    };
    let own = resolve(created(&mut rig, Claims::Internal, "order"));
    let foreign = resolve(created(&mut rig, Claims::Internal, "other"));
    // It may be on another partition: the gateway has looked there.
    let elsewhere = resolve(Key::new(2, 1));
    grant(&mut rig, "bert", ResourceType::Batch, "*", &[P::Create]);
    for command in [&own, &elsewhere] {
        let text = forbidden(&mut rig, is("bert"), command.clone());
        assert!(text.contains("UPDATE_PROCESS_INSTANCE"), "{text}");
    }
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    forbidden(&mut rig, is("anna"), foreign);
    allowed(&mut rig, is("anna"), own);
    allowed(&mut rig, is("anna"), elsewhere);
}

#[test]
fn no_other_batch_operation_is_one_for_a_single_instance() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    let instance = created(&mut rig, Claims::Internal, "order");
    on_process(&mut rig, "anna", "order", &[P::UpdateProcessInstance]);
    let own = CreateBatchOperation::incidents_of(instance);
    let resolves = BatchOperationType::ResolveIncident;
    let cancels = BatchOperationType::CancelProcessInstance;
    for (kind, filter) in [
        (cancels, own.filter.to_string()),
        (resolves, "{}".to_string()),
        (
            resolves,
            format!(r#"{{"processInstanceKey":"{instance}","state":"ACTIVE"}}"#),
        ),
        (
            resolves,
            format!(r#"{{"processInstanceKey":"{instance}","$or":[{{"tenantId":"a"}}]}}"#),
        ),
        (
            resolves,
            format!(r#"{{"processInstanceKey":"0{instance}"}}"#),
        ),
        (
            resolves,
            format!(r#"{{"processInstanceKey":{{"$neq":"{instance}"}}}}"#),
        ),
        (
            resolves,
            format!(r#"{{"parentProcessInstanceKey":"{instance}"}}"#),
        ),
    ] {
        let create = CreateBatchOperation {
            kind,
            filter: filter.into(),
            ..own.clone()
        };
        let create = Command::Batch(BatchCommand::Create(Box::new(create)));
        let text = forbidden(&mut rig, is("anna"), create);
        assert!(text.contains("on resource 'BATCH'"), "{text}");
    }
}

#[test]
fn identity_commands_need_their_own_permissions() {
    let mut rig = asking(1);
    let create = Command::Identity(IdentityCommand::CreateRole(new("clerk")));
    forbidden(&mut rig, is("anna"), create.clone());
    grant(&mut rig, "anna", ResourceType::Role, "*", &[P::Create]);
    allowed(&mut rig, is("anna"), create);
    // The permission to create roles does not allow callers to assign roles to themselves.
    let add = member("clerk", EntityType::User, "anna");
    let add = Command::Identity(IdentityCommand::AddToRole(add));
    forbidden(&mut rig, is("anna"), add.clone());
    grant(&mut rig, "anna", ResourceType::Role, "clerk", &[P::Update]);
    allowed(&mut rig, is("anna"), add);
    let setup = Command::Identity(IdentityCommand::SetUp(Box::default()));
    forbidden(&mut rig, is("anna"), setup);
}

#[test]
fn deleting_a_resource_needs_the_permission_for_its_kind() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    let resource_key = last(&rig, "PROCESS");
    let delete = Command::DeleteResource {
        resource_key,
        delete_history: false,
    };
    grant(
        &mut rig,
        "anna",
        ResourceType::Resource,
        "order",
        &[P::DeleteForm],
    );
    forbidden(&mut rig, is("anna"), delete.clone());
    grant(
        &mut rig,
        "bert",
        ResourceType::Resource,
        "order",
        &[P::DeleteProcess],
    );
    allowed(&mut rig, is("bert"), delete);
}

#[test]
fn deleting_history_needs_the_permission_to_delete_instances() {
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    let delete = Command::DeleteResource {
        resource_key: last(&rig, "PROCESS"),
        delete_history: true,
    };
    let deletes = [P::DeleteProcess];
    grant(&mut rig, "anna", ResourceType::Resource, "order", &deletes);
    let text = forbidden(&mut rig, is("anna"), delete.clone());
    assert!(text.contains("DELETE_PROCESS_INSTANCE"), "{text}");
    let ended = Command::Batch(BatchCommand::DeleteHistory(HistoryDeletionValue {
        resource_key: Key::new(1, 4711),
        kind: HistoryDeletionType::ProcessInstance,
    }));
    // A gateway of an earlier version does not send the process of a finished instance, but has checked it. A caller without any delete
    // permission is still refused here.
    forbidden(&mut rig, is("anna"), ended.clone());
    let right = on_process(&mut rig, "anna", "order", &[P::DeleteProcessInstance]);
    allowed(&mut rig, is("anna"), ended.clone());
    revoke(&mut rig, right);
    forbidden(&mut rig, is("anna"), ended);
    on_process(&mut rig, "anna", "order", &[P::DeleteProcessInstance]);
    allowed(&mut rig, is("anna"), delete);
}
