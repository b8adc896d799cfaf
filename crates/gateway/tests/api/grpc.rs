//! Each rpc: what the broker is asked, how its answer is told, and each way to fail.

use std::time::Duration;

use pb::gateway_client::GatewayClient;
use skep_proto::gateway_protocol as pb;
use skep_protocol::command::{ProcessRef, UpdateJobKind};
use skep_protocol::{Command, Failure, Key, RejectionType};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::fake::{KEY, Running, job, rejection, start, start_with};

async fn client(gateway: &Running) -> GatewayClient<Channel> {
    GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects")
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, said: &str) {
    let status = result.expect_err("refused");
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(said), "{status:?}");
}

#[tokio::test]
async fn topology_names_nodes_and_partitions() {
    let gateway = start().await;
    let topology = client(&gateway)
        .await
        .topology(pb::TopologyRequest {})
        .await
        .expect("answers")
        .into_inner();
    assert_eq!(
        (
            topology.cluster_size,
            topology.partitions_count,
            topology.cluster_id.as_str()
        ),
        (1, 1, "c-1")
    );
    assert_eq!(
        topology.brokers[0].partitions[0],
        pb::Partition {
            partition_id: 1,
            role: 0,
            health: 0
        }
    );
}

#[tokio::test]
async fn resources_are_deployed_and_deleted() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let resource = pb::Resource {
        name: "order.bpmn".into(),
        content: "<x/>".into(),
    };
    let request = pb::DeployResourceRequest {
        resources: vec![resource],
        tenant_id: String::new(),
    };
    let deployed = client
        .deploy_resource(request)
        .await
        .expect("deploys")
        .into_inner();
    let Some(pb::deployment::Metadata::Process(process)) = &deployed.deployments[0].metadata else {
        panic!()
    };
    assert_eq!(
        (
            deployed.key,
            process.resource_name.as_str(),
            process.version
        ),
        (KEY.0, "order.bpmn", 1)
    );

    let process = pb::ProcessRequestObject {
        name: "old.bpmn".into(),
        definition: "<y/>".into(),
    };
    #[allow(deprecated)]
    let deployed = client
        .deploy_process(pb::DeployProcessRequest {
            processes: vec![process],
        })
        .await
        .expect("deploys")
        .into_inner();
    assert_eq!(deployed.processes[0].resource_name, "old.bpmn");
    let Command::Deploy(deploy) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(&deploy.resources[0].content[..], b"<y/>");

    let request = pb::DeleteResourceRequest {
        resource_key: KEY.0,
        operation_reference: Some(3),
        delete_history: None,
    };
    let deleted = client
        .delete_resource(request)
        .await
        .expect("deletes")
        .into_inner();
    assert_eq!(deleted.resource_key, KEY.to_string());
    assert_eq!(gateway.broker.last().operation_reference, Some(3));
}

