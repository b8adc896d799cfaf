//! At the limit callers wait or are told to retry; requests that wait on purpose (polls, streams) delay no others.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use skep_gateway::{ExecutorConfig, GatewayConfig, OverloadPolicy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::fake::{KEY, Running, start_with};
use crate::http::{Answer, post};
use crate::metrics::exposed;

/// The minimum number of slots: one per core.
fn few_slots(policy: OverloadPolicy) -> impl FnOnce(&mut GatewayConfig) {
    move |config| {
        config.executor = ExecutorConfig {
            max_pool_size_multiplier: 1,
            requests_per_worker: 1,
            queue_capacity: 1,
            policy,
        };
    }
}

fn slots() -> usize {
    let mut config = GatewayConfig::default();
    few_slots(OverloadPolicy::CallerRuns)(&mut config);
    config.executor.slots()
}

fn publish(gateway: &Running, n: usize) -> JoinSet<Answer> {
    many(
        gateway,
        "/v2/messages/publication".into(),
        r#"{"name": "a"}"#,
        n,
    )
}

fn many(gateway: &Running, path: String, body: &'static str, n: usize) -> JoinSet<Answer> {
    let (rest, path) = (gateway.rest, Arc::new(path));
    (0..n)
        .map(|_| {
            let path = Arc::clone(&path);
            async move { post(rest, &path, body).await }
        })
        .collect()
}

#[tokio::test]
async fn beyond_the_slots_callers_wait_and_none_is_dropped() {
    let gateway = start_with(few_slots(OverloadPolicy::CallerRuns)).await;
    gateway.broker.hold();
    let requests = publish(&gateway, 40);
    gateway.broker.until(|b| b.held() == slots()).await;
    gateway.broker.release();
    let answers = requests.join_all().await;
    assert!(answers.iter().all(|a| a.status == 200));
    assert_eq!(gateway.broker.requests.lock().len(), 40);
    assert_eq!(*gateway.broker.peak.lock(), slots());
}

#[tokio::test]
async fn with_abort_one_request_is_queued_and_the_others_are_refused() {
    let gateway = start_with(few_slots(OverloadPolicy::Abort)).await;
    gateway.broker.hold();
    let taken = publish(&gateway, slots());
    gateway.broker.until(|b| b.held() == slots()).await;
    let mut more = publish(&gateway, 5);
    for _ in 0..4 {
        let refused = more.join_next().await.expect("more").expect("no panic");
        assert_eq!(
            (refused.problem().0, refused.problem().1.as_str()),
            (503, "RESOURCE_EXHAUSTED")
        );
    }
    gateway.broker.release();
    assert!(more.join_all().await.iter().all(|a| a.status == 200));
    assert!(taken.join_all().await.iter().all(|a| a.status == 200));
}

#[tokio::test]
async fn with_abort_completions_wait_all_the_same() {
    let gateway = start_with(few_slots(OverloadPolicy::Abort)).await;
    gateway.broker.hold();
    let taken = publish(&gateway, slots());
    gateway.broker.until(|b| b.held() == slots()).await;
    let completions = many(&gateway, format!("/v2/jobs/{KEY}/completion"), "{}", 20);
    gateway.broker.release();
    assert!(completions.join_all().await.iter().all(|a| a.status == 204));
    taken.join_all().await;
}

#[tokio::test]
async fn completions_do_not_wait_behind_new_work() {
    let gateway = start_with(few_slots(OverloadPolicy::CallerRuns)).await;
    gateway.broker.hold();
    let new = publish(&gateway, slots() + 5);
    gateway.broker.until(|b| b.held() == slots()).await;
    let path = format!("/v2/jobs/{KEY}/completion");
    let completions = many(&gateway, path, "{}", slots() + 5);
    gateway.broker.until(|b| b.held() == 2 * slots()).await;
    gateway.broker.release();
    assert!(completions.join_all().await.iter().all(|a| a.status == 204));
    assert!(new.join_all().await.iter().all(|a| a.status == 200));
    assert_eq!(*gateway.broker.peak.lock(), 2 * slots());
}

/// Evaluations of one client in progress at a front end.
const EVALUATIONS: usize = 64;

/// Sends a request from another address of this machine than all others.
async fn sent_from_elsewhere(gateway: &Running, path: &str, body: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let elsewhere = SocketAddr::from(([127, 0, 0, 2], 0));
    socket.bind(elsewhere).expect("an address of this machine");
    let mut connection = socket.connect(gateway.rest).await.expect("connects");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let sent = connection.write_all(request.as_bytes()).await;
    sent.expect("writes");
    connection
}

#[tokio::test]
async fn a_client_with_many_evaluations_waits_and_others_do_not() {
    const PATH: &str = "/v2/expression/evaluation";
    const BODY: &str = r#"{"expression": "=1"}"#;
    let gateway = start_with(|_| {}).await;
    gateway.broker.hold();
    let many = many(&gateway, PATH.into(), BODY, 3 * EVALUATIONS);
    gateway.broker.until(|b| b.held() == EVALUATIONS).await;
    let mut other = sent_from_elsewhere(&gateway, PATH, BODY).await;
    gateway.broker.until(|b| b.held() == EVALUATIONS + 1).await;
    gateway.broker.release();
    let mut answer = [0; 12];
    let read = other.read_exact(&mut answer).await;
    read.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert!(many.join_all().await.iter().all(|a| a.status == 200));
    assert_eq!(*gateway.broker.peak.lock(), EVALUATIONS + 1);
}

