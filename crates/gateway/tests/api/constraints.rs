//! The API's constraints on names, durations and bodies are checked, and valid values are accepted.

use std::sync::Arc;

use serde_json::json;
use skep_protocol::Command;
use skep_query::{Answer, BoxFuture, Consistency, Query, QueryError, Storage};

use crate::fake::{start, start_over};
use crate::http::{JSON, OPENAPI, send};

/// Sends requests that must be refused as invalid, with this text.
async fn refused(requests: &[(&str, &str, &str, &str)]) {
    let gateway = start().await;
    for (method, path, body, said) in requests {
        let answer = send(gateway.rest, method, path, Some(JSON), body.to_string()).await;
        let (status, title, detail) = answer.problem();
        assert_eq!(
            (status, &*title),
            (400, "INVALID_ARGUMENT"),
            "{method} {path} {body}: {detail}"
        );
        assert!(detail.contains(said), "{method} {path} {body}: {detail}");
    }
}

#[tokio::test]
async fn names_that_stand_in_paths_have_few_kinds_of_characters() {
    let long = format!("/v2/cluster-variables/global/{}", "a".repeat(257));
    let listener =
        |id: &str, kind: &str| json!({"id": id, "type": kind, "eventTypes": ["all"]}).to_string();
    refused(&[
        (
            "POST",
            "/v2/cluster-variables/global",
            r#"{"name": "a b", "value": 1}"#,
            "'name' is 'a b'",
        ),
        (
            "POST",
            "/v2/cluster-variables/global",
            r#"{"name": "\u00e4", "value": 1}"#,
            "'name'",
        ),
        (
            "PUT",
            "/v2/cluster-variables/global/a%20b",
            r#"{"value": 1}"#,
            "'name'",
        ),
        ("DELETE", "/v2/cluster-variables/global/a%2Fb", "", "'name'"),
        ("GET", "/v2/cluster-variables/global/a$b", "", "'name'"),
        ("GET", &long, "", "1 to 256"),
        (
            "POST",
            "/v2/global-task-listeners",
            &listener("a b", "t"),
            "'id'",
        ),
        (
            "POST",
            "/v2/global-task-listeners",
            &listener("a", " "),
            "'type'",
        ),
        (
            "PUT",
            "/v2/global-task-listeners/a%20b",
            &listener("a", "t"),
            "'id'",
        ),
        ("DELETE", "/v2/global-task-listeners/a%20b", "", "'id'"),
    ])
    .await;
}