fn creation() -> pb::CreateProcessInstanceRequest {
    pb::CreateProcessInstanceRequest {
        bpmn_process_id: "order".into(),
        version: -1,
        variables: r#"{"a": 1.50}"#.into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn an_instance_is_created_by_id_or_by_key() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let request = pb::CreateProcessInstanceRequest {
        start_instructions: vec![pb::ProcessInstanceCreationStartInstruction {
            element_id: "s".into(),
        }],
        tags: vec!["x".into()],
        business_id: Some("B-1".into()),
        operation_reference: Some(9),
        ..creation()
    };
    let created = client
        .create_process_instance(request)
        .await
        .expect("creates")
        .into_inner();
    assert_eq!(
        (
            created.process_instance_key,
            created.version,
            created.tenant_id.as_str()
        ),
        (KEY.0 + 1, 3, "<default>")
    );
    assert_eq!(created.business_id.as_deref(), Some("B-1"));
    let request = gateway.broker.last();
    assert_eq!(request.operation_reference, Some(9));
    let Command::CreateProcessInstance(create) = request.command else {
        panic!()
    };
    assert_eq!(
        create.process,
        ProcessRef::Id {
            bpmn_process_id: "order".into(),
            version: -1
        }
    );
    assert_eq!(
        (
            create.variables.to_json().as_str(),
            create.start_instructions
        ),
        (r#"{"a":1.50}"#, vec!["s".to_string()])
    );

    let request = pb::CreateProcessInstanceRequest {
        process_definition_key: KEY.0,
        ..Default::default()
    };
    client
        .create_process_instance(request)
        .await
        .expect("creates");
    let Command::CreateProcessInstance(create) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(create.process, ProcessRef::Key(KEY));
}

#[tokio::test]
async fn a_creation_can_wait_for_the_end_of_the_instance() {
    let gateway = start().await;
    let request = pb::CreateProcessInstanceWithResultRequest {
        request: Some(creation()),
        request_timeout: 1000,
        fetch_variables: vec!["sum".into()],
    };
    let ended = client(&gateway)
        .await
        .create_process_instance_with_result(request)
        .await
        .expect("ends")
        .into_inner();
    assert_eq!(ended.variables, r#"{"sum": 1.50}"#);
}

#[tokio::test]
async fn an_instance_that_does_not_end_in_time_is_a_deadline() {
    let gateway = start().await;
    gateway.broker.hold();
    let request = pb::CreateProcessInstanceWithResultRequest {
        request: Some(creation()),
        request_timeout: 20,
        fetch_variables: vec![],
    };
    let result = client(&gateway)
        .await
        .create_process_instance_with_result(request)
        .await;
    refused(result, Code::DeadlineExceeded, "20 ms");
}

#[tokio::test]
async fn the_short_commands_go_through() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    client
        .cancel_process_instance(pb::CancelProcessInstanceRequest {
            process_instance_key: KEY.0,
            operation_reference: None,
        })
        .await
        .expect("cancels");
    assert!(matches!(
        gateway.broker.last().command,
        Command::CancelProcessInstance {
            process_instance_key: KEY
        }
    ));

    client
        .complete_job(pb::CompleteJobRequest {
            job_key: KEY.0,
            variables: r#"{"x":1}"#.into(),
            result: None,
        })
        .await
        .expect("completes");
    let Command::CompleteJob {
        job_key: KEY,
        variables,
    } = gateway.broker.last().command
    else {
        panic!()
    };
    assert_eq!(variables.to_json(), r#"{"x":1}"#);

    let request = pb::FailJobRequest {
        job_key: KEY.0,
        retries: 2,
        error_message: "no".into(),
        retry_back_off: 9,
        variables: String::new(),
    };
    client.fail_job(request).await.expect("fails");
    let Command::FailJob(fail) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(
        (
            fail.job_key,
            fail.retries,
            fail.retry_back_off,
            fail.variables.is_empty()
        ),
        (KEY, 2, 9, true)
    );

    let request = pb::ThrowErrorRequest {
        job_key: KEY.0,
        error_code: "E1".into(),
        ..Default::default()
    };
    client.throw_error(request).await.expect("throws");
    assert!(
        matches!(gateway.broker.last().command, Command::ThrowError(t) if t.error_code == "E1")
    );

    client
        .update_job_retries(pb::UpdateJobRetriesRequest {
            job_key: KEY.0,
            retries: 4,
            operation_reference: None,
        })
        .await
        .expect("updates");
    assert!(matches!(
        gateway.broker.last().command,
        Command::UpdateJob {
            retries: Some(4),
            timeout: None,
            kind: UpdateJobKind::Retries,
            ..
        }
    ));
    client
        .update_job_timeout(pb::UpdateJobTimeoutRequest {
            job_key: KEY.0,
            timeout: 5,
            operation_reference: None,
        })
        .await
        .expect("updates");
    assert!(matches!(
        gateway.broker.last().command,
        Command::UpdateJob {
            retries: None,
            timeout: Some(5),
            kind: UpdateJobKind::Timeout,
            ..
        }
    ));

    let request = pb::PublishMessageRequest {
        name: "paid".into(),
        correlation_key: "k".into(),
        time_to_live: 5,
        ..Default::default()
    };
    assert_eq!(
        client
            .publish_message(request)
            .await
            .expect("publishes")
            .into_inner()
            .key,
        KEY.0
    );

    client
        .resolve_incident(pb::ResolveIncidentRequest {
            incident_key: KEY.0,
            operation_reference: None,
        })
        .await
        .expect("resolves");
    assert!(matches!(
        gateway.broker.last().command,
        Command::ResolveIncident { incident_key: KEY }
    ));

    let request = pb::SetVariablesRequest {
        element_instance_key: KEY.0,
        variables: "{}".into(),
        local: true,
        operation_reference: None,
    };
    assert_eq!(
        client
            .set_variables(request)
            .await
            .expect("sets")
            .into_inner()
            .key,
        KEY.0
    );
    assert!(matches!(
        gateway.broker.last().command,
        Command::SetVariables { local: true, .. }
    ));
}

fn activation(request_timeout: i64) -> pb::ActivateJobsRequest {
    pb::ActivateJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        max_jobs_to_activate: 10,
        request_timeout,
        ..Default::default()
    }
}

#[tokio::test]
async fn jobs_are_activated_and_large_ones_are_spread_over_messages() {
    let gateway = start().await;
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(900_000));
    let with_variables = |n| skep_protocol::ActivatedJob {
        variables: large.clone(),
        ..job(n)
    };
    gateway
        .broker
        .jobs
        .lock()
        .extend((1..=4).map(with_variables));
    let mut stream = client(&gateway)
        .await
        .activate_jobs(activation(0))
        .await
        .expect("answers")
        .into_inner();
    let mut keys = Vec::new();
    let mut messages = 0;
    while let Some(message) = stream.message().await.expect("goes on") {
        messages += 1;
        keys.extend(message.jobs.iter().map(|j| j.key));
    }
    assert_eq!(keys, (1..=4).map(|n| KEY.0 + n).collect::<Vec<_>>());
    assert_eq!(messages, 2);
}