fn new_work_slots(gateway: &Running, protocol: &str) -> u64 {
    let text = exposed(gateway);
    let name = format!("skep_gateway_new_work_slots{{protocol=\"{protocol}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.and_then(|value| value.parse().ok()).expect("a gauge")
}

#[tokio::test]
async fn new_work_has_fewer_slots_while_commands_wait_long_for_their_turn() {
    let gateway = start_with(|_| {}).await;
    let slots = |protocol| new_work_slots(&gateway, protocol);
    let most = slots("rest");
    gateway
        .broker
        .inbox_wait
        .store(50_000_000, Ordering::Relaxed);
    // A few answers after the first 20 ms.
    while slots("rest") == most {
        publish(&gateway, 20).join_all().await;
    }
    assert!(slots("rest") < most);
    assert_eq!(slots("grpc"), most);
}

#[tokio::test]
async fn a_shorter_wait_is_too_long_while_jobs_pile_up_that_workers_could_complete() {
    let gateway = start_with(|_| {}).await;
    let slots = || new_work_slots(&gateway, "rest");
    let most = slots();
    gateway
        .broker
        .inbox_wait
        .store(5_000_000, Ordering::Relaxed);
    let complete = || many(&gateway, format!("/v2/jobs/{KEY}/completion"), "{}", 40);
    let windows = tokio::time::Instant::now() + Duration::from_millis(100);
    while tokio::time::Instant::now() < windows {
        complete().join_all().await;
    }
    assert_eq!(slots(), most);
    gateway
        .broker
        .reports
        .waiting_jobs
        .store(5_000, Ordering::Relaxed);
    while slots() == most {
        complete().join_all().await;
    }
    assert!(slots() < most);
}

#[tokio::test]
async fn waiting_for_jobs_or_for_the_end_of_an_instance_holds_no_slot() {
    let gateway = start_with(few_slots(OverloadPolicy::CallerRuns)).await;
    let n = slots() + 3;
    let poll = r#"{"type": "pay", "timeout": 1, "maxJobsToActivate": 1, "requestTimeout": 60000}"#;
    let _polls = many(&gateway, "/v2/jobs/activation".into(), poll, n);
    gateway
        .broker
        .until(|b| b.activations.lock().len() == n)
        .await;
    gateway.broker.hold();
    let create = r#"{"processDefinitionId": "order", "awaitCompletion": true}"#;
    let creations = many(&gateway, "/v2/process-instances".into(), create, n);
    gateway.broker.until(|b| b.held() == n).await;
    let completion = many(&gateway, format!("/v2/jobs/{KEY}/completion"), "{}", 1);
    gateway.broker.until(|b| b.held() == n + 1).await;
    gateway.broker.release();
    assert!(completion.join_all().await.iter().all(|a| a.status == 204));
    assert!(creations.join_all().await.iter().all(|a| a.status == 200));
}

/// Opens a connection and sends the head and a part of the body.
async fn begun(gateway: &Running, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(gateway.rest).await.expect("connects");
    let head = format!(
        "POST /v2/messages/publication HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.expect("writes");
    socket
        .write_all(&body.as_bytes()[..body.len() / 2])
        .await
        .expect("writes");
    socket
}

async fn finish(socket: &mut TcpStream, body: &str) {
    socket
        .write_all(&body.as_bytes()[body.len() / 2..])
        .await
        .expect("writes");
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).await.expect("answers");
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[tokio::test]
async fn many_slow_senders_hold_no_slot_and_are_all_answered_in_the_end() {
    let gateway = start_with(few_slots(OverloadPolicy::Abort)).await;
    let body = r#"{"name": "slow"}"#;
    let mut slow = Vec::new();
    for _ in 0..300 {
        slow.push(begun(&gateway, body).await);
    }
    let fast = publish(&gateway, 1).join_all().await;
    assert_eq!(fast[0].status, 200);
    for socket in &mut slow {
        finish(socket, body).await;
    }
    assert_eq!(gateway.broker.requests.lock().len(), 301);
}

#[tokio::test]
async fn a_slot_stays_taken_until_the_partition_has_the_command() {
    let gateway = start_with(few_slots(OverloadPolicy::Abort)).await;
    gateway.broker.be_busy();
    let mut given_up = publish(&gateway, slots());
    gateway.broker.until(|b| b.held() == slots()).await;
    given_up.shutdown().await;
    let mut more = publish(&gateway, 2);
    let refused = more.join_next().await.expect("two").expect("no panic");
    assert_eq!(refused.problem().0, 503);
    assert_eq!(gateway.broker.requests.lock().len(), slots());
    gateway.broker.take_inbox();
    gateway.broker.until(|b| b.held() == slots() + 1).await;
    gateway.broker.release();
    assert!(more.join_all().await.iter().all(|a| a.status == 200));
}
