//! Deployments of every kind of resource, and evaluations of decisions, on both interfaces.

use serde_json::json;
use skep_proto::gateway_protocol as pb;
use skep_protocol::command::{DecisionRef, Deploy, EvaluateDecision, Peer, Request};
use skep_protocol::value::*;
use skep_protocol::{Command, Key};
use tonic::Code;

use crate::fake::{KEY, start};
use crate::grpc::{client, refused};
use crate::http::{post, send};

fn definition(id: &str, resource_name: &str) -> DefinitionMetadata {
    DefinitionMetadata {
        id: id.into(),
        version: 1,
        version_tag: None,
        key: KEY,
        deployment_key: KEY,
        resource_name: resource_name.into(),
        checksum: Default::default(),
        duplicate: false,
        tenant: Default::default(),
    }
}

/// The result of deploying these files, derived from their names alone.
pub fn deployed(deploy: &Deploy) -> DeploymentValue {
    let mut value = DeploymentValue {
        deployment_key: KEY,
        ..DeploymentValue::default()
    };
    for resource in &deploy.resources {
        let name = resource.name.as_str();
        match name.rsplit_once('.').map(|(_, suffix)| suffix) {
            Some("form") => value.forms.push(definition("form", name)),
            Some("rpa") => value.resources.push(definition("robot", name)),
            Some("dmn") => {
                let file = definition("fees", name);
                value.decisions.push(decision());
                value
                    .decision_requirements
                    .push(DecisionRequirementsMetadata {
                        id: file.id,
                        name: "Fees".into(),
                        namespace: "n".into(),
                        version: file.version,
                        key: KEY,
                        deployment_key: KEY,
                        resource_name: file.resource_name,
                        checksum: file.checksum,
                        duplicate: false,
                        tenant: Default::default(),
                    });
            }
            _ => value.processes.push(definition("order", name)),
        }
    }
    value
}

fn decision() -> DecisionValue {
    DecisionValue {
        id: "fee".into(),
        name: "Fee".into(),
        version: 2,
        version_tag: None,
        key: Key(KEY.0 + 1),
        decision_requirements_id: "fees".into(),
        decision_requirements_key: KEY,
        deployment_key: KEY,
        duplicate: false,
        tenant: Default::default(),
    }
}

/// The result of an evaluation; the decision `fails` fails.
pub fn evaluated(evaluate: &EvaluateDecision) -> DecisionEvaluationValue {
    let value = |id: &str, value: &str| EvaluatedValue {
        id: id.into(),
        name: format!("name of {id}").into(),
        value: value.into(),
    };
    let decision = decision();
    let fails = evaluate.decision == DecisionRef::Id("fails".into());
    let output = if fails { "null" } else { "7.50" };
    DecisionEvaluationValue {
        decision_key: decision.key,
        decision_id: decision.id.clone(),
        decision_name: decision.name.clone(),
        decision_version: 2,
        decision_requirements_id: "fees".into(),
        decision_requirements_key: KEY,
        output: output.into(),
        evaluated_decisions: vec![EvaluatedDecision {
            key: decision.key,
            id: decision.id,
            name: decision.name,
            version: 2,
            decision_type: "DECISION_TABLE".into(),
            output: output.into(),
            inputs: vec![value("in", "\"DE\"")],
            matched_rules: vec![MatchedRule {
                id: "r".into(),
                index: 3,
                outputs: vec![value("out", "7.50")],
            }],
        }],
        failure: fails.then(|| DecisionFailure {
            decision_id: "fee".into(),
            message: "two rules match".into(),
        }),
        process_definition_key: Key::NONE,
        process_instance_key: Key::NONE,
        root_process_instance_key: Key::NONE,
        element: 0,
        element_instance_key: Key::NONE,
        tenant: Default::default(),
    }
}

#[tokio::test]
async fn rest_lists_what_each_file_deployed() {
    let gateway = start().await;
    let part = |name: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"{name}\"\r\n\r\nx\r\n"
        )
    };
    let parts = ["a.form", "a.bpmn", "a.dmn", "a.rpa"].map(part).concat();
    let content_type = Some("multipart/form-data; boundary=b");
    let body = format!("{parts}--b--\r\n");
    let answer = send(gateway.rest, "POST", "/v2/deployments", content_type, body).await;
    let answer = answer.json();
    let deployments = answer["deployments"].as_array().expect("a list");
    let set = |one: &serde_json::Value| -> Vec<String> {
        let fields = one.as_object().expect("an object").iter();
        let set = fields.filter(|(_, value)| !value.is_null());
        set.map(|(name, _)| name.clone()).collect()
    };
    let kinds: Vec<_> = deployments.iter().flat_map(set).collect();
    let expected = [
        "processDefinition",
        "decisionDefinition",
        "decisionRequirements",
        "form",
        "resource",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        deployments[1]["decisionDefinition"],
        json!({
            "decisionDefinitionId": "fee", "version": 2, "name": "Fee", "tenantId": "<default>",
            "decisionRequirementsId": "fees", "decisionRequirementsKey": KEY.to_string(),
            "decisionDefinitionKey": (KEY.0 + 1).to_string(),
        })
    );
    assert_eq!(deployments[4]["resource"]["resourceId"], "robot");
}

