//! Small invalid values, and connections that end with their answer.

use pb::gateway_client::GatewayClient;
use skep_proto::gateway_protocol as pb;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::fake::{KEY, Running, start, start_with};
use crate::http::post;

async fn client(gateway: &Running) -> GatewayClient<Channel> {
    GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects")
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Status>, said: &str) {
    let status = result.expect_err("refused");
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert!(status.message().contains(said), "{status:?}");
}

#[tokio::test]
async fn a_version_is_a_number_from_one_on_or_the_latest() {
    let gateway = start().await;
    let body = r#"{"processDefinitionId": "a", "processDefinitionVersion": -2}"#;
    let answer = post(gateway.rest, "/v2/process-instances", body).await;
    assert_eq!(answer.problem().0, 400);
    assert!(answer.text.contains("'processDefinitionVersion' is -2"));
    let request = pb::CreateProcessInstanceRequest {
        bpmn_process_id: "a".into(),
        version: -2,
        ..Default::default()
    };
    let answer = client(&gateway)
        .await
        .create_process_instance(request)
        .await;
    refused(answer, "'version' is -2");
}

#[tokio::test]
async fn an_empty_tenant_in_a_list_is_refused() {
    let gateway = start().await;
    let body = r#"{"type": "a", "timeout": 1, "maxJobsToActivate": 1, "tenantIds": [""]}"#;
    let answer = post(gateway.rest, "/v2/jobs/activation", body).await;
    assert_eq!(answer.problem().0, 400);
    let request = pb::ActivateJobsRequest {
        r#type: "a".into(),
        worker: "w".into(),
        timeout: 1,
        max_jobs_to_activate: 1,
        tenant_ids: vec![String::new()],
        ..Default::default()
    };
    let answer = client(&gateway).await.activate_jobs(request).await;
    refused(answer, "'tenantIds' holds an empty tenant id");
}

#[tokio::test]
async fn an_unknown_type_of_a_job_result_is_refused() {
    let gateway = start().await;
    let request = |kind: &str| pb::CompleteJobRequest {
        job_key: KEY.0,
        result: Some(pb::JobResult {
            r#type: Some(kind.into()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let mut client = client(&gateway).await;
    refused(client.complete_job(request("nope")).await, "'result.type'");
    for kind in ["", "userTask", "adHocSubProcess"] {
        client.complete_job(request(kind)).await.expect("completes");
    }
}

#[tokio::test]
async fn an_unknown_rpc_is_named() {
    let gateway = start().await;
    let mut client = crate::http::http2(gateway.grpc).await;
    let request = crate::http::request(
        gateway.grpc,
        "POST",
        "/gateway_protocol.Gateway/Explode",
        Some("application/grpc"),
        "".into(),
    );
    let answer = client.send_request(request).await.expect("answers");
    let status = Status::from_header_map(answer.headers()).expect("a status");
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("no rpc 'Explode'"), "{status:?}");
}

/// The client does not read the answer before it has sent everything.
#[tokio::test]
async fn a_body_that_is_too_large_can_be_sent_to_its_end() {
    let gateway = start_with(|config| config.max_message_size = 100_000).await;
    const SIZE: usize = 32 << 20;
    let mut socket = TcpStream::connect(gateway.rest).await.expect("connects");
    let head = format!(
        "POST /v2/messages/publication HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {SIZE}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.expect("head");
    let piece = vec![b' '; 1 << 20];
    for _ in 0..SIZE / piece.len() {
        socket.write_all(&piece).await.expect("is taken");
    }
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("answers");
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert!(answer.contains("PAYLOAD_TOO_LARGE"), "{answer}");
}
