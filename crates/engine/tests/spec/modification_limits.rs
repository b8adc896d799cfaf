//! Process instance modification: refusals, and modifications over several turns.

use crate::modification::*;
use skep_model::builder::Bpmn;
use skep_protocol::command::{BroadcastSignal, Command};
use skep_protocol::value::{ActivateInstruction, MoveAncestor};
use skep_protocol::{Document, Key};
use skep_testkit::rig::*;

#[test]
fn elements_that_cannot_be_activated_are_refused() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("a", "a")
        .event_based("g")
        .catch_duration("t", "PT1H")
        .end("e1")
        .from("g")
        .catch_signal("sig", "ring")
        .end("e2")
        .boundary_duration("late", "a", "PT1H")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let cases = [
        ("nope", "the process does not have"),
        ("p", "the process itself"),
        ("s", "a start event"),
        ("late", "a boundary event"),
        ("t", "behind an event-based gateway"),
        ("s-a", "a sequence flow"),
    ];
    for (id, expected) in cases {
        let (kind, reason) = rig.modify(instance).activate(activate(id)).refused();
        assert_eq!(kind, "INVALID_ARGUMENT", "{id}");
        assert!(reason.contains(expected), "{id}: {reason}");
        let (_, reason) = rig
            .modify(instance)
            .r#move(move_all("a", id, MoveAncestor::Any))
            .refused();
        assert!(reason.contains(expected), "{id}: {reason}");
    }
    let (_, reason) = rig
        .modify(instance)
        .activate(activate("g"))
        .terminate(terminate_all("nope"))
        .refused();
    assert!(
        reason.contains("terminates the element with id 'nope'"),
        "{reason}"
    );
    // The gateway waits for its events.
    rig.modify(instance)
        .activate(activate("g"))
        .terminate(terminate_all("a"))
        .done();
    assert_eq!(rig.completed(instance), ["s"]);
    rig.advance(61 * MINUTE);
    assert_eq!(rig.completed(instance), ["s", "g", "t", "e1", "p"]);
    rig.assert_completed(instance);
}

#[test]
fn scopes_that_do_not_fit_are_refused() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    let a = rig.element_key("a");
    let refused = |rig: &mut Rig, instruction: ActivateInstruction| {
        let (kind, reason) = rig.modify(instance).activate(instruction).refused();
        assert_eq!(kind, "INVALID_ARGUMENT");
        reason
    };
    let reason = refused(&mut rig, within("b", Key(7)));
    assert!(
        reason.contains("'7', which is not one of its element instances"),
        "{reason}"
    );
    let reason = refused(&mut rig, within("b", a));
    assert!(
        reason.contains("which is not a flow scope of it"),
        "{reason}"
    );
    let reason = refused(&mut rig, with(activate("a"), "sub", r#"{"x": 1}"#));
    assert!(
        reason.contains("doesn't belong to the activating element's flow scope"),
        "{reason}"
    );
    rig.work("a", "{}");
    let sub = rig.element_key("sub");
    let (_, reason) = rig
        .modify(instance)
        .activate(activate("c"))
        .terminate(terminate(sub))
        .refused();
    assert!(reason.contains("in a scope that it terminates"), "{reason}");
    // With a scope of its own it is possible.
    rig.modify(instance)
        .activate(within("c", instance))
        .terminate(terminate(sub))
        .done();
    rig.work("c", "{}");
    rig.assert_completed(instance);
}

#[test]
fn an_instance_that_is_not_there_or_about_to_end_is_refused() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .user_task("u")
        .task_listener("canceling", "listener")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let (kind, _) = rig.modify(Key(1)).activate(activate("u")).refused();
    assert_eq!(kind, "NOT_FOUND");
    let instance = rig.create("p", "{}");
    let u = rig.element_key("u");
    let (kind, _) = rig.modify(u).activate(activate("u")).refused();
    assert_eq!(kind, "NOT_FOUND");
    rig.cancel(instance).unwrap();
    let (kind, reason) = rig.modify(instance).activate(activate("u")).refused();
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("about to end"), "{reason}");
    rig.work("listener", "{}");
    rig.assert_terminated(instance);
}

#[test]
fn a_banned_instance_is_left_alone() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    rig.ban(instance).unwrap();
    let (kind, reason) = rig.modify(instance).activate(activate("c")).refused();
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("banned"), "{reason}");
}