#[tokio::test]
async fn an_activated_job_is_told_with_all_its_fields() {
    let gateway = start().await;
    gateway.broker.jobs.lock().push(job(1));
    let mut stream = client(&gateway)
        .await
        .activate_jobs(activation(0))
        .await
        .expect("answers")
        .into_inner();
    let told = stream
        .message()
        .await
        .expect("goes on")
        .expect("a message")
        .jobs
        .remove(0);
    let expected = pb::ActivatedJob {
        key: KEY.0 + 1,
        r#type: "pay".into(),
        process_instance_key: KEY.0,
        bpmn_process_id: "order".into(),
        process_definition_version: 3,
        process_definition_key: KEY.0,
        element_id: "pay-task".into(),
        element_instance_key: KEY.0,
        custom_headers: r#"{"h":"1"}"#.into(),
        worker: "w".into(),
        retries: 3,
        deadline: 1_700_000_000_000,
        variables: r#"{"amount": 1.50}"#.into(),
        tenant_id: "<default>".into(),
        user_task: None,
        kind: pb::activated_job::JobKind::BpmnElement as i32,
        listener_event_type: pb::activated_job::ListenerEventType::Unspecified as i32,
        tags: vec![],
    };
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_request_timeout_of_an_activation_is_a_time_a_default_or_none() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    for timeout in [-1, 15] {
        let mut stream = client
            .activate_jobs(activation(timeout))
            .await
            .expect("answers")
            .into_inner();
        assert!(stream.message().await.expect("ends").is_none());
    }
    gateway.broker.jobs.lock().push(job(1));
    client.activate_jobs(activation(0)).await.expect("answers");
    let waits: Vec<_> = gateway
        .broker
        .activations
        .lock()
        .iter()
        .map(|a| a.1)
        .collect();
    assert_eq!(
        waits,
        [
            Duration::ZERO,
            Duration::from_millis(15),
            Duration::from_secs(10)
        ]
    );
}

