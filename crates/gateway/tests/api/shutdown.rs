//! Shutdown: no new requests, running ones finish, endless ones are ended.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use skep_proto::gateway_protocol as pb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
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

/// A connection closed while a request is in transit leaves its client in doubt.
#[tokio::test]
async fn a_kept_connection_is_closed_with_its_next_answer() {
    let mut gateway = start_with(|config| config.shutdown_grace = Duration::from_secs(600)).await;
    let mut kept = TcpStream::connect(gateway.rest).await.expect("connects");
    let mut ask = async || {
        let request = b"GET /v2/topology HTTP/1.1\r\nHost: skep\r\n\r\n";
        kept.write_all(request).await.expect("takes a request");
        let mut answer = String::new();
        let mut bytes = [0; 4096];
        while !answer.ends_with('}') {
            let count = kept.read(&mut bytes).await.expect("answers");
            assert_ne!(count, 0, "the connection was closed after {answer:?}");
            answer.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        answer.to_ascii_lowercase()
    };
    assert!(!ask().await.contains("connection: close"));
    gateway.stop();
    // Clients that have not noticed the shutdown are answered as before.
    while !ask().await.contains("connection: close") {}
    assert_eq!(kept.read(&mut [0]).await.expect("ends well"), 0);
    gateway.stopped().await;
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
async fn unfinished_requests_are_cut_after_the_grace_period() {
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

/// Clients that reconnect for each request, until they are refused. A reset would leave them in doubt.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_that_connects_at_the_stop_is_answered_or_refused() {
    async fn ask(mut socket: TcpStream) -> std::io::Result<Vec<u8>> {
        let request = b"GET /v2/topology HTTP/1.1\r\nHost: skep\r\nConnection: close\r\n\r\n";
        socket.write_all(request).await?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await?;
        Ok(answer)
    }
    for _ in 0..3 {
        let mut gateway =
            start_with(|config| config.shutdown_grace = Duration::from_millis(2500)).await;
        let rest = gateway.rest;
        let all_ask = Arc::new(tokio::sync::Barrier::new(17));
        let clients: Vec<_> = (0..16)
            .map(|_| {
                let all_ask = Arc::clone(&all_ask);
                tokio::spawn(async move {
                    let mut first = true;
                    while let Ok(socket) = TcpStream::connect(rest).await {
                        let answer = ask(socket).await.expect("a connection is not reset");
                        assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
                        if std::mem::take(&mut first) {
                            all_ask.wait().await;
                        }
                    }
                })
            })
            .collect();
        all_ask.wait().await;
        gateway.stop();
        for client in clients {
            client.await.expect("no reset");
        }
        gateway.stopped().await;
    }
}
