//! Answers as JSON bodies: every field that the API requires, `null` where there is no value.

mod decisions;
mod deployments;
mod identity;
mod kept;

pub use identity::{me, nobody};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response as HttpResponse, StatusCode};
use skep_protocol::response::{ConditionalsEvaluated, ProcessInstanceCreated};
use skep_protocol::user_task::UserTaskProperties;
use skep_protocol::value::BatchOperationType;
use skep_protocol::value::{ClusterVariableValue, GlobalListenerValue, ParentType};
use skep_protocol::{ActivatedJob, Failure, Key, Rejection, RejectionType, Response, TenantId};
use skep_query::entities::JOB_STATISTICS_SPAN;
use skep_service::{BrokerInfo, PartitionHealth, PartitionInfo, PartitionRole, Topology};

use super::RestBody;
use super::json::Object;
use super::problem::Problem;
use crate::check::Tenancy;
use crate::config::GatewayConfig;
use crate::door::Login;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The part of an answer that does not come from the broker.
#[derive(Debug, PartialEq)]
pub enum Echo {
    Nothing,
    Resource(Key),
    /// The tenant that the command was for.
    Tenant(TenantId),
    Expression(String),
    /// The answer says that something was created.
    Created,
    /// The first administrator. Whatever the broker's objection, it must not be done any more.
    InitialAdmin,
    /// The group, role or tenant that was created or changed.
    Parent {
        kind: ParentType,
        created: bool,
    },
    /// What a user keeps. A conflict with another revision is a failed precondition.
    Kept,
}

impl Echo {
    /// The client's answer if the broker has refused.
    pub fn failure(&self, failure: Failure) -> Problem {
        match (self, failure) {
            (Echo::InitialAdmin, Failure::Rejected(rejection)) => {
                Problem::from(Failure::Rejected(Rejection {
                    kind: RejectionType::Forbidden,
                    ..rejection
                }))
            }
            (Echo::Kept, Failure::Rejected(rejection))
                if rejection.kind == RejectionType::AlreadyExists =>
            {
                Problem {
                    status: StatusCode::PRECONDITION_FAILED,
                    title: "PRECONDITION_FAILED",
                    ..Problem::from(Failure::Rejected(rejection))
                }
            }
            (_, failure) => failure.into(),
        }
    }

    fn tenant(&self) -> TenantId {
        match self {
            Echo::Tenant(tenant) => tenant.clone(),
            _ => TenantId::default(),
        }
    }

    fn is_creation(&self) -> bool {
        match self {
            Echo::Created | Echo::InitialAdmin => true,
            Echo::Parent { created, .. } => *created,
            Echo::Nothing
            | Echo::Resource(_)
            | Echo::Tenant(_)
            | Echo::Expression(_)
            | Echo::Kept => false,
        }
    }
}