/// A parallel gateway to this many service tasks.
fn wide(tasks: usize) -> Bpmn {
    let mut bpmn = Bpmn::process("p").start("s").parallel("fork");
    for i in 0..tasks {
        bpmn = bpmn.from("fork").service_task(format!("t{i}"), "work");
    }
    bpmn.from("fork").service_task("keep", "keep")
}

#[test]
fn the_number_of_instructions_is_limited() {
    let mut rig = Rig::with(nested());
    let instance = rig.create("p", "{}");
    let mut all = rig.modify(instance);
    for _ in 0..10_001 {
        all = all.activate(activate("c"));
    }
    let (kind, reason) = all.refused();
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(reason.contains("at most 10000"), "{reason}");
}

#[test]
fn thousands_of_instructions_let_others_have_their_turn() {
    let mut rig = Rig::with(wide(3000));
    rig.deploy(Bpmn::process("small").start("s").end("e"));
    let instance = rig.create("p", "{}");
    rig.interrupted = true;
    let mut all = rig.modify(instance);
    for i in 0..3000 {
        all = all.r#move(move_all(&format!("t{i}"), "t0", MoveAncestor::Any));
    }
    all.done();
    let other = rig.create("small", "{}");
    assert_eq!(rig.completed(other), ["s", "e", "small"]);
    let (kind, reason) = rig
        .modify(instance)
        .terminate(terminate_all("keep"))
        .refused();
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("still being carried out"), "{reason}");
    let mut turns = 0;
    loop {
        rig.change_leader(1);
        if !rig.run_work() {
            break;
        }
        turns += 1;
    }
    assert!(turns > 5, "{turns}");
    assert_eq!(rig.terminated(instance).len(), 3000);
    let t0 = rig.elements(instance, "ELEMENT_ACTIVATED");
    assert_eq!(t0.iter().filter(|id| *id == "t0").count(), 3001);
    rig.interrupted = false;
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_cancel_ends_a_modification_that_is_under_way() {
    let mut rig = Rig::with(wide(3000));
    let instance = rig.create("p", "{}");
    rig.interrupted = true;
    let mut all = rig.modify(instance);
    for i in 0..3000 {
        all = all.r#move(move_all(&format!("t{i}"), "t0", MoveAncestor::Any));
    }
    all.done();
    rig.run_work();
    rig.interrupted = false;
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn the_resulting_number_of_elements_is_limited_too() {
    let mut bpmn: Box<dyn FnOnce(Bpmn) -> Bpmn> =
        Box::new(|p| p.start("s0").service_task("t", "t").end("e0"));
    for depth in 1..=200 {
        bpmn = Box::new(move |p| {
            p.start(format!("s{depth}"))
                .sub_process(format!("sub{depth}"), bpmn)
                .end(format!("e{depth}"))
        });
    }
    let mut rig = Rig::with(bpmn(Bpmn::process("p")));
    let instance = rig.create("p", "{}");
    let mut all = rig.modify(instance);
    for _ in 0..10_000 {
        all = all.activate(activate("t"));
    }
    let (kind, reason) = all.refused();
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(reason.contains("Modify it in several steps"), "{reason}");
}

#[test]
fn an_event_that_has_reached_a_gateway_goes_with_it() {
    let mut rig = Rig::with(
        Bpmn::process("p")
            .start("s")
            .parallel("fork")
            .service_task("a", "a")
            .end("e0")
            .from("fork")
            .event_based("which")
            .catch_duration("timer", "PT1H")
            .end("e1")
            .from("which")
            .catch_signal("signal", "ring")
            .end("e2"),
    );
    rig.deploy(
        Bpmn::process("others")
            .start("s")
            .catch_signal("ringing", "ring")
            .end("e"),
    );
    for _ in 0..4 {
        rig.create("others", "{}");
    }
    let instance = rig.create("p", "{}");
    rig.turn_steps(1);
    rig.interrupted = true;
    rig.modify(instance)
        .terminate(terminate_all("a"))
        .terminate(terminate_all("which"))
        .done();
    // The gateway gets its event before its turn to be terminated; its completion is queued behind other work.
    rig.send_async(Command::BroadcastSignal(BroadcastSignal {
        signal_name: "ring".into(),
        variables: Document::new(),
    }));
    rig.interrupted = false;
    rig.settle(1);
    rig.assert_terminated(instance);
}
