//! Names under which things are kept in memory have a length limit, over REST and gRPC.

use skep_proto::gateway_protocol as pb;
use tonic::Code;

use crate::fake::start;
use crate::grpc::jobs::activation;
use crate::grpc::{client, refused};
use crate::http::{JSON, open, post};

const LIMIT: usize = 32_768;

fn said(field: &str) -> String {
    format!("The field '{field}' has 32769 characters, but at most 32768 are allowed. Shorten it.")
}

#[tokio::test]
async fn rest_refuses_a_name_that_is_too_long() {
    let gateway = start().await;
    let poll = r#", "timeout": 1, "maxJobsToActivate": 1, "requestTimeout": -1"#;
    let typed_poll = format!(r#", "type": "t"{poll}"#);
    let listener = r#", "id": "a", "eventTypes": ["all"]"#;
    for (path, field, others) in [
        ("/v2/messages/publication", "name", ""),
        (
            "/v2/messages/publication",
            "correlationKey",
            r#", "name": "n""#,
        ),
        ("/v2/messages/publication", "messageId", r#", "name": "n""#),
        ("/v2/messages/correlation", "name", ""),
        (
            "/v2/messages/correlation",
            "correlationKey",
            r#", "name": "n""#,
        ),
        ("/v2/signals/broadcast", "signalName", ""),
        ("/v2/jobs/activation", "type", poll),
        ("/v2/jobs/activation", "worker", &*typed_poll),
        ("/v2/jobs/stream", "type", r#", "timeout": 1"#),
        (
            "/v2/jobs/stream",
            "worker",
            r#", "timeout": 1, "type": "t""#,
        ),
        ("/v2/global-task-listeners", "type", listener),
    ] {
        let body = |length| format!(r#"{{"{field}": "{}"{others}}}"#, "ä".repeat(length));
        let (status, title, detail) = post(gateway.rest, path, &body(LIMIT + 1)).await.problem();
        assert_eq!(
            (status, &*title),
            (400, "INVALID_ARGUMENT"),
            "{path} {field}"
        );
        assert!(detail.contains(&said(field)), "{path}: {detail}");
        let accepted = open(gateway.rest, "POST", path, Some(JSON), body(LIMIT)).await;
        assert!(
            accepted.status().is_success(),
            "{path} {field}: {accepted:?}"
        );
    }
}

fn publication(field: &str, text: String) -> pb::PublishMessageRequest {
    let mut request = pb::PublishMessageRequest {
        name: "n".into(),
        ..Default::default()
    };
    match field {
        "name" => request.name = text,
        "correlationKey" => request.correlation_key = text,
        _ => request.message_id = text,
    }
    request
}

#[tokio::test]
async fn grpc_refuses_a_name_that_is_too_long() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let (longest, long) = ("ä".repeat(LIMIT), "ä".repeat(LIMIT + 1));
    for field in ["name", "correlationKey", "messageId"] {
        let answer = client.publish_message(publication(field, long.clone()));
        refused(answer.await, Code::InvalidArgument, &said(field));
        let answer = client.publish_message(publication(field, longest.clone()));
        answer.await.expect(field);
    }
    let broadcast = |name: &str| pb::BroadcastSignalRequest {
        signal_name: name.into(),
        ..Default::default()
    };
    let answer = client.broadcast_signal(broadcast(&long)).await;
    refused(answer, Code::InvalidArgument, &said("signalName"));
    let answer = client.broadcast_signal(broadcast(&longest)).await;
    answer.expect("is broadcast");
}

#[tokio::test]
async fn grpc_refuses_a_job_type_or_worker_that_is_too_long() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let (longest, long) = ("ä".repeat(LIMIT), "ä".repeat(LIMIT + 1));
    for (job_type, worker, field) in [(&long, &longest, "type"), (&longest, &long, "worker")] {
        let poll = pb::ActivateJobsRequest {
            r#type: job_type.clone(),
            worker: worker.clone(),
            ..activation(-1)
        };
        let answer = client.activate_jobs(poll).await;
        refused(answer, Code::InvalidArgument, &said(field));
        let stream = pb::StreamActivatedJobsRequest {
            r#type: job_type.clone(),
            worker: worker.clone(),
            timeout: 1,
            ..Default::default()
        };
        let answer = client.stream_activated_jobs(stream).await;
        refused(answer, Code::InvalidArgument, &said(field));
    }
    assert!(gateway.broker.streams.lock().is_empty());
    let poll = pb::ActivateJobsRequest {
        r#type: longest.clone(),
        worker: longest.clone(),
        ..activation(-1)
    };
    client.activate_jobs(poll).await.expect("is a poll");
    let stream = pb::StreamActivatedJobsRequest {
        r#type: longest.clone(),
        worker: longest,
        timeout: 1,
        ..Default::default()
    };
    client.stream_activated_jobs(stream).await.expect("opens");
}
