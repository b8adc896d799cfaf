//! Refusals, with their codes and texts.

use skep_proto::gateway_protocol as pb;
use skep_protocol::{Failure, RejectionType};
use tonic::Code;

use super::{client, instances::creation, jobs::activation, refused};
use crate::fake::{KEY, rejection, start, start_with};

#[tokio::test]
async fn wrong_arguments_are_refused_by_name() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let invalid = Code::InvalidArgument;
    refused(
        client
            .activate_jobs(pb::ActivateJobsRequest {
                r#type: "".into(),
                ..activation(0)
            })
            .await,
        invalid,
        "'type'",
    );
    refused(
        client
            .activate_jobs(pb::ActivateJobsRequest {
                worker: "".into(),
                ..activation(0)
            })
            .await,
        invalid,
        "'worker'",
    );
    refused(
        client
            .activate_jobs(pb::ActivateJobsRequest {
                timeout: 0,
                ..activation(0)
            })
            .await,
        invalid,
        "'timeout'",
    );
    refused(
        client
            .activate_jobs(pb::ActivateJobsRequest {
                max_jobs_to_activate: 0,
                ..activation(0)
            })
            .await,
        invalid,
        "'maxJobsToActivate'",
    );
    refused(
        client
            .activate_jobs(pb::ActivateJobsRequest {
                tenant_ids: vec!["a".into()],
                ..activation(0)
            })
            .await,
        invalid,
        "'tenantIds'",
    );
    let stream = pb::StreamActivatedJobsRequest {
        r#type: "pay".into(),
        timeout: 1,
        ..Default::default()
    };
    refused(
        client
            .stream_activated_jobs(pb::StreamActivatedJobsRequest {
                r#type: "".into(),
                ..stream.clone()
            })
            .await,
        invalid,
        "'type'",
    );
    refused(
        client
            .stream_activated_jobs(pb::StreamActivatedJobsRequest {
                timeout: 0,
                ..stream.clone()
            })
            .await,
        invalid,
        "'timeout'",
    );
    refused(
        client
            .stream_activated_jobs(pb::StreamActivatedJobsRequest {
                tenant_ids: vec!["a".into()],
                ..stream
            })
            .await,
        invalid,
        "'a'",
    );
    refused(
        client
            .create_process_instance(pb::CreateProcessInstanceRequest::default())
            .await,
        invalid,
        "Neither",
    );
    refused(
        client
            .create_process_instance(pb::CreateProcessInstanceRequest {
                variables: "[1]".into(),
                ..creation()
            })
            .await,
        invalid,
        "'variables'",
    );
    refused(
        client
            .create_process_instance(pb::CreateProcessInstanceRequest {
                tenant_id: "a".into(),
                ..creation()
            })
            .await,
        invalid,
        "'tenantId'",
    );
    refused(
        client
            .create_process_instance(pb::CreateProcessInstanceRequest {
                tags: vec!["1".into()],
                ..creation()
            })
            .await,
        invalid,
        "'tags'",
    );
    refused(
        client
            .create_process_instance_with_result(
                pb::CreateProcessInstanceWithResultRequest::default(),
            )
            .await,
        invalid,
        "'request'",
    );
    refused(
        client
            .deploy_resource(pb::DeployResourceRequest::default())
            .await,
        invalid,
        "no resource",
    );
    let unnamed = pb::DeployResourceRequest {
        resources: vec![pb::Resource::default()],
        tenant_id: String::new(),
    };
    refused(
        client.deploy_resource(unnamed).await,
        invalid,
        "'resources.name'",
    );
    refused(
        client
            .publish_message(pb::PublishMessageRequest::default())
            .await,
        invalid,
        "'name'",
    );
    refused(
        client
            .complete_job(pb::CompleteJobRequest {
                variables: "{".into(),
                ..Default::default()
            })
            .await,
        invalid,
        "'variables'",
    );
    let unnamed = pb::JobResult {
        activate_elements: vec![pb::JobResultActivateElement::default()],
        ..Default::default()
    };
    refused(
        client
            .complete_job(pb::CompleteJobRequest {
                result: Some(unnamed),
                ..Default::default()
            })
            .await,
        invalid,
        "'result.activateElements.elementId'",
    );
    assert!(gateway.broker.requests.lock().is_empty());
}

#[tokio::test]
async fn failures_of_the_broker_have_their_code() {
    use RejectionType::*;
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let text = || "because".to_string();
    for (failure, code) in [
        (rejection(InvalidArgument), Code::InvalidArgument),
        (rejection(NotFound), Code::NotFound),
        (rejection(AlreadyExists), Code::AlreadyExists),
        (rejection(InvalidState), Code::FailedPrecondition),
        (rejection(Unauthorized), Code::PermissionDenied),
        (rejection(Forbidden), Code::PermissionDenied),
        (rejection(ProcessingError), Code::Internal),
        (rejection(ExceededBatchRecordSize), Code::Unknown),
        (Failure::InvalidArgument(text()), Code::InvalidArgument),
        (Failure::NotFound(text()), Code::NotFound),
        (Failure::ResourceExhausted(text()), Code::ResourceExhausted),
        (Failure::Unavailable(text()), Code::Unavailable),
        (Failure::DeadlineExceeded(text()), Code::DeadlineExceeded),
        (Failure::Aborted(text()), Code::Aborted),
        (Failure::Internal(text()), Code::Internal),
    ] {
        gateway.broker.answer(Err(failure.clone()));
        let result = client
            .complete_job(pb::CompleteJobRequest {
                job_key: KEY.0,
                ..Default::default()
            })
            .await;
        refused(result, code, &failure.to_string());
    }
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_and_one_at_it_passes() {
    let gateway = start_with(|config| config.max_message_size = 100_000).await;
    let mut client = client(&gateway).await;
    let of = |size: usize| {
        let overhead = 20;
        let variables = format!(r#"{{"x":"{}"}}"#, "y".repeat(size - overhead));
        pb::CompleteJobRequest {
            job_key: KEY.0,
            variables,
            result: None,
        }
    };
    client.complete_job(of(99_990)).await.expect("passes");
    refused(
        client.complete_job(of(110_000)).await,
        Code::ResourceExhausted,
        "100000",
    );
}

#[tokio::test]
async fn an_unknown_service_is_unimplemented() {
    let gateway = start().await;
    let mut client = crate::http::http2(gateway.grpc).await;
    let request = crate::http::request(
        gateway.grpc,
        "POST",
        "/x.Y/Z",
        Some("application/grpc"),
        "".into(),
    );
    let answer = client.send_request(request).await.expect("answers");
    assert_eq!(answer.headers()["grpc-status"], "12");
}
