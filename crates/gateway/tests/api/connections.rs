//! Connections without requests get few resources, and not for long.

use std::net::SocketAddr;
use std::time::Duration;

use skep_gateway::GatewayConfig;
use skep_testkit::certificates::Certificates;
use skep_tls::{Certificate, Clients, ServerFiles, ServerTls};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fake::{start, start_with};
use crate::http::{Answer, post};

const SOON: Duration = Duration::from_millis(60);
const LATE: Duration = Duration::from_secs(3600);

async fn connect(to: SocketAddr, first: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(first).await.unwrap();
    stream
}

/// Everything up to the end of the connection.
async fn rest_of(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A connection that is cut may end with a reset.
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
const TOPOLOGY: &[u8] = b"GET /v2/topology HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test]
async fn a_head_that_does_not_arrive_in_time_ends_the_connection() {
    let gateway = start_with(|config| {
        config.head_timeout = SOON;
        config.lifetime.idle = LATE;
    })
    .await;
    for (what, first) in [
        ("nothing at all", &b""[..]),
        (
            "half a head",
            b"POST /v2/jobs/activation HTTP/1.1\r\nhost: a\r\nx",
        ),
        ("half a preface", &PREFACE[..10]),
        (
            "a frame that does not end",
            &[PREFACE, SETTINGS, &PING[..12]].concat(),
        ),
        // HEADERS of stream 1 without END_HEADERS: a CONTINUATION must follow.
        (
            "a head that goes on",
            &[PREFACE, SETTINGS, &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]].concat(),
        ),
    ] {
        for to in [gateway.rest, gateway.grpc] {
            let mut stream = connect(to, first).await;
            rest_of(&mut stream).await;
            println!("{what}: ended");
        }
    }
}

/// The beginning of a TLS record with a handshake that does not go on.
const HALF_A_HELLO: &[u8] = &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];

#[tokio::test]
async fn a_tls_handshake_has_the_time_of_a_first_request() {
    let files = Certificates::of("localhost");
    let served = ServerFiles {
        certificate: Certificate::Pem {
            chain: files.file("own.pem").unwrap(),
            private_key: files.file("own.key").unwrap(),
        },
        clients: Clients::NotAsked,
    };
    let default = GatewayConfig::default().head_timeout;
    assert_eq!(default, Duration::from_secs(10));
    let gateway = start_with(|config| {
        config.tls.rest = Some(ServerTls::open(&served, &["h2", "http/1.1"]).unwrap());
        config.tls.grpc = Some(ServerTls::open(&served, &["h2"]).unwrap());
        config.head_timeout = SOON;
        config.lifetime.idle = LATE;
    })
    .await;
    for to in [gateway.rest, gateway.grpc] {
        for first in [&b""[..], HALF_A_HELLO] {
            let mut stream = connect(to, first).await;
            assert!(rest_of(&mut stream).await.is_empty(), "{first:?}");
        }
        // A byte now and then gains nothing.
        let mut stream = connect(to, HALF_A_HELLO).await;
        while stream.write_all(b"a").await.is_ok() {
            tokio::time::sleep(SOON / 10).await;
        }
    }
}

#[tokio::test]
async fn a_byte_now_and_then_gains_a_slow_sender_nothing() {
    let gateway = start_with(|config| {
        config.head_timeout = SOON;
        config.lifetime.idle = LATE;
    })
    .await;
    let mut stream = connect(gateway.rest, b"GET /v2/topology HTTP/1.1\r\nx-long: ").await;
    // The gateway closes its end while bytes keep coming.
    while stream.write_all(b"a").await.is_ok() {
        tokio::time::sleep(SOON / 10).await;
    }
}

#[tokio::test]
async fn a_connection_without_requests_is_closed_after_the_idle_time() {
    let gateway = start_with(|config| {
        config.head_timeout = LATE;
        config.lifetime.idle = SOON;
    })
    .await;
    let mut stream = connect(gateway.rest, TOPOLOGY).await;
    let text = String::from_utf8(rest_of(&mut stream).await).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");

    let mut stream = connect(gateway.grpc, &[PREFACE, SETTINGS].concat()).await;
    let bytes = rest_of(&mut stream).await;
    let goaway = bytes.windows(4).position(|w| w == [8, 7, 0, 0]);
    assert!(
        goaway.is_some(),
        "a GOAWAY tells the client to connect again: {bytes:?}"
    );
}

