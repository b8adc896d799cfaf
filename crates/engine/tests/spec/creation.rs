//! Creation of process instances: version, start elements, and the client's answer.

use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::{Key, Response};
use skep_testkit::rig::*;

fn one(job: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", job)
        .end("e")
}

fn versions() -> (Rig, Key, Key) {
    let mut rig = Rig::new();
    let mut keys = [one("v1"), one("v2")]
        .map(|bpmn| match rig.deploy(bpmn) {
            Response::Deployed(d) => d.processes[0].key,
            other => panic!("{other:?}"),
        })
        .into_iter();
    (rig, keys.next().unwrap(), keys.next().unwrap())
}

fn created(
    rig: &mut Rig,
    command: CreateProcessInstance,
) -> skep_protocol::response::ProcessInstanceCreated {
    match rig.send(command.into_command()) {
        Ok(Response::ProcessInstanceCreated(created)) => created,
        other => panic!("{other:?}"),
    }
}

fn with(change: impl FnOnce(&mut CreateProcessInstance)) -> CreateProcessInstance {
    let mut command = Rig::creation("p", "{}");
    change(&mut command);
    command
}

fn version(version: i32) -> ProcessRef {
    ProcessRef::Id {
        bpmn_process_id: "p".into(),
        version,
    }
}

#[test]
fn by_id_the_latest_version_starts() {
    let (mut rig, _, second) = versions();
    let created = created(&mut rig, with(|_| {}));
    assert_eq!(
        (created.version, created.process_definition_key),
        (2, second)
    );
    assert_eq!(&*created.bpmn_process_id, "p");
    assert_eq!(rig.jobs("v2").len(), 1);
}

#[test]
fn by_id_and_version_and_by_key_that_one_starts() {
    let (mut rig, first, second) = versions();
    assert_eq!(
        created(&mut rig, with(|c| c.process = version(1))).process_definition_key,
        first
    );
    assert_eq!(
        created(&mut rig, with(|c| c.process = ProcessRef::Key(first))).version,
        1
    );
    assert_eq!(
        created(&mut rig, with(|c| c.process = ProcessRef::Key(second))).version,
        2
    );
}

#[test]
fn a_process_that_is_not_deployed_cannot_start() {
    let (mut rig, ..) = versions();
    for process in [
        version(3),
        version(0),
        ProcessRef::Key(Key::new(1, 999)),
        ProcessRef::Id {
            bpmn_process_id: "q".into(),
            version: -1,
        },
    ] {
        let refused = rig.send(with(|c| c.process = process).into_command());
        assert_eq!(rejected(refused).0, "NOT_FOUND");
    }
}

#[test]
fn start_instructions_choose_where_it_starts() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .service_task("b", "b")
                .service_task("c", "c")
                .end("e2")
        })
        .input("=1", "local")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let start = |c: &mut CreateProcessInstance| c.start_instructions = vec!["c".into(), "a".into()];
    let instance = created(&mut rig, with(start)).process_instance_key;
    assert_eq!(
        rig.completed(instance),
        Vec::<String>::new(),
        "no start event"
    );
    assert!(rig.jobs("b").is_empty());
    let job = rig.job("c");
    assert_eq!(
        job.variables, "{}",
        "scopes around the start apply no mappings"
    );
    rig.complete(&job, "{}");
    rig.work("a", "{}");
    rig.work("b", "{}");
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn there_are_at_most_a_thousand_start_instructions() {
    let mut rig = Rig::with(one("work"));
    let many = |count| with(|c| c.start_instructions = vec!["task".into(); count]);
    let before = rig.seen.len();
    let (kind, reason) = rejected(rig.send(many(1_001).into_command()));
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(reason.contains("at most 1000"), "{reason}");
    assert!(rig.seen[before..].iter().all(|record| !record.is_event()));
    created(&mut rig, many(1_000));
    assert_eq!(rig.jobs("work").len(), 1_000);
}

