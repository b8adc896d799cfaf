//! Every rpc, and the REST job stream, called by the same callers as the REST operation with the same permission, and by members of a
//! tenant and others. The expected codes follow the API's documentation.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use pb::gateway_client::GatewayClient;
use serde_json::json;
use skep_proto::gateway_protocol as pb;
use skep_testbed::issuer::{Issuer, now};
use tempfile::TempDir;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::super::{PATIENCE, Server, eventually};
use super::things::{Things, process};
use super::{Row, ask_by, settings, strangers, table, token};

/// Each rpc, and the operation that requires the same permission.
const RPCS: [(&str, &str); 22] = [
    ("ActivateJobs", "activateJobs"),
    ("BroadcastSignal", "broadcastSignal"),
    ("CancelProcessInstance", "cancelProcessInstance"),
    ("CompleteJob", "completeJob"),
    ("CreateProcessInstance", "createProcessInstance"),
    ("CreateProcessInstanceWithResult", "createProcessInstance"),
    ("DeployProcess", "createDeployment"),
    ("DeployResource", "createDeployment"),
    ("EvaluateConditional", "evaluateConditionals"),
    ("EvaluateDecision", "evaluateDecision"),
    ("FailJob", "failJob"),
    ("MigrateProcessInstance", "migrateProcessInstance"),
    ("ModifyProcessInstance", "modifyProcessInstance"),
    ("PublishMessage", "publishMessage"),
    ("ResolveIncident", "resolveIncident"),
    ("SetVariables", "createElementInstanceVariables"),
    ("StreamActivatedJobs", "activateJobs"),
    ("ThrowError", "throwJobError"),
    ("Topology", "getTopology"),
    ("UpdateJobRetries", "updateJob"),
    ("UpdateJobTimeout", "updateJob"),
    // Placed last: the others need the process.
    ("DeleteResource", "deleteResource"),
];

type Client = GatewayClient<Channel>;

/// A caller, and the existing entities.
struct Call<'c> {
    client: Client,
    token: Option<&'c str>,
    things: &'c Things<'c>,
}

