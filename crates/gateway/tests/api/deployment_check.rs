//! The check of a deployment: the broker's command, and its answer over REST.

use serde_json::json;
use skep_protocol::findings::{Finding, Invalid, Rule};
use skep_protocol::{Command, Failure, Rejection, RejectionType, Response};

use crate::fake::{Running, start, start_with};
use crate::http::{Answer, send};
use skep_gateway::Tenancy;

const PATH: &str = "/skep/v1/deployments/check";

async fn check(gateway: &Running, name: &str, more: &str) -> Answer {
    let part = format!(
        "--b\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"{name}\"\r\n\r\n<x/>\r\n{more}--b--\r\n"
    );
    let content_type = Some("multipart/form-data; boundary=b");
    send(gateway.rest, "POST", PATH, content_type, part).await
}

#[tokio::test]
async fn a_check_lists_what_would_be_deployed_with_its_versions() {
    let gateway = start().await;
    let answer = check(&gateway, "fees.dmn", "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!(
        (&body["deployable"], &body["findings"]),
        (&json!(true), &json!([]))
    );
    let resources = body["resources"].as_array().unwrap();
    let types: Vec<_> = resources.iter().map(|it| it["type"].clone()).collect();
    assert_eq!(types, ["DECISION", "DECISION_REQUIREMENTS"]);
    assert_eq!(resources[1]["resource"], "fees.dmn");
    assert_eq!(resources[1]["changed"], true);
    assert!(
        matches!(gateway.broker.last().command, Command::CheckDeployment(deploy) if deploy.resources[0].name == "fees.dmn")
    );
}

#[tokio::test]
async fn a_refusal_is_an_answer_with_each_finding_where_it_is() {
    let gateway = start().await;
    let finding = |element: Option<&str>, line| Finding {
        rule: Rule::TimerInvalid,
        process_id: element.map(|_| "p".to_string()),
        element_id: element.map(str::to_string),
        element_type: None,
        message: "no time".to_string(),
        line,
    };
    let invalid = Invalid {
        resource_name: "a.bpmn".into(),
        findings: vec![finding(Some("start"), Some(7)), finding(None, None)],
        further: 3,
    };
    let refusal = Rejection::of_deployment("CREATE", vec![invalid]);
    gateway
        .broker
        .answer(Ok(Response::DeploymentChecked(Err(refusal))));
    let body = check(&gateway, "a.bpmn", "").await.json();
    let shown = |element: Option<&str>, process: Option<&str>, line: Option<u32>| json!({"resource": "a.bpmn", "rule": "TIMER_INVALID", "processId": process, "elementId": element, "line": line, "message": "no time"});
    let findings = json!([
        shown(Some("start"), Some("p"), Some(7)),
        shown(None, None, None)
    ]);
    assert_eq!(
        body,
        json!({"deployable": false, "findings": findings, "furtherFindings": 3, "resources": []})
    );
    // A finding without an element.
    let whole = Rejection::new(
        RejectionType::ExceededBatchRecordSize,
        "CREATE",
        "too large",
    );
    gateway
        .broker
        .answer(Ok(Response::DeploymentChecked(Err(whole))));
    let body = check(&gateway, "a.bpmn", "").await.json();
    assert_eq!(body["deployable"], false);
    assert_eq!(body["findings"].as_array().unwrap().len(), 1);
    assert_eq!(body["findings"][0]["message"], "too large");
    assert_eq!(body["findings"][0]["resource"], json!(null));
}

#[tokio::test]
async fn checking_needs_the_permission_to_deploy() {
    let gateway = start().await;
    let refusal = Rejection::new(
        RejectionType::Forbidden,
        "CREATE",
        "Insufficient permissions",
    );
    gateway.broker.answer(Err(Failure::Rejected(refusal)));
    assert_eq!(check(&gateway, "a.bpmn", "").await.status, 403);
}

#[tokio::test]
async fn it_is_for_the_tenant_that_a_part_names() {
    let gateway = start_with(|config| config.security.tenancy = Tenancy::On).await;
    assert_eq!(check(&gateway, "a.bpmn", "").await.status, 400);
    let tenant = "--b\r\nContent-Disposition: form-data; name=\"tenantId\"\r\n\r\nacme\r\n";
    assert_eq!(check(&gateway, "a.bpmn", tenant).await.status, 200);
    assert_eq!(gateway.broker.last().tenant.as_str(), "acme");
}
