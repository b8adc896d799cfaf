//! Timer catch events: waiting for a duration or a date.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn duration(text: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .catch_duration("timer", text)
        .end("e")
}

#[test]
fn waits_for_its_duration() {
    let mut rig = Rig::with(duration("PT1M"));
    let instance = rig.create("p", "{}");
    assert_eq!(rig.engine(1).next_due(), Some(START + MINUTE));
    rig.advance(MINUTE - 1);
    assert!(rig.is_running(instance));
    rig.advance(1);
    rig.assert_completed(instance);
    assert_eq!(rig.intents("TIMER"), ["CREATED", "TRIGGERED"]);
    assert_eq!(rig.engine(1).next_due(), None);
}

#[test]
fn waits_for_its_date() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_date("timer", "2026-01-01T00:01:00Z")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(MINUTE - 1);
    assert!(rig.is_running(instance));
    rig.advance(1);
    rig.assert_completed(instance);
}

/// For example `date and time(today(), time("09:00:00"))`.
#[test]
fn a_date_and_time_without_zone_is_meant_in_utc() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_date(
            "timer",
            "=date and time(date(\"2026-01-01\"), time(\"00:01:00\"))",
        )
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", "{}");
    rig.advance(MINUTE - 1);
    assert!(rig.is_running(instance));
    rig.advance(1);
    rig.assert_completed(instance);
}

#[test]
fn a_date_that_has_passed_is_due_at_once() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_date("timer", "=when")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"when":"2020-01-01T00:00:00+01:00"}"#);
    rig.run_due();
    rig.assert_completed(instance);
}

#[test]
fn an_expression_may_yield_a_duration_or_its_text() {
    for variables in [r#"{"wait":"PT1M"}"#, r#"{"wait":"PT60S"}"#] {
        let mut rig = Rig::with(duration("=wait"));
        let instance = rig.create("p", variables);
        rig.advance(MINUTE);
        rig.assert_completed(instance);
    }
    let mut rig = Rig::with(duration("=duration(\"PT\" + string(minutes) + \"M\")"));
    let instance = rig.create("p", r#"{"minutes":1}"#);
    rig.advance(MINUTE);
    rig.assert_completed(instance);
}

#[test]
fn an_expression_that_yields_none_is_an_incident_that_variables_mend() {
    let mut rig = Rig::with(duration("=wait"));
    let instance = rig.create("p", r#"{"wait":"soon"}"#);
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("EXTRACT_VALUE_ERROR", "timer")
    );
    rig.set_variables(instance, r#"{"wait":"PT1M"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.advance(MINUTE);
    rig.assert_completed(instance);
}

#[test]
fn timers_fire_in_the_order_of_their_due_dates_and_in_bounded_steps() {
    let mut rig = Rig::with(duration("=wait"));
    let mut instances = vec![];
    for i in 0..50 {
        instances.push(rig.create("p", &format!(r#"{{"wait":"PT{}S"}}"#, 1 + i % 2)));
    }
    rig.now += MINUTE;
    let now = rig.now;
    let due = rig.partitions[0]
        .engine
        .run_due(now, false, &mut rig.streams);
    assert!(due.more, "50 timers are more than one call handles");
    rig.settle(1);
    assert_eq!(
        rig.events("TIMER")
            .filter(|r| r.intent == "TRIGGERED")
            .count(),
        20
    );
    rig.run_due();
    rig.assert_nothing_left();
    let due_dates: Vec<i64> = rig
        .events("TIMER")
        .filter(|r| r.intent == "TRIGGERED")
        .map(|r| r.field("dueDate").as_i64().unwrap())
        .collect();
    assert!(due_dates.is_sorted());
}

/// FEEL's text of a date-time in a zone does not tell the two moments of a repeated hour apart.
#[test]
fn a_date_in_an_hour_that_its_zone_repeats_is_due_at_its_own_moment() {
    let moment = r#"=date and time(date and time("2027-10-31T01:30:00Z"), "Europe/Berlin")"#;
    let bpmn = Bpmn::process("p").start("s").catch_date("timer", moment);
    let mut rig = Rig::with(bpmn.end("e"));
    rig.create("p", "{}");
    assert_eq!(rig.engine(1).next_due(), Some(1_824_946_200_000));
}
