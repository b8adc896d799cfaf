//! Commands: requests of a client, another partition or the engine's own clock to a partition.
//!
//! Both gateways decode into these types and know nothing else of the engine.

mod batch;
mod exporting;
mod facts;
mod identity;
mod kept;
mod need;
mod rows;
mod session;
mod since;

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use batch::{AddBatchItems, BatchCommand, CreateBatchOperation, HistoryOf, one_instance};
pub use exporting::ExportingChange;
pub use facts::{About, At, Audit, AuditCategory, Class, Head, RecordName, Row, Whose};
pub use identity::{IdentityCommand, Membership, NewParent, UpdateParent, UpdateUser};
pub use kept::KeptCommand;
pub use need::{Need, On, Reached};
pub use rows::Command;
pub use session::{SESSION_CLAIM, SessionCommand};

use crate::document::Document;
use crate::grants;
use crate::key::Key;
use crate::origin::{Claims, Origin};
use crate::tenant::{TenantId, Tenants};
use crate::value::{
    ActivateElement, ActivateInstruction, ClusterVariableValue, Corrections, GlobalListenerValue,
    JobResult, MappingInstruction, MoveInstruction, ProcessInstanceModificationValue,
    TerminateInstruction,
};

/// A client's command with the data that accompanies it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub command: Command,
    /// Number given by the client; kept in the records that the command causes.
    pub operation_reference: Option<u64>,
    /// The batch operation that carries out the command as an item; kept likewise.
    pub batch_operation_reference: Key,
    pub claims: Claims,
    /// The tenant for new entities. Existing entities have their own.
    pub tenant: TenantId,
    /// The resources that it occupies in its gateway. A node that carries the request out for another one holds none.
    #[serde(skip)]
    pub held: Held,
    #[serde(skip)]
    pub peer: Peer,
    /// How often a partition has sent it on to another one, to which its correlation key has moved. Other nodes get it beside the request.
    #[serde(skip)]
    pub hops: u32,
}

/// Where a request comes from, if that may count: what takes long has a share for each caller, and those without a name have none but
/// this. Not sent to other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Peer {
    #[default]
    Unknown,
    Address(IpAddr),
    /// A caller of this other node.
    Node(u32),
}

impl Request {
    /// Approximate number of bytes that the request takes while it waits.
    pub fn weight(&self) -> usize {
        size_of::<Request>() + self.command.weight() + self.claims.weight()
    }

    pub fn origin(&self) -> Origin {
        Origin {
            operation_reference: self.operation_reference,
            batch_operation_reference: self.batch_operation_reference,
            claims: self.claims.clone(),
        }
    }
}

/// The resources that a request occupies in its gateway: a slot, and memory for its bytes. They are released when the last
/// clone is dropped, so they stay with the request: as long as a command waits in an inbox, its gateway accepts that much
/// less.
#[derive(Clone, Default)]
pub struct Held(Option<Arc<dyn Any + Send + Sync>>);

impl Held {
    pub fn new(what: impl Any + Send + Sync) -> Held {
        Held(Some(Arc::new(what)))
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Held" } else { "Nothing" })
    }
}

impl Request {
    /// A command of the engine, this node or its operator: nothing is checked.
    pub fn internal(command: Command) -> Request {
        Draft::from(command).by(Claims::Internal)
    }
}

/// A client's command as the gateways have decoded it, before its caller is set; it cannot be executed until then.
#[derive(Clone, Debug)]
pub struct Draft {
    pub command: Command,
    pub operation_reference: Option<u64>,
    pub tenant: TenantId,
}

impl Draft {
    pub fn by(self, claims: Claims) -> Request {
        Request {
            command: self.command,
            operation_reference: self.operation_reference,
            batch_operation_reference: Key::NONE,
            claims,
            tenant: self.tenant,
            held: Held::default(),
            peer: Peer::default(),
            hops: 0,
        }
    }
}

impl From<Command> for Draft {
    fn from(command: Command) -> Draft {
        Draft {
            command,
            operation_reference: None,
            tenant: TenantId::default(),
        }
    }
}

