//! Message catch events: waiting for a message with a correlation key.

use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .catch_message("catch", "paid", "=order")
        .service_task("task", "work")
        .end("e")
}

#[test]
fn waits_for_the_message_with_its_correlation_key() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"order":"A-1"}"#);
    rig.publish("paid", "A-2", 0, "{}");
    rig.publish("sent", "A-1", 0, "{}");
    assert!(rig.jobs("work").is_empty());
    rig.publish("paid", "A-1", 0, r#"{"amount":7}"#);
    assert_eq!(rig.variable(instance, "amount").unwrap(), "7");
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_number_is_a_correlation_key_too() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"order":42}"#);
    rig.publish("paid", "42", 0, "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

/// However the number is written: publishers see its value.
#[test]
fn a_whole_number_is_a_correlation_key_without_a_fraction() {
    for (value, key) in [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-0.0", "0"),
        ("1.50", "1.5"),
        ("12345678901234567890", "12345678901234567890"),
        ("1.50e-3", "0.0015"),
        ("1e-200", "1E-200"),
    ] {
        let mut rig = Rig::with(process());
        let instance = rig.create("p", &format!(r#"{{"order":{value}}}"#));
        let subscription = rig.events("PROCESS_MESSAGE_SUBSCRIPTION").next().unwrap();
        assert_eq!(subscription.text("correlationKey"), key, "{value}");
        rig.publish("paid", key, 0, "{}");
        rig.work("work", "{}");
        rig.assert_completed(instance);
    }
}

#[test]
fn a_missing_correlation_key_is_an_incident_that_variables_mend() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"order":null}"#);
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("EXTRACT_VALUE_ERROR", "catch")
    );
    rig.set_variables(instance, r#"{"order":"A-1"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.publish("paid", "A-1", 0, "{}");
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn output_mappings_choose_among_the_message_variables() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_message("catch", "paid", "=order")
        .output("=amount * 2", "double")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"order":"A-1"}"#);
    rig.publish("paid", "A-1", 0, r#"{"amount":7}"#);
    assert_eq!(rig.variable(instance, "double").unwrap(), "14");
    assert_eq!(rig.variable(instance, "amount"), None);
    rig.assert_completed(instance);
}

#[test]
fn its_subscription_ends_with_the_instance() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", r#"{"order":"A-1"}"#);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn both_sides_of_the_subscription_are_written() {
    let mut rig = Rig::with(process());
    rig.create("p", r#"{"order":"A-1"}"#);
    rig.publish("paid", "A-1", 0, "{}");
    assert_eq!(
        rig.intents("PROCESS_MESSAGE_SUBSCRIPTION"),
        ["CREATING", "CREATED", "CORRELATED", "DELETED"]
    );
    assert_eq!(
        rig.intents("MESSAGE_SUBSCRIPTION"),
        ["CREATED", "CORRELATING", "CORRELATED"]
    );
}

#[test]
fn an_empty_message_name_is_an_incident_that_variables_mend() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .catch_message("catch", "=name", "=\"k\"")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let instance = rig.create("p", r#"{"name":"  "}"#);
    let incident = rig.incident();
    assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
    rig.set_variables(instance, r#"{"name":"paid"}"#, false);
    rig.resolve(incident.key).unwrap();
    rig.publish("paid", "k", 0, "{}");
    rig.assert_completed(instance);
}

/// Indices keep both in memory.
#[test]
fn a_name_or_key_that_is_too_long_is_an_incident_that_variables_mend() {
    let (longest, long) = ("ä".repeat(32_768), "ä".repeat(32_769));
    for (name, key, what) in [
        (&long, &longest, "message name"),
        (&longest, &long, "correlation key"),
    ] {
        let bpmn = Bpmn::process("p")
            .start("s")
            .catch_message("catch", "=name", "=key")
            .end("e");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", &format!(r#"{{"name":"{name}","key":"{key}"}}"#));
        let incident = rig.incident();
        assert_eq!(incident.kind, "EXTRACT_VALUE_ERROR");
        let said = format!(
            "The {what} that its expression yields has 32769 characters, but at most 32768 are allowed."
        );
        assert!(incident.message.contains(&said), "{}", incident.message);
        let mended = format!(r#"{{"name":"{longest}","key":"{longest}"}}"#);
        rig.set_variables(instance, &mended, false);
        rig.resolve(incident.key).unwrap();
        rig.publish(&longest, &longest, 0, "{}");
        rig.assert_completed(instance);
    }
}
