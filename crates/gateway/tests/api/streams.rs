//! Job streams over REST and gRPC: pushes, flow control, and their end.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use skep_proto::gateway_protocol as pb;
use skep_protocol::ActivatedJob;
use tokio::sync::mpsc::Sender;

use crate::fake::{FakeBroker, Running, job, start, start_with};
use crate::http::{JSON, OPENAPI, open, request};
use crate::schema;

const BODY: &str =
    r#"{"type": "pay", "worker": "w", "timeout": 1000, "fetchVariable": ["amount"]}"#;

async fn open_stream(gateway: &Running) -> Incoming {
    let response = open(gateway.rest, "POST", "/v2/jobs/stream", Some(JSON), BODY).await;
    assert_eq!(
        (
            response.status().as_u16(),
            &response.headers()["content-type"]
        ),
        (200, &"application/x-ndjson".parse().expect("a value"))
    );
    response.into_body()
}

fn sender(broker: &FakeBroker) -> Sender<ActivatedJob> {
    broker.streams.lock()[0].jobs.clone()
}

async fn next_piece(body: &mut Incoming) -> Option<Bytes> {
    let frame = body.frame().await?.expect("the stream broke off");
    frame.into_data().ok()
}

#[tokio::test]
async fn jobs_come_as_lines_of_json() {
    let gateway = start().await;
    let mut stream = open_stream(&gateway).await;
    let spec = gateway.broker.streams.lock()[0].spec.clone();
    assert_eq!(
        (&*spec.job_type, &*spec.worker, spec.timeout, spec.max_jobs),
        ("pay", "w", 1000, 32)
    );
    let jobs = sender(&gateway.broker);
    let mut text = String::new();
    for n in 1..=3 {
        jobs.send(job(n)).await.expect("open");
    }
    while text.matches('\n').count() < 3 {
        let piece = next_piece(&mut stream).await.expect("jobs");
        text.push_str(std::str::from_utf8(&piece).expect("text"));
    }
    let schema = serde_json::json!({"$ref": "#/components/schemas/ActivatedJobResult"});
    for (line, n) in text.lines().zip(1..) {
        let value = serde_json::from_str(line).expect("a line of JSON");
        assert_eq!(
            schema::differences(&OPENAPI, &schema, &value),
            Vec::<String>::new()
        );
        assert_eq!(value["jobKey"], job(n).key.to_string());
    }
    assert_eq!(gateway.metrics.job_streams.clients.get(), 1);
}

#[tokio::test]
async fn a_silent_stream_gets_blank_lines() {
    let gateway = start_with(|config| config.stream_keep_alive = Duration::from_millis(5)).await;
    let mut stream = open_stream(&gateway).await;
    for _ in 0..2 {
        assert_eq!(next_piece(&mut stream).await.as_deref(), Some(&b"\n"[..]));
    }
}

#[tokio::test]
async fn a_client_that_goes_away_closes_its_stream() {
    let gateway = start().await;
    let stream = open_stream(&gateway).await;
    let opened = gateway.broker.streams.lock().pop().expect("a stream");
    drop(stream);
    // The broker's end is dropped, which wakes the waiting task.
    assert!(opened.closed.await.is_err());
    assert_eq!(gateway.metrics.job_streams.clients.get(), 0);
}

#[tokio::test]
async fn a_stream_ends_when_the_broker_closes_it() {
    let gateway = start().await;
    let mut stream = open_stream(&gateway).await;
    gateway.broker.streams.lock().clear();
    assert!(next_piece(&mut stream).await.is_none());
}

const JOB_BYTES: usize = 8 << 10;

