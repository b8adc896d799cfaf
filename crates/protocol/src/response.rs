//! Positive answers to commands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::failure::Rejection;
use crate::key::Key;
use crate::tenant::TenantId;
use crate::user_task::UserTaskProperties;
use crate::value::{
    BatchOperationType, ClusterVariableValue, DecisionEvaluationValue, DeploymentValue,
    GlobalListenerValue, IncidentValue, JobKind, KeptValue, MappingRuleValue, ParentValue,
    SessionValue, UserValue,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Response {
    /// Commands without a result.
    Empty,
    Deployed(DeploymentValue),
    ProcessInstanceCreated(ProcessInstanceCreated),
    /// The end of an instance whose creation asked to wait for it.
    ProcessInstanceResult {
        created: ProcessInstanceCreated,
        variables: String,
    },
    JobsActivated {
        jobs: Vec<ActivatedJob>,
        truncated: bool,
    },
    MessagePublished {
        message_key: Key,
    },
    MessageCorrelated {
        message_key: Key,
        process_instance_key: Key,
    },
    SignalBroadcast {
        signal_key: Key,
    },
    ConditionalsEvaluated(ConditionalsEvaluated),
    /// The new state.
    ClusterVariable(ClusterVariableValue),
    VariablesSet {
        key: Key,
    },
    ExpressionEvaluated {
        result: String,
        warnings: Vec<String>,
    },
    BatchOperationCreated {
        key: Key,
        kind: BatchOperationType,
    },
    /// The new state.
    GlobalListener(GlobalListenerValue),
    /// Also if the evaluation failed: the value shows it.
    DecisionEvaluated {
        key: Key,
        evaluation: Box<DecisionEvaluationValue>,
    },
    IncidentsListed {
        incidents: Vec<OpenIncident>,
        /// There are more after the last one.
        more: bool,
    },
    /// The new state, without the password.
    User(UserValue),
    /// The new state of a group, a role or a tenant.
    Parent(ParentValue),
    /// The new state.
    MappingRule(MappingRuleValue),
    AuthorizationCreated {
        authorization_key: Key,
    },
    /// Result of checking a deployment: why it would be refused, or its resources with the versions that they would have.
    DeploymentChecked(Result<DeploymentValue, Rejection>),
    /// `None`: there is none, or it has ended.
    Session(Option<Box<SessionValue>>),
    /// Another node is renewing the session, or has just done so.
    SessionClaimed,
    /// What was put or read, with its revision.
    Kept(Key, Box<KeptValue>),
    /// Revisions and objects, without their bodies.
    KeptListed(Vec<(Key, KeptValue)>),
}

/// Process instances started by the evaluation of the conditions of start events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionalsEvaluated {
    pub key: Key,
    pub tenant: TenantId,
    /// Definition and instance of each.
    pub started: Vec<(Key, Key)>,
}

/// An incident that waits to be resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenIncident {
    pub key: Key,
    pub incident: IncidentValue,
    pub bpmn_process_id: Arc<str>,
    pub process_definition_version: i32,
    pub element_id: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessInstanceCreated {
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub version: i32,
    pub process_instance_key: Key,
    pub tags: Arc<[String]>,
    pub business_id: Option<String>,
}

/// One activation of a job. A later activation of the same job has another deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobActivation {
    pub key: Key,
    /// Epoch milliseconds.
    pub deadline: i64,
}

/// A job handed to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivatedJob {
    pub key: Key,
    pub job_type: Arc<str>,
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub process_definition_version: i32,
    pub process_definition_key: Key,
    pub element_id: Arc<str>,
    pub element_instance_key: Key,
    /// Text of a JSON object.
    pub custom_headers: Arc<str>,
    pub worker: Arc<str>,
    pub retries: i32,
    /// Epoch milliseconds.
    pub deadline: i64,
    /// Text of a JSON object.
    pub variables: String,
    pub tags: Arc<[String]>,
    /// Of the process instance.
    pub business_id: Option<Arc<str>>,
    pub kind: JobKind,
    /// Of a task listener's job.
    pub user_task: Option<Box<UserTaskProperties>>,
    pub tenant: TenantId,
}

impl ActivatedJob {
    pub fn activation(&self) -> JobActivation {
        JobActivation {
            key: self.key,
            deadline: self.deadline,
        }
    }
}
