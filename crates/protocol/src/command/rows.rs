//! All commands of clients, one row each. The order is the encoding between nodes: a new row goes to the end, or, for a new
//! family, into a table of its own ([`super::batch`] is one).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::{About, At, Audit, Class, Head, RecordName, Row, Whose, commands};
use super::need::{Need, On, Reached};
use super::{
    ActivateAdHoc, ActivateElement, ActivateJobs, AssignUserTask, BatchCommand, BroadcastSignal,
    ClusterVariableValue, CompleteUserTask, CorrelateMessage, CreateProcessInstance, Deploy,
    Document, EvaluateConditionals, EvaluateDecision, ExportingChange, FailJob,
    GlobalListenerValue, IdentityCommand, JobResult, KeptCommand, Key, MappingInstruction,
    MigrateProcessInstance, ModifyProcessInstance, PublishMessage, Resource, SessionCommand,
    TenantId, ThrowError, UpdateJobKind, UpdateUserTask,
};
use crate::grants;
use crate::intent::{
    AdHocSubProcessInstructionIntent, ClockIntent, ClusterVariableIntent,
    ConditionalEvaluationIntent, DecisionEvaluationIntent, DeploymentIntent, ErrorIntent,
    ExportingIntent, ExpressionIntent, GlobalListenerIntent, IncidentIntent, JobBatchIntent,
    JobIntent, MessageCorrelationIntent, MessageIntent, ProcessInstanceCreationIntent,
    ProcessInstanceIntent, ProcessInstanceMigrationIntent, ProcessInstanceModificationIntent,
    ResourceDeletionIntent, ScaleIntent, SignalIntent, UserTaskIntent, ValueType,
    VariableDocumentIntent,
};

