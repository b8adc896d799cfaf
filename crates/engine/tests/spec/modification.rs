//! Process instance modification: elements are activated, terminated and moved.

use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::command::*;
use skep_protocol::value::*;
use skep_testkit::rig::*;

pub fn activate(id: &str) -> ActivateInstruction {
    ActivateInstruction {
        element_id: id.into(),
        ..ActivateInstruction::default()
    }
}

pub fn within(id: &str, ancestor: Key) -> ActivateInstruction {
    ActivateInstruction {
        ancestor_scope_key: ancestor,
        ..activate(id)
    }
}

pub fn with(
    mut activate: ActivateInstruction,
    scope: &str,
    variables: &str,
) -> ActivateInstruction {
    let variables = skep_protocol::Document::parse(variables).unwrap();
    activate.variable_instructions.push(VariableInstruction {
        element_id: scope.into(),
        variables: variables.into_entries().collect(),
    });
    activate
}

pub fn terminate(key: Key) -> TerminateInstruction {
    TerminateInstruction {
        element_instance_key: key,
        ..TerminateInstruction::default()
    }
}

pub fn terminate_all(id: &str) -> TerminateInstruction {
    TerminateInstruction {
        element_id: id.into(),
        ..TerminateInstruction::default()
    }
}

pub fn move_all(source: &str, target: &str, ancestor: MoveAncestor) -> MoveInstruction {
    MoveInstruction {
        source_element_id: source.into(),
        target_element_id: target.into(),
        ancestor,
        ..MoveInstruction::default()
    }
}

/// `s` → `a` → sub-process(`b` → `c`) → `e`
pub fn nested() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .sub_process("sub", |p| {
            p.start("s1")
                .service_task("b", "b")
                .service_task("c", "c")
                .end("e1")
        })
        .end("e")
}

/// As many instances of `task` as there are `items`.
fn repeated() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .sub_process("sub", |p| {
            p.start("s1")
                .service_task("b", "b")
                .service_task("c", "c")
                .end("e1")
        })
        .for_each("=items", "item")
        .service_task("after", "after")
        .end("e")
}

fn keys_of(rig: &Rig, element: &str, kind: &str) -> Vec<Key> {
    let all = rig.events("PROCESS_INSTANCE");
    let all = all.filter(|r| r.intent == "ELEMENT_ACTIVATED" && r.element() == element);
    let all = all.filter(|r| r.text("bpmnElementType") == kind);
    all.map(|r| r.key).collect()
}

#[test]
fn a_moved_token_continues_at_its_target() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    rig.modify(instance)
        .r#move(move_all("a", "c", MoveAncestor::Any))
        .done();
    assert_eq!(rig.terminated(instance), ["a"]);
    rig.work("c", "{}");
    assert_eq!(rig.completed(instance), ["s", "c", "e1", "sub", "e", "p"]);
    rig.assert_completed(instance);
}