#[test]
fn start_instructions_are_checked() {
    let (mut rig, ..) = versions();
    for id in ["nothing", "s", "p", "s-task"] {
        let refused = rig.send(with(|c| c.start_instructions = vec![id.into()]).into_command());
        let (kind, reason) = rejected(refused);
        assert_eq!(kind, "INVALID_ARGUMENT");
        assert!(reason.contains(id), "{reason}");
    }
    assert!(
        rig.intents("PROCESS_INSTANCE").is_empty(),
        "nothing was created"
    );
}

#[test]
fn failing_input_mappings_of_scopes_around_the_start_are_ignored() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2").service_task("b", "b").end("e2")
        })
        .input("=assert(x, x != null)", "y")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance =
        created(&mut rig, with(|c| c.start_instructions = vec!["b".into()])).process_instance_key;
    rig.work("b", "{}");
    rig.assert_completed(instance);
}

/// `inner` lies in `outer`, whose boundary event waits for a message with the correlation key `key`.
fn scopes_with_boundary_event() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .sub_process("outer", |outer| {
            outer
                .start("s2")
                .sub_process("inner", |inner| {
                    inner
                        .start("s3")
                        .service_task("a", "a")
                        .service_task("b", "b")
                        .end("e3")
                })
                .service_task("c", "c")
                .end("e2")
        })
        .end("e")
        .boundary_message("stop", "outer", "stop", "=key")
        .end("e4")
}

