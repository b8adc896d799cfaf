//! Conditional events: subscriptions to conditions are notified of changes of the variables they see.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn waiting() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .catch_condition("await", "=x > 5")
        .service_task("after", "after")
        .end("e")
}

#[test]
fn a_catch_event_waits_until_its_condition_holds() {
    let mut rig = Rig::with(waiting());
    let instance = rig.create("p", "{}");
    for few in ["{\"x\":1}", "{\"y\":9}", "{\"x\":\"text\"}", "{\"x\":null}"] {
        rig.set_variables(instance, few, false);
        assert_eq!(rig.jobs("after").len(), 0, "{few}");
    }
    rig.set_variables(instance, r#"{"x":6}"#, false);
    rig.work("after", "{}");
    rig.assert_completed(instance);
    let intents = rig.intents("CONDITIONAL_SUBSCRIPTION");
    assert_eq!(intents, ["CREATED", "TRIGGERED", "DELETED"]);
    rig.assert_nothing_left();
}

#[test]
fn a_condition_that_holds_already_is_not_waited_for() {
    let mut rig = Rig::with(waiting());
    let instance = rig.create("p", r#"{"x":6}"#);
    rig.work("after", "{}");
    rig.assert_completed(instance);
}

#[test]
fn its_records_say_what_it_waits_for() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_condition("await", "=x > 5")
        .variable_filter("x, y", "update")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    let catch = rig.element_key("await");
    let created = rig.events("CONDITIONAL_SUBSCRIPTION").next().unwrap();
    assert_eq!(created.text("catchEventId"), "await");
    assert_eq!(created.text("condition"), "x > 5");
    assert_eq!(
        *created.field("variableNames"),
        serde_json::json!(["x", "y"])
    );
    assert_eq!(
        *created.field("variableEvents"),
        serde_json::json!(["update"])
    );
    assert_eq!(created.field("interrupting").as_bool(), Some(true));
    assert_eq!(created.field("elementInstanceKey").as_i64(), Some(catch.0));
    assert_eq!(created.field("scopeKey").as_i64(), Some(catch.0));
    assert_eq!(created.instance(), instance);
}

/// With a worker's variables: all of them are set before conditions are evaluated.
#[test]
fn conditions_see_a_whole_document() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .service_task("task", "work")
        .end("e")
        .from("fork")
        .catch_condition("await", "=x + y > 5")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"x":5,"y":0}"#);
    // Set one after the other, they would exceed 6 in between.
    rig.work("work", r#"{"x":6,"y":-6}"#);
    assert!(rig.is_running(instance));
    rig.set_variables(instance, r#"{"x":12}"#, false);
    rig.assert_completed(instance);
}

#[test]
fn boundary_events_interrupt_or_do_not() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_condition("note", "task", "=x > 5")
        .non_interrupting()
        .service_task("noted", "noted")
        .end("e2")
        .boundary_condition("stop", "task", "=x > 9")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"x":1}"#);
    rig.set_variables(instance, r#"{"x":6}"#, false);
    rig.set_variables(instance, r#"{"x":7}"#, false);
    // It was true before; a change to another value triggers again, the same value does not.
    rig.set_variables(instance, r#"{"x":7}"#, false);
    let noted = rig.jobs("noted");
    assert_eq!(noted.len(), 2);
    rig.set_variables(instance, r#"{"x":10}"#, false);
    assert_eq!(rig.terminated(instance), ["task"]);
    for job in noted {
        rig.complete(&job, "{}");
    }
    rig.work("noted", "{}");
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

/// An activity's local variables are visible to its boundary events, and hide outer ones.
#[test]
fn a_boundary_event_sees_what_its_activity_sees() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .input("=limit", "x")
        .end("e")
        .boundary_condition("stop", "task", "=x > 5")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"limit":1}"#);
    rig.set_variables(instance, r#"{"x":9}"#, true);
    assert!(rig.is_running(instance), "hidden by that of the task");
    let task = rig.element_key("task");
    rig.set_variables(task, r#"{"x":9}"#, true);
    rig.assert_completed(instance);
}

/// The condition does not see the outer variable, but its changes count.
#[test]
fn a_change_of_a_hidden_variable_counts() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .input("=5", "x")
        .end("e")
        .boundary_condition("note", "task", "=x = 5")
        .non_interrupting()
        .service_task("noted", "noted")
        .end("e2")
        .boundary_condition("changed", "task", "=x = 5")
        .variable_filter("x", "update")
        .non_interrupting()
        .service_task("changed-too", "changed")
        .end("e3");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"x":0}"#);
    assert_eq!(rig.jobs("noted").len(), 1);
    assert_eq!(rig.jobs("changed").len(), 1);
    rig.set_variables(instance, r#"{"x":9}"#, true);
    assert_eq!(rig.jobs("noted").len(), 1);
    assert_eq!(rig.jobs("changed").len(), 1);
    rig.set_variables(instance, r#"{"y":1}"#, true);
    assert_eq!(rig.jobs("noted").len(), 1);
    assert_eq!(rig.jobs("changed").len(), 0);
}

/// Variables of the outer scope are visible inside, not vice versa.
#[test]
fn changes_reach_the_scopes_inside() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("sub", |sub| {
            sub.start("s2")
                .service_task("task", "work")
                .end("e2")
                .boundary_condition("inner", "task", "=x > 5")
                .non_interrupting()
                .service_task("seen", "seen")
                .end("e3")
        })
        .end("e")
        .boundary_condition("outer", "sub", "=local > 5")
        .non_interrupting()
        .service_task("never", "never")
        .end("e4");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.set_variables(instance, r#"{"x":6}"#, false);
    assert_eq!(rig.jobs("seen").len(), 1);
    let task = rig.element_key("task");
    rig.set_variables(task, r#"{"local":6}"#, true);
    assert_eq!(rig.jobs("never").len(), 0);
    let sub = rig.element_key("sub");
    rig.set_variables(sub, r#"{"local":6}"#, true);
    assert_eq!(rig.jobs("never").len(), 1);
}

#[test]
fn a_filter_says_which_changes_count() {
    let with = |names: &str, events: &str| {
        Bpmn::process("p")
            .start("s")
            .service_task("task", "work")
            .end("e")
            .boundary_condition("on", "task", "=x > 5")
            .variable_filter(names, events)
            .non_interrupting()
            .service_task("seen", "seen")
            .end("e2")
    };
    for (names, events, expected) in [
        ("", "", 3),
        ("x", "", 2),
        ("x,y", "", 3),
        ("y", "", 1),
        ("z", "", 0),
        ("x", "create", 1),
        ("x", "update", 1),
        ("", "create, update", 3),
        ("", "create", 2),
    ] {
        let mut rig = Rig::with(with(names, events));
        let instance = rig.create("p", "{}");
        rig.set_variables(instance, r#"{"x":6}"#, false);
        rig.set_variables(instance, r#"{"x":7}"#, false);
        rig.set_variables(instance, r#"{"y":1}"#, false);
        let seen = rig.jobs("seen").len();
        assert_eq!(seen, expected, "names '{names}', events '{events}'");
    }
}

#[test]
fn an_event_sub_process_starts_by_a_condition() {
    for interrupting in [true, false] {
        let bpmn = Bpmn::process("p")
            .start("s")
            .service_task("task", "work")
            .end("e")
            .event_sub_process("esp", |sub| {
                let sub = sub.start_condition("on", "=x > 5");
                let sub = if interrupting {
                    sub
                } else {
                    sub.non_interrupting()
                };
                sub.service_task("handle", "handle").end("e2")
            });
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", "{}");
        rig.set_variables(instance, r#"{"x":6}"#, false);
        rig.set_variables(instance, r#"{"x":7}"#, false);
        let handlers = rig.jobs("handle");
        assert_eq!(handlers.len(), if interrupting { 1 } else { 2 });
        for job in handlers {
            rig.complete(&job, "{}");
        }
        assert_eq!(rig.is_running(instance), !interrupting);
        if !interrupting {
            rig.work("work", "{}");
        }
        rig.assert_completed(instance);
        rig.assert_nothing_left();
    }
}

/// The event is triggered before the effects of the change that caused it.
#[test]
fn interrupted_elements_are_not_activated_first() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("first", "first")
        .service_task("second", "second")
        .end("e")
        .event_sub_process("esp", |sub| sub.start_condition("on", "=x > 5").end("e2"));
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.work("first", r#"{"x":6}"#);
    rig.assert_completed(instance);
    let begun = rig.elements(instance, "ELEMENT_ACTIVATING");
    assert!(!begun.contains(&"second".to_string()), "{begun:?}");
}

#[test]
fn behind_an_event_based_gateway_the_first_counts() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .event_based("choice")
        .catch_condition("on", "=x > 5")
        .service_task("by_condition", "by-condition")
        .end("e")
        .from("choice")
        .catch_duration("late", "PT1M")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.set_variables(instance, r#"{"x":6}"#, false);
    rig.advance(2 * MINUTE);
    rig.work("by-condition", "{}");
    rig.assert_completed(instance);
    let other = rig.create("p", "{}");
    rig.advance(2 * MINUTE);
    rig.assert_completed(other);
    rig.assert_nothing_left();
}

/// Its path changes the variable of its condition: a loop that never waits is stopped by an incident, as elsewhere.
#[test]
fn an_event_that_triggers_itself_without_end_is_stopped() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_condition("again", "task", "=x > 5")
        .non_interrupting()
        .script("more", "=x + 1", "x")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.set_variables(instance, r#"{"x":6}"#, false);
    let incidents = rig.incidents();
    let names_it = |incident: &OpenIncident| incident.message.contains("steps in a row");
    assert!(!incidents.is_empty() && incidents.iter().all(names_it));
    rig.cancel(instance).unwrap();
    rig.assert_nothing_left();
}

/// A condition that cannot be evaluated is false and has no other effect.
#[test]
fn an_expression_that_fails_is_not_true() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_condition("await", "=assert(x, x != 7) > 5")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"x":7}"#);
    assert_eq!(rig.incidents(), []);
    rig.set_variables(instance, r#"{"x":8}"#, false);
    rig.assert_completed(instance);
}

/// Very many conditions on one variable are evaluated over several turns.
#[test]
fn hundreds_of_conditions_are_evaluated_in_turns() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .sub_process("each", |sub| {
            sub.start("s2")
                .catch_condition("await", "=x = 1 or x = 2 and i > 150")
                .end("e2")
        })
        .for_each("=for i in 1..300 return i", "i")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.turn_steps(20);
    rig.interrupted = true;
    rig.set_variables(instance, r#"{"x":2}"#, false);
    let mut turns = 0;
    while rig.run_work() {
        turns += 1;
    }
    assert!(turns > 10, "{turns} turns");
    rig.interrupted = false;
    let waiting = rig.engine(1).state.conditions.of_scope(instance).len();
    assert_eq!(waiting, 150);
    rig.set_variables(instance, r#"{"x":1}"#, false);
    rig.assert_completed(instance);
    rig.assert_nothing_left();
}

#[test]
fn conditions_of_banned_instances_do_not_trigger() {
    let mut rig = Rig::with(waiting());
    let instance = rig.create("p", "{}");
    rig.ban(instance).unwrap();
    rig.cancel(instance).unwrap();
    rig.assert_nothing_left();
}