commands! {
/// All commands of clients.
pub enum Command {
    Deploy(deploy: Deploy) => {
        record: Deployment { DeploymentIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Resource: Create], On::Any),
        audit: Audit::resources("RESOURCE", "CREATE"),
        weight: deploy.weight(),
    }
    DeleteResource {
        resource_key: Key,
        /// Also deletes the resource and the history of its instances from secondary storage.
        delete_history: bool,
    } => {
        record: ResourceDeletion { ResourceDeletionIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Resource(*resource_key),
        at: if *delete_history { At::Home } else { At::First },
        class: New,
        needs: Need::ToDelete { key: *resource_key, history: *delete_history },
        audit: Audit::resources("RESOURCE", "DELETE"),
        weight: 0,
    }
    CreateProcessInstance(create: CreateProcessInstance) => {
        record: ProcessInstanceCreation {
            ProcessInstanceCreationIntent::CreateWithAwaitingResult if create.await_result.is_some(),
            ProcessInstanceCreationIntent::Create
        } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::Turn,
        class: New,
        needs: Need::AnyOf(grants![ProcessDefinition: CreateProcessInstance], On::Process(&create.process)),
        audit: Audit::resources("PROCESS_INSTANCE", "CREATE"),
        weight: create.weight(),
    }
    CancelProcessInstance { process_instance_key: Key } => {
        record: ProcessInstance { ProcessInstanceIntent::Cancel } *process_instance_key,
        about: About::ProcessInstance(*process_instance_key),
        whose: Whose::Its,
        at: At::Key(*process_instance_key),
        class: Ending,
        needs: Need::AnyOf(grants![ProcessDefinition: CancelProcessInstance], On::ItsProcess),
        audit: Audit::resources("PROCESS_INSTANCE", "CANCEL"),
        weight: 0,
    }
    MigrateProcessInstance(migrate: MigrateProcessInstance) => {
        record: ProcessInstanceMigration { ProcessInstanceMigrationIntent::Migrate } Key::NONE,
        about: About::ProcessInstance(migrate.process_instance_key),
        whose: Whose::Its,
        at: At::Key(migrate.process_instance_key),
        class: New,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::resources("PROCESS_INSTANCE", "MIGRATE"),
        weight: migrate.mapping_instructions.iter().map(MappingInstruction::weight).sum(),
    }
    ModifyProcessInstance(modify: ModifyProcessInstance) => {
        record: ProcessInstanceModification { ProcessInstanceModificationIntent::Modify } modify.process_instance_key,
        about: About::ProcessInstance(modify.process_instance_key),
        whose: Whose::Its,
        at: At::Key(modify.process_instance_key),
        class: New,
        needs: Need::AnyOf(grants![ProcessDefinition: ModifyProcessInstance], On::ItsProcess),
        audit: Audit::resources("PROCESS_INSTANCE", "MODIFY"),
        weight: modify.weight(),
    }
    /// Stops an instance permanently; only cancelling it remains possible.
    BanInstance { process_instance_key: Key } => {
        record: Error { ErrorIntent::Created } *process_instance_key,
        about: About::ProcessInstance(*process_instance_key),
        whose: Whose::Cluster,
        at: At::Key(*process_instance_key),
        class: Ending,
        needs: Need::Internal,
        audit: Audit::None,
        weight: 0,
    }
    ActivateJobs(activate: ActivateJobs) => {
        record: JobBatch { JobBatchIntent::Activate } Key::NONE,
        about: About::Nothing,
        whose: Whose::Each,
        // The router asks one partition after the other.
        at: At::First,
        class: Polling,
        needs: Need::Filters(grants![ProcessDefinition: UpdateProcessInstance]),
        audit: Audit::None,
        weight: activate.weight(),
    }
    CompleteJob {
        job_key: Key,
        variables: Document,
        /// Result from the worker of a listener or an ad-hoc sub-process, beside variables.
        result: Option<Box<JobResult>>,
    } => {
        record: Job { JobIntent::Complete } *job_key,
        about: About::Job(*job_key),
        whose: Whose::Its,
        at: At::Key(*job_key),
        class: Finishing,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::None,
        weight: variables.weight() + result.as_ref().map_or(0, |result| result.weight()),
    }
    FailJob(fail: FailJob) => {
        record: Job { JobIntent::Fail } fail.job_key,
        about: About::Job(fail.job_key),
        whose: Whose::Its,
        at: At::Key(fail.job_key),
        class: Finishing,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::None,
        weight: fail.variables.weight() + fail.error_message.len(),
    }
    ThrowError(error: ThrowError) => {
        record: Job { JobIntent::ThrowError } error.job_key,
        about: About::Job(error.job_key),
        whose: Whose::Its,
        at: At::Key(error.job_key),
        class: Finishing,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::None,
        weight: error.variables.weight() + error.error_code.len() + error.error_message.len(),
    }
    /// Either field or both; `None` leaves it as it is. `intent` is UPDATE_RETRIES, UPDATE_TIMEOUT or UPDATE for messages.
    UpdateJob { job_key: Key, retries: Option<i32>, timeout: Option<i64>, kind: UpdateJobKind } => {
        record: Job {
            JobIntent::UpdateRetries if *kind == UpdateJobKind::Retries,
            JobIntent::UpdateTimeout if *kind == UpdateJobKind::Timeout,
            JobIntent::Update
        } *job_key,
        about: About::Job(*job_key),
        whose: Whose::Its,
        at: At::Key(*job_key),
        class: Finishing,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::None,
        weight: 0,
    }
    PublishMessage(message: PublishMessage) => {
        record: Message { MessageIntent::Publish } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::Correlation(&message.correlation_key),
        class: New,
        needs: Need::AnyOf(grants![Message: Create], On::Id(&message.name)),
        audit: Audit::None,
        weight: message.variables.weight() + message.name.len() + message.correlation_key.len() + message.message_id.len(),
    }
    CorrelateMessage(message: CorrelateMessage) => {
        record: MessageCorrelation { MessageCorrelationIntent::Correlate } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::Correlation(&message.correlation_key),
        class: New,
        needs: Need::OfEachReached(Reached::Message {
            name: &message.name,
            correlation_key: &message.correlation_key,
        }),
        audit: Audit::None,
        weight: message.variables.weight() + message.name.len() + message.correlation_key.len(),
    }
    BroadcastSignal(signal: BroadcastSignal) => {
        record: Signal { SignalIntent::Broadcast } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::First,
        class: New,
        needs: Need::OfEachReached(Reached::Signal(&signal.signal_name)),
        audit: Audit::None,
        weight: signal.variables.weight() + signal.signal_name.len(),
    }
    EvaluateConditionals(evaluate: EvaluateConditionals) => {
        record: ConditionalEvaluation { ConditionalEvaluationIntent::Evaluate } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::Turn,
        class: NewMany,
        needs: Need::OfEachStarted(evaluate.process_definition_key, &evaluate.variables),
        audit: Audit::None,
        weight: evaluate.variables.weight(),
    }
    CreateClusterVariable(value: ClusterVariableValue) => {
        record: ClusterVariable { ClusterVariableIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::NewOf(value.tenant.as_ref()),
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![ClusterVariable: Create], On::Id(&value.name)),
        audit: Audit::None,
        weight: value.weight(),
    }
    UpdateClusterVariable(value: ClusterVariableValue) => {
        record: ClusterVariable { ClusterVariableIntent::Update } Key::NONE,
        about: About::Nothing,
        whose: Whose::Of(value.tenant.as_ref()),
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![ClusterVariable: Update], On::Id(&value.name)),
        audit: Audit::None,
        weight: value.weight(),
    }
    DeleteClusterVariable {
        name: Arc<str>,
        /// None: the global one.
        tenant: Option<TenantId>,
    } => {
        record: ClusterVariable { ClusterVariableIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Of(tenant.as_ref()),
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![ClusterVariable: Delete], On::Id(name)),
        audit: Audit::None,
        weight: name.len(),
    }
    ResolveIncident { incident_key: Key } => {
        record: Incident { IncidentIntent::Resolve } *incident_key,
        about: About::Incident(*incident_key),
        whose: Whose::Its,
        at: At::Key(*incident_key),
        class: Finishing,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::resources("INCIDENT", "RESOLVE"),
        weight: 0,
    }
    SetVariables { element_instance_key: Key, variables: Document, local: bool } => {
        record: VariableDocument { VariableDocumentIntent::Update } *element_instance_key,
        about: About::ElementInstance(*element_instance_key),
        whose: Whose::Its,
        at: At::Key(*element_instance_key),
        class: New,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::resources("VARIABLE", "UPDATE"),
        weight: variables.weight(),
    }
    ActivateAdHoc(activate: ActivateAdHoc) => {
        record: AdHocSubProcessInstruction { AdHocSubProcessInstructionIntent::Activate } Key::NONE,
        about: About::ElementInstance(activate.ad_hoc_sub_process_instance_key),
        whose: Whose::Its,
        at: At::Key(activate.ad_hoc_sub_process_instance_key),
        class: New,
        needs: Need::AnyOf(grants![ProcessDefinition: UpdateProcessInstance], On::ItsProcess),
        audit: Audit::None,
        weight: activate.elements.iter().map(ActivateElement::weight).sum(),
    }
    AssignUserTask(assign: AssignUserTask) => {
        record: UserTask { UserTaskIntent::Claim if assign.claim, UserTaskIntent::Assign } assign.user_task_key,
        about: About::UserTask(assign.user_task_key),
        whose: Whose::Its,
        at: At::Key(assign.user_task_key),
        class: New,
        needs: assign.needs(),
        audit: Audit::tasks("ASSIGN"),
        weight: assign.assignee.len() + assign.action.len(),
    }
    UpdateUserTask(update: UpdateUserTask) => {
        record: UserTask { UserTaskIntent::Update } update.user_task_key,
        about: About::UserTask(update.user_task_key),
        whose: Whose::Its,
        at: At::Key(update.user_task_key),
        class: New,
        needs: Need::OfTask {
            any_of: grants![ProcessDefinition: UpdateUserTask, UserTask: Update],
            or_assignee: &[],
            or_for: None,
        },
        audit: Audit::tasks("UPDATE"),
        weight: update.changes.weight() + update.action.len(),
    }
    CompleteUserTask(complete: CompleteUserTask) => {
        record: UserTask { UserTaskIntent::Complete } complete.user_task_key,
        about: About::UserTask(complete.user_task_key),
        whose: Whose::Its,
        at: At::Key(complete.user_task_key),
        class: Finishing,
        needs: Need::OfTask {
            any_of: grants![
                ProcessDefinition: UpdateUserTask, ProcessDefinition: CompleteUserTask, UserTask: Update, UserTask: Complete
            ],
            or_assignee: &[],
            or_for: None,
        },
        audit: Audit::tasks("COMPLETE"),
        weight: complete.variables.weight() + complete.action.len(),
    }
    CreateGlobalListener(listener: GlobalListenerValue) => {
        record: GlobalListener { GlobalListenerIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![GlobalListener: CreateTaskListener], On::Any),
        audit: Audit::None,
        weight: listener.weight(),
    }
    /// All of its settings are replaced.
    UpdateGlobalListener(listener: GlobalListenerValue) => {
        record: GlobalListener { GlobalListenerIntent::Update } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![GlobalListener: UpdateTaskListener], On::Any),
        audit: Audit::None,
        weight: listener.weight(),
    }
    DeleteGlobalListener { id: Arc<str> } => {
        record: GlobalListener { GlobalListenerIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![GlobalListener: DeleteTaskListener], On::Any),
        audit: Audit::None,
        weight: id.len(),
    }
    Batch(batch: BatchCommand) => (batch)
    PinClock { timestamp: i64 } => {
        record: Clock { ClockIntent::Pin } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![System: Update], On::Any),
        audit: Audit::None,
        weight: 0,
    }
    ResetClock => {
        record: Clock { ClockIntent::Reset } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![System: Update], On::Any),
        audit: Audit::None,
        weight: 0,
    }
    /// An operator's command to the exporters of a partition.
    ChangeExporting { partition: u32, change: ExportingChange } => {
        record: Exporting { ExportingIntent::Change } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::Given(*partition),
        // It may help against a full disk.
        class: Finishing,
        needs: Need::Internal,
        audit: Audit::None,
        weight: change.weight(),
    }
    EvaluateExpression { expression: String, variables: Document } => {
        record: Expression { ExpressionIntent::Evaluate } Key::NONE,
        about: About::Nothing,
        whose: Whose::Shown,
        at: At::Turn,
        class: Evaluating,
        needs: Need::AnyOf(grants![Expression: Evaluate], On::Any),
        audit: Audit::None,
        weight: expression.len() + variables.weight(),
    }
    EvaluateDecision(evaluate: EvaluateDecision) => {
        record: DecisionEvaluation { DecisionEvaluationIntent::Evaluate } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::Turn,
        class: Evaluating,
        needs: Need::AnyOf(grants![DecisionDefinition: CreateDecisionInstance], On::Decision(&evaluate.decision)),
        audit: Audit::resources("DECISION", "EVALUATE"),
        weight: evaluate.variables.weight(),
    }
    /// Reads open incidents, oldest first.
    ListIncidents {
        partition: u32,
        /// Only those with a higher key; [`Key::NONE`] begins with the first.
        after: Key,
        /// At most this many, and at most [`MAX_LISTED_INCIDENTS`](crate::command::MAX_LISTED_INCIDENTS).
        limit: u32,
    } => {
        // A read: its header is rolled back, as no records follow it.
        record: Incident { IncidentIntent::Resolve } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::Given(*partition),
        class: New,
        needs: Need::Internal,
        audit: Audit::None,
        weight: 0,
    }
    Identity(identity: IdentityCommand) => (identity)
    /// Adds partitions to the cluster: the first one informs the others, and gives the new ones the data that every partition has.
    ScaleUp { partitions: u32 } => {
        record: Scale { ScaleIntent::ScaleUp } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::Internal,
        audit: Audit::None,
        weight: 0,
    }
    /// Checks whether resources could be deployed, and returns the result that a deployment would have.
    CheckDeployment(deploy: Deploy) => {
        // A read, as [`Command::ListIncidents`] is.
        record: Deployment { DeploymentIntent::Create } Key::NONE,
        about: About::Nothing,
        whose: Whose::New,
        at: At::First,
        class: New,
        needs: Need::AnyOf(grants![Resource: Create], On::Any),
        audit: Audit::None,
        weight: deploy.weight(),
    }
    Session(session: SessionCommand) => (session)
    Kept(kept: KeptCommand) => (kept)
}
}

impl Command {
    /// The resources of a deployment, or of one that is only checked.
    pub fn deployed(&self) -> Option<&[Resource]> {
        match self {
            Command::Deploy(deploy) | Command::CheckDeployment(deploy) => Some(&deploy.resources),
            _ => None,
        }
    }

    /// The jobs that a worker asks for.
    pub fn asked_for(&self) -> Option<&ActivateJobs> {
        match self {
            Command::ActivateJobs(asked) => Some(asked),
            _ => None,
        }
    }

    /// Whether its answer waits for the end of the instance, possibly for days.
    pub fn awaits_end(&self) -> bool {
        matches!(self, Command::CreateProcessInstance(create) if create.await_result.is_some())
    }

    /// Whether it changes users, groups, roles, tenants, rules or authorizations.
    pub fn changes_identity(&self) -> bool {
        matches!(self, Command::Identity(_))
    }

    /// The change to the partition's exporting.
    pub fn exporting_change_mut(&mut self) -> Option<&mut ExportingChange> {
        match self {
            Command::ChangeExporting { change, .. } => Some(change),
            _ => None,
        }
    }
}