fn large_job(n: i64) -> ActivatedJob {
    ActivatedJob {
        variables: format!(r#"{{"x":"{}"}}"#, "y".repeat(JOB_BYTES)),
        ..job(n)
    }
}

/// Pushes until no more jobs are accepted. A slow machine can only make this end early.
async fn push_until_full(jobs: &Sender<ActivatedJob>) -> usize {
    for n in 0..2000 {
        let pushed =
            tokio::time::timeout(Duration::from_millis(300), jobs.send(large_job(n as i64))).await;
        if pushed.is_err() {
            return n;
        }
    }
    panic!("a client that does not read was given 16 MB of jobs");
}

/// The credit, the gateway's buffers, and those of the two sockets.
const MOST_BYTES: usize = 32 * JOB_BYTES + (1 << 20);

/// A stream is opened by a client that reads nothing; then as many jobs as possible are pushed; then all of them are read.
async fn unread(gateway: &Running, open: impl Future<Output = Incoming>) {
    let mut stream = open.await;
    let jobs = sender(&gateway.broker);
    let pushed = push_until_full(&jobs).await;
    assert!(pushed >= 32, "{pushed}");
    assert!(
        pushed * JOB_BYTES < MOST_BYTES,
        "{pushed} jobs are on their way"
    );

    // No job is lost once the client reads.
    gateway.broker.streams.lock().clear();
    drop(jobs);
    let mut lines = 0;
    while let Some(piece) = next_piece(&mut stream).await {
        lines += piece.iter().filter(|b| **b == b'\n').count();
    }
    assert_eq!(lines, pushed);
}

async fn connect(gateway: &Running) -> TokioIo<tokio::net::TcpStream> {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(64 << 10).expect("a buffer");
    TokioIo::new(socket.connect(gateway.rest).await.expect("connects"))
}

fn stream_request(gateway: &Running) -> hyper::Request<http_body_util::Full<Bytes>> {
    request(
        gateway.rest,
        "POST",
        "/v2/jobs/stream",
        Some(JSON),
        BODY.into(),
    )
}

#[tokio::test]
async fn a_client_that_does_not_read_gets_only_its_credit_and_what_the_sockets_buffer() {
    let gateway = start().await;
    let open = async {
        let mut client = http1::Builder::new();
        let handshake = client
            .max_buf_size(16 << 10)
            .handshake(connect(&gateway).await);
        let (mut client, connection) = handshake.await.expect("no handshake");
        tokio::spawn(connection);
        client
            .send_request(stream_request(&gateway))
            .await
            .expect("answers")
            .into_body()
    };
    unread(&gateway, open).await;
}

#[tokio::test]
async fn an_http2_client_that_does_not_read_gets_its_credit_and_its_window() {
    let gateway = start().await;
    let mut keep = None;
    let open = async {
        let mut client = http2::Builder::new(TokioExecutor::new());
        client
            .initial_stream_window_size(64 << 10)
            .initial_connection_window_size(64 << 10);
        let handshake = client.handshake(connect(&gateway).await);
        let (mut client, connection) = handshake.await.expect("no handshake");
        tokio::spawn(connection);
        let response = client
            .send_request(stream_request(&gateway))
            .await
            .expect("answers");
        keep = Some(client);
        response.into_body()
    };
    unread(&gateway, open).await;
    drop(keep);
}

#[tokio::test]
async fn a_grpc_client_that_does_not_read_gets_its_credit_and_its_window() {
    let gateway = start().await;
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", gateway.grpc))
        .expect("an address")
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(64 << 10);
    let mut client =
        pb::gateway_client::GatewayClient::new(endpoint.connect().await.expect("connects"));
    let request = pb::StreamActivatedJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        ..Default::default()
    };
    let mut stream = client
        .stream_activated_jobs(request)
        .await
        .expect("opens")
        .into_inner();
    let jobs = sender(&gateway.broker);
    let pushed = push_until_full(&jobs).await;
    assert!(pushed >= 32, "{pushed}");
    assert!(
        pushed * JOB_BYTES < MOST_BYTES,
        "{pushed} jobs are on their way"
    );

    gateway.broker.streams.lock().clear();
    drop(jobs);
    let mut read = 0;
    while stream.message().await.expect("goes on").is_some() {
        read += 1;
    }
    assert_eq!(read, pushed);
}

async fn soon(condition: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(180), condition)
        .await
        .expect("jobs are lost until their time-out");
}

/// Activates jobs over HTTP/2 for a client without flow-control window, which disconnects before granting one.
#[tokio::test]
async fn jobs_of_an_answer_that_the_client_did_not_take_go_back() {
    let gateway = start().await;
    gateway.broker.jobs.lock().extend([job(1), job(2)]);
    let stream = tokio::net::TcpStream::connect(gateway.rest)
        .await
        .expect("connects");
    let (mut client, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(stream))
        .await
        .expect("shakes hands");
    let connection = tokio::spawn(connection);
    let body = r#"{"type": "pay", "timeout": 1000, "maxJobsToActivate": 2}"#;
    let request = request(
        gateway.rest,
        "POST",
        "/v2/jobs/activation",
        Some(JSON),
        body.into(),
    );
    let response = client.send_request(request).await.expect("answers");
    assert_eq!(response.status(), 200);
    assert_eq!(*gateway.broker.given_back.lock(), []);
    drop((response, client));
    let both = [job(1).key, job(2).key];
    soon(gateway.broker.until(|b| *b.given_back.lock() == both)).await;
    connection.abort();
}

#[tokio::test]
async fn jobs_of_an_answer_that_the_client_took_do_not_go_back() {
    let gateway = start().await;
    gateway.broker.jobs.lock().extend([job(1), job(2)]);
    let body = r#"{"type": "pay", "timeout": 1000, "maxJobsToActivate": 1}"#;
    crate::http::post(gateway.rest, "/v2/jobs/activation", body).await;
    let mut client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    let activate = pb::ActivateJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        max_jobs_to_activate: 1,
        ..Default::default()
    };
    let mut answer = client
        .activate_jobs(activate)
        .await
        .expect("answers")
        .into_inner();
    assert!(answer.message().await.expect("a message").is_some());
    assert!(answer.message().await.expect("the end").is_none());
    assert_eq!(*gateway.broker.given_back.lock(), []);
}

#[tokio::test]
async fn messages_of_a_grpc_activation_that_were_not_taken_go_back() {
    let gateway = start().await;
    // Each fills its own message.
    let large = |n| ActivatedJob {
        variables: format!("{{\"x\":\"{}\"}}", "x".repeat(2 << 20)),
        ..job(n)
    };
    gateway.broker.jobs.lock().extend((1..=8).map(large));
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", gateway.grpc))
        .expect("an address")
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(64 << 10);
    let mut client =
        pb::gateway_client::GatewayClient::new(endpoint.connect().await.expect("connects"));
    let activate = pb::ActivateJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        max_jobs_to_activate: 8,
        ..Default::default()
    };
    let answer = client.activate_jobs(activate).await.expect("answers");
    drop(answer);
    let last = job(8).key;
    let all = |b: &FakeBroker| b.given_back.lock().last() == Some(&last);
    soon(gateway.broker.until(all)).await;
    let given_back = gateway.broker.given_back.lock().clone();
    assert!(given_back.len() >= 4, "{given_back:?}");
}
