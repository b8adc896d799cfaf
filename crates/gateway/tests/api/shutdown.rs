//! Stopping: nothing new, what is under way finishes, what would never end is ended.

use std::time::Duration;

use http_body_util::BodyExt;
use skep_proto::gateway_protocol as pb;
use tokio::net::TcpStream;

use crate::fake::{KEY, start, start_with};
use crate::http::{JSON, open, post};

#[tokio::test]
async fn a_request_under_way_is_answered_and_new_connections_are_refused() {
    let mut gateway = start().await;
    gateway.broker.hold();
    let (rest, grpc) = (gateway.rest, gateway.grpc);
    let under_way =
        tokio::spawn(async move { post(rest, &format!("/v2/jobs/{KEY}/completion"), "{}").await });
    gateway.broker.until(|b| b.held() == 1).await;
    gateway.stop();
    gateway.broker.release();
    assert_eq!(under_way.await.expect("no panic").status, 204);
    gateway.stopped().await;
    assert!(TcpStream::connect(rest).await.is_err());
    assert!(TcpStream::connect(grpc).await.is_err());
}

#[tokio::test]
async fn streams_end_and_long_polls_answer() {
    let mut gateway = start_with(|config| config.shutdown_grace = Duration::from_secs(600)).await;
    let rest = gateway.rest;
    let stream = open(
        rest,
        "POST",
        "/v2/jobs/stream",
        Some(JSON),
        r#"{"type": "a", "timeout": 1}"#,
    )
    .await;
    let mut client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    let request = pb::StreamActivatedJobsRequest {
        r#type: "a".into(),
        timeout: 1,
        ..Default::default()
    };
    let mut grpc_stream = client
        .stream_activated_jobs(request)
        .await
        .expect("opens")
        .into_inner();
    let poll = tokio::spawn(async move {
        let body =
            r#"{"type": "a", "timeout": 1, "maxJobsToActivate": 1, "requestTimeout": 3600000}"#;
        post(rest, "/v2/jobs/activation", body).await
    });
    gateway
        .broker
        .until(|b| b.activations.lock().len() == 1)
        .await;
    gateway.stop();
    assert_eq!(poll.await.expect("no panic").text, r#"{"jobs":[]}"#);
    assert!(
        stream
            .into_body()
            .collect()
            .await
            .expect("ends well")
            .to_bytes()
            .is_empty()
    );
    assert!(grpc_stream.message().await.expect("ends well").is_none());
    drop(client);
    gateway.stopped().await;
}

#[tokio::test]
async fn what_does_not_finish_is_cut_after_the_grace() {
    let mut gateway = start_with(|config| config.shutdown_grace = Duration::from_millis(20)).await;
    gateway.broker.hold();
    let rest = gateway.rest;
    let stuck = tokio::spawn(async move {
        open(
            rest,
            "POST",
            &format!("/v2/jobs/{KEY}/completion"),
            Some(JSON),
            "{}",
        )
        .await
    });
    gateway.broker.until(|b| b.held() == 1).await;
    gateway.stop();
    gateway.stopped().await;
    assert!(stuck.await.is_err(), "the client got an answer");
}