impl Call<'_> {
    fn with<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = self.token {
            let shown = format!("Bearer {token}").parse().unwrap();
            request.metadata_mut().insert("authorization", shown);
        }
        request
    }

    /// The tenant that the message names; empty: none.
    fn tenant(&self) -> String {
        self.things.tenant().unwrap_or_default().into()
    }

    fn tenants(&self) -> Vec<String> {
        self.things.tenant().into_iter().map(Into::into).collect()
    }

    fn key(&self, name: &str) -> i64 {
        self.things.keys[name].parse().unwrap()
    }

    /// Whether the answer contains any information.
    async fn ask(mut self, rpc: &str, may: Option<bool>) -> Result<bool, Status> {
        match rpc {
            "ActivateJobs" => self.activate().await,
            "StreamActivatedJobs" => self.stream(may).await,
            _ if rpc.ends_with("Job") || rpc.contains("UpdateJob") || rpc == "ThrowError" => {
                self.ask_about_a_job(rpc).await.map(|()| true)
            }
            _ if rpc.contains("ProcessInstance") => {
                self.ask_about_an_instance(rpc).await.map(|()| true)
            }
            _ => self.ask_about_others(rpc).await.map(|()| true),
        }
    }

    async fn activate(mut self) -> Result<bool, Status> {
        let request = self.with(pb::ActivateJobsRequest {
            r#type: "work".into(),
            worker: "w".into(),
            timeout: 1,
            max_jobs_to_activate: 1,
            request_timeout: -1,
            tenant_ids: self.tenants(),
            ..Default::default()
        });
        let mut answers = self.client.activate_jobs(request).await?.into_inner();
        let first = answers.message().await?;
        Ok(first.is_some_and(|first| !first.jobs.is_empty()))
    }

    /// With an available job: a permitted caller receives it; otherwise the administrator does, and the stream stays empty.
    async fn stream(mut self, may: Option<bool>) -> Result<bool, Status> {
        let request = self.with(pb::StreamActivatedJobsRequest {
            r#type: "work".into(),
            worker: "w".into(),
            timeout: 1,
            tenant_ids: self.tenants(),
            ..Default::default()
        });
        let mut jobs = self
            .client
            .stream_activated_jobs(request)
            .await?
            .into_inner();
        if may == Some(true) {
            let job = tokio::time::timeout(PATIENCE, jobs.message()).await;
            return Ok(job.is_ok_and(|job| matches!(job, Ok(Some(_)))));
        }
        eventually("the job that the stream does not get", || {
            let asked = json!({"type": "work", "timeout": 1, "maxJobsToActivate": 1});
            let (_, answer) = self
                .things
                .ask("POST", "/jobs/activation", &asked.to_string());
            answer["jobs"]
                .as_array()
                .is_some_and(|jobs| !jobs.is_empty())
        });
        let none = std::pin::pin!(jobs.message());
        let waker = std::task::Waker::noop();
        let none = none.poll(&mut std::task::Context::from_waker(waker));
        match none {
            std::task::Poll::Ready(Err(status)) => Err(status),
            std::task::Poll::Ready(Ok(job)) => Ok(job.is_some()),
            std::task::Poll::Pending => Ok(false),
        }
    }

    async fn ask_about_a_job(&mut self, rpc: &str) -> Result<(), Status> {
        let job_key = self.key("jobKey");
        match rpc {
            "CompleteJob" => {
                let message = pb::CompleteJobRequest {
                    job_key,
                    ..Default::default()
                };
                self.client.complete_job(self.with(message)).await?;
            }
            "FailJob" => {
                let message = pb::FailJobRequest {
                    job_key,
                    retries: 3,
                    ..Default::default()
                };
                self.client.fail_job(self.with(message)).await?;
            }
            "ThrowError" => {
                let message = pb::ThrowErrorRequest {
                    job_key,
                    error_code: "e".into(),
                    ..Default::default()
                };
                self.client.throw_error(self.with(message)).await?;
            }
            "UpdateJobRetries" => {
                let message = pb::UpdateJobRetriesRequest {
                    job_key,
                    retries: 5,
                    ..Default::default()
                };
                self.client.update_job_retries(self.with(message)).await?;
            }
            "UpdateJobTimeout" => {
                let message = pb::UpdateJobTimeoutRequest {
                    job_key,
                    timeout: 600_000,
                    ..Default::default()
                };
                self.client.update_job_timeout(self.with(message)).await?;
            }
            other => panic!("{other} is not asked"),
        }
        Ok(())
    }

    /// Creates an instance that ends at once.
    fn creation(&self) -> pb::CreateProcessInstanceRequest {
        pb::CreateProcessInstanceRequest {
            bpmn_process_id: "thing".into(),
            version: -1,
            start_instructions: vec![pb::ProcessInstanceCreationStartInstruction {
                element_id: "end".into(),
            }],
            tenant_id: self.tenant(),
            ..Default::default()
        }
    }

    async fn ask_about_an_instance(&mut self, rpc: &str) -> Result<(), Status> {
        let process_instance_key = self.key("processInstanceKey");
        match rpc {
            "CreateProcessInstance" => {
                let message = self.with(self.creation());
                self.client.create_process_instance(message).await?;
            }
            "CreateProcessInstanceWithResult" => {
                let message = self.with(pb::CreateProcessInstanceWithResultRequest {
                    request: Some(self.creation()),
                    request_timeout: 100_000,
                    ..Default::default()
                });
                let created = self.client.create_process_instance_with_result(message);
                created.await?;
            }
            "CancelProcessInstance" => {
                let message = self.with(pb::CancelProcessInstanceRequest {
                    process_instance_key,
                    ..Default::default()
                });
                self.client.cancel_process_instance(message).await?;
            }
            "MigrateProcessInstance" => {
                let mapping = pb::migrate_process_instance_request::MappingInstruction {
                    source_element_id: "work".into(),
                    target_element_id: "work".into(),
                };
                let plan = pb::migrate_process_instance_request::MigrationPlan {
                    target_process_definition_key: self.key("processDefinitionKey"),
                    mapping_instructions: vec![mapping],
                };
                let message = self.with(pb::MigrateProcessInstanceRequest {
                    process_instance_key,
                    migration_plan: Some(plan),
                    ..Default::default()
                });
                self.client.migrate_process_instance(message).await?;
            }
            "ModifyProcessInstance" => {
                let activate = pb::modify_process_instance_request::ActivateInstruction {
                    element_id: "work".into(),
                    ..Default::default()
                };
                let message = self.with(pb::ModifyProcessInstanceRequest {
                    process_instance_key,
                    activate_instructions: vec![activate],
                    ..Default::default()
                });
                self.client.modify_process_instance(message).await?;
            }
            other => panic!("{other} is not asked"),
        }
        Ok(())
    }

    async fn ask_about_definitions(&mut self, rpc: &str) -> Result<(), Status> {
        match rpc {
            "DeployProcess" => {
                let message = self.with(pb::DeployProcessRequest {
                    processes: vec![pb::ProcessRequestObject {
                        name: "thing.bpmn".into(),
                        definition: process("deployed by an rpc").into(),
                    }],
                });
                #[expect(deprecated, reason = "old clients use it")]
                let deployed = self.client.deploy_process(message);
                deployed.await?;
            }
            "DeployResource" => {
                let message = self.with(pb::DeployResourceRequest {
                    resources: vec![pb::Resource {
                        name: "thing.bpmn".into(),
                        content: process("deployed by another rpc").into(),
                    }],
                    tenant_id: self.tenant(),
                });
                self.client.deploy_resource(message).await?;
            }
            "DeleteResource" => {
                let message = self.with(pb::DeleteResourceRequest {
                    resource_key: self.key("processDefinitionKey"),
                    ..Default::default()
                });
                self.client.delete_resource(message).await?;
            }
            "EvaluateDecision" => {
                let message = self.with(pb::EvaluateDecisionRequest {
                    decision_id: "thing".into(),
                    tenant_id: self.tenant(),
                    ..Default::default()
                });
                self.client.evaluate_decision(message).await?;
            }
            "EvaluateConditional" => {
                let message = self.with(pb::EvaluateConditionalRequest {
                    variables: r#"{"amount":1000}"#.into(),
                    tenant_id: self.tenant(),
                    ..Default::default()
                });
                self.client.evaluate_conditional(message).await?;
            }
            other => panic!("{other} is not asked"),
        }
        Ok(())
    }

    async fn ask_about_others(&mut self, rpc: &str) -> Result<(), Status> {
        match rpc {
            "PublishMessage" => {
                let message = self.with(pb::PublishMessageRequest {
                    name: "thing".into(),
                    correlation_key: "nobody".into(),
                    tenant_id: self.tenant(),
                    ..Default::default()
                });
                self.client.publish_message(message).await?;
            }
            "BroadcastSignal" => {
                let message = self.with(pb::BroadcastSignalRequest {
                    signal_name: "thing".into(),
                    tenant_id: self.tenant(),
                    ..Default::default()
                });
                self.client.broadcast_signal(message).await?;
            }
            "ResolveIncident" => {
                let message = self.with(pb::ResolveIncidentRequest {
                    incident_key: self.key("incidentKey"),
                    ..Default::default()
                });
                self.client.resolve_incident(message).await?;
            }
            "SetVariables" => {
                let message = self.with(pb::SetVariablesRequest {
                    element_instance_key: self.key("processInstanceKey"),
                    variables: r#"{"thing":2}"#.into(),
                    ..Default::default()
                });
                self.client.set_variables(message).await?;
            }
            "Topology" => {
                let message = self.with(pb::TopologyRequest {});
                self.client.topology(message).await?;
            }
            _ => self.ask_about_definitions(rpc).await?,
        }
        Ok(())
    }
}