#[tokio::test]
async fn a_request_under_way_is_not_idle() {
    let gateway = start_with(|config| {
        // The time the client takes to send it does not matter.
        config.head_timeout = LATE;
        config.lifetime.idle = SOON;
    })
    .await;
    gateway.broker.hold();
    let rest = gateway.rest;
    let request =
        tokio::spawn(
            async move { post(rest, "/v2/messages/publication", r#"{"name": "a"}"#).await },
        );
    gateway.broker.until(|broker| broker.held() == 1).await;
    tokio::time::sleep(SOON * 4).await;
    gateway.broker.release();
    let Answer { status, .. } = request.await.unwrap();
    assert_eq!(status, 200);
}

#[tokio::test]
async fn beyond_the_bound_connections_wait_and_idle_ones_give_their_places_away() {
    let gateway = start_with(|config| {
        config.max_connections = 1;
        // The first request must arrive in this time, also on a busy machine.
        config.head_timeout = SOON * 20;
        config.lifetime.idle = LATE;
    })
    .await;
    let mut first = connect(gateway.rest, TOPOLOGY).await;
    let mut head = [0; 15];
    first.read_exact(&mut head).await.unwrap();
    // The only slot is taken by a connection that could be idle for an hour.
    let answer = post(gateway.rest, "/v2/messages/publication", r#"{"name": "a"}"#).await;
    assert_eq!(answer.status, 200);
    rest_of(&mut first).await;
}

#[tokio::test]
async fn a_client_that_pings_too_often_is_sent_away() {
    let gateway = start_with(|config| config.min_ping_interval = Some(LATE)).await;
    let pings = PING.repeat(4);
    let mut stream = connect(gateway.grpc, &[PREFACE, SETTINGS, &pings].concat()).await;
    let bytes = rest_of(&mut stream).await;
    let end = bytes.len().saturating_sub(31);
    // 22 bytes of GOAWAY: last stream 0, ENHANCE_YOUR_CALM, debug data.
    let mut goaway = vec![0, 0, 22, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];
    goaway.extend(b"too_many_pings");
    assert_eq!(bytes.get(end..), Some(&goaway[..]), "{bytes:?}");
}

#[tokio::test]
async fn three_pings_in_a_row_are_answered_and_any_number_where_none_is_too_many() {
    let gateway = start().await;
    let free = start_with(|config| config.min_ping_interval = None).await;
    for (to, count) in [(gateway.grpc, 3), (free.grpc, 50), (gateway.rest, 50)] {
        let pings = PING.repeat(count);
        let mut stream = connect(to, &[PREFACE, SETTINGS, &pings].concat()).await;
        let mut bytes = Vec::new();
        // Each answer is the ping with the ACK flag; h2 answers the last one of those that arrive together.
        let answer = [&PING[..4], &[1], &PING[5..]].concat();
        while !bytes.windows(answer.len()).any(|window| window == answer) {
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "{bytes:?}");
        }
    }
}

const OPENAPI: &[u8] = b"GET /v2/openapi.json HTTP/1.1\r\nhost: a\r\n\r\n";
/// More of these answers than the system's buffers for a connection hold.
const ANSWERS: usize = 40;

#[tokio::test]
async fn a_client_that_takes_nothing_of_a_large_answer_is_cut() {
    let gateway = start_with(|config| {
        config.head_timeout = LATE;
        config.lifetime.idle = LATE;
        config.body_timeout = SOON;
        // Unanswered pings end a connection, too.
        config.stream_keep_alive = LATE;
    })
    .await;
    let mut stream = connect(gateway.rest, &OPENAPI.repeat(ANSWERS)).await;
    // Nothing is read: that the connection has ended shows when more is written.
    while stream.write_all(b"a").await.is_ok() {
        tokio::time::sleep(SOON).await;
    }

    // SETTINGS with INITIAL_WINDOW_SIZE 1, and HEADERS of a GET with END_STREAM and END_HEADERS.
    let settings: [u8; 15] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1];
    let mut head = vec![0, 0, 23, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x04, 16];
    head.extend(b"/v2/openapi.json");
    head.extend([0x01, 1, b'a']);
    let mut stream = connect(gateway.rest, &[PREFACE, &settings, &head].concat()).await;
    let bytes = rest_of(&mut stream).await;
    let data = bytes.windows(9).position(|w| w[..5] == [0, 0, 1, 0, 0]);
    assert!(data.is_some(), "one byte of the answer: {bytes:?}");
}

#[tokio::test]
async fn a_client_that_reads_slowly_but_steadily_gets_its_answers() {
    let gateway = start_with(|config| {
        config.head_timeout = LATE;
        config.lifetime.idle = LATE;
        config.body_timeout = SOON * 20;
    })
    .await;
    let mut stream = connect(gateway.rest, OPENAPI).await;
    let mut first = Vec::new();
    let mut size: Option<usize> = None;
    while size.is_none_or(|size| first.len() < size) {
        assert!(stream.read_buf(&mut first).await.unwrap() > 0);
        let head = first.windows(4).position(|w| w == b"\r\n\r\n");
        size = head.map(|head| {
            let text = String::from_utf8_lossy(&first[..head]).to_ascii_lowercase();
            let (_, length) = text.split_once("content-length: ").unwrap();
            let length = length.split("\r\n").next().unwrap();
            head + 4 + length.parse::<usize>().unwrap()
        });
    }
    let all = first.len() * ANSWERS;
    stream.write_all(&OPENAPI.repeat(ANSWERS)).await.unwrap();
    // It takes longer than the time for an answer of which nothing is taken.
    let mut piece = vec![0; 256 << 10];
    let mut read = 0;
    while read < all {
        let some = stream.read(&mut piece).await.unwrap();
        assert!(some > 0, "{read} of {all} bytes");
        read += some;
        tokio::time::sleep(SOON / 6).await;
    }
    assert_eq!(read, all);
}