#[tokio::test]
async fn jobs_are_streamed() {
    let gateway = start().await;
    let request = pb::StreamActivatedJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        ..Default::default()
    };
    let mut stream = client(&gateway)
        .await
        .stream_activated_jobs(request)
        .await
        .expect("opens")
        .into_inner();
    let jobs = gateway.broker.streams.lock()[0].jobs.clone();
    for n in 1..=2 {
        jobs.send(job(n)).await.expect("open");
        assert_eq!(
            stream.message().await.expect("goes on").expect("a job").key,
            KEY.0 + n
        );
    }
    let opened = gateway.broker.streams.lock().pop().expect("a stream");
    drop(stream);
    assert!(opened.closed.await.is_err());
}

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
        client.throw_error(pb::ThrowErrorRequest::default()).await,
        invalid,
        "'errorCode'",
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
    let denied = pb::JobResult {
        denied: Some(true),
        ..Default::default()
    };
    refused(
        client
            .complete_job(pb::CompleteJobRequest {
                result: Some(denied),
                ..Default::default()
            })
            .await,
        invalid,
        "'result'",
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
async fn rpcs_of_later_releases_are_unimplemented() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let code = Code::Unimplemented;
    refused(
        client
            .evaluate_decision(pb::EvaluateDecisionRequest::default())
            .await,
        code,
        "'EvaluateDecision'",
    );
    refused(
        client
            .modify_process_instance(pb::ModifyProcessInstanceRequest::default())
            .await,
        code,
        "'ModifyProcessInstance'",
    );
    refused(
        client
            .migrate_process_instance(pb::MigrateProcessInstanceRequest::default())
            .await,
        code,
        "'MigrateProcessInstance'",
    );
    refused(
        client
            .broadcast_signal(pb::BroadcastSignalRequest::default())
            .await,
        code,
        "'BroadcastSignal'",
    );
    refused(
        client
            .evaluate_conditional(pb::EvaluateConditionalRequest::default())
            .await,
        code,
        "'EvaluateConditional'",
    );
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
async fn health_and_reflection_answer() {
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    };
    let gateway = start().await;
    let channel = Channel::from_shared(format!("http://{}", gateway.grpc))
        .expect("an address")
        .connect()
        .await
        .expect("connects");
    for service in ["", "gateway_protocol.Gateway"] {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        let health = HealthClient::new(channel.clone())
            .check(request)
            .await
            .expect("answers")
            .into_inner();
        assert_eq!(health.status, 1, "{service}");
    }
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answer = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::once(request))
        .await
        .expect("answers")
        .into_inner()
        .message()
        .await
        .expect("goes on")
        .expect("an answer");
    let Some(MessageResponse::ListServicesResponse(services)) = answer.message_response else {
        panic!()
    };
    assert!(
        services
            .service
            .iter()
            .any(|s| s.name == "gateway_protocol.Gateway"),
        "{services:?}"
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

#[tokio::test]
async fn completions_share_the_slots_first_come_first_served() {
    let gateway = start_with(|config| {
        config.executor.max_pool_size_multiplier = 1;
        config.executor.requests_per_worker = 1;
    })
    .await;
    gateway.broker.hold();
    let client = client(&gateway).await;
    let calls: tokio::task::JoinSet<_> = (0..20)
        .map(|n| {
            let mut client = client.clone();
            async move {
                client
                    .complete_job(pb::CompleteJobRequest {
                        job_key: n,
                        ..Default::default()
                    })
                    .await
            }
        })
        .collect();
    let slots = std::thread::available_parallelism().map_or(1, usize::from);
    gateway.broker.until(|b| b.held() == slots).await;
    gateway.broker.release();
    assert!(calls.join_all().await.iter().all(Result::is_ok));
    assert_eq!(*gateway.broker.peak.lock(), slots);
    assert!(gateway.broker.requests.lock().iter().all(|r| matches!(
        r.command,
        Command::CompleteJob {
            job_key: Key(_),
            ..
        }
    )));
}
