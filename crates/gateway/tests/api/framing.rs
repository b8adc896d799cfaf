//! Requests over HTTP/1 whose ends could be taken to be in two places: a proxy in front must not see other requests than the server does,
//! and what follows a request has nothing of its caller.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fake::Running;
use crate::login::{basic, protected};

/// The statuses of all answers on one connection, which is to end.
async fn statuses(gateway: &Running, sent: &str) -> Vec<String> {
    let mut socket = TcpStream::connect(gateway.rest).await.unwrap();
    socket.write_all(sent.as_bytes()).await.unwrap();
    let mut answers = Vec::new();
    // A connection that is cut may end with a reset.
    let _ = socket.read_to_end(&mut answers).await;
    let answers = String::from_utf8(answers).unwrap();
    let answers = answers.split("HTTP/1.").skip(1);
    let status = |answer: &str| answer.split(' ').nth(1).unwrap().to_string();
    answers.map(status).collect()
}

/// A message is published by anna; `headers` frame the body.
fn publication(version: &str, headers: &str, body: &str) -> String {
    let shown = basic("anna", "right");
    format!(
        "POST /v2/messages/publication HTTP/{version}\r\nhost: a\r\nauthorization: {shown}\r\ncontent-type: application/json\r\n\
         {headers}\r\n\r\n{body}"
    )
}

const STRANGER: &str = "GET /v2/topology HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_body_without_one_clear_end_is_refused_and_ends_the_connection() {
    let gateway = protected().await;
    let body = format!("{{}}{STRANGER}");
    for (version, headers) in [
        ("1.1", "content-length: 2\r\ncontent-length: 3"),
        ("1.1", "content-length: 2, 3"),
        ("1.1", "content-length: +2"),
        ("1.1", "content-length: 0x2"),
        ("1.1", "content-length : 2"),
        ("1.1", "content-length: 2\r\n x: folded"),
        ("1.1", "transfer-encoding: chunked, identity"),
        ("1.1", "transfer-encoding: xchunked"),
        ("1.0", "transfer-encoding: chunked"),
    ] {
        let sent = publication(version, headers, &body);
        assert_eq!(statuses(&gateway, &sent).await, ["400"], "{headers}");
    }
    assert_eq!(gateway.broker.requests.lock().len(), 0);
}

/// RFC 9112, sections 6.1 and 6.3: the chunks decide, whatever the length says, and a request with both is the last one of its connection.
#[tokio::test]
async fn what_follows_the_chunks_is_a_request_of_its_own_without_the_first_ones_caller() {
    let gateway = protected().await;
    let message = r#"{"name":"a"}"#;
    let chunks = format!("{:x}\r\n{message}\r\n0\r\n\r\n{STRANGER}", message.len());
    for (headers, expected) in [
        ("transfer-encoding: chunked", &["200", "401"][..]),
        ("transfer-encoding: chunked\r\ncontent-length: 4", &["200"]),
        ("content-length: 4\r\ntransfer-encoding: chunked", &["200"]),
        (
            "content-length: 400\r\nTransfer-Encoding: Chunked",
            &["200"],
        ),
    ] {
        let sent = publication("1.1", headers, &chunks);
        assert_eq!(statuses(&gateway, &sent).await, expected, "{headers}");
    }
    assert_eq!(gateway.broker.requests.lock().len(), 4);
}