/// Returns a wrong answer; `None` if it is as expected.
async fn wrong(rpc: &str, row: &Row, call: Call<'_>, may: Option<bool>) -> Option<String> {
    let answer = call.ask(rpc, may).await;
    let code = answer.as_ref().map_or_else(Status::code, |_| Code::Ok);
    let is_right = match may {
        None => code == Code::Unauthenticated,
        // A conflict proves that the permission was checked and granted.
        Some(true) if !row.is_list() => {
            matches!(
                code,
                Code::Ok | Code::AlreadyExists | Code::FailedPrecondition
            )
        }
        Some(true) => matches!(answer, Ok(true)),
        Some(false) if row.is_list() => {
            matches!(answer, Ok(false)) || code == Code::PermissionDenied
        }
        Some(false) => code == Code::PermissionDenied,
    };
    (!is_right).then(|| format!("{rpc}: {answer:?}"))
}

/// The endless REST stream: returns a wrong outcome while a job is available.
fn wrong_stream(things: &Things<'_>, token: Option<&str>, may: Option<bool>) -> Option<String> {
    let body = r#"{"type":"work","worker":"w","timeout":1}"#;
    let body = things.of_tenant("/jobs/stream", body);
    let shown = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    let request = format!(
        "POST /v2/jobs/stream HTTP/1.1\r\nhost: localhost\r\n{shown}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(&things.server.rest).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut read = String::new();
    let mut more = |read: &mut String| {
        let mut bytes = [0; 8192];
        let count = stream.read(&mut bytes).unwrap();
        read.push_str(&String::from_utf8_lossy(&bytes[..count]));
        count > 0
    };
    while !read.contains("\r\n\r\n") && more(&mut read) {}
    let is_open = read.starts_with("HTTP/1.1 200");
    let is_right = match may {
        None => read.starts_with("HTTP/1.1 401"),
        Some(true) => {
            while is_open && !read.contains("jobKey") && more(&mut read) {}
            is_open && read.contains("jobKey")
        }
        Some(false) => {
            eventually("the job that the stream does not get", || {
                let asked = json!({"type": "work", "timeout": 1, "maxJobsToActivate": 1});
                let (_, answer) = things.ask("POST", "/jobs/activation", &asked.to_string());
                let jobs = answer["jobs"].as_array();
                jobs.is_some_and(|jobs| !jobs.is_empty())
            });
            stream.set_nonblocking(true).unwrap();
            let mut rest = Vec::new();
            // The stream never ends: available data is read.
            let _ = stream.read_to_end(&mut rest);
            read.push_str(&String::from_utf8_lossy(&rest));
            is_open && !read.contains("jobKey")
        }
    };
    (!is_right).then(|| format!("the stream of REST: {read}"))
}

#[test]
fn every_rpc_asks_for_its_permission_in_whichever_way_one_has_it() {
    let protocol = include_str!("../../../proto/proto/gateway.proto");
    let there = protocol.lines().filter_map(|line| {
        let (name, _) = line.trim().strip_prefix("rpc ")?.split_once(' ')?;
        Some(name)
    });
    let written: BTreeSet<&str> = RPCS.iter().map(|(rpc, _)| *rpc).collect();
    assert_eq!(
        there.collect::<BTreeSet<_>>(),
        written,
        "rpcs without a row"
    );
    let mut rows = table();
    rows.retain(|row| RPCS.iter().any(|(_, like)| *like == row.operation));
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let issuer = Issuer::start();
    let file = settings(here, &issuer, &rows);
    let server = Server::start(here, &["--config", &file], &[]);
    let admin = json!({"sub": "admin", "aud": "skep", "exp": now() + 3600});
    let admin = issuer.token(&admin);
    let mut things = Things::make(&server, &admin, false);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = GatewayClient::connect(format!("http://{}", server.grpc));
    let client: Client = runtime.block_on(client).unwrap();
    let mut all = Vec::new();
    for (rpc, like) in RPCS {
        let row = rows.iter().find(|row| row.operation == like).unwrap();
        let how = |row: &Row, things: &Things<'_>, token: Option<&str>, may| {
            let client = client.clone();
            let call = Call {
                client,
                token,
                things,
            };
            runtime.block_on(wrong(rpc, row, call, may))
        };
        ask_by(&how, row, &mut things, &issuer, &mut all);
    }
    let row = rows.iter().find(|row| row.operation == "activateJobs");
    let how =
        |_: &Row, things: &Things<'_>, token: Option<&str>, may| wrong_stream(things, token, may);
    ask_by(&how, row.unwrap(), &mut things, &issuer, &mut all);
    let list = all.join("\n");
    assert!(all.is_empty(), "{} wrong:\n{list}", all.len());
}

