//! Memory for request bodies: received bytes count, and nobody waits indefinitely for a client that sends nothing.

use std::time::Duration;

use hyper::body::Bytes;
use skep_gateway::GatewayConfig;
use skep_proto::gateway_protocol as pb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fake::{KEY, Running, start_with};
use crate::http::post;

/// Memory for one body of the maximum size.
const ROOM: usize = 100_000;

/// Time limit of waits in tests.
const PATIENCE: Duration = Duration::from_secs(180);

/// Longer than any test runs, so that this limit never applies.
const NEVER: Duration = Duration::from_secs(3600);

fn little_room(config: &mut GatewayConfig) {
    config.max_message_size = ROOM;
    config.multipart.max_size = ROOM;
    config.max_buffered_bytes = ROOM;
    config.body_timeout = NEVER;
    config.head_timeout = NEVER;
}

fn message(bytes: usize) -> String {
    let frame = r#"{"name": "a", "variables": {"x": ""}}"#.len();
    let padding = "y".repeat(bytes - frame);
    format!(r#"{{"name": "a", "variables": {{"x": "{padding}"}}}}"#)
}

/// A request whose body is completed when the test decides.
struct Begun {
    socket: TcpStream,
    rest: Vec<u8>,
}

async fn begin(gateway: &Running, path: &str, body: &str, sent: usize) -> Begun {
    let mut socket = TcpStream::connect(gateway.rest).await.expect("connects");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.expect("writes");
    let (now, later) = body.as_bytes().split_at(sent);
    socket.write_all(now).await.expect("writes");
    Begun {
        socket,
        rest: later.to_vec(),
    }
}

const PUBLICATION: &str = "/v2/messages/publication";

impl Begun {
    /// Sends the rest, which the server may no longer read.
    async fn finish(&mut self) {
        let _ = self.socket.write_all(&self.rest).await;
    }

    async fn status(&mut self) -> u16 {
        let mut answer = [0; 12];
        self.socket.read_exact(&mut answer).await.expect("answers");
        let text = std::str::from_utf8(&answer).expect("text");
        text.trim_start_matches("HTTP/1.1 ").parse().expect(text)
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("somebody is kept waiting")
}

#[tokio::test]
async fn announced_bodies_take_no_room_before_they_arrive() {
    let gateway = start_with(little_room).await;
    let large = message(ROOM);
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(begin(&gateway, PUBLICATION, &large, 1).await);
    }
    let honest = soon(post(gateway.rest, PUBLICATION, &message(20_000))).await;
    assert_eq!(honest.status, 200);
}

/// Opens a call and sends the beginning of its message.
async fn begin_call(
    gateway: &Running,
    start: &[u8],
) -> (h2::SendStream<Bytes>, h2::client::ResponseFuture) {
    let socket = TcpStream::connect(gateway.grpc).await.expect("connects");
    let (client, connection) = h2::client::handshake(socket).await.expect("no handshake");
    tokio::spawn(connection);
    let mut client = client.ready().await.expect("ready");
    let request = http::Request::post("http://x/gateway_protocol.Gateway/PublishMessage")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .expect("a request");
    let (answer, mut body) = client.send_request(request, false).expect("sends");
    body.send_data(Bytes::copy_from_slice(start), false)
        .expect("sends");
    (body, answer)
}

#[tokio::test]
async fn a_prefix_over_grpc_takes_no_room() {
    let gateway = start_with(little_room).await;
    let mut prefix = vec![0];
    prefix.extend_from_slice(&u32::try_from(ROOM).expect("fits").to_be_bytes());
    let mut silent = Vec::new();
    for i in 0..16 {
        // Half of them do not even send the prefix.
        silent.push(begin_call(&gateway, &prefix[..5 - i % 2]).await);
    }
    let mut client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    let honest = client.publish_message(pb::PublishMessageRequest {
        name: "x".repeat(20_000),
        ..Default::default()
    });
    soon(honest).await.expect("is published");
}

#[tokio::test]
async fn a_call_has_one_message() {
    let gateway = start_with(little_room).await;
    let mut messages = vec![0, 0, 0, 0, 3, 10, 1, b'a'];
    messages.extend_from_within(..);
    for size in [8, 16] {
        let (mut body, answer) = begin_call(&gateway, &messages[..size]).await;
        body.send_data(Bytes::copy_from_slice(&messages[size..]), true)
            .expect("sends");
        let answer = soon(answer).await.expect("answers");
        let status = tonic::Status::from_header_map(answer.headers()).expect("a status");
        assert!(
            status.message().contains("more than one message"),
            "{status:?}"
        );
    }
    assert_eq!(gateway.broker.requests.lock().len(), 0);
}

#[tokio::test]
async fn bodies_that_have_each_arrived_in_part_all_get_through() {
    let gateway = start_with(little_room).await;
    let large = message(90_000);
    let mut begun = Vec::new();
    for _ in 0..8 {
        begun.push(begin(&gateway, PUBLICATION, &large, 45_000).await);
    }
    let ended = begun.into_iter().map(|mut body| async move {
        body.finish().await;
        body.status().await
    });
    let ended: tokio::task::JoinSet<u16> = ended.collect();
    assert_eq!(soon(ended.join_all()).await, [200; 8]);
}

#[tokio::test]
async fn beyond_the_room_large_bodies_wait_and_small_ones_pass_by() {
    let gateway = start_with(little_room).await;
    gateway.broker.be_busy();
    let large = message(ROOM);
    let mut waiting = Vec::new();
    // One fills the memory, another one exceeds it. They are sent one after the other: two concurrent ones could each get a part.
    for i in 1..=4 {
        waiting.push(begin(&gateway, PUBLICATION, &large, ROOM).await);
        soon(gateway.broker.until(|b| b.held() == i.min(2))).await;
    }
    let small = message(200);
    waiting.push(begin(&gateway, PUBLICATION, &small, small.len()).await);
    soon(gateway.broker.until(|b| b.held() == 3)).await;
    gateway.broker.release();
    for mut body in waiting {
        assert_eq!(soon(body.status()).await, 200);
    }
}

#[tokio::test]
async fn a_slow_sender_has_less_time_while_others_wait_for_its_room() {
    let gateway = start_with(|config| {
        little_room(config);
        config.head_timeout = Duration::from_millis(50);
        config.lifetime.idle = NEVER;
    })
    .await;
    let large = message(ROOM);
    let mut slow = Vec::new();
    for _ in 0..2 {
        slow.push(begin(&gateway, PUBLICATION, &large, ROOM - 1).await);
    }
    // Nothing reveals when the slow ones have taken the memory: others request it until one of the slow ones is aborted.
    let others = async {
        loop {
            let honest = soon(post(gateway.rest, PUBLICATION, &large)).await;
            assert_eq!(honest.status, 200);
        }
    };
    let [first, second] = slow.as_mut_slice() else {
        panic!("two are slow");
    };
    let gone = async {
        tokio::select! {
            status = first.status() => status,
            status = second.status() => status,
        }
    };
    tokio::select! {
        status = soon(gone) => assert_eq!(status, 408),
        () = others => unreachable!("the others go on"),
    }
}

#[tokio::test]
async fn a_request_without_room_is_refused_after_the_timeout() {
    let gateway = start_with(|config| {
        little_room(config);
        config.body_timeout = Duration::from_millis(200);
    })
    .await;
    gateway.broker.be_busy();
    let large = message(ROOM);
    let mut held = Vec::new();
    for i in 1..=2 {
        held.push(begin(&gateway, PUBLICATION, &large, ROOM).await);
        soon(gateway.broker.until(|b| b.held() == i)).await;
    }
    let refused = soon(post(gateway.rest, PUBLICATION, &message(20_000))).await;
    let (status, title, detail) = refused.problem();
    assert_eq!((status, title.as_str()), (503, "RESOURCE_EXHAUSTED"));
    assert!(detail.contains("skep.api.max-buffered-size"), "{detail}");
    let mut client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects");
    for i in 3..=4 {
        let mut client = client.clone();
        tokio::spawn(async move {
            let _ = client.publish_message(large_message()).await;
        });
        soon(gateway.broker.until(|b| b.held() == i)).await;
    }
    let refused = soon(client.publish_message(large_message())).await;
    let status = refused.expect_err("no room");
    assert_eq!(status.code(), tonic::Code::ResourceExhausted, "{status:?}");
}

fn large_message() -> pb::PublishMessageRequest {
    pb::PublishMessageRequest {
        name: "a".into(),
        variables: format!(r#"{{"x":"{}"}}"#, "y".repeat(ROOM - 21)),
        ..Default::default()
    }
}

#[tokio::test]
async fn an_awaited_creation_keeps_its_room_until_the_partition_has_the_command() {
    let gateway = start_with(little_room).await;
    gateway.broker.be_busy();
    let variables = "x".repeat(90_000);
    let create = format!(
        r#"{{"processDefinitionId": "order", "variables": {{"a": "{variables}"}}, "awaitCompletion": true}}"#
    );
    let mut creations = Vec::new();
    for i in 1..=8 {
        creations.push(begin(&gateway, "/v2/process-instances", &create, create.len()).await);
        soon(gateway.broker.until(|b| b.held() == i.min(2))).await;
    }
    // The connection of a small request is served, but still no third creation has arrived.
    let small = begin(&gateway, PUBLICATION, &message(40), 40).await;
    soon(gateway.broker.until(|b| b.held() >= 3)).await;
    let creations_held = |b: &crate::fake::FakeBroker| {
        let requests = b.requests.lock();
        let creation = |r: &&skep_protocol::command::Request| {
            matches!(r.command, skep_protocol::Command::CreateProcessInstance(_))
        };
        requests.iter().filter(creation).count()
    };
    assert_eq!(creations_held(&gateway.broker), 2);
    // Removed from the inbox, but not answered: the memory is free.
    gateway.broker.take_inbox();
    soon(gateway.broker.until(|b| creations_held(b) == 8)).await;
    gateway.broker.release();
    for mut body in creations {
        assert_eq!(soon(body.status()).await, 200);
    }
    drop(small);
}

#[tokio::test]
async fn a_compressed_message_counts_as_what_it_unpacks_to() {
    let gateway = start_with(little_room).await;
    gateway.broker.be_busy();
    let client = pb::gateway_client::GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects")
        .send_compressed(tonic::codec::CompressionEncoding::Gzip);
    for i in 1..=4 {
        let mut client = client.clone();
        tokio::spawn(async move {
            let _ = client.publish_message(large_message()).await;
        });
        soon(gateway.broker.until(|b| b.held() == i.min(2))).await;
    }
    // Their answers release the memory.
    gateway.broker.release();
    soon(gateway.broker.until(|b| b.requests.lock().len() == 4)).await;
    // A message that unpacks to few bytes keeps only these, although it could have been larger.
    gateway.broker.be_busy();
    let small = (0..8).map(|_| {
        let mut client = client.clone();
        async move {
            let complete = pb::CompleteJobRequest {
                job_key: KEY.0,
                ..Default::default()
            };
            client.complete_job(complete).await.expect("completes");
        }
    });
    let small: tokio::task::JoinSet<()> = small.collect();
    soon(gateway.broker.until(|b| b.held() == 8)).await;
    gateway.broker.release();
    soon(small.join_all()).await;
}
