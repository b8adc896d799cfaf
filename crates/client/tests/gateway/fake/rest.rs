//! The REST side of the fake.

use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering},
};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;

use super::{Closed, Fault, Script, variables};

type Fake = State<Arc<Script>>;

pub fn serve(listener: TcpListener, script: Arc<Script>) {
    let router = Router::new()
        .route("/v2/topology", get(topology))
        .route("/v2/deployments", post(deploy))
        .route("/v2/process-instances", post(create))
        .route("/v2/jobs/activation", post(activate))
        .route("/v2/jobs/stream", post(stream))
        .route("/v2/jobs/{key}/completion", post(complete))
        .route("/v2/jobs/{key}/failure", post(fail))
        .with_state(script);
    tokio::spawn(async move { axum::serve(listener, router).await });
}

async fn refused(fault: Fault) -> Response {
    let (status, title) = match fault {
        Fault::Exhausted => (503, "RESOURCE_EXHAUSTED"),
        Fault::Unavailable => (503, "UNAVAILABLE"),
        Fault::NotFound => (404, "NOT_FOUND"),
        Fault::Silence => std::future::pending().await,
    };
    let body = format!(
        r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"told to","instance":"/"}}"#
    );
    let headers = [("content-type", "application/problem+json")];
    (StatusCode::from_u16(status).unwrap(), headers, body).into_response()
}

async fn topology() -> &'static str {
    r#"{"brokers":[{"nodeId":0,"host":"h","port":1,"partitions":[{"partitionId":1,"role":"leader","health":"healthy"}],"version":"8.9.0"}],"clusterId":null,"clusterSize":1,"partitionsCount":1,"replicationFactor":1,"gatewayVersion":"8.9.0","lastCompletedChangeId":"-1"}"#
}

async fn deploy(State(script): Fake, body: String) -> &'static str {
    script.bodies.lock().unwrap().push(body);
    r#"{"deploymentKey":"11","tenantId":"<default>","deployments":[{"processDefinition":{"processDefinitionId":"p","processDefinitionVersion":2,"resourceName":"p.bpmn","tenantId":"<default>","processDefinitionKey":"12"},"decisionDefinition":null,"decisionRequirements":null,"form":null,"resource":null}]}"#
}

async fn create(State(script): Fake, body: String) -> Response {
    if let Some(fault) = script.next_fault() {
        return refused(fault).await;
    }
    script.bodies.lock().unwrap().push(body);
    r#"{"processDefinitionId":"p","processDefinitionVersion":2,"tenantId":"<default>","variables":{},"processDefinitionKey":"12","processInstanceKey":"2251799813685249","tags":[],"businessId":null}"#
        .into_response()
}

async fn complete(State(script): Fake, Path(key): Path<i64>) -> Response {
    if let Some(fault) = script.next_fault() {
        return refused(fault).await;
    }
    script.completed.lock().unwrap().push(key);
    StatusCode::NO_CONTENT.into_response()
}

async fn fail(State(script): Fake, Path(key): Path<i64>, body: String) -> StatusCode {
    let retries = body
        .split_once(r#""retries":"#)
        .and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
    script
        .failed
        .lock()
        .unwrap()
        .push((key, retries.unwrap_or(-1)));
    StatusCode::NO_CONTENT
}

fn job(key: i64) -> String {
    format!(
        r#"{{"jobKey":"{key}","type":"t","processInstanceKey":"7","processDefinitionId":"p","processDefinitionVersion":1,"processDefinitionKey":"3","elementId":"task","elementInstanceKey":"8","customHeaders":{{}},"worker":"w","retries":3,"deadline":9,"variables":{},"tenantId":"<default>","kind":"BPMN_ELEMENT","listenerEventType":"UNSPECIFIED","userTask":null,"tags":[],"rootProcessInstanceKey":null}}"#,
        variables()
    )
}

async fn activate(State(script): Fake, body: String) -> Response {
    if let Some(fault) = script.next_fault() {
        return refused(fault).await;
    }
    script.bodies.lock().unwrap().push(body);
    // Ten more than any test requests in one poll.
    let jobs: Vec<String> = (0..20).map_while(|_| script.next_job()).map(job).collect();
    if jobs.is_empty() {
        std::future::pending::<()>().await;
    }
    format!(r#"{{"jobs":[{}]}}"#, jobs.join(",")).into_response()
}

async fn stream(State(script): Fake) -> Response {
    if let Some(fault) = script.next_fault() {
        return refused(fault).await;
    }
    script.streams.fetch_add(1, Ordering::SeqCst);
    let limit = script.jobs_per_stream.load(Ordering::SeqCst);
    let limit = if limit == 0 { u64::MAX } else { limit };
    let mut sent = 0;
    let closed = Closed(script.stream_closed.clone());
    let lines = std::iter::from_fn(move || {
        if sent == limit {
            return None;
        }
        sent += 1;
        script.next_job().map(|key| format!("\n{}\n", job(key)))
    });
    let lines = tokio_stream::iter(lines.map(Ok::<_, Infallible>));
    if limit == u64::MAX {
        return Body::from_stream(lines.chain(closed.and_silence())).into_response();
    }
    Body::from_stream(lines).into_response()
}