/// What a caller without any tenant gets.
fn for_strangers(rpc: &str) -> Code {
    match rpc {
        // The stream gets nothing.
        "Topology" | "StreamActivatedJobs" => Code::Ok,
        "ActivateJobs"
        | "BroadcastSignal"
        | "CreateProcessInstance"
        | "CreateProcessInstanceWithResult"
        | "DeployResource"
        | "EvaluateConditional"
        | "EvaluateDecision"
        | "PublishMessage" => Code::PermissionDenied,
        // It cannot name a tenant, so members get the same.
        "DeployProcess" => Code::InvalidArgument,
        _ => Code::NotFound,
    }
}

/// Returns a wrong answer to a member of the tenant, or to a stranger.
fn wrong_of_tenant(
    (rpc, row): (&str, &Row),
    answer: &Result<bool, Status>,
    is_member: bool,
) -> Option<String> {
    let expected = for_strangers(rpc);
    let code = answer.as_ref().map_or_else(Status::code, |_| Code::Ok);
    let is_right = match answer {
        Ok(shows) if row.is_list() => *shows == is_member && (is_member || expected == Code::Ok),
        Ok(_) => is_member || expected == Code::Ok,
        // As above.
        Err(_) if is_member && expected != Code::InvalidArgument => {
            matches!(code, Code::AlreadyExists | Code::FailedPrecondition)
        }
        Err(_) => code == expected,
    };
    (!is_right).then(|| format!("{rpc} by a member ({is_member}): {answer:?}"))
}

#[test]
fn only_members_reach_what_belongs_to_a_tenant_by_an_rpc() {
    let rows = table();
    let directory = TempDir::new().unwrap();
    let issuer = Issuer::start();
    let server = strangers::started(directory.path(), &issuer, &[]);
    let admin = issuer.token(&json!({"sub": "admin", "aud": "skep", "exp": now() + 3600}));
    let mut things = Things::make(&server, &admin, true);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = GatewayClient::connect(format!("http://{}", server.grpc));
    let client: Client = runtime.block_on(client).unwrap();
    let mut wrong = Vec::new();
    for (rpc, like) in RPCS {
        let row = rows.iter().find(|row| row.operation == like).unwrap();
        for (who, is_member) in [("stranger", false), ("member", true)] {
            things.again(&row.before);
            let token = token(&issuer, "user", who);
            let call = Call {
                client: client.clone(),
                token: Some(&token),
                things: &things,
            };
            let answer = runtime.block_on(call.ask(rpc, Some(is_member)));
            wrong.extend(wrong_of_tenant((rpc, row), &answer, is_member));
            if rpc == "StreamActivatedJobs" {
                wrong.extend(wrong_stream(&things, Some(&token), Some(is_member)));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
