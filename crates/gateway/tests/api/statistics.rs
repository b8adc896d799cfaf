//! Statistics: the answers have the documented form, and invalid requests are refused.

use serde_json::json;

use crate::fake::{KEY, start};
use crate::http::{Answer, open, post, send};

#[tokio::test]
async fn each_is_answered_as_documented() {
    let gateway = start().await;
    let instances = json!({"processDefinitionId": "x", "tenantId": "x", "activeInstancesWithIncidentCount": 7,
        "activeInstancesWithoutIncidentCount": 7, "hasMultipleVersions": false, "latestProcessDefinitionName": null});
    let version = json!({"processDefinitionKey": "5", "processDefinitionId": "x", "processDefinitionName": "x",
        "processDefinitionVersion": 5, "tenantId": "x", "activeInstancesWithIncidentCount": 7,
        "activeInstancesWithoutIncidentCount": 7});
    let waiting = json!({"processDefinitionKey": "5", "processDefinitionId": "x", "tenantId": "x",
        "processInstancesWithActiveSubscriptions": 7, "activeSubscriptions": 7});
    let error =
        json!({"errorHashCode": 5, "errorMessage": "x", "activeInstancesWithErrorCount": 7});
    // The name of an unknown definition is its id.
    let definition = json!({"processDefinitionKey": "5", "processDefinitionId": "x", "tenantId": "x",
        "activeInstancesWithErrorCount": 7, "processDefinitionName": "x", "processDefinitionVersion": 0});
    for (path, body, expected) in [
        (
            "process-definitions/statistics/process-instances",
            r#"{"sort": [{"field": "activeInstancesWithIncidentCount", "order": "DESC"}], "page": {"from": 0}}"#,
            instances,
        ),
        (
            "process-definitions/statistics/process-instances-by-version",
            r#"{"filter": {"processDefinitionId": "x", "tenantId": "x"}, "sort": [{"field": "processDefinitionVersion"}]}"#,
            version,
        ),
        (
            "process-definitions/statistics/message-subscriptions",
            r#"{"filter": {"messageName": {"$like": "p*"}}, "page": {"limit": 5}}"#,
            waiting,
        ),
        (
            "incidents/statistics/process-instances-by-error",
            "{}",
            error,
        ),
        (
            "incidents/statistics/process-instances-by-definition",
            r#"{"filter": {"errorHashCode": 5}}"#,
            definition,
        ),
    ] {
        let answer = post(gateway.rest, &format!("/v2/{path}"), body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert_eq!(answer.json()["items"], json!([expected]), "{path}");
        assert_eq!(answer.json()["page"]["totalItems"], 1, "{path}");
    }
}

async fn get(to: std::net::SocketAddr, path: &str) -> Answer {
    send(to, "GET", path, None, "").await
}

const SPAN: &str = "from=2026-01-01T00:00:00Z&to=2026-01-31T13:05:00.000%2B01:00";

#[tokio::test]
async fn jobs_are_counted_as_documented() {
    let gateway = start().await;
    // Every measure of the fake store is 7.
    let count = json!({"count": 7, "lastUpdatedAt": "1970-01-01T00:00:00.007Z"});
    let all = get(gateway.rest, &format!("/v2/jobs/statistics/global?{SPAN}")).await;
    assert_eq!(
        all.json(),
        json!({"created": count, "completed": count, "failed": count, "isIncomplete": false})
    );
    let of = |name: &str, value: &str| json!({name: value, "created": count, "completed": count, "failed": count});
    let mut by_type = of("jobType", "x");
    by_type["workers"] = json!(1);
    let error = json!({"errorCode": "x", "errorMessage": "x", "workers": 1});
    for (path, filter, expected) in [
        ("by-types", r#""jobType": {"$like": "p*"}"#, by_type),
        ("by-workers", r#""jobType": "p""#, of("worker", "x")),
        (
            "time-series",
            r#""jobType": "p", "resolution": "PT5M""#,
            of("time", "1970-01-01T00:00:00.005Z"),
        ),
        (
            "errors",
            r#""jobType": "p", "errorCode": {"$neq": ""}"#,
            error,
        ),
    ] {
        let body = format!(
            r#"{{"filter": {{"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z", {filter}}}}}"#
        );
        let path = format!("/v2/jobs/statistics/{path}");
        let answer = post(gateway.rest, &path, &body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert_eq!(answer.json()["items"], json!([expected]), "{path}");
        let cursor = answer.json()["page"]["endCursor"].clone();
        let mut next: serde_json::Value = serde_json::from_str(&body).unwrap();
        next["page"] = json!({"after": cursor, "limit": 5});
        let next = post(gateway.rest, &path, &next.to_string()).await;
        assert_eq!(next.json()["items"], json!([]), "{path}");
    }
}

/// Operations of 8.10.
#[tokio::test]
async fn variable_names_and_counts_of_wait_states_are_served() {
    let gateway = start().await;
    let path = format!("/v2/process-definitions/{KEY}/variable-names/search");
    let names = post(
        gateway.rest,
        &path,
        r#"{"filter": {"name": {"$like": "x*"}}}"#,
    )
    .await;
    assert_eq!(names.json()["items"], json!([{"name": "x"}]));
    let sorted = post(gateway.rest, &path, r#"{"sort": [{"field": "name"}]}"#).await;
    assert_eq!(sorted.status, 400);
    // Jobs, user tasks, messages and other events: 7 of each.
    let path = format!("/v2/process-instances/{KEY}/statistics/wait-states");
    let waits = get(gateway.rest, &path).await.json();
    assert_eq!(
        waits["items"],
        json!([{"elementId": "x", "waitingCount": 28}])
    );
}

/// Operations of 8.10; in the fake store every key has a row with empty columns.
#[tokio::test]
async fn forms_and_resources_are_got_by_their_keys() {
    let gateway = start().await;
    let form = open(gateway.rest, "GET", &format!("/v2/forms/{KEY}"), None, "").await;
    assert_eq!(form.status(), 200);
    let path = format!("/v2/resources/{KEY}/content/binary");
    let bytes = open(gateway.rest, "GET", &path, None, "").await;
    assert_eq!(bytes.status(), 200);
    assert_eq!(bytes.headers()["content-type"], "application/octet-stream");
    // A JSON string, whatever the content: clients read it as one.
    let path = format!("/v2/resources/{KEY}/content");
    assert_eq!(send(gateway.rest, "GET", &path, None, "").await.json(), "");
    let none = post(
        gateway.rest,
        "/v2/resources/search",
        r#"{"filter": {"deploymentKey": {"$exists": true}}}"#,
    );
    assert_eq!(none.await.json()["items"], json!([]));
    let hidden = post(
        gateway.rest,
        "/v2/resources/search",
        r#"{"filter": {"isDeleted": true}}"#,
    );
    assert_eq!(hidden.await.status, 400);
}

#[tokio::test]
async fn usage_metrics_are_as_documented() {
    let gateway = start().await;
    let span = "startTime=2026-01-01T00:00:00Z&endTime=2026-02-01T00:00:00Z";
    let all = json!({"processInstances": 7, "decisionInstances": 7, "assignees": 1, "activeTenants": 1, "tenants": {}});
    let path = format!("/v2/system/usage-metrics?{span}");
    assert_eq!(get(gateway.rest, &path).await.json(), all);
    let each = format!("{path}&withTenants=true&tenantId=x");
    let of_tenant = json!({"processInstances": 7, "decisionInstances": 7, "assignees": 1});
    let answer = get(gateway.rest, &each).await.json();
    assert_eq!(answer["tenants"], json!({"x": of_tenant}));
    for (query, said) in [
        ("startTime=2026-01-01T00:00:00Z", "'endTime' is missing"),
        (
            &*format!("{span}&withTenants=all"),
            "'withTenants' is 'all'",
        ),
    ] {
        let answer = get(gateway.rest, &format!("/v2/system/usage-metrics?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text.contains(said), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_span_of_time_is_needed_to_count_jobs() {
    let gateway = start().await;
    for (query, said) in [
        ("from=2026-01-01T00:00:00Z", "'to' is missing"),
        ("from=yesterday&to=2026-01-01T00:00:00Z", "not a date-time"),
    ] {
        let answer = get(gateway.rest, &format!("/v2/jobs/statistics/global?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text.contains(said), "{}", answer.text);
    }
    for (path, filter, page, said) in [
        ("by-types", r#"{"jobType": "x"}"#, "{}", "filter.from"),
        ("by-workers", "{}", "{}", "filter.from"),
        (
            "errors",
            r#"{"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}"#,
            "{}",
            "filter.jobType",
        ),
        ("by-types", "{}", r#"{"from": 3}"#, "no offsets"),
        (
            "by-types",
            "{}",
            r#"{"before": "WyJ4Il0="}"#,
            "only go forward",
        ),
        (
            "time-series",
            r#"{"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "jobType": "x", "resolution": "PT30S"}"#,
            "{}",
            "whole minutes",
        ),
    ] {
        let body = format!(r#"{{"filter": {filter}, "page": {page}}}"#);
        let answer = post(gateway.rest, &format!("/v2/jobs/statistics/{path}"), &body).await;
        assert_eq!(answer.status, 400, "{path} {body}");
        assert!(answer.text.contains(said), "{}", answer.text);
    }
}

#[tokio::test]
async fn the_page_after_the_last_group_is_empty() {
    let gateway = start().await;
    let path = "/v2/process-definitions/statistics/message-subscriptions";
    let answer = post(gateway.rest, path, "{}").await.json();
    let cursor = answer["page"]["endCursor"].as_str().unwrap();
    let body = format!(r#"{{"page": {{"after": "{cursor}"}}}}"#);
    let next = post(gateway.rest, path, &body).await.json();
    assert_eq!(next["items"], json!([]));
}

#[tokio::test]
async fn the_elements_of_a_definition_are_counted_for_some_of_its_instances() {
    let gateway = start().await;
    let path = format!("/v2/process-definitions/{KEY}/statistics/element-instances");
    let body =
        r#"{"filter": {"state": "ACTIVE", "$or": [{"hasIncident": true}, {"tags": ["a"]}]}}"#;
    let answer = post(gateway.rest, &path, body).await;
    let expected =
        json!([{"elementId": "x", "active": 7, "canceled": 7, "incidents": 7, "completed": 7}]);
    assert_eq!(answer.json()["items"], expected);
    let all = post(gateway.rest, &path, "").await;
    assert_eq!(all.json()["items"], json!([]));
}

#[tokio::test]
async fn invalid_statistics_requests_are_refused() {
    let gateway = start().await;
    let elements = format!("process-definitions/{KEY}/statistics/element-instances");
    for (path, body, said) in [
        (
            "incidents/statistics/process-instances-by-definition",
            "{}",
            "filter.errorHashCode",
        ),
        (
            "process-definitions/statistics/process-instances-by-version",
            r#"{"filter": {}}"#,
            "filter.processDefinitionId",
        ),
        (
            "process-definitions/statistics/process-instances",
            r#"{"sort": [{"field": "tenantId"}]}"#,
            "'tenantId'",
        ),
        (
            "process-definitions/statistics/process-instances",
            r#"{"page": {"after": "WyJ4Il0="}}"#,
            "no cursors",
        ),
        (&*elements, r#"{"page": {}}"#, "'page'"),
        (
            &*elements,
            r#"{"filter": {"$or": [{"processDefinitionId": "x"}]}}"#,
            "the path names",
        ),
    ] {
        let answer = post(gateway.rest, &format!("/v2/{path}"), body).await;
        assert_eq!(answer.status, 400, "{path} {body}");
        let detail = answer.json()["detail"].as_str().unwrap().to_string();
        assert!(detail.contains(said), "{path} {body}: {detail}");
    }
}
