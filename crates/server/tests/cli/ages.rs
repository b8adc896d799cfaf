//! Connections that have reached the maximum age of the settings.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use skep_client::{Client, ClientConfig, CreateInstance, HttpVersion, StreamJobs};

use super::acting::{Desk, example};

const SETTINGS: [&str; 4] = [
    "--set",
    "skep.api.max-connection-age=300ms",
    "--set",
    "camunda.api.grpc.max-connection-age=300ms",
];

fn connect(address: &str) -> TcpStream {
    TcpStream::connect(address.trim_start_matches("http://")).unwrap()
}

#[test]
fn the_last_answer_of_an_old_connection_says_so() {
    let desk = Desk::new(&SETTINGS);
    let mut kept = connect(&desk.server.rest);
    let mut answers = String::new();
    while !answers.contains("connection: close") {
        let request = b"GET /v2/topology HTTP/1.1\r\nhost: skep\r\n\r\n";
        kept.write_all(request).unwrap();
        let mut bytes = [0; 8192];
        let count = kept.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "closed after {answers}");
        answers = String::from_utf8_lossy(&bytes[..count]).to_ascii_lowercase();
    }
    assert_eq!(kept.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn an_old_http2_connection_is_asked_to_end() {
    let desk = Desk::new(&SETTINGS);
    for address in [&desk.server.rest, &desk.server.grpc] {
        let mut connection = connect(address);
        // The preface and empty settings.
        connection
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        connection.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).unwrap();
        let mut kinds = Vec::new();
        while !kinds.contains(&7) {
            let mut head = [0; 9];
            connection.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            connection.read_exact(&mut payload).unwrap();
            kinds.push(head[3]);
            // GOAWAY with NO_ERROR.
            assert!(head[3] != 7 || payload[4..8] == [0; 4], "{payload:?}");
        }
    }
}

#[tokio::test]
async fn pending_requests_on_an_old_connection_are_answered() {
    let desk = Desk::new(&SETTINGS);
    desk.says(&["deploy", &example("first-process.bpmn")]);
    let mut rest = ClientConfig::new(&desk.server.rest);
    rest.http_version = HttpVersion::Http2;
    let grpc = ClientConfig::new(&desk.server.grpc);
    for client in [Client::rest(rest).unwrap(), Client::grpc(grpc).unwrap()] {
        let order = CreateInstance::latest("order");
        let minute = Duration::from_secs(60);
        let awaited = client.create_instance_with_result(&order, minute, &[]);
        let work = async {
            // Three times the maximum age.
            tokio::time::sleep(Duration::from_millis(900)).await;
            let job = desk.first(&["jobs"], "jobKey");
            desk.says(&["complete", &job, "--var", "charged=true"]);
        };
        let (ended, ()) = tokio::join!(awaited, work);
        assert_eq!(ended.unwrap().variables, r#"{"charged":true}"#);
    }
}

#[tokio::test]
async fn a_job_stream_on_an_old_connection_ends_well_and_another_one_is_opened() {
    let desk = Desk::new(&SETTINGS);
    let rest = Client::rest(ClientConfig::new(&desk.server.rest)).unwrap();
    let grpc = Client::grpc(ClientConfig::new(&desk.server.grpc)).unwrap();
    for client in [rest, grpc] {
        for _ in 0..2 {
            let mut stream = client.stream_jobs(&StreamJobs::new("pay")).await.unwrap();
            let end = stream.next().await;
            assert!(matches!(end, Ok(None)), "{end:?}");
        }
    }
}
