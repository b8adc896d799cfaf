//! Deployments, instances, and the simple commands.

use skep_proto::gateway_protocol as pb;
use skep_protocol::Command;
use skep_protocol::command::{ProcessRef, UpdateJobKind};
use tonic::Code;

use super::{client, refused};
use crate::fake::{KEY, start};

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

#[tokio::test]
async fn the_text_null_is_no_variables() {
    let gateway = start().await;
    for none in ["", " ", "null", " null\n"] {
        let request = pb::CreateProcessInstanceRequest {
            variables: none.into(),
            ..creation()
        };
        let mut client = client(&gateway).await;
        let created = client.create_process_instance(request).await;
        created.expect("is created");
        let Command::CreateProcessInstance(create) = gateway.broker.last().command else {
            panic!()
        };
        assert!(create.variables.is_empty());
    }
}

pub fn creation() -> pb::CreateProcessInstanceRequest {
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
        ..
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
    let without_code = pb::ThrowErrorRequest {
        job_key: KEY.0,
        ..Default::default()
    };
    client.throw_error(without_code).await.expect("throws");
    assert!(
        matches!(gateway.broker.last().command, Command::ThrowError(t) if t.error_code.is_empty())
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

#[tokio::test]
async fn the_conditions_of_start_events_are_evaluated() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let request = pb::EvaluateConditionalRequest {
        variables: r#"{"x":1}"#.into(),
        process_definition_key: Some(KEY.0),
        ..Default::default()
    };
    let answer = client.evaluate_conditional(request).await;
    let answer = answer.expect("evaluates").into_inner();
    assert_eq!(answer.conditional_evaluation_key, KEY.0);
    assert_eq!(answer.tenant_id, "<default>");
    let [started] = &answer.process_instances[..] else {
        panic!("{answer:?}")
    };
    assert_eq!(started.process_definition_key, KEY.0);
    assert_eq!(started.process_instance_key, KEY.0 + 1);
    let Command::EvaluateConditionals(evaluate) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(evaluate.process_definition_key, Some(KEY));
    assert_eq!(evaluate.variables.entries().len(), 1);
}

#[tokio::test]
async fn a_signal_goes_through() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let request = pb::BroadcastSignalRequest {
        signal_name: "stop".into(),
        variables: r#"{"why":"late"}"#.into(),
        ..Default::default()
    };
    let answer = client.broadcast_signal(request).await;
    assert_eq!(answer.expect("broadcasts").into_inner().key, KEY.0);
    let Command::BroadcastSignal(broadcast) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(&*broadcast.signal_name, "stop");
    assert_eq!(broadcast.variables.entries().len(), 1);
}

#[tokio::test]
async fn an_instance_is_migrated() {
    use pb::migrate_process_instance_request::{MappingInstruction, MigrationPlan};
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let request = |source: &str| pb::MigrateProcessInstanceRequest {
        process_instance_key: KEY.0,
        operation_reference: Some(3),
        migration_plan: Some(MigrationPlan {
            target_process_definition_key: 7,
            mapping_instructions: vec![MappingInstruction {
                source_element_id: source.into(),
                target_element_id: "b".into(),
            }],
        }),
    };
    client
        .migrate_process_instance(request("a"))
        .await
        .expect("migrates");
    let sent = gateway.broker.last();
    assert_eq!(sent.operation_reference, Some(3));
    let Command::MigrateProcessInstance(migrate) = sent.command else {
        panic!("{:?}", sent.command)
    };
    assert_eq!(migrate.process_instance_key, KEY);
    assert_eq!(migrate.target_process_definition_key.0, 7);
    assert_eq!(&*migrate.mapping_instructions[0].source_element_id, "a");
    assert_eq!(&*migrate.mapping_instructions[0].target_element_id, "b");

    let code = Code::InvalidArgument;
    let without_plan = pb::MigrateProcessInstanceRequest::default();
    let result = client.migrate_process_instance(without_plan).await;
    refused(result, code, "'migrationPlan'");
    let result = client.migrate_process_instance(request(" ")).await;
    refused(result, code, "'mappingInstructions.sourceElementId'");
}