#[test]
fn variables_reach_the_scope_that_is_named() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", r#"{"g": 0}"#);
    let element = with(activate("b"), "", r#"{"g": 1}"#);
    let element = with(element, "sub", r#"{"l": 2}"#);
    let element = with(element, "b", r#"{"own": 3}"#);
    rig.modify(instance)
        .activate(element)
        .terminate(terminate_all("a"))
        .done();
    let job = rig.job("b");
    assert_eq!(rig.variable(instance, "g").unwrap(), "1");
    let (sub, b) = (rig.element_key("sub"), rig.element_key("b"));
    assert_eq!(rig.variable(sub, "l").unwrap(), "2");
    assert_eq!(rig.variable(b, "own").unwrap(), "3");
    rig.complete(&job, "{}");
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn own_variables_are_there_before_the_input_mappings() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .service_task("b", "b")
        .input("=x + 1", "y")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.modify(instance)
        .activate(with(activate("b"), "b", r#"{"x": 1}"#))
        .done();
    let b = rig.element_key("b");
    assert_eq!(rig.variable(b, "y").unwrap(), "2");
}

#[test]
fn two_elements_of_one_new_scope_share_it_unless_the_ancestor_is_chosen() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    rig.modify(instance)
        .activate(activate("b"))
        .activate(activate("c"))
        .done();
    assert_eq!(keys_of(&rig, "sub", "SUB_PROCESS").len(), 1);
    rig.modify(instance)
        .activate(within("b", instance))
        .activate(within("c", instance))
        .done();
    assert_eq!(keys_of(&rig, "sub", "SUB_PROCESS").len(), 3);
    let (kind, reason) = rig.modify(instance).activate(activate("b")).refused();
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(
        reason.contains("flow scope 'sub' has 3 active instances"),
        "{reason}"
    );
    let chosen = keys_of(&rig, "sub", "SUB_PROCESS")[1];
    rig.modify(instance).activate(within("b", chosen)).done();
    let scopes = keys_of(&rig, "sub", "SUB_PROCESS");
    assert_eq!(scopes.len(), 3);
}

#[test]
fn a_new_scope_listens() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .sub_process("sub", |p| {
            p.start("s1")
                .service_task("b", "b")
                .end("e1")
                .event_sub_process("esp", |p| {
                    p.start_message_for("es", "message", "=\"key\"")
                        .service_task("h", "h")
                        .end("ee")
                })
        })
        .end("e")
        .boundary_duration("late", "sub", "PT1M")
        .service_task("after", "after")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.modify(instance)
        .activate(activate("b"))
        .terminate(terminate_all("a"))
        .done();
    rig.publish("message", "key", 0, "{}");
    assert_eq!(rig.terminated(instance), ["a", "b"]);
    assert_eq!(rig.jobs("h").len(), 1);
    rig.advance(2 * MINUTE);
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_event_sub_process_begins_without_its_event_and_interrupts_nothing() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .end("e")
        .event_sub_process("esp", |p| {
            p.start_signal("es", "ring")
                .service_task("h", "h")
                .end("ee")
        });
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.modify(instance).activate(activate("esp")).done();
    assert!(rig.incidents().is_empty());
    rig.work("h", "{}");
    assert!(rig.terminated(instance).is_empty());
    rig.work("a", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_scope_that_cannot_subscribe_waits_with_an_incident_and_loses_nothing() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .sub_process("outer", |p| {
            p.start("s1")
                .sub_process("inner", |p| p.start("s2").service_task("b", "b").end("e2"))
                .end("e1")
        })
        .end("e")
        .boundary_duration("late", "outer", "=due")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let element = with(activate("b"), "b", r#"{"own": 1}"#);
    rig.modify(instance)
        .activate(with(element, "inner", r#"{"deep": 2}"#))
        .terminate(terminate_all("a"))
        .done();
    let incident = rig.incident();
    assert_eq!(incident.element, "outer");
    rig.set_variables(instance, r#"{"due": "PT1M"}"#, true);
    rig.resolve(incident.key).unwrap();
    let job = rig.job("b");
    let variables: serde_json::Value = serde_json::from_str(&job.variables).unwrap();
    assert_eq!(variables["own"], 1);
    assert_eq!(variables["deep"], 2);
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn terminated_elements_leave_nothing_behind() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("keep", "keep")
        .end("e1")
        .from("fork")
        .sub_process("sub", |p| {
            p.start("s1")
                .parallel("f")
                .service_task("b", "b")
                .end("e2")
                .from("f")
                .receive_task("r", "message", "=\"key\"")
                .end("e3")
                .from("f")
                .user_task("u")
                .end("e4")
                .from("f")
                .call_activity("call", "called")
                .end("e5")
        })
        .end("e6")
        .boundary_duration("late", "sub", "PT1H")
        .end("e7");
    let mut rig = Rig::with(bpmn);
    rig.deploy(
        Bpmn::process("called")
            .start("cs")
            .service_task("work", "work")
            .end("ce"),
    );
    let instance = rig.create("p", "{}");
    let job = rig.job("b");
    rig.fail(&job, 0, 0);
    assert_eq!(rig.incidents().len(), 1);
    rig.modify(instance).terminate(terminate_all("sub")).done();
    assert!(rig.incidents().is_empty());
    rig.work("keep", "{}");
    rig.assert_completed(instance);
}

#[test]
fn the_instance_goes_with_the_last_that_is_in_it() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    let b = rig.element_key("b");
    rig.modify(instance).terminate(terminate(b)).done();
    assert_eq!(rig.terminated(instance), ["b", "sub", "p"]);
    let last = rig.seen.iter().rfind(|r| r.is_event()).unwrap();
    assert_eq!(last.intent, "MODIFIED");
    rig.assert_terminated(instance);

    let other = rig.create("p", "{}");
    rig.modify(other).terminate(terminate(other)).done();
    rig.assert_terminated(other);
}

#[test]
fn a_token_at_a_join_is_no_longer_waited_for() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .inclusive("fork")
        .when("=true")
        .service_task("a", "a")
        .inclusive("join")
        .end("e")
        .from("fork")
        .when("=true")
        .service_task("b", "b")
        .to("join");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    assert!(rig.is_running(instance));
    rig.modify(instance).terminate(terminate_all("b")).done();
    rig.assert_completed(instance);
}

/// `a` and `b` in parallel, then `join` and `z`.
fn joined(gateway: fn(Bpmn, &'static str) -> Bpmn) -> Bpmn {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("a", "a");
    gateway(bpmn, "join")
        .service_task("z", "z")
        .end("e")
        .from("fork")
        .service_task("b", "b")
        .to("join")
}

#[test]
fn a_parallel_join_that_misses_a_token_for_good_has_an_incident() {
    let mut rig = Rig::with(joined(Bpmn::parallel));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.modify(instance).terminate(terminate_all("b")).done();
    assert_eq!(rig.incident().element, "p");
    // Another modification repairs it: the gateway takes the token that waits.
    rig.modify(instance).activate(activate("join")).done();
    rig.work("z", "{}");
    rig.assert_completed(instance);
}

/// The token of `a` has been used: that of `b` comes too late.
#[test]
fn an_activated_join_takes_a_token_from_each_flow_that_has_one() {
    let mut rig = Rig::with(joined(Bpmn::parallel));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.modify(instance).activate(activate("join")).done();
    rig.work("z", "{}");
    rig.work("b", "{}");
    assert_eq!(rig.jobs("z").len(), 0);
    assert_eq!(rig.incident().element, "p");
    let mut rig = Rig::with(joined(Bpmn::inclusive));
    let instance = rig.create("p", "{}");
    rig.work("a", "{}");
    rig.modify(instance).activate(activate("join")).done();
    rig.work("z", "{}");
    assert!(rig.is_running(instance));
    // Nothing else can come, so it goes on with that of `b`.
    rig.work("b", "{}");
    rig.work("z", "{}");
    rig.assert_completed(instance);
}

/// Of two tokens on one flow, one is left.
#[test]
fn an_activated_join_leaves_the_second_token_of_a_flow() {
    let mut rig = Rig::with(joined(Bpmn::parallel));
    let instance = rig.create("p", "{}");
    rig.modify(instance).activate(activate("a")).done();
    for job in rig.jobs("a") {
        rig.complete(&job, "{}");
    }
    rig.modify(instance).activate(activate("join")).done();
    rig.work("z", "{}");
    rig.work("b", "{}");
    rig.work("z", "{}");
    rig.assert_completed(instance);
}

#[test]
fn inner_instances_are_modified_by_their_keys() {
    let mut rig = Rig::with(repeated());
    let instance = rig.create("p", r#"{"items": [1, 2, 3]}"#);
    let inner = keys_of(&rig, "sub", "SUB_PROCESS");
    // Each of them continues at `c`, in its own scope.
    rig.modify(instance)
        .r#move(move_all("b", "c", MoveAncestor::SourceParent))
        .done();
    assert_eq!(rig.jobs("b").len(), 0);
    let jobs = rig.jobs("c");
    assert_eq!(jobs.len(), 3);
    let parents: Vec<_> = jobs.iter().map(|job| job.element_instance_key).collect();
    let scopes: Vec<Key> = parents
        .iter()
        .map(|key| {
            rig.engine(1)
                .state
                .elements
                .get(*key)
                .unwrap()
                .flow_scope_key
        })
        .collect();
    assert_eq!(scopes, inner);
    // One is terminated, the others complete.
    rig.modify(instance).terminate(terminate(inner[1])).done();
    rig.complete(&jobs[0], "{}");
    rig.complete(&jobs[2], "{}");
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

#[test]
fn the_body_goes_with_its_last_inner_instance() {
    let mut rig = Rig::with(repeated());
    let instance = rig.create("p", r#"{"items": [1, 2]}"#);
    rig.modify(instance)
        .activate(activate("after"))
        .terminate(terminate_all("b"))
        .done();
    assert!(
        rig.terminated(instance)
            .iter()
            .filter(|id| *id == "sub")
            .count()
            == 3
    );
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_multi_instance_activity_is_moved_as_a_whole() {
    let mut rig = Rig::with(repeated());
    let instance = rig.create("p", r#"{"items": [1, 2]}"#);
    rig.modify(instance)
        .r#move(move_all("sub", "after", MoveAncestor::Inferred))
        .done();
    assert_eq!(rig.jobs("after").len(), 1);
    rig.modify(instance)
        .r#move(move_all("after", "sub", MoveAncestor::Any))
        .done();
    assert_eq!(rig.jobs("b").len(), 2);
}

#[test]
fn an_element_is_moved_once() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    let to = |target| move_all("a", target, MoveAncestor::Any);
    let twice = rig.modify(instance).r#move(to("b")).r#move(to("c"));
    let (kind, reason) = rejected(twice.send());
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert_eq!(
        reason,
        "Expected to modify instance of process 'p' but it contains multiple move instructions with identical source element ids: \
         'a'"
    );
    assert_eq!(rig.jobs("a").len(), 1);
}

#[test]
fn the_ancestor_is_inferred_from_the_source() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("outer", |p| {
            p.start("s1")
                .sub_process("left", |p| p.start("s2").service_task("a", "a").end("e2"))
                .sub_process("right", |p| p.start("s3").service_task("b", "b").end("e3"))
                .end("e1")
        })
        .for_each("=items", "item")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"items": [1, 2]}"#);
    // Ambiguous: either of the two could be meant.
    let (kind, _) = rig
        .modify(instance)
        .r#move(move_all("a", "b", MoveAncestor::Any))
        .refused();
    assert_eq!(kind, "INVALID_ARGUMENT");
    let (_, reason) = rig
        .modify(instance)
        .r#move(move_all("a", "b", MoveAncestor::SourceParent))
        .refused();
    assert!(
        reason.contains("'left', which is not a flow scope of it"),
        "{reason}"
    );
    rig.modify(instance)
        .r#move(move_all("a", "b", MoveAncestor::Inferred))
        .done();
    let jobs = rig.jobs("b");
    assert_eq!(jobs.len(), 2);
    for (job, item) in jobs.iter().zip([1, 2]) {
        let variables: serde_json::Value = serde_json::from_str(&job.variables).unwrap();
        assert_eq!(variables["item"], item);
        rig.complete(job, "{}");
    }
    rig.assert_completed(instance);
}

#[test]
fn a_called_instance_is_modified_but_not_ended() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("s")
            .call_activity("call", "called")
            .end("e"),
    );
    rig.deploy(
        Bpmn::process("called")
            .start("cs")
            .service_task("x", "x")
            .service_task("y", "y")
            .end("ce"),
    );
    let instance = rig.create("p", "{}");
    let called = rig.instance_of("called");
    let (x, call) = (rig.element_key("x"), rig.element_key("call"));
    let (kind, reason) = rig.modify(called).terminate(terminate(x)).refused();
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(
        reason.contains("please modify the parent process"),
        "{reason}"
    );
    let (_, reason) = rig.modify(called).terminate(terminate(called)).refused();
    assert!(
        reason.contains("please modify the parent process"),
        "{reason}"
    );
    // Element instances of other process instances are refused.
    let (_, reason) = rig.modify(instance).terminate(terminate(x)).refused();
    assert!(
        reason.contains("not one of its active element instances"),
        "{reason}"
    );
    rig.modify(called)
        .r#move(move_all("x", "y", MoveAncestor::Any))
        .done();
    rig.work("y", "{}");
    rig.assert_completed(instance);

    let other = rig.create("p", "{}");
    let calls = rig.element_key("call");
    assert_ne!(calls, call);
    rig.modify(other).terminate(terminate(calls)).done();
    rig.assert_terminated(other);
}

#[test]
fn canceling_listeners_do_not_run() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .user_task("u")
        .task_listener("canceling", "listener")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.modify(instance).terminate(terminate_all("u")).done();
    assert!(rig.jobs("listener").is_empty());
    rig.assert_terminated(instance);
}

/// Both forms of the instruction end an element that is about to end.
#[test]
fn an_element_that_waits_for_its_canceling_listeners_ends_by_key_and_by_id() {
    let by_key: fn(&Rig) -> TerminateInstruction = |rig| terminate(rig.element_key("t"));
    let by_id: fn(&Rig) -> TerminateInstruction = |_| terminate_all("t");
    for instruction in [by_key, by_id] {
        let bpmn = Bpmn::process("p")
            .start("s")
            .sub_process("sub", |p| {
                p.start("s1")
                    .parallel("fork")
                    .user_task("t")
                    .task_listener("canceling", "listener")
                    .end("e1")
                    .from("fork")
                    .service_task("w", "w")
                    .end_error("throw", "broken")
            })
            .end("e")
            .boundary_error("caught", "sub", "broken")
            .end("e2");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", "{}");
        rig.work("w", "{}");
        assert_eq!(rig.jobs("listener").len(), 1);
        assert!(rig.is_running(instance), "it waits for the listener");
        let instruction = instruction(&rig);
        rig.modify(instance).terminate(instruction).done();
        assert_eq!(rig.terminated(instance), ["throw", "t", "sub"]);
        rig.assert_completed(instance);
    }
}

#[test]
fn a_call_activity_that_waits_for_canceling_listeners_ends_by_its_id() {
    let called = Bpmn::process("called")
        .start("s")
        .user_task("t")
        .task_listener("canceling", "listener");
    let mut rig = Rig::with(called.end("e"));
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .call_activity("call", "called")
            .end("e")
            .boundary_signal("caught", "call", "stop")
            .end("e2"),
    );
    let instance = rig.create("p", "{}");
    rig.broadcast("stop", "{}");
    assert!(rig.is_running(instance), "it waits for the listener");
    rig.modify(instance).terminate(terminate_all("call")).done();
    assert_eq!(rig.terminated(instance), ["call"]);
    rig.assert_completed(instance);
}

#[test]
fn start_listeners_of_the_element_run_and_those_of_new_scopes_do_not() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .sub_process("sub", |p| {
            p.start("s1")
                .service_task("b", "b")
                .listener("start", "of-b")
                .end("e1")
        })
        .listener("start", "of-sub")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.modify(instance)
        .activate(activate("b"))
        .terminate(terminate_all("a"))
        .done();
    assert!(rig.jobs("of-sub").is_empty());
    rig.work("of-b", "{}");
    rig.work("b", "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_empty_modification_is_accepted() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    rig.modify(instance)
        .r#move(move_all("b", "c", MoveAncestor::Inferred))
        .done();
    rig.modify(instance).done();
    let intents = rig.intents("PROCESS_INSTANCE_MODIFICATION");
    assert_eq!(intents, ["BEGUN", "MODIFIED", "BEGUN", "MODIFIED"]);
    assert!(rig.terminated(instance).is_empty());
}

#[test]
fn an_interrupting_event_sub_process_can_be_modified() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .end("e")
        .event_sub_process("esp", |p| {
            p.start_signal("es", "ring")
                .service_task("h", "h")
                .service_task("i", "i")
                .end("ee")
        });
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.send(Command::BroadcastSignal(BroadcastSignal {
        signal_name: "ring".into(),
        variables: skep_protocol::Document::new(),
    }))
    .unwrap();
    rig.modify(instance)
        .r#move(move_all("h", "i", MoveAncestor::SourceParent))
        .done();
    assert_eq!(rig.jobs("i").len(), 1);
    // Interrupted activities can be activated again.
    rig.modify(instance)
        .activate(activate("a"))
        .terminate(terminate_all("i"))
        .done();
    assert_eq!(rig.terminated(instance), ["a", "h", "i", "esp"]);
    rig.work("a", "{}");
    rig.assert_completed(instance);
}

#[test]
fn activities_of_an_ad_hoc_sub_process_have_their_inner_instance() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .ad_hoc("hoc", |p| {
            p.service_task("b", "b")
                .service_task("c", "c")
                .apart()
                .service_task("d", "d")
        })
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.modify(instance)
        .activate(activate("c"))
        .activate(activate("d"))
        .terminate(terminate_all("a"))
        .done();
    let inner = |rig: &Rig| {
        keys_of(
            rig,
            "hoc#innerInstance",
            "AD_HOC_SUB_PROCESS_INNER_INSTANCE",
        )
        .len()
    };
    assert_eq!(inner(&rig), 1);
    let hoc = rig.element_key("hoc");
    rig.modify(instance).activate(within("b", hoc)).done();
    assert_eq!(inner(&rig), 2);
    rig.work("b", "{}");
    for job in rig.jobs("c") {
        rig.complete(&job, "{}");
    }
    rig.work("d", "{}");
    rig.assert_completed(instance);
}