#[test]
fn instructions_into_one_scope_share_it() {
    let mut rig = Rig::with(scopes_with_boundary_event());
    let command = Rig::creation("p", r#"{"key":"k"}"#);
    let start_instructions = vec!["a".into(), "c".into(), "b".into(), "a".into()];
    let command = CreateProcessInstance {
        start_instructions,
        ..command
    };
    let instance = created(&mut rig, command).process_instance_key;
    let active = rig.elements(instance, "ELEMENT_ACTIVATED");
    assert_eq!(active, ["p", "outer", "inner", "a", "c", "b", "a"]);
}

#[test]
fn instructions_outlive_the_incident_of_their_scope() {
    let mut rig = Rig::with(scopes_with_boundary_event());
    let command = Rig::creation("p", "{}");
    let start_instructions = vec!["a".into(), "c".into(), "b".into()];
    let command = CreateProcessInstance {
        start_instructions,
        ..command
    };
    let instance = created(&mut rig, command).process_instance_key;
    let incident = rig.incident();
    assert_eq!(incident.element, "outer");
    rig.set_variables(instance, r#"{"key":"k"}"#, false);
    rig.resolve(incident.key).unwrap();
    let mut active = rig.elements(instance, "ELEMENT_ACTIVATED");
    active.sort();
    assert_eq!(active, ["a", "b", "c", "inner", "outer", "p"]);
    for job in ["a", "c"] {
        rig.work(job, "{}");
    }
    for job in rig.jobs("b") {
        rig.complete(&job, "{}");
    }
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn await_result_answers_when_the_instance_has_completed() {
    let (mut rig, ..) = versions();
    let command = |names: Vec<String>| {
        let mut command = Rig::creation("p", r#"{"a":1,"b":2}"#);
        command.await_result = Some(AwaitResult {
            fetch_variables: names,
        });
        command.into_command()
    };
    for (names, expected) in [
        (vec![], r#"{"a":1,"b":2,"c":3}"#),
        (vec!["c".to_string(), "a".to_string()], r#"{"a":1,"c":3}"#),
    ] {
        let request = rig.send_async(command(names));
        assert_eq!(rig.answer(request), None);
        rig.work("v2", r#"{"c":3}"#);
        match rig.answer(request) {
            Some(Ok(Response::ProcessInstanceResult { variables, created })) => {
                assert_eq!(variables, expected);
                assert_eq!(created.version, 2);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        rig.intents("PROCESS_INSTANCE_RESULT"),
        ["COMPLETED", "COMPLETED"]
    );
}

#[test]
fn await_result_is_refused_when_the_instance_is_cancelled() {
    let (mut rig, ..) = versions();
    let request = rig.send_async(
        with(|c| {
            c.await_result = Some(AwaitResult {
                fetch_variables: vec![],
            })
        })
        .into_command(),
    );
    let instance = rig.element_key("p");
    assert_eq!(rig.engine(1).waiting_requests(), [request]);
    rig.cancel(instance).unwrap();
    assert_eq!(rejected(rig.answer(request).unwrap()).0, "NOT_FOUND");
    assert!(rig.engine(1).waiting_requests().is_empty());
}

#[test]
fn a_forgotten_request_gets_no_answer() {
    let (mut rig, ..) = versions();
    let request = rig.send_async(
        with(|c| {
            c.await_result = Some(AwaitResult {
                fetch_variables: vec![],
            })
        })
        .into_command(),
    );
    rig.engine(1).forget_request(request);
    rig.work("v2", "{}");
    assert_eq!(rig.answer(request), None);
}

#[test]
fn terminate_after_ends_the_instance_after_an_element() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("a", "a")
        .service_task("b", "b")
        .end("e")
        .from("fork")
        .service_task("c", "c")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance =
        created(&mut rig, with(|c| c.terminate_after = vec!["a".into()])).process_instance_key;
    rig.work("a", "{}");
    assert!(rig.jobs("b").is_empty());
    assert_eq!(rig.terminated(instance), ["c", "p"]);
    let interrupted: Vec<_> = rig.events("RUNTIME_INSTRUCTION").collect();
    assert_eq!(interrupted.len(), 1);
    assert_eq!(
        (interrupted[0].intent, interrupted[0].element()),
        ("INTERRUPTED", "a")
    );
    rig.assert_terminated(instance);
}

#[test]
fn terminating_after_an_unknown_element_has_no_effect() {
    let mut rig = Rig::with(Bpmn::process("p").start("s").task("a").end("e"));
    let instance =
        created(&mut rig, with(|c| c.terminate_after = vec!["x".into()])).process_instance_key;
    rig.assert_completed(instance);
}

#[test]
fn tags_and_business_id_stay_with_the_instance() {
    let (mut rig, ..) = versions();
    let answer = created(
        &mut rig,
        with(|c| {
            c.tags = vec!["urgent".into()];
            c.business_id = Some("B-7".into());
        }),
    );
    assert_eq!(
        (&*answer.tags, answer.business_id.as_deref()),
        (&["urgent".to_string()][..], Some("B-7"))
    );
    let job = rig.job("v2");
    assert_eq!(&*job.tags, ["urgent".to_string()]);
    assert_eq!(job.business_id, answer.business_id.map(Into::into));
}

#[test]
fn tags_and_business_id_are_not_those_of_called_instances() {
    let mut rig = Rig::with(one("called"));
    let caller = Bpmn::process("caller").start("s").call_activity("c", "p");
    rig.deploy(caller.end("e"));
    let mut command = Rig::creation("caller", "{}");
    command.tags = vec!["urgent".into()];
    command.business_id = Some("B-7".into());
    created(&mut rig, command);
    let job = rig.job("called");
    assert_eq!((job.tags.len(), job.business_id), (0, None));
}

#[test]
fn the_operation_reference_stands_in_the_command_record() {
    let (mut rig, ..) = versions();
    let request = Request {
        operation_reference: Some(4711),
        ..Request::internal(with(|_| {}).into_command())
    };
    let now = rig.now;
    rig.partitions[0]
        .engine
        .process(now, None, &request, &mut rig.streams);
    rig.settle(1);
    let command = rig.seen.iter().rfind(|r| r.intent == "CREATE").unwrap();
    assert_eq!(command.json["operationReference"], 4711);
    let position = command.json["position"].clone();
    let caused = rig.seen.last().unwrap();
    assert_eq!(caused.json["sourceRecordPosition"], position);
}
