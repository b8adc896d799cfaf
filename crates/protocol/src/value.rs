//! The values of records: one struct per value type.
//!
//! They are the format on disk. A released struct never changes: a new shape gets the next [`RecordValue::VERSION`] and the
//! old one stays readable. Facts of the process definition (element id, type, headers) are not repeated: values name
//! elements by index, and the PROCESS record maps indices to ids for ever.

mod ad_hoc;
mod cluster_variable;
mod conditional;
mod decision_evaluation;
mod definitions;
mod exporting;
mod job;
mod kept;
mod migration;
mod modification;
mod multi_instance;
mod routing;
mod scale;
mod session;
mod subscriptions;

use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use ad_hoc::*;
pub use cluster_variable::ClusterVariableValue;
pub use conditional::{
    ConditionCheckValue, ConditionalEvaluationValue, ConditionalSubscriptionValue,
};
pub use exporting::{ExporterPosition, ExporterValue, ExportingPhase, ExportingValue};
pub use kept::{KeptId, KeptKind, KeptOwner, KeptValue};
pub use modification::*;
pub use multi_instance::*;
pub use routing::{MovedRow, RoutingValue, RowLocation};
pub use scale::ScaleValue;
pub use session::{SessionId, SessionValue};

pub use crate::continuation::{Activation, ContinuationValue, QueuedStep, Step};
pub use decision_evaluation::*;
pub use definitions::*;

use crate::document::JsonText;
use crate::element_type::ElementType;
use crate::failure::RejectionType;
use crate::intent::{
    AdHocSubProcessInstructionIntent, AuthorizationIntent, ClockIntent, ClusterVariableIntent,
    CommandDistributionIntent, CompensationSubscriptionIntent, ConditionCheckIntent,
    ConditionalEvaluationIntent, ConditionalSubscriptionIntent, ContinuationIntent,
    DecisionEvaluationIntent, DecisionIntent, DecisionRequirementsIntent, DeploymentIntent,
    ErrorIntent, EscalationIntent, ExportingIntent, FormIntent, IdentitySetupIntent,
    IncidentIntent, Intent, JobBatchIntent, JobIntent, KeptIntent, MappingRuleIntent,
    MessageCorrelationIntent, MessageIntent, MessageStartEventSubscriptionIntent,
    MessageSubscriptionIntent, MultiInstanceIntent, ProcessEventIntent, ProcessInstanceBatchIntent,
    ProcessInstanceCreationIntent, ProcessInstanceIntent, ProcessInstanceMigrationIntent,
    ProcessInstanceModificationIntent, ProcessInstanceResultIntent, ProcessIntent,
    ProcessMessageSubscriptionIntent, ResourceDeletionIntent, ResourceIntent, RoutingIntent,
    RuntimeInstructionIntent, ScaleIntent, SessionIntent, TimerIntent, UserIntent, ValueType,
    VariableDocumentIntent, VariableElementIntent, VariableIntent,
};
use crate::key::Key;
use crate::tenant::{TenantId, Tenants};
pub use job::*;
pub use migration::*;
pub use subscriptions::*;

mod batch_operation;
mod compensation;
mod global_listener;
mod identity;
mod user_task;

pub use batch_operation::*;
pub use compensation::CompensationSubscriptionValue;
pub use global_listener::{GlobalListenerEvent, GlobalListenerValue};
pub use identity::*;
pub use user_task::{UserTaskAttribute, UserTaskAttributes, UserTaskValue};

/// A value of a record.
pub trait RecordValue: Serialize + DeserializeOwned + 'static {
    const VALUE_TYPE: ValueType;
    /// Version of the body's encoding.
    const VERSION: u8 = 1;
    type Intent: Intent;

    /// The version in which this value is written: an earlier one if that loses nothing, so that nodes that know no later one
    /// can read it.
    #[inline]
    fn version(&self) -> u8 {
        Self::VERSION
    }

    /// Reads a body of an earlier version. `None` if there was no such version, or it cannot be read.
    fn read_earlier(_version: u8, _body: &[u8]) -> Option<Self> {
        None
    }
}

