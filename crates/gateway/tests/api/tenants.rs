//! The tenant of a request: the value passed to the broker over REST and gRPC, and refusals.

use skep_gateway::Tenancy;
use skep_gateway::operations;
use skep_proto::gateway_protocol as pb;
use skep_protocol::{TenantFilter, TenantId, Tenants};
use tonic::Code;

use crate::fake::{Running, start, start_with};
use crate::grpc::{client, instances, jobs, refused};
use crate::http::{post, send};
use crate::login::{self, ask};

async fn with_checks() -> Running {
    start_with(|config| config.security.tenancy = Tenancy::On).await
}

/// Operations that create something for a tenant, by their names in messages, with a body that names no tenant.
const OPERATIONS: [(&str, &str, &str); 8] = [
    (
        "Create Process Instance",
        "process-instances",
        r#""processDefinitionId":"p""#,
    ),
    (
        "Create Process Instance",
        "process-instances",
        r#""processDefinitionKey":"7""#,
    ),
    (
        "Publish Message",
        "messages/publication",
        r#""name":"m","correlationKey":"k""#,
    ),
    (
        "Correlate Message",
        "messages/correlation",
        r#""name":"m","correlationKey":"k""#,
    ),
    (
        "Broadcast Signal",
        "signals/broadcast",
        r#""signalName":"s""#,
    ),
    (
        "Evaluate Conditional Event",
        "conditionals/evaluation",
        r#""variables":{}"#,
    ),
    (
        "Evaluate Decision",
        "decision-definitions/evaluation",
        r#""decisionDefinitionId":"d""#,
    ),
    (
        "Evaluate Expression",
        "expression/evaluation",
        r#""expression":"=1""#,
    ),
];