#[tokio::test]
async fn missing_values_and_bodies_are_named() {
    refused(&[
        (
            "POST",
            "/v2/cluster-variables/global",
            r#"{"name": "a", "value": null}"#,
            "'value' is null",
        ),
        (
            "PUT",
            "/v2/cluster-variables/global/a",
            r#"{"value": null}"#,
            "'value' is null",
        ),
        (
            "POST",
            "/v2/process-definitions/statistics/process-instances-by-version",
            r#"{"filter": {"processDefinitionId": " "}}"#,
            "'filter.processDefinitionId' is missing or blank",
        ),
        ("POST", "/v2/jobs/statistics/by-types", "", "has no body"),
        (
            "POST",
            "/v2/element-instances/7/incidents/search",
            "",
            "has no body",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_span_of_time_does_not_end_before_it_begins() {
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    let filter =
        |more: &str| format!(r#"{{"filter": {{"from": "{late}", "to": "{early}"{more}}}}}"#);
    let (plain, typed) = (filter(""), filter(r#", "jobType": "a""#));
    let usage = format!("/v2/system/usage-metrics?startTime={late}&endTime={early}");
    let global = format!("/v2/jobs/statistics/global?from={late}&to={early}");
    refused(&[
        ("GET", &usage, "", "'endTime' is before 'startTime'"),
        ("GET", &global, "", "'to' is before 'from'"),
        (
            "POST",
            "/v2/jobs/statistics/by-types",
            &plain,
            "'filter.to' is before",
        ),
        (
            "POST",
            "/v2/jobs/statistics/by-workers",
            &typed,
            "'filter.to' is before",
        ),
        (
            "POST",
            "/v2/jobs/statistics/time-series",
            &typed,
            "'filter.to' is before",
        ),
        (
            "POST",
            "/v2/jobs/statistics/errors",
            &typed,
            "'filter.to' is before",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_malformed_batch_operation_key_is_not_found() {
    let gateway = start().await;
    let answer = send(
        gateway.rest,
        "GET",
        "/v2/batch-operations/not-a-key",
        None,
        "",
    )
    .await;
    let (status, _, detail) = answer.problem();
    assert_eq!(status, 404, "{detail}");
    assert!(detail.contains("'not-a-key' not found"), "{detail}");
}

#[tokio::test]
async fn only_changes_of_a_global_listener_refuse_an_id_that_none_can_have() {
    let gateway = start().await;
    let path = "/v2/global-task-listeners/a%20b";
    let (status, _, detail) = send(gateway.rest, "GET", path, None, "").await.problem();
    assert_eq!(status, 404, "{detail}");
}

#[tokio::test]
async fn workers_of_a_global_listener_have_a_job_type_of_any_characters() {
    let gateway = start().await;
    let listener = |kind: &str| json!({"id": "a", "type": kind, "eventTypes": ["all"]});
    for kind in ["send a letter", "größer/kleiner", &"t".repeat(257)] {
        let (path, body) = ("/v2/global-task-listeners", listener(kind).to_string());
        let created = send(gateway.rest, "POST", path, Some(JSON), body).await;
        assert_ne!(created.status, 400, "{kind}: {}", created.text);
    }
}

#[tokio::test]
async fn a_tenant_that_is_not_there_has_no_variables() {
    // This storage finds nothing, and the tenant is looked up.
    let gateway = start().await;
    let path = "/v2/cluster-variables/tenants/unknown/limit";
    let answer = send(gateway.rest, "GET", path, None, "").await;
    assert_eq!(answer.status, 404, "{}", answer.text);
}

#[tokio::test]
async fn a_text_without_an_equals_sign_is_taken_as_an_expression() {
    let gateway = start().await;
    let body = r#"{"expression": "hello"}"#;
    let answer = send(
        gateway.rest,
        "POST",
        "/v2/expression/evaluation",
        Some(JSON),
        body,
    )
    .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(matches!(
        gateway.broker.last().command,
        Command::EvaluateExpression { expression, .. } if expression == "hello"
    ));
}

#[tokio::test]
async fn element_instances_and_user_tasks_take_alternatives() {
    let gateway = start().await;
    for (path, alternatives) in [
        (
            "element-instances",
            r#"[{"elementId": "a"}, {"state": "ACTIVE"}]"#,
        ),
        (
            "user-tasks",
            r#"[{"assignee": "ann"}, {"candidateGroup": {"$in": ["g"]}}]"#,
        ),
    ] {
        let body = format!(r#"{{"filter": {{"$or": {alternatives}}}}}"#);
        let path = format!("/v2/{path}/search");
        let answer = send(gateway.rest, "POST", &path, Some(JSON), body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let answer = send(
        gateway.rest,
        "POST",
        "/v2/incidents/search",
        Some(JSON),
        r#"{"filter": {"$or": []}}"#,
    )
    .await;
    let (_, _, detail) = answer.problem();
    assert!(
        detail.contains("A search for an Incident takes no"),
        "{detail}"
    );
}

/// Disabled secondary storage.
struct Off;

impl Storage for Off {
    fn is_off(&self) -> bool {
        true
    }

    fn query(&self, _: Query, _: Consistency) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        Box::pin(async { Err(QueryError::Disabled) })
    }
}

#[tokio::test]
async fn without_storage_every_search_has_the_same_answer() {
    let gateway = start_over(Arc::new(Off), |_| {}).await;
    let mut asked = 0;
    for (path, methods) in OPENAPI["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let is_asked = path.ends_with("/search")
                || path.contains("/statistics")
                || (method == "get" && path.ends_with("Key}"));
            if !is_asked || path.starts_with("/documents") {
                continue;
            }
            let parts = path
                .split('/')
                .map(|part| if part.starts_with('{') { "7" } else { part });
            let path = format!("/v2{}", parts.collect::<Vec<_>>().join("/"));
            let kind = (method == "post").then_some(JSON);
            let body = if method == "post" { "{}" } else { "" };
            let answer = send(gateway.rest, &method.to_uppercase(), &path, kind, body).await;
            let (status, title, detail) = answer.problem();
            assert_eq!(
                (status, &*title),
                (403, "FORBIDDEN"),
                "{method} {path}: {detail}"
            );
            assert_eq!(detail, QueryError::Disabled.to_string(), "{method} {path}");
            asked += 1;
        }
    }
    assert!(asked > 40, "{asked}");
}