#[tokio::test]
async fn grpc_lists_what_each_file_deployed() {
    use pb::deployment::Metadata;
    let gateway = start().await;
    let resource = |name: &str| pb::Resource {
        name: name.into(),
        content: "x".into(),
    };
    let request = pb::DeployResourceRequest {
        resources: ["a.form", "a.bpmn", "a.dmn"].map(resource).to_vec(),
        tenant_id: String::new(),
    };
    let deployed = client(&gateway).await.deploy_resource(request).await;
    let deployments = deployed.expect("deploys").into_inner().deployments;
    let metadata: Vec<_> = deployments.into_iter().filter_map(|d| d.metadata).collect();
    let [
        Metadata::Process(process),
        Metadata::Decision(decision),
        Metadata::DecisionRequirements(file),
        Metadata::Form(form),
    ] = &metadata[..]
    else {
        panic!("{metadata:?}")
    };
    assert_eq!(process.bpmn_process_id, "order");
    assert_eq!(
        (&*decision.dmn_decision_id, decision.decision_key),
        ("fee", KEY.0 + 1)
    );
    assert_eq!(file.dmn_decision_requirements_name, "Fees");
    assert_eq!((&*form.form_id, form.form_key), ("form", KEY.0));
}

const PATH: &str = "/v2/decision-definitions/evaluation";

/// Callers without a name have their shares by address, also where a long evaluation waits.
fn expect_address(request: &Request) {
    let Peer::Address(address) = request.peer else {
        panic!("no address: {:?}", request.peer);
    };
    assert!(address.to_canonical().is_loopback(), "{address}");
}

#[tokio::test]
async fn rest_evaluates_a_decision() {
    let gateway = start().await;
    let body = r#"{"decisionDefinitionId": "fee", "variables": {"country": "DE"}}"#;
    let answer = post(gateway.rest, PATH, body).await.json();
    expect_address(&gateway.broker.last());
    let Command::EvaluateDecision(command) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(command.decision, DecisionRef::Id("fee".into()));
    assert_eq!(
        command.variables.get("country").map(|v| &**v),
        Some("\"DE\"")
    );
    assert_eq!(
        (&answer["output"], &answer["failureMessage"]),
        (&json!("7.50"), &json!(null))
    );
    assert_eq!(answer["decisionEvaluationKey"], KEY.to_string());
    let evaluated = &answer["evaluatedDecisions"][0];
    assert_eq!(
        evaluated["decisionEvaluationInstanceKey"],
        format!("{KEY}-1")
    );
    assert_eq!(
        evaluated["matchedRules"][0],
        json!({"ruleId": "r", "ruleIndex": 3, "evaluatedOutputs": [{
            "outputId": "out", "outputName": "name of out", "outputValue": "7.50", "ruleId": "r", "ruleIndex": 3
        }]})
    );

    let body = r#"{"decisionDefinitionId": "fails"}"#;
    let answer = post(gateway.rest, PATH, body).await.json();
    assert_eq!(
        (
            &answer["failedDecisionDefinitionId"],
            &answer["failureMessage"],
            &answer["output"]
        ),
        (&json!("fee"), &json!("two rules match"), &json!("null"))
    );

    let body = format!(r#"{{"decisionDefinitionKey": "{KEY}"}}"#);
    post(gateway.rest, PATH, &body).await.json();
    let Command::EvaluateDecision(command) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(command.decision, DecisionRef::Key(KEY));
}

#[tokio::test]
async fn grpc_evaluates_a_decision() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let request = pb::EvaluateDecisionRequest {
        decision_id: "fails".into(),
        variables: r#"{"x": 1}"#.into(),
        ..Default::default()
    };
    let answer = client.evaluate_decision(request.clone()).await;
    expect_address(&gateway.broker.last());
    let answer = answer.expect("evaluates").into_inner();
    assert_eq!(
        (&*answer.failed_decision_id, &*answer.failure_message),
        ("fee", "two rules match")
    );
    assert_eq!(answer.decision_evaluation_key, KEY.0);
    let evaluated = &answer.evaluated_decisions[0];
    assert_eq!(evaluated.evaluated_inputs[0].input_value, "\"DE\"");
    assert_eq!(evaluated.matched_rules[0].rule_index, 3);

    let neither = pb::EvaluateDecisionRequest::default();
    let result = client.evaluate_decision(neither).await;
    refused(result, Code::InvalidArgument, "Neither 'decisionId'");

    let both = pb::EvaluateDecisionRequest {
        decision_key: KEY.0,
        ..request
    };
    let result = client.evaluate_decision(both.clone()).await;
    refused(result, Code::InvalidArgument, "Both 'decisionId'");

    let by_key = pb::EvaluateDecisionRequest {
        decision_id: String::new(),
        ..both
    };
    client.evaluate_decision(by_key).await.expect("evaluates");
    let Command::EvaluateDecision(evaluate) = gateway.broker.last().command else {
        panic!("no decision is evaluated");
    };
    assert_eq!(evaluate.decision, DecisionRef::Key(KEY));
}
