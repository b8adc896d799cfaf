//! The REST side.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
    serve::ListenerExt as _,
};
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;

use super::{Engine, instance_of};

type Mock = State<Arc<Engine>>;

pub fn serve(listener: TcpListener, engine: Arc<Engine>) {
    let router = Router::new()
        .route("/v2/deployments", post(deploy))
        .route("/v2/process-instances", post(create))
        .route("/v2/process-instances/{key}", get(find))
        .route("/v2/jobs/activation", post(activate))
        .route("/v2/jobs/stream", post(stream))
        .route("/v2/jobs/{key}/completion", post(complete))
        .with_state(engine);
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
}

async fn deploy(State(engine): Mock) -> String {
    format!(
        r#"{{"deploymentKey":"1","tenantId":"<default>","deployments":[{{"processDefinition":{{"processDefinitionId":"skep-load-{}","processDefinitionVersion":1,"resourceName":"p.bpmn","tenantId":"<default>","processDefinitionKey":"2"}}}}]}}"#,
        engine.jobs_per_instance
    )
}

async fn find(State(engine): Mock, headers: HeaderMap) -> StatusCode {
    // A waiting search would measure something else.
    let waits = headers
        .get("skep-consistency")
        .is_none_or(|how| how != "eventual");
    match engine.find() {
        _ if waits => StatusCode::BAD_REQUEST,
        true => StatusCode::OK,
        false => StatusCode::NOT_FOUND,
    }
}

async fn create(State(engine): Mock, body: String) -> Response {
    let Some(instance) = engine.create().await else {
        let problem = r#"{"title":"RESOURCE_EXHAUSTED","status":503,"detail":"full"}"#;
        return (StatusCode::SERVICE_UNAVAILABLE, problem).into_response();
    };
    if body.contains("awaitCompletion") {
        engine.ended(instance).await;
    }
    format!(
        r#"{{"processDefinitionId":"p","processDefinitionVersion":1,"tenantId":"<default>","variables":{{}},"processDefinitionKey":"2","processInstanceKey":"{instance}","tags":[]}}"#
    )
    .into_response()
}

async fn complete(State(engine): Mock, Path(key): Path<i64>) -> StatusCode {
    engine.complete(key);
    StatusCode::NO_CONTENT
}

fn job(key: i64) -> String {
    format!(
        r#"{{"jobKey":"{key}","type":"skep-load","processInstanceKey":"{}","processDefinitionId":"p","processDefinitionVersion":1,"processDefinitionKey":"3","elementId":"task-1","elementInstanceKey":"8","customHeaders":{{}},"worker":"w","retries":3,"deadline":9,"variables":{{}},"tenantId":"<default>","kind":"BPMN_ELEMENT","listenerEventType":"UNSPECIFIED","userTask":null,"tags":[],"rootProcessInstanceKey":null}}"#,
        instance_of(key)
    )
}

async fn activate(State(engine): Mock) -> String {
    let mut jobs = vec![job(engine.take().await)];
    jobs.extend(std::iter::from_fn(|| engine.take_now()).take(9).map(job));
    format!(r#"{{"jobs":[{}]}}"#, jobs.join(","))
}

async fn stream(State(engine): Mock) -> Body {
    let jobs = futures_util::stream::unfold(engine, |engine| async {
        let key = engine.take().await;
        Some((key, engine))
    });
    Body::from_stream(jobs.map(|key| Ok::<_, Infallible>(format!("{}\n", job(key)))))
}
