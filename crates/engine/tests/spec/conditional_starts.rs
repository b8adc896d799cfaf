//! Conditional start events, whose conditions are evaluated on a client's command.

use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, EvaluateConditionals};
use skep_protocol::origin::Claims;
use skep_protocol::response::ConditionalsEvaluated;
use skep_protocol::{Document, Key, Rejection, Response, TenantId};
use skep_testkit::rig::*;

fn command(definition: Option<Key>, variables: &str) -> Command {
    Command::EvaluateConditionals(EvaluateConditionals {
        process_definition_key: definition,
        variables: Document::parse(variables).unwrap(),
    })
}

fn evaluate(
    rig: &mut Rig,
    definition: Option<Key>,
    variables: &str,
) -> Result<ConditionalsEvaluated, Rejection> {
    match rig.send(command(definition, variables))? {
        Response::ConditionalsEvaluated(evaluated) => Ok(evaluated),
        other => panic!("{other:?}"),
    }
}

fn starting(id: &str, condition: &str) -> Bpmn {
    Bpmn::process(id)
        .start_condition("on", condition)
        .service_task("task", id)
        .end("e")
}

fn definition(rig: &mut Rig, id: &str) -> Key {
    let processes = &rig.engine(1).state.processes;
    processes.latest(&TenantId::default(), id).unwrap().key
}

#[test]
fn processes_start_by_the_conditions_that_hold() {
    let mut rig = Rig::with(starting("low", "=x > 1"));
    rig.deploy(starting("high", "=x > 10"));
    let evaluated = evaluate(&mut rig, None, r#"{"x":5,"by":"us"}"#).unwrap();
    let [(definition_key, instance)] = evaluated.started[..] else {
        panic!("{evaluated:?}");
    };
    assert_eq!(definition_key, definition(&mut rig, "low"));
    assert_eq!(rig.variable(instance, "by").unwrap(), r#""us""#);
    assert_eq!((rig.jobs("low").len(), rig.jobs("high").len()), (1, 0));
    let event = rig.events("CONDITIONAL_EVALUATION").next().unwrap();
    assert_eq!(event.key, evaluated.key);
    let started = event.field("startedProcessInstances");
    assert_eq!(started[0]["processInstanceKey"].as_i64(), Some(instance.0));
    let evaluated = evaluate(&mut rig, None, r#"{"x":50}"#).unwrap();
    assert_eq!(evaluated.started.len(), 2);
    assert_eq!(evaluate(&mut rig, None, "{}").unwrap().started, []);
}

#[test]
fn each_start_event_of_a_process_has_its_own() {
    let bpmn = starting("p", "=x > 1")
        .start_condition("other", "=y > 1")
        .to("task");
    let mut rig = Rig::with(bpmn);
    let evaluated = evaluate(&mut rig, None, r#"{"x":2,"y":2}"#).unwrap();
    assert_eq!(evaluated.started.len(), 2);
    assert_eq!(rig.jobs("p").len(), 2);
}

#[test]
fn one_definition_may_be_asked_for() {
    let mut rig = Rig::with(starting("p", "=x > 1"));
    rig.deploy(starting("q", "=x > 1"));
    let old = definition(&mut rig, "p");
    let evaluated = evaluate(&mut rig, Some(old), r#"{"x":2}"#).unwrap();
    assert_eq!(evaluated.started.len(), 1);
    assert_eq!(evaluated.started[0].0, old);
    // Only the latest version is subscribed.
    rig.deploy(starting("p", "=x > 3"));
    let evaluated = evaluate(&mut rig, Some(old), r#"{"x":5}"#).unwrap();
    assert_eq!(evaluated.started, []);
    let (kind, _) = rejected(rig.send(command(Some(Key::new(1, 9999)), "{}")));
    assert_eq!(kind, "NOT_FOUND");
}

#[test]
fn they_wait_on_every_partition() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(starting("p", "=x > 1"));
    for partition in 1..=3 {
        let request = rig.send_to(partition, command(None, r#"{"x":2}"#));
        let answer = rig.answer(request).unwrap().unwrap();
        let Response::ConditionalsEvaluated(evaluated) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(evaluated.started[0].1.partition(), Some(partition));
    }
    assert_eq!(rig.jobs("p").len(), 3);
}

#[test]
fn each_tenant_has_its_own() {
    let mut rig = Rig::with(starting("p", "=x > 1"));
    (rig.tenant, rig.claims) = (TenantId::new("acme"), Claims::Internal);
    assert_eq!(evaluate(&mut rig, None, r#"{"x":2}"#).unwrap().started, []);
    let other = definition(&mut rig, "p");
    let (kind, _) = rejected(rig.send(command(Some(other), r#"{"x":2}"#)));
    assert_eq!(kind, "NOT_FOUND");
    rig.deploy(starting("p", "=x > 1"));
    assert_eq!(
        evaluate(&mut rig, None, r#"{"x":2}"#)
            .unwrap()
            .started
            .len(),
        1
    );
}

#[test]
fn a_deleted_definition_waits_no_more() {
    let mut rig = Rig::with(starting("p", "=x > 1"));
    rig.deploy(starting("p", "=x > 5"));
    let resource_key = definition(&mut rig, "p");
    rig.send(Command::DeleteResource {
        resource_key,
        delete_history: false,
    })
    .unwrap();
    // The previous version is subscribed again.
    assert_eq!(
        evaluate(&mut rig, None, r#"{"x":2}"#)
            .unwrap()
            .started
            .len(),
        1
    );
    let resource_key = definition(&mut rig, "p");
    rig.send(Command::DeleteResource {
        resource_key,
        delete_history: false,
    })
    .unwrap();
    assert_eq!(evaluate(&mut rig, None, r#"{"x":2}"#).unwrap().started, []);
}

/// The answer comes after all conditions were evaluated, however many turns it takes.
#[test]
fn very_many_conditions_are_evaluated_over_several_turns() {
    let mut rig = Rig::new();
    let files = (0..40).map(|i| {
        (
            format!("{i}.bpmn"),
            starting(&format!("p{i}"), "=x > 1").xml(),
        )
    });
    let files: Vec<_> = files.collect();
    let files = files.iter().map(|(name, xml)| (name.as_str(), xml.clone()));
    rig.deploy_files(files.collect()).unwrap();
    rig.turn_steps(5);
    rig.interrupted = true;
    let request = rig.send_async(command(None, r#"{"x":2}"#));
    assert!(rig.answer(request).is_none());
    rig.interrupted = false;
    while rig.run_work() {}
    let answer = rig.answer(request).unwrap().unwrap();
    let Response::ConditionalsEvaluated(evaluated) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(evaluated.started.len(), 40);
    let mut instances: Vec<_> = evaluated.started.iter().map(|started| started.1).collect();
    instances.dedup();
    assert_eq!(instances.len(), 40);
}