pub fn json(body: impl Into<Bytes>) -> HttpResponse<RestBody> {
    let mut response = HttpResponse::new(RestBody::from(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

pub fn status(status: StatusCode) -> HttpResponse<RestBody> {
    let mut response = HttpResponse::new(RestBody::empty());
    *response.status_mut() = status;
    response
}

type Encoded = Result<HttpResponse<RestBody>, Failure>;

fn not_asked_for() -> Failure {
    Failure::Internal("The broker gave an answer that belongs to no route.".into())
}

/// The answer to a command that succeeded.
pub fn response(response: Response, echo: Echo) -> Encoded {
    let tenant = echo.tenant();
    let mut body = String::with_capacity(320);
    match response {
        Response::Empty | Response::VariablesSet { .. } => match echo {
            Echo::Resource(key) => resource_deleted(&mut body, key, "null"),
            _ => return Ok(status(StatusCode::NO_CONTENT)),
        },
        Response::Deployed(deployed) => deployments::deployment(&mut body, &deployed),
        Response::ProcessInstanceCreated(created) => {
            process_instance(&mut body, (&created, &tenant), "{}");
        }
        Response::ProcessInstanceResult { created, variables } => {
            body.reserve(variables.len());
            process_instance(&mut body, (&created, &tenant), &variables);
        }
        Response::JobsActivated {
            jobs: activated, ..
        } => jobs(&mut body, &activated),
        Response::MessagePublished { message_key } => Object::write(&mut body, |o| {
            o.text("tenantId", tenant.as_str());
            o.key("messageKey", message_key);
        }),
        Response::SignalBroadcast { signal_key } => Object::write(&mut body, |o| {
            o.text("tenantId", tenant.as_str());
            o.key("signalKey", signal_key);
        }),
        Response::MessageCorrelated {
            message_key,
            process_instance_key,
        } => {
            Object::write(&mut body, |o| {
                o.text("tenantId", tenant.as_str());
                o.key("messageKey", message_key);
                o.key("processInstanceKey", process_instance_key);
            });
        }
        Response::GlobalListener(listener) => {
            global_listener(&mut body, &listener);
            return Ok(made(body, &echo));
        }
        Response::User(user) => {
            identity::user(&mut body, &user);
            return Ok(made(body, &echo));
        }
        Response::Parent(parent) => {
            let Echo::Parent { kind, .. } = echo else {
                return Err(not_asked_for());
            };
            identity::parent(&mut body, kind, &parent);
            return Ok(made(body, &echo));
        }
        Response::MappingRule(rule) => {
            identity::mapping_rule(&mut body, &rule);
            return Ok(made(body, &echo));
        }
        Response::AuthorizationCreated { authorization_key } => {
            if !echo.is_creation() {
                return Ok(status(StatusCode::NO_CONTENT));
            }
            identity::authorization(&mut body, authorization_key);
            return Ok(made(body, &echo));
        }
        Response::BatchOperationCreated { key, kind } => match echo {
            Echo::Resource(resource) => {
                resource_deleted(&mut body, resource, &batch_operation(key, kind));
            }
            _ => body = batch_operation(key, kind),
        },
        Response::ConditionalsEvaluated(evaluated) => conditionals(&mut body, &evaluated),
        Response::ClusterVariable(variable) => cluster_variable(&mut body, &variable),
        Response::DecisionEvaluated { key, evaluation } => {
            decisions::evaluation(&mut body, key, &evaluation);
        }
        Response::DeploymentChecked(checked) => deployments::checked(&mut body, &checked),
        Response::Kept(revision, value) => return Ok(kept::one(revision, &value)),
        Response::KeptListed(all) => kept::list(&mut body, &all),
        Response::IncidentsListed { .. } | Response::Session(_) | Response::SessionClaimed => {
            return Err(not_asked_for());
        }
        Response::ExpressionEvaluated { result, warnings } => {
            let Echo::Expression(expression) = echo else {
                return Err(not_asked_for());
            };
            evaluated(&mut body, &expression, &result, &warnings);
        }
    }
    Ok(json(body))
}

fn evaluated(out: &mut String, expression: &str, result: &str, warnings: &[String]) {
    Object::write(out, |o| {
        o.text("expression", expression);
        o.raw("result", result);
        o.array("warnings", warnings, |out, warning| {
            Object::write(out, |o| o.text("message", warning));
        });
        // There are no secrets to refer to.
        o.raw("referencedSecrets", "[]");
    });
}

/// 201 for a created entity.
fn made(body: String, echo: &Echo) -> HttpResponse<RestBody> {
    let mut response = json(body);
    if echo.is_creation() {
        *response.status_mut() = StatusCode::CREATED;
    }
    response
}

fn batch_operation(key: Key, kind: BatchOperationType) -> String {
    let mut out = String::new();
    Object::write(&mut out, |o| {
        o.key("batchOperationKey", key);
        o.text("batchOperationType", kind.as_str());
    });
    out
}

fn resource_deleted(out: &mut String, key: Key, batch_operation: &str) {
    Object::write(out, |o| {
        o.key("resourceKey", key);
        o.raw("batchOperation", batch_operation);
    });
}

fn global_listener(out: &mut String, listener: &GlobalListenerValue) {
    Object::write(out, |o| {
        o.text("id", &listener.id);
        o.text("type", &listener.job_type);
        o.number("retries", i64::from(listener.retries));
        let events: Vec<String> = listener
            .events
            .iter()
            .map(|e| e.name().to_string())
            .collect();
        o.texts("eventTypes", &events);
        o.raw(
            "afterNonGlobal",
            if listener.after_non_global {
                "true"
            } else {
                "false"
            },
        );
        o.number("priority", i64::from(listener.priority));
        o.text("source", "API");
    });
}

fn conditionals(out: &mut String, evaluated: &ConditionalsEvaluated) {
    Object::write(out, |o| {
        o.key("conditionalEvaluationKey", evaluated.key);
        o.text("tenantId", evaluated.tenant.as_str());
        o.array(
            "processInstances",
            &evaluated.started,
            |out, (definition, instance)| {
                Object::write(out, |o| {
                    o.key("processDefinitionKey", *definition);
                    o.key("processInstanceKey", *instance);
                });
            },
        );
    });
}

/// The value is JSON text in a string.
fn cluster_variable(out: &mut String, variable: &ClusterVariableValue) {
    Object::write(out, |o| {
        o.text("name", &variable.name);
        let scope = match variable.tenant {
            Some(_) => "TENANT",
            None => "GLOBAL",
        };
        o.text("scope", scope);
        o.optional_text("tenantId", variable.tenant.as_ref().map(|t| t.as_str()));
        o.text("value", &variable.value);
        o.text("kind", "JSON");
        o.raw("metadata", "{}");
    });
}

fn process_instance(
    out: &mut String,
    (created, tenant): (&ProcessInstanceCreated, &TenantId),
    variables: &str,
) {
    Object::write(out, |o| {
        o.text("processDefinitionId", &created.bpmn_process_id);
        o.number("processDefinitionVersion", i64::from(created.version));
        o.text("tenantId", tenant.as_str());
        o.raw("variables", variables);
        o.key("processDefinitionKey", created.process_definition_key);
        o.key("processInstanceKey", created.process_instance_key);
        o.texts("tags", &created.tags);
        o.optional_text("businessId", created.business_id.as_deref());
    });
}

/// The answer to a job activation.
pub fn jobs(out: &mut String, jobs: &[ActivatedJob]) {
    Object::write(out, |o| o.array("jobs", jobs, activated_job));
}

/// The name that 8.10 gives the only physical tenant.
const PHYSICAL_TENANT: &str = "default";

pub fn activated_job(out: &mut String, job: &ActivatedJob) {
    out.reserve(640 + job.variables.len() + job.custom_headers.len());
    Object::write(out, |o| {
        o.text("type", &job.job_type);
        o.text("processDefinitionId", &job.bpmn_process_id);
        o.number(
            "processDefinitionVersion",
            i64::from(job.process_definition_version),
        );
        o.text("elementId", &job.element_id);
        o.raw("customHeaders", object_or_empty(&job.custom_headers));
        o.text("worker", &job.worker);
        o.number("retries", i64::from(job.retries));
        o.number("deadline", job.deadline);
        o.raw("variables", object_or_empty(&job.variables));
        o.text("tenantId", job.tenant.as_str());
        o.key("jobKey", job.key);
        o.key("processInstanceKey", job.process_instance_key);
        o.key("processDefinitionKey", job.process_definition_key);
        o.key("elementInstanceKey", job.element_instance_key);
        o.optional_key(
            "rootProcessInstanceKey",
            job.root_process_instance_key.some(),
        );
        o.text("kind", job.kind.name());
        o.text("listenerEventType", job.kind.listener_event_name());
        match &job.user_task {
            Some(task) => o.object("userTask", |o| user_task(o, task)),
            None => o.raw("userTask", "null"),
        }
        o.texts("tags", &job.tags);
        // Of 8.10; no job has a priority.
        o.optional_text("businessId", job.business_id.as_deref());
        o.number("priority", 0);
        o.text("physicalTenantId", PHYSICAL_TENANT);
    });
}

fn user_task(o: &mut Object, task: &UserTaskProperties) {
    o.text("action", &task.action);
    o.optional_text("assignee", task.assignee.as_deref());
    o.texts("candidateGroups", &task.candidate_groups);
    o.texts("candidateUsers", &task.candidate_users);
    o.texts("changedAttributes", &task.changed_attributes);
    o.optional_text("dueDate", task.due_date.as_deref());
    o.optional_text("followUpDate", task.follow_up_date.as_deref());
    o.optional_key("formKey", task.form_key.map(Key));
    match task.priority {
        Some(priority) => o.number("priority", i64::from(priority)),
        None => o.raw("priority", "null"),
    }
    o.optional_key("userTaskKey", task.user_task_key.map(Key));
}

fn object_or_empty(json: &str) -> &str {
    if json.is_empty() { "{}" } else { json }
}

/// Clients choose their features by the versions: they are those of the API. `skepVersion` is Skep's own.
pub fn topology(topology: &Topology, api_version: &str) -> HttpResponse<RestBody> {
    let mut body = String::with_capacity(512);
    Object::write(&mut body, |o| {
        o.array("brokers", topology.brokers.iter(), |out, one| {
            broker(out, one, api_version);
        });
        o.text("clusterId", &topology.cluster_id);
        o.number("clusterSize", i64::from(topology.cluster_size));
        o.number("partitionsCount", i64::from(topology.partitions_count));
        o.number("replicationFactor", i64::from(topology.replication_factor));
        o.text("gatewayVersion", api_version);
        o.text("skepVersion", &topology.gateway_version);
        o.text("lastCompletedChangeId", &topology.last_completed_change_id);
    });
    json(body)
}

fn broker(out: &mut String, broker: &BrokerInfo, api_version: &str) {
    Object::write(out, |o| {
        o.number("nodeId", i64::from(broker.node_id));
        o.text("brokerId", &broker.node_id.to_string());
        o.text("host", &broker.host);
        o.number("port", i64::from(broker.port));
        o.array("partitions", &broker.partitions, partition);
        o.text("version", api_version);
        o.text("skepVersion", &broker.version);
    });
}

fn partition(out: &mut String, partition: &PartitionInfo) {
    let role = match partition.role {
        PartitionRole::Leader => "leader",
        PartitionRole::Follower => "follower",
        PartitionRole::Inactive => "inactive",
    };
    let state = match partition.role {
        PartitionRole::Leader | PartitionRole::Follower => "active",
        PartitionRole::Inactive => "unknown",
    };
    let health = match partition.health {
        PartitionHealth::Healthy => "healthy",
        PartitionHealth::Unhealthy => "unhealthy",
        PartitionHealth::Dead => "dead",
    };
    Object::write(out, |o| {
        o.number("partitionId", i64::from(partition.partition_id));
        o.text("role", role);
        o.text("health", health);
        o.text("state", state);
    });
}

/// Skep needs no licence key: it is free software.
pub fn license() -> HttpResponse<RestBody> {
    json(
        r#"{"validLicense":true,"licenseType":"Apache-2.0","isCommercial":false,"expiresAt":null}"#,
    )
}

/// How jobs are counted: by the minute, each of them, under their whole names.
pub fn system_configuration(config: &GatewayConfig) -> HttpResponse<RestBody> {
    let mut body = String::with_capacity(480);
    let unbounded = i64::from(i32::MAX);
    Object::write(&mut body, |o| {
        o.object("jobMetrics", |o| {
            o.raw("enabled", if config.counts_jobs { "true" } else { "false" });
            let minutes = JOB_STATISTICS_SPAN / 60_000;
            o.text("exportInterval", &format!("PT{minutes}M"));
            for bound in [
                "maxWorkerNameLength",
                "maxJobTypeLength",
                "maxTenantIdLength",
                "maxUniqueKeys",
            ] {
                o.number(bound, unbounded);
            }
        });
        // Of 8.10. There are no web applications, and it runs in no cloud.
        o.object("components", |o| o.texts("active", &[]));
        o.object("deployment", |o| {
            let apart = config.security.tenancy == Tenancy::On;
            o.raw(
                "isMultiTenancyEnabled",
                if apart { "true" } else { "false" },
            );
            let bytes = i64::try_from(config.multipart.max_size).unwrap_or(i64::MAX);
            o.number("maxRequestSize", bytes);
        });
        o.object("authentication", |o| {
            let login = config.security.login;
            o.raw(
                "canLogout",
                if login == Login::Unprotected {
                    "false"
                } else {
                    "true"
                },
            );
            o.raw(
                "isLoginDelegated",
                if login == Login::Bearer {
                    "true"
                } else {
                    "false"
                },
            );
        });
        o.object("cloud", |o| o.raw("stage", "null"));
    });
    json(body)
}

/// Partitions that work: they have a healthy leader.
fn working(topology: &Topology) -> usize {
    let partitions = topology.brokers.iter().flat_map(|b| &b.partitions);
    let works = |p: &&PartitionInfo| {
        p.role == PartitionRole::Leader && p.health == PartitionHealth::Healthy
    };
    let mut working: Vec<u32> = partitions.filter(works).map(|p| p.partition_id).collect();
    working.sort_unstable();
    // During a change of leadership, two nodes may claim it.
    working.dedup();
    working.len()
}

/// 204 when some partition has a healthy leader, 503 when none has.
pub fn cluster_status(topology: &Topology) -> HttpResponse<RestBody> {
    status(match working(topology) {
        0 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::NO_CONTENT,
    })
}

/// Whether all partitions work, or some of them, or none, which is a 503.
pub fn whole_cluster_status(topology: &Topology) -> HttpResponse<RestBody> {
    let all = usize::try_from(topology.partitions_count).unwrap_or(usize::MAX);
    let (code, text) = match working(topology) {
        0 => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"DOWN"}"#),
        some if some < all => (StatusCode::OK, r#"{"status":"DEGRADED"}"#),
        _ => (StatusCode::OK, r#"{"status":"HEALTHY"}"#),
    };
    let mut response = json(text);
    *response.status_mut() = code;
    response
}