/// Incidents in one answer.
pub const MAX_LISTED_INCIDENTS: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpdateJobKind {
    Retries,
    Timeout,
    Both,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deploy {
    pub resources: Vec<Resource>,
}

impl Deploy {
    fn weight(&self) -> usize {
        let resources = self.resources.iter();
        resources.map(|r| r.name.len() + r.content.len()).sum()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Resource {
    pub name: String,
    pub content: Bytes,
}

/// Selects a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DecisionRef {
    Key(Key),
    /// The latest version.
    Id(Arc<str>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvaluateDecision {
    pub decision: DecisionRef,
    pub variables: Document,
}

/// Selects a process definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProcessRef {
    Key(Key),
    /// `version` -1 means the latest.
    Id {
        bpmn_process_id: Arc<str>,
        version: i32,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreateProcessInstance {
    pub process: ProcessRef,
    pub variables: Document,
    /// Element ids to start at; empty means the none start event.
    pub start_instructions: Vec<String>,
    /// Ids of elements after whose end the instance is terminated (`TERMINATE_PROCESS_INSTANCE`).
    pub terminate_after: Vec<String>,
    pub tags: Vec<String>,
    pub business_id: Option<String>,
    /// Present if the answer waits for the end of the instance.
    pub await_result: Option<AwaitResult>,
}

impl CreateProcessInstance {
    fn weight(&self) -> usize {
        let lists = [&self.start_instructions, &self.terminate_after, &self.tags];
        let texts = lists.into_iter().flatten();
        let texts: usize = texts.map(|text| text.len() + size_of::<String>()).sum();
        self.variables.weight() + texts
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitResult {
    /// Names of the variables to return; empty means all.
    pub fetch_variables: Vec<String>,
}

/// Moves an instance to another definition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MigrateProcessInstance {
    pub process_instance_key: Key,
    pub target_process_definition_key: Key,
    pub mapping_instructions: Vec<MappingInstruction>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ActivateJobs {
    pub job_type: Arc<str>,
    pub worker: Arc<str>,
    /// Milliseconds until an activated job is offered again; at least 1.
    pub timeout: i64,
    /// At least 1.
    pub max_jobs: u32,
    /// Empty means all.
    pub fetch_variables: Vec<Arc<str>>,
    pub tenants: Tenants,
}

impl ActivateJobs {
    /// Bytes of its texts.
    fn weight(&self) -> usize {
        let names = self.fetch_variables.iter();
        let names: usize = names.map(|n| n.len() + size_of::<Arc<str>>()).sum();
        self.job_type.len() + self.worker.len() + names + self.tenants.weight()
    }
}

/// Activates elements of an ad-hoc sub-process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActivateAdHoc {
    pub ad_hoc_sub_process_instance_key: Key,
    pub elements: Vec<ActivateElement>,
    /// Elements that run already are ended.
    pub cancel_remaining_instances: bool,
}

/// Moves a process instance to other elements: elements are activated, element instances terminated. All or nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ModifyProcessInstance {
    pub process_instance_key: Key,
    pub activate_instructions: Vec<ActivateInstruction>,
    pub terminate_instructions: Vec<TerminateInstruction>,
    pub move_instructions: Vec<MoveInstruction>,
}

impl ModifyProcessInstance {
    /// The value in the command's records.
    pub fn into_value(self) -> ProcessInstanceModificationValue {
        ProcessInstanceModificationValue {
            process_instance_key: self.process_instance_key,
            activate_instructions: self.activate_instructions,
            terminate_instructions: self.terminate_instructions,
            move_instructions: self.move_instructions,
            ..ProcessInstanceModificationValue::default()
        }
    }

    fn weight(&self) -> usize {
        let activate = self.activate_instructions.iter();
        let terminate = self.terminate_instructions.iter();
        let moves = self.move_instructions.iter();
        activate.map(ActivateInstruction::weight).sum::<usize>()
            + terminate.map(TerminateInstruction::weight).sum::<usize>()
            + moves.map(MoveInstruction::weight).sum::<usize>()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailJob {
    pub job_key: Key,
    pub retries: i32,
    /// Milliseconds.
    pub retry_back_off: i64,
    pub error_message: String,
    pub variables: Document,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThrowError {
    pub job_key: Key,
    pub error_code: String,
    pub error_message: String,
    pub variables: Document,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublishMessage {
    pub name: Arc<str>,
    pub correlation_key: Arc<str>,
    /// Milliseconds; zero or less: the message is not buffered.
    pub time_to_live: i64,
    /// Empty means none: the message need not be unique.
    pub message_id: Arc<str>,
    pub variables: Document,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BroadcastSignal {
    pub signal_name: Arc<str>,
    pub variables: Document,
}

/// Evaluates the conditions of start events with these variables; an instance starts for each that is true.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvaluateConditionals {
    /// None: of all definitions of the tenant.
    pub process_definition_key: Option<Key>,
    pub variables: Document,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CorrelateMessage {
    pub name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub variables: Document,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AssignUserTask {
    pub user_task_key: Key,
    /// Empty removes the assignee.
    pub assignee: Arc<str>,
    /// The user's name for the action; empty for `assign` or `claim`.
    pub action: Arc<str>,
    /// Refused if the task is assigned to another user.
    pub claim: bool,
}

impl AssignUserTask {
    /// Claiming or unclaiming a task needs fewer permissions than assigning it to others.
    fn needs(&self) -> Need<'_> {
        let own = grants![
            ProcessDefinition: UpdateUserTask,
            ProcessDefinition: ClaimUserTask,
            UserTask: Update,
            UserTask: Claim,
        ];
        let others = grants![ProcessDefinition: UpdateUserTask, UserTask: Update];
        let gives_back = self.assignee.is_empty();
        Need::OfTask {
            any_of: others,
            or_assignee: if gives_back { own } else { &[] },
            or_for: self.claim.then_some((&*self.assignee, own)),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UpdateUserTask {
    pub user_task_key: Key,
    /// Empty for `update`.
    pub action: Arc<str>,
    /// Not of the assignee: that is an assignment.
    pub changes: Corrections,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompleteUserTask {
    pub user_task_key: Key,
    /// Empty for `complete`.
    pub action: Arc<str>,
    pub variables: Document,
}
