//! Metrics of requests.

use prometheus_client::registry::Registry;
use skep_proto::gateway_protocol as pb;
use skep_protocol::Key;

use crate::fake::{KEY, Running, rejection, start};
use crate::grpc;
use crate::http::{http2, post, send};
use crate::login::{basic, pins, protected};

pub fn exposed(gateway: &Running) -> String {
    let mut registry = Registry::default();
    gateway.metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("encodes");
    text
}

#[track_caller]
pub fn has(text: &str, line: &str) {
    assert!(
        text.lines().any(|l| l.starts_with(line)),
        "{line} not in\n{text}"
    );
}

#[tokio::test]
async fn a_request_is_seen_with_its_stages_over_both_protocols() {
    let gateway = start().await;
    assert_eq!(
        post(gateway.rest, &format!("/v2/jobs/{KEY}/completion"), "{}")
            .await
            .status,
        204
    );
    let mut client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    let request = pb::CompleteJobRequest {
        job_key: KEY.0,
        ..Default::default()
    };
    client.complete_job(request).await.expect("completes");
    let text = exposed(&gateway);
    for protocol in ["rest", "grpc"] {
        for stage in skep_gateway::metrics::STAGES {
            has(
                &text,
                &format!(
                    "skep_request_stage_seconds_count{{protocol=\"{protocol}\",stage=\"{stage}\"}} 1"
                ),
            );
        }
        // Timings of stages, as reported by the broker.
        has(
            &text,
            &format!(
                "skep_request_stage_seconds_sum{{protocol=\"{protocol}\",stage=\"fsync\"}} 0.0005"
            ),
        );
    }
    has(
        &text,
        "http_server_requests_seconds_count{method=\"POST\",uri=\"/v2/jobs/{jobKey}/completion\",status=\"204\",outcome=\"SUCCESS\",exception=\"none\",error=\"none\"} 1",
    );
    has(
        &text,
        "grpc_server_processing_duration_seconds_count{service=\"gateway_protocol.Gateway\",method=\"CompleteJob\",methodType=\"UNARY\",statusCode=\"OK\"} 1",
    );
    has(
        &text,
        "zeebe_gateway_total_requests_total{partition=\"1\",requestType=\"JOB#COMPLETE\"} 2",
    );
}

#[tokio::test]
async fn a_failed_request_is_seen_with_its_stages_over_both_protocols() {
    let gateway = start().await;
    let failed = || rejection(skep_protocol::RejectionType::NotFound);
    gateway.broker.answer(Err(failed()));
    gateway.broker.answer(Err(failed()));
    let path = format!("/v2/jobs/{KEY}/completion");
    assert_eq!(post(gateway.rest, &path, "{}").await.status, 404);
    let mut client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    let request = pb::CompleteJobRequest {
        job_key: KEY.0,
        ..Default::default()
    };
    client.complete_job(request).await.expect_err("not found");
    let text = exposed(&gateway);
    for protocol in ["rest", "grpc"] {
        let labels = format!("protocol=\"{protocol}\",stage=\"fsync\"");
        has(
            &text,
            &format!("skep_request_stage_seconds_count{{{labels}}} 1"),
        );
        has(
            &text,
            &format!("skep_request_stage_seconds_sum{{{labels}}} 0.0005"),
        );
    }
}

/// How many seconds requests have spent in this stage, and how many requests had it.
fn in_stage(gateway: &Running, protocol: &str, stage: &str) -> (f64, u64) {
    let text = exposed(gateway);
    let value = |of: &str| {
        let labels = format!("{{protocol=\"{protocol}\",stage=\"{stage}\"}} ");
        let series = format!("skep_request_stage_seconds_{of}{labels}");
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.expect("the stage has a series").to_string()
    };
    (
        value("sum").parse().expect("seconds"),
        value("count").parse().expect("a count"),
    )
}

#[tokio::test]
async fn the_check_of_a_password_has_a_stage_of_its_own() {
    let gateway = protected().await;
    let shown = basic("anna", "right");
    let of = |protocol| in_stage(&gateway, protocol, "authentication");
    let mut connection = http2(gateway.rest).await;
    assert_eq!(pins(&mut connection, &gateway, &shown).await, 204);
    let (first, count) = of("rest");
    // Hashing takes milliseconds, and all else microseconds.
    assert!(first > 0.001, "{first} s");
    assert_eq!(count, 1);
    assert_eq!(pins(&mut connection, &gateway, &shown).await, 204);
    assert_eq!(of("rest"), (first, 2), "the connection had shown it before");
    let mut client = grpc::client(&gateway).await;
    let mut request = tonic::Request::new(pb::CompleteJobRequest {
        job_key: KEY.0,
        ..Default::default()
    });
    let shown = shown.parse().expect("a header");
    request.metadata_mut().insert("authorization", shown);
    client.complete_job(request).await.expect("completes");
    let (checked, count) = of("grpc");
    // This node remembers the password, but another connection has to look it up.
    assert!(checked > 0.0, "{checked} s");
    assert_eq!(count, 1);
}

#[tokio::test]
async fn paths_that_do_not_exist_share_one_series() {
    let gateway = start().await;
    for path in ["/a", "/b", "/v2/c"] {
        send(gateway.rest, "GET", path, None, "").await;
    }
    has(
        &exposed(&gateway),
        "http_server_requests_seconds_count{method=\"UNKNOWN\",uri=\"UNKNOWN\",status=\"404\",outcome=\"CLIENT_ERROR\",exception=\"none\",error=\"none\"} 3",
    );
}

#[tokio::test]
async fn keys_of_partitions_that_do_not_exist_make_no_series() {
    let gateway = start().await;
    for partition in 2..50 {
        let key = Key::new(partition, 1);
        post(gateway.rest, &format!("/v2/jobs/{key}/completion"), "{}").await;
    }
    let text = exposed(&gateway);
    let series = |line: &&str| line.starts_with("zeebe_gateway_total_requests_total{");
    let totals: Vec<&str> = text.lines().filter(series).collect();
    assert_eq!(
        totals,
        ["zeebe_gateway_total_requests_total{partition=\"0\",requestType=\"JOB#COMPLETE\"} 48"]
    );
}

#[tokio::test]
async fn a_waiting_poll_is_counted_by_its_type() {
    let gateway = start().await;
    let rest = gateway.rest;
    let poll = tokio::spawn(async move {
        let body =
            r#"{"type": "pay", "timeout": 1, "maxJobsToActivate": 1, "requestTimeout": 60000}"#;
        post(rest, "/v2/jobs/activation", body).await
    });
    gateway
        .broker
        .until(|b| b.activations.lock().len() == 1)
        .await;
    has(
        &exposed(&gateway),
        "zeebe_long_polling_queued_current{type=\"pay\",protocol=\"rest\"} 1",
    );
    poll.abort();
}

#[tokio::test]
async fn metrics_show_the_cluster_as_the_gateway_sees_it() {
    let gateway = start().await;
    let text = exposed(&gateway);
    has(
        &text,
        "zeebe_gateway_topology_partition_roles{partition=\"1\",broker=\"0\"} 3",
    );
    has(&text, "zeebe_gateway_job_stream_servers 1");
}