#[tokio::test]
async fn the_tenant_of_a_request_reaches_the_broker() {
    let gateway = with_checks().await;
    for (name, path, body) in OPERATIONS {
        for tenant in ["acme", "<default>"] {
            let body = format!(r#"{{{body},"tenantId":"{tenant}"}}"#);
            let answer = post(gateway.rest, &format!("/v2/{path}"), &body).await;
            assert!(answer.status.is_success(), "{name}: {}", answer.text);
            let sent = gateway.broker.last();
            assert_eq!(sent.tenant, TenantId::new(tenant), "{name}");
            let said = answer.json()["tenantId"].clone();
            let echoes = [
                "Create Process Instance",
                "Publish Message",
                "Correlate Message",
            ];
            if echoes.contains(&name) || name == "Broadcast Signal" {
                assert_eq!(said, tenant, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_that_names_no_tenant_is_refused_while_tenants_are_checked() {
    let gateway = with_checks().await;
    for (name, path, body) in OPERATIONS {
        for tenant in ["", r#","tenantId":null"#] {
            let body = format!("{{{body}{tenant}}}");
            let answer = post(gateway.rest, &format!("/v2/{path}"), &body).await;
            let (status, title, detail) = answer.problem();
            assert_eq!((status, &*title), (400, "INVALID_ARGUMENT"), "{name}");
            let expected = format!("Expected to handle request {name}");
            assert!(detail.starts_with(&expected), "{detail}");
        }
    }
    assert!(gateway.broker.requests.lock().is_empty());
}

#[tokio::test]
async fn another_tenant_is_refused_while_they_are_not_checked() {
    let gateway = start().await;
    for (name, path, body) in OPERATIONS {
        let body = format!(r#"{{{body},"tenantId":"acme"}}"#);
        let answer = post(gateway.rest, &format!("/v2/{path}"), &body).await;
        let (status, _, detail) = answer.problem();
        assert_eq!(status, 400, "{name}");
        assert!(detail.contains("'acme'"), "{detail}");
    }
    let body = r#"{"type":"t","timeout":1,"maxJobsToActivate":1,"tenantFilter":"ASSIGNED"}"#;
    let answer = post(gateway.rest, "/v2/jobs/activation", body).await;
    let (status, title, detail) = answer.problem();
    assert_eq!((status, &*title), (400, "INVALID_ARGUMENT"));
    let expected = "Expected to handle request Activate Jobs";
    assert!(detail.starts_with(expected), "{detail}");
    assert!(gateway.broker.requests.lock().is_empty());
    assert!(gateway.broker.activations.lock().is_empty());
}

#[tokio::test]
async fn a_deployment_names_its_tenant_in_a_part() {
    let gateway = with_checks().await;
    let head = "--b\r\nContent-Disposition: form-data; name=";
    let file = format!("{head}\"resources\"; filename=\"p.bpmn\"\r\n\r\n<p/>\r\n");
    let content_type = Some("multipart/form-data; boundary=b");
    let deploy = async |tenant: &str| {
        let body = format!("{file}{tenant}--b--\r\n");
        send(gateway.rest, "POST", "/v2/deployments", content_type, body).await
    };
    let (status, _, detail) = deploy("").await.problem();
    assert_eq!(status, 400);
    let expected = "Expected to handle request Deploy Resources";
    assert!(detail.starts_with(expected), "{detail}");
    let part = format!("{head}\"tenantId\"\r\n\r\nacme\r\n");
    let answer = deploy(&part).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(gateway.broker.last().tenant, TenantId::new("acme"));
    let (status, _, detail) = deploy(&part.repeat(2)).await.problem();
    assert_eq!(status, 400, "{detail}");
}

#[tokio::test]
async fn the_tenant_of_a_cluster_variable_stands_in_its_path() {
    let gateway = with_checks().await;
    let path = "/v2/cluster-variables/tenants/acme";
    let body = r#"{"name":"limit","value":1}"#;
    assert_eq!(post(gateway.rest, path, body).await.status, 200);
    let sent = format!("{:?}", gateway.broker.last().command);
    assert!(sent.contains("acme"), "{sent}");
    let off = start().await;
    assert_eq!(post(off.rest, path, body).await.status, 400);
}

#[tokio::test]
async fn a_worker_names_the_tenants_whose_jobs_it_takes() {
    let gateway = with_checks().await;
    let activate = async |tenants: &str| {
        let body = format!(r#"{{"type":"t","timeout":1,"maxJobsToActivate":1{tenants}}}"#);
        post(gateway.rest, "/v2/jobs/activation", &body).await
    };
    for none in ["", r#","tenantIds":[]"#, r#","tenantFilter":"PROVIDED""#] {
        let (status, _, detail) = activate(none).await.problem();
        assert_eq!(status, 400, "{none}");
        let expected = "Expected to handle request Activate Jobs";
        assert!(detail.starts_with(expected), "{detail}");
    }
    assert_eq!(activate(r#","tenantIds":["acme",""]"#).await.status, 400);
    let searched = || {
        gateway
            .broker
            .activations
            .lock()
            .last()
            .unwrap()
            .0
            .tenants
            .clone()
    };
    let named = r#","tenantIds":["acme","<default>"]"#;
    assert_eq!(activate(named).await.status, 200);
    assert_eq!(searched(), Tenants::provided(["acme", "<default>"]));
    assert_eq!(activate(r#","tenantFilter":"ASSIGNED""#).await.status, 200);
    assert_eq!(searched().filter, TenantFilter::Assigned);
}

#[tokio::test]
async fn a_worker_that_names_too_many_tenants_gets_a_400_and_one_named_twice_is_one() {
    let gateway = with_checks().await;
    let ask = async |path: &str, number: usize| {
        let ids = vec![r#""acme""#; number].join(",");
        let head = r#""type":"t","timeout":1"#;
        let most = match path {
            "/v2/jobs/activation" => r#","maxJobsToActivate":1"#,
            _ => "",
        };
        let body = format!(r#"{{{head}{most},"tenantIds":[{ids}]}}"#);
        post(gateway.rest, path, &body).await
    };
    for path in ["/v2/jobs/activation", "/v2/jobs/stream"] {
        let (status, _, detail) = ask(path, 1_001).await.problem();
        assert_eq!(status, 400, "{path}");
        let expected = "The field 'tenantIds' names 1001 tenants, but at most 1000 are allowed";
        assert!(detail.contains(expected), "{detail}");
    }
    assert!(gateway.broker.activations.lock().is_empty());
    assert_eq!(ask("/v2/jobs/activation", 1_000).await.status, 200);
    let activations = gateway.broker.activations.lock();
    let (command, ..) = activations.last().unwrap();
    assert_eq!(command.tenants, Tenants::provided(["acme"]));
}

#[tokio::test]
async fn a_worker_over_grpc_that_names_too_many_tenants_is_refused() {
    let gateway = with_checks().await;
    let mut client = client(&gateway).await;
    let asked = client
        .activate_jobs(pb::ActivateJobsRequest {
            tenant_ids: vec!["acme".into(); 1_001],
            ..jobs::activation(0)
        })
        .await;
    refused(asked, Code::InvalidArgument, "names 1001 tenants");
    assert!(gateway.broker.activations.lock().is_empty());
}

#[tokio::test]
async fn messages_over_grpc_name_their_tenant_likewise() {
    let gateway = with_checks().await;
    let mut client = client(&gateway).await;
    let missing = "Expected to handle request";
    let creation = instances::creation();
    let without = client.create_process_instance(creation.clone()).await;
    refused(without, Code::InvalidArgument, missing);
    let created = client
        .create_process_instance(pb::CreateProcessInstanceRequest {
            tenant_id: "acme".into(),
            ..creation
        })
        .await
        .unwrap();
    assert_eq!(created.into_inner().tenant_id, "acme");
    assert_eq!(gateway.broker.last().tenant, TenantId::new("acme"));
    let signal = pb::BroadcastSignalRequest {
        signal_name: "s".into(),
        ..Default::default()
    };
    let without = client.broadcast_signal(signal.clone()).await;
    refused(without, Code::InvalidArgument, missing);
    let answer = client
        .broadcast_signal(pb::BroadcastSignalRequest {
            tenant_id: "acme".into(),
            ..signal
        })
        .await
        .unwrap();
    assert_eq!(answer.into_inner().tenant_id, "acme");
    let message = pb::PublishMessageRequest {
        name: "m".into(),
        tenant_id: "acme".into(),
        ..Default::default()
    };
    let answer = client.publish_message(message).await.unwrap();
    assert_eq!(answer.into_inner().tenant_id, "acme");
    let without = client.activate_jobs(jobs::activation(0)).await;
    refused(without, Code::InvalidArgument, missing);
    let stream = pb::StreamActivatedJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1,
        tenant_filter: pb::TenantFilter::Assigned.into(),
        ..Default::default()
    };
    client.stream_activated_jobs(stream).await.unwrap();
    let spec = gateway.broker.streams.lock().last().unwrap().spec.clone();
    assert_eq!(spec.tenants.filter, TenantFilter::Assigned);
    #[allow(deprecated)]
    let old = client
        .deploy_process(pb::DeployProcessRequest::default())
        .await;
    refused(old, Code::InvalidArgument, missing);
}

#[tokio::test]
async fn tenants_that_only_the_configuration_names_cannot_be_managed() {
    let gateway = start_with(|config| config.security.tenants_api = false).await;
    let all = operations::OPERATIONS
        .iter()
        .filter(|it| it.path.starts_with("/v2/tenants"));
    let mut operations = 0;
    for operation in all {
        let path = operation.path.replace(['{', '}'], "");
        let request = (operation.method, &*path);
        let answer = ask(&gateway, request, &[login::JSON], "{}").await;
        assert_eq!(answer.status, 403, "{path}: {}", answer.text);
        for part in ["Access issue", &path, "multi-tenancy.api-enabled is false"] {
            assert!(answer.text.contains(part), "{part}: {}", answer.text);
        }
        operations += 1;
    }
    assert_eq!(operations, 20);
    assert!(gateway.broker.requests.lock().is_empty());
}