macro_rules! record_values {
    ($($value:ident : $value_type:ident, $intent:ident;)+) => {$(
        impl RecordValue for $value {
            const VALUE_TYPE: ValueType = ValueType::$value_type;
            type Intent = $intent;
        }
    )+};
}

record_values! {
    JobValue: Job, JobIntent;
    DeploymentValue: Deployment, DeploymentIntent;
    ProcessInstanceValue: ProcessInstance, ProcessInstanceIntent;
    IncidentValue: Incident, IncidentIntent;
    MessageValue: Message, MessageIntent;
    MessageSubscriptionValue: MessageSubscription, MessageSubscriptionIntent;
    ProcessMessageSubscriptionValue: ProcessMessageSubscription, ProcessMessageSubscriptionIntent;
    JobBatchValue: JobBatch, JobBatchIntent;
    TimerValue: Timer, TimerIntent;
    VariableValue: Variable, VariableIntent;
    VariableDocumentValue: VariableDocument, VariableDocumentIntent;
    ProcessInstanceCreationValue: ProcessInstanceCreation, ProcessInstanceCreationIntent;
    ErrorValue: Error, ErrorIntent;
    ProcessInstanceResultValue: ProcessInstanceResult, ProcessInstanceResultIntent;
    ProcessValue: Process, ProcessIntent;
    ProcessEventValue: ProcessEvent, ProcessEventIntent;
    ResourceDeletionValue: ResourceDeletion, ResourceDeletionIntent;
    CommandDistributionValue: CommandDistribution, CommandDistributionIntent;
    ProcessInstanceBatchValue: ProcessInstanceBatch, ProcessInstanceBatchIntent;
    ProcessInstanceMigrationValue: ProcessInstanceMigration, ProcessInstanceMigrationIntent;
    CompensationSubscriptionValue: CompensationSubscription, CompensationSubscriptionIntent;
    MessageCorrelationValue: MessageCorrelation, MessageCorrelationIntent;
    ClockValue: Clock, ClockIntent;
    ContinuationValue: Continuation, ContinuationIntent;
    RuntimeInstructionValue: RuntimeInstruction, RuntimeInstructionIntent;
    MultiInstanceValue: MultiInstance, MultiInstanceIntent;
    AdHocSubProcessInstructionValue: AdHocSubProcessInstruction, AdHocSubProcessInstructionIntent;
    VariableElementValue: VariableElement, VariableElementIntent;
    ProcessInstanceModificationValue: ProcessInstanceModification, ProcessInstanceModificationIntent;
    DecisionValue: Decision, DecisionIntent;
    DecisionRequirementsValue: DecisionRequirements, DecisionRequirementsIntent;
    DecisionEvaluationValue: DecisionEvaluation, DecisionEvaluationIntent;
    FormValue: Form, FormIntent;
    ResourceValue: Resource, ResourceIntent;
    MessageStartEventSubscriptionValue: MessageStartEventSubscription, MessageStartEventSubscriptionIntent;
    EscalationValue: Escalation, EscalationIntent;
    ConditionalSubscriptionValue: ConditionalSubscription, ConditionalSubscriptionIntent;
    ConditionalEvaluationValue: ConditionalEvaluation, ConditionalEvaluationIntent;
    ConditionCheckValue: ConditionCheck, ConditionCheckIntent;
    ClusterVariableValue: ClusterVariable, ClusterVariableIntent;
    ExportingValue: Exporting, ExportingIntent;
    ScaleValue: Scale, ScaleIntent;
    SessionValue: Session, SessionIntent;
    KeptValue: Kept, KeptIntent;
    RoutingValue: Routing, RoutingIntent;
    UserValue: User, UserIntent;
    MappingRuleValue: MappingRule, MappingRuleIntent;
    AuthorizationValue: Authorization, AuthorizationIntent;
    IdentitySetupValue: IdentitySetup, IdentitySetupIntent;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInstanceValue {
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    /// Index of the element (or sequence flow) in its process definition.
    pub element: u32,
    pub flow_scope_key: Key,
    /// On the process of a called instance, and on all its elements.
    pub parent_process_instance_key: Key,
    pub parent_element_instance_key: Key,
    pub root_process_instance_key: Key,
    /// On ELEMENT_ACTIVATING: how many sequence flow tokens of the scope the activation consumes.
    pub consumed_flows: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobBatchValue {
    #[serde(rename = "type")]
    pub job_type: Arc<str>,
    pub worker: Arc<str>,
    /// Milliseconds.
    pub timeout: i64,
    /// Epoch milliseconds, the same for all jobs of the batch.
    pub deadline: i64,
    pub max_jobs_to_activate: u32,
    pub job_keys: Vec<Key>,
    pub truncated: bool,
    pub tenants: Tenants,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariableValue {
    pub name: Arc<str>,
    pub value: JsonText,
    pub scope_key: Key,
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    pub root_process_instance_key: Key,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariableDocumentValue {
    pub scope_key: Key,
    pub local: bool,
    pub variables: Vec<(Arc<str>, JsonText)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInstanceCreationValue {
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub version: i32,
    pub start_elements: Vec<u32>,
    /// Elements after whose end the instance is terminated.
    pub terminate_after: Vec<u32>,
    pub tags: Vec<String>,
    pub business_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInstanceResultValue {
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub version: i32,
    /// Those that the client asked for.
    pub variables: Vec<(Arc<str>, JsonText)>,
}

/// Kinds of incidents; ids stand in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorType {
    Unknown,
    IoMappingError,
    JobNoRetries,
    ExecutionListenerNoRetries,
    TaskListenerNoRetries,
    AdHocSubProcessNoRetries,
    ConditionError,
    ExtractValueError,
    CalledElementError,
    UnhandledErrorEvent,
    MessageSizeExceeded,
    CalledDecisionError,
    DecisionEvaluationError,
    FormNotFound,
    ResourceNotFound,
}

impl ErrorType {
    /// The name of the record model.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorType::Unknown => "UNKNOWN",
            ErrorType::IoMappingError => "IO_MAPPING_ERROR",
            ErrorType::JobNoRetries => "JOB_NO_RETRIES",
            ErrorType::ExecutionListenerNoRetries => "EXECUTION_LISTENER_NO_RETRIES",
            ErrorType::TaskListenerNoRetries => "TASK_LISTENER_NO_RETRIES",
            ErrorType::AdHocSubProcessNoRetries => "AD_HOC_SUB_PROCESS_NO_RETRIES",
            ErrorType::ConditionError => "CONDITION_ERROR",
            ErrorType::ExtractValueError => "EXTRACT_VALUE_ERROR",
            ErrorType::CalledElementError => "CALLED_ELEMENT_ERROR",
            ErrorType::UnhandledErrorEvent => "UNHANDLED_ERROR_EVENT",
            ErrorType::MessageSizeExceeded => "MESSAGE_SIZE_EXCEEDED",
            ErrorType::CalledDecisionError => "CALLED_DECISION_ERROR",
            ErrorType::DecisionEvaluationError => "DECISION_EVALUATION_ERROR",
            ErrorType::FormNotFound => "FORM_NOT_FOUND",
            ErrorType::ResourceNotFound => "RESOURCE_NOT_FOUND",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IncidentValue {
    pub error_type: ErrorType,
    pub error_message: Arc<str>,
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    pub element: u32,
    pub element_instance_key: Key,
    /// None unless a job is the cause.
    pub job_key: Key,
    pub variable_scope_key: Key,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimerValue {
    pub element_instance_key: Key,
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    /// The catch event or boundary event that the timer triggers.
    pub target_element: u32,
    /// Epoch milliseconds.
    pub due_date: i64,
    /// How often it still fires, this time included; -1 for ever.
    pub repetitions: i32,
    /// The cycle, if an expression gave it: later times follow from this text, whatever the variables are by then.
    pub cycle: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageValue {
    pub name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub time_to_live: i64,
    /// Epoch milliseconds.
    pub deadline: i64,
    pub message_id: Arc<str>,
    pub variables: Vec<(Arc<str>, JsonText)>,
    pub tenant: TenantId,
}

/// The message side of a subscription; its partition is chosen by the hash of the correlation key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageSubscriptionValue {
    pub process_instance_key: Key,
    pub element_instance_key: Key,
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub message_name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub interrupting: bool,
    /// While correlating: the message and its variables, so that the correlation can be sent again after the message
    /// itself has expired.
    pub message_key: Key,
    pub variables: Vec<(Arc<str>, JsonText)>,
    pub tenant: TenantId,
    /// How often the instance was migrated since the subscription began: messages about an earlier revision are late.
    pub revision: u32,
}

/// The process side of a subscription; it lives with its instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessMessageSubscriptionValue {
    pub subscription_partition: u32,
    pub process_instance_key: Key,
    pub element_instance_key: Key,
    pub process_definition_key: Key,
    pub bpmn_process_id: Arc<str>,
    pub message_name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub interrupting: bool,
    /// The catch event, receive task or boundary event.
    pub element: u32,
    pub message_key: Key,
    /// On CORRELATED: the message's variables.
    pub variables: Vec<(Arc<str>, JsonText)>,
    /// See [`MessageSubscriptionValue::revision`].
    pub revision: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageCorrelationValue {
    pub name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub message_key: Key,
    pub process_instance_key: Key,
    pub variables: Vec<(Arc<str>, JsonText)>,
    pub tenant: TenantId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessEventValue {
    /// The element instance that the event reached (the activity that carries the boundary event, or the scope of a start
    /// instruction).
    pub scope_key: Key,
    /// The scope in which to activate the target.
    pub flow_scope_key: Key,
    /// The element instance in `scope_key` ends first.
    pub interrupting: bool,
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    pub target_element: u32,
    pub variables: Vec<(Arc<str>, JsonText)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessValue {
    pub bpmn_process_id: Arc<str>,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub process_definition_key: Key,
    pub deployment_key: Key,
    pub resource_name: Arc<str>,
    /// SHA-256 of the resource.
    pub checksum: Bytes,
    pub resource: Bytes,
    /// In index order.
    pub elements: Vec<PinnedElement>,
    pub tenant: TenantId,
}

/// Identifies an element when its definition is recompiled: the body of a multi-instance activity and the activity inside
/// share their id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PinnedElement {
    pub id: Arc<str>,
    pub element_type: ElementType,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceDeletionValue {
    pub resource_key: Key,
    pub resource_id: Arc<str>,
    pub kind: ResourceType,
    /// Also deletes its history from secondary storage.
    pub delete_history: bool,
    /// The batch operation that deletes the history.
    pub batch_operation: Option<(Key, BatchOperationType)>,
    pub tenant: TenantId,
}

/// A type of resource that can be deployed and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceType {
    ProcessDefinition,
    DecisionRequirements,
    Form,
    /// A kind without a name in the record model, such as an RPA script.
    Unknown,
}

impl ResourceType {
    /// The name of the record model.
    pub fn as_str(self) -> &'static str {
        match self {
            ResourceType::ProcessDefinition => "PROCESS_DEFINITION",
            ResourceType::DecisionRequirements => "DECISION_REQUIREMENTS",
            ResourceType::Form => "FORM",
            ResourceType::Unknown => "UNKNOWN",
        }
    }
}

/// A command that every partition must carry out, on its way to one of them. The record key names the distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandDistributionValue {
    pub partition_id: u32,
    pub value_type: u8,
    pub intent: u8,
    /// On STARTED: the encoded command, kept until every partition has acknowledged it.
    pub command_value: Bytes,
}

/// Work on all children of a scope. TERMINATED: all of them end, and then the scope completes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInstanceBatchValue {
    pub process_instance_key: Key,
    pub batch_element_instance_key: Key,
    /// The next child; none at the end.
    pub index: Key,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockValue {
    /// Epoch milliseconds.
    pub time: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorValue {
    /// Position of the record that could not be processed; -1 when it has none.
    pub error_event_position: i64,
    pub exception_message: Arc<str>,
    /// The banned instance; none if the error does not belong to one.
    pub process_instance_key: Key,
    /// As far as it is known.
    pub stacktrace: Arc<str>,
}

/// The instance's creator requested its termination after this element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeInstructionValue {
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    pub element: u32,
}

/// The body of a rejection, whatever its value type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectionValue {
    pub rejection_type: RejectionType,
    pub rejection_reason: String,
}
