//! Cycles: number of repetitions, due dates, and handling of missed ones.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn ticking(cycle: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_cycle("tick", "task", cycle)
        .end("e2")
}

/// Due dates of the timers, in minutes since the start.
fn due_minutes(rig: &Rig) -> Vec<i64> {
    let created = rig.events("TIMER").filter(|t| t.intent == "CREATED");
    let due = created.map(|t| t.field("dueDate").as_i64().unwrap());
    due.map(|due| (due - START) / MINUTE).collect()
}

fn fired(rig: &Rig) -> usize {
    rig.events("TIMER")
        .filter(|t| t.intent == "TRIGGERED")
        .count()
}

#[test]
fn a_cycle_repeats_as_often_as_it_says() {
    let mut rig = Rig::with(ticking("R3/PT1M"));
    let instance = rig.create("p", "{}");
    for _ in 0..5 {
        rig.advance(MINUTE);
    }
    let ticks = rig
        .completed(instance)
        .iter()
        .filter(|e| *e == "tick")
        .count();
    assert_eq!(ticks, 3);
    let left: Vec<i64> = rig
        .events("TIMER")
        .filter(|r| r.intent == "TRIGGERED")
        .map(|r| r.field("repetitions").as_i64().unwrap())
        .collect();
    assert_eq!(left, [3, 2, 1]);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_cycle_without_number_repeats_until_the_activity_ends() {
    let mut rig = Rig::with(ticking("=period"));
    let instance = rig.create("p", r#"{"period":"R/PT1M"}"#);
    for _ in 0..7 {
        rig.advance(MINUTE);
    }
    let ticks = rig
        .completed(instance)
        .iter()
        .filter(|e| *e == "tick")
        .count();
    assert_eq!(ticks, 7);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

/// Changes of the variables that the cycle was evaluated from have no effect.
#[test]
fn a_running_cycle_keeps_its_initial_value() {
    let mut rig = Rig::with(ticking("=period"));
    let instance = rig.create("p", r#"{"period":"R4/PT1M"}"#);
    rig.advance(MINUTE);
    for wrong in [r#"{"period":null}"#, r#"{"period":"R/PT1H"}"#] {
        rig.set_variables(instance, wrong, false);
        rig.advance(MINUTE);
    }
    rig.advance(10 * MINUTE);
    assert_eq!(fired(&rig), 4);
}

#[test]
fn a_cycle_without_repetitions_fires_once() {
    let mut rig = Rig::with(ticking("R0/PT1M"));
    rig.create("p", "{}");
    rig.advance(10 * MINUTE);
    rig.advance(10 * MINUTE);
    assert_eq!(rig.intents("TIMER"), ["CREATED", "TRIGGERED"]);
    assert!(rig.events("TIMER").all(|t| t.field("repetitions") == 0));
}

/// Once for all missed dates, then at intervals from now on.
#[test]
fn after_a_long_pause_it_fires_once_for_all_missed_dates() {
    for (cycle, expected) in [
        ("R5/PT60M", vec![60, 210, 270, 330, 390]),
        ("R/PT60M", vec![60, 210, 270, 330, 390, 450, 510, 570]),
        ("R1/PT60M", vec![60]),
    ] {
        let mut rig = Rig::with(ticking(cycle));
        let instance = rig.create("p", "{}");
        rig.advance(210 * MINUTE);
        assert_eq!(fired(&rig), expected.len().min(2), "{cycle}");
        for _ in 0..5 {
            rig.advance(60 * MINUTE);
        }
        assert_eq!(due_minutes(&rig), expected, "{cycle}");
        rig.work("work", "{}");
        rig.assert_completed(instance);
    }
}

#[test]
fn a_cycle_that_is_not_late_keeps_its_phase() {
    let mut rig = Rig::with(ticking("R/PT60M"));
    rig.create("p", "{}");
    for minutes in [70, 60, 60, 50] {
        rig.advance(minutes * MINUTE);
    }
    assert_eq!(due_minutes(&rig), [60, 120, 180, 240, 300]);
}

/// The start date is the first due date, not the origin of a grid.
#[test]
fn a_start_that_has_passed_is_due_now() {
    let mut rig = Rig::with(ticking("R3/2020-01-01T00:00:30Z/PT10M"));
    let instance = rig.create("p", "{}");
    rig.run_due();
    assert_eq!(fired(&rig), 1);
    rig.advance(30 * MINUTE);
    rig.advance(10 * MINUTE);
    assert_eq!(due_minutes(&rig), [0, 10, 30]);
    assert_eq!(fired(&rig), 3);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_cycle_waits_for_a_start_in_the_future() {
    let mut rig = Rig::with(ticking("R2/2026-01-01T00:30:00Z/PT10M"));
    let instance = rig.create("p", "{}");
    for _ in 0..5 {
        rig.advance(10 * MINUTE);
    }
    assert_eq!(due_minutes(&rig), [30, 40]);
    assert_eq!(fired(&rig), 2);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

/// Only the missed date is replaced by now; the next one follows the cron expression again.
#[test]
fn a_cron_text_keeps_its_times() {
    let mut rig = Rig::with(ticking("0 0 * * * *"));
    let instance = rig.create("p", "{}");
    rig.advance(210 * MINUTE);
    assert_eq!(due_minutes(&rig), [60, 210, 240]);
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn feel_makes_cycles() {
    for (cycle, expected) in [
        (r#"=cycle(2, duration("PT5M"))"#, vec![5, 10]),
        (r#"=cycle(times, duration("PT5M"))"#, vec![5, 10, 15]),
        (r#"=cycle(duration("PT20M"))"#, vec![20, 40, 60]),
    ] {
        let mut rig = Rig::with(ticking(cycle));
        let instance = rig.create("p", r#"{"times":3}"#);
        for _ in 0..8 {
            rig.advance(5 * MINUTE);
        }
        assert_eq!(due_minutes(&rig), expected, "{cycle}");
        rig.work("work", "{}");
        rig.assert_completed(instance);
    }
}

/// As in the reference engine; unbounded cycles of this kind are refused.
#[test]
fn a_counted_cycle_without_an_interval_fires_at_once_as_often_as_it_says() {
    for cycle in ["R3/PT0S", "R3/-PT1H"] {
        let mut rig = Rig::with(ticking(cycle));
        let instance = rig.create("p", "{}");
        for _ in 0..4 {
            rig.run_due();
        }
        assert_eq!(fired(&rig), 3, "{cycle}");
        rig.work("work", "{}");
        rig.assert_completed(instance);
    }
}
