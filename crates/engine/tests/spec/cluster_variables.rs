//! Cluster variables, which expressions see as `camunda.vars`.

use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, EvaluateConditionals};
use skep_protocol::origin::Claims;
use skep_protocol::value::ClusterVariableValue;
use skep_protocol::{Document, Response, TenantId};
use skep_testkit::rig::*;

fn value(name: &str, value: &str, tenant: Option<&str>) -> ClusterVariableValue {
    ClusterVariableValue {
        name: name.into(),
        value: value.into(),
        tenant: tenant.map(TenantId::new),
    }
}

fn create(rig: &mut Rig, name: &str, json: &str, tenant: Option<&str>) {
    let value = value(name, json, tenant);
    let answer = rig.send(Command::CreateClusterVariable(value.clone()));
    assert_eq!(answer, Ok(Response::ClusterVariable(value)));
}

fn script(expression: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .script("look", expression, "seen")
        .service_task("task", "work")
        .end("e")
}

fn seen(rig: &mut Rig) -> String {
    let instance = rig.create("p", "{}");
    rig.variable(instance, "seen").unwrap()
}

#[test]
fn expressions_see_them() {
    let mut rig = Rig::with_partitions(2);
    rig.deploy(script(
        "=camunda.vars.cluster.limit + camunda.vars.env.limit",
    ));
    create(&mut rig, "limit", "2", None);
    assert_eq!(seen(&mut rig), "4");
    let changed = value("limit", "5", None);
    rig.send(Command::UpdateClusterVariable(changed)).unwrap();
    let other = rig.create_on(2, "p", "{}");
    assert_eq!(rig.variable(other, "seen").unwrap(), "10");
    let delete = Command::DeleteClusterVariable {
        name: "limit".into(),
        tenant: None,
    };
    rig.send(delete).unwrap();
    assert_eq!(seen(&mut rig), "null");
}

#[test]
fn those_of_a_tenant_hide_the_global_ones() {
    let look =
        "=[camunda.vars.cluster.a, camunda.vars.tenant.a, camunda.vars.env.a, camunda.vars.env.b]";
    let mut rig = Rig::with(script(look));
    create(&mut rig, "a", "1", None);
    create(&mut rig, "b", "[true]", None);
    create(&mut rig, "a", "2", Some("acme"));
    assert_eq!(seen(&mut rig), "[1,null,1,[true]]");
    (rig.tenant, rig.claims) = (TenantId::new("acme"), Claims::Internal);
    rig.deploy(script(look));
    assert_eq!(seen(&mut rig), "[1,2,2,[true]]");
}

#[test]
fn a_variable_of_the_process_hides_them() {
    let mut rig = Rig::with(script("=camunda.vars.cluster.a"));
    create(&mut rig, "a", "1", None);
    let instance = rig.create("p", r#"{"camunda":{"vars":{"cluster":{"a":9}}}}"#);
    assert_eq!(rig.variable(instance, "seen").unwrap(), "9");
}

#[test]
fn decisions_and_evaluations_see_them() {
    let bpmn = Bpmn::process("p")
        .start_condition("on", "=x > camunda.vars.env.limit")
        .decision("decide", "fee", "seen")
        .service_task("task", "work")
        .end("e");
    let mut rig = Rig::with(bpmn);
    rig.deploy_files(vec![(
        "d.dmn",
        decision("fees", "fee", "camunda.vars.env.limit * 2"),
    )])
    .unwrap();
    create(&mut rig, "limit", "5", None);
    for (x, started) in [(5, 0), (6, 1)] {
        let evaluate = Command::EvaluateConditionals(EvaluateConditionals {
            process_definition_key: None,
            variables: Document::parse(&format!(r#"{{"x":{x}}}"#)).unwrap(),
        });
        let Response::ConditionalsEvaluated(evaluated) = rig.send(evaluate).unwrap() else {
            panic!();
        };
        assert_eq!(evaluated.started.len(), started);
    }
    let instance = rig.instance_of("p");
    assert_eq!(rig.variable(instance, "seen").unwrap(), "10");
    let answer = rig.send(Command::EvaluateExpression {
        expression: "=camunda.vars.cluster.limit".to_string(),
        variables: Document::new(),
    });
    let Ok(Response::ExpressionEvaluated { result, .. }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(result, "5");
}

#[test]
fn invalid_changes_are_refused() {
    let mut rig = Rig::new();
    create(&mut rig, "a", "1", None);
    let kind = |rig: &mut Rig, command| rejected(rig.send(command)).0;
    let again = Command::CreateClusterVariable(value("a", "2", None));
    assert_eq!(kind(&mut rig, again), "ALREADY_EXISTS");
    let blank = Command::CreateClusterVariable(value(" ", "2", None));
    assert_eq!(kind(&mut rig, blank), "INVALID_ARGUMENT");
    let long = Command::CreateClusterVariable(value(&"n".repeat(257), "2", None));
    assert_eq!(kind(&mut rig, long), "INVALID_ARGUMENT");
    let missing = Command::UpdateClusterVariable(value("a", "2", Some("acme")));
    assert_eq!(kind(&mut rig, missing), "NOT_FOUND");
    let missing = Command::DeleteClusterVariable {
        name: "b".into(),
        tenant: None,
    };
    assert_eq!(kind(&mut rig, missing), "NOT_FOUND");
}

/// Expressions hold all of them in memory.
#[test]
fn together_they_have_a_limit() {
    let mut rig = Rig::new();
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    create(&mut rig, "a", &large, None);
    let more = Command::CreateClusterVariable(value("b", &large, None));
    let (kind, why) = rejected(rig.send(more));
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(why.contains("2097152 bytes"), "{why}");
    // Each tenant has its own limit, and replaced values free theirs.
    create(&mut rig, "b", &large, Some("acme"));
    let same = Command::UpdateClusterVariable(value("a", &large, None));
    rig.send(same).unwrap();
}

/// There is also a limit over all tenants.
#[test]
fn those_of_all_tenants_have_a_limit() {
    let mut rig = Rig::new();
    let large = format!("\"{}\"", "x".repeat((2 << 20) - 10));
    for tenant in 0..16 {
        create(&mut rig, "a", &large, Some(&format!("t{tenant}")));
    }
    let one_more = value("a", &large, Some("t16"));
    let (kind, reason) = rejected(rig.send(Command::CreateClusterVariable(one_more)));
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(reason.contains("at most 33554432 bytes"), "{reason}");
    let shorter = value("a", "1", Some("t3"));
    rig.send(Command::UpdateClusterVariable(shorter)).unwrap();
    create(&mut rig, "a", &large, Some("t16"));
}
