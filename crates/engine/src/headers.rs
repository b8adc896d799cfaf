//! The head of the record that a command is written as.

use skep_protocol::command::{Command, UpdateJobKind};
use skep_protocol::intent::*;
use skep_protocol::{Key, ValueType};

use crate::processing::batch_operation;
use crate::processing::deployment::distribution;
use crate::remote::{Distributed, RemoteCommand};

/// Key, value type and intent of the command record.
pub fn header_of(command: &Command) -> (Key, ValueType, u8) {
    match command {
        Command::Deploy(_) => (
            Key::NONE,
            ValueType::Deployment,
            DeploymentIntent::Create.id(),
        ),
        Command::DeleteResource { .. } => (
            Key::NONE,
            ValueType::ResourceDeletion,
            ResourceDeletionIntent::Delete.id(),
        ),
        Command::CreateProcessInstance(command) => {
            let intent = match command.await_result {
                Some(_) => ProcessInstanceCreationIntent::CreateWithAwaitingResult,
                None => ProcessInstanceCreationIntent::Create,
            };
            (Key::NONE, ValueType::ProcessInstanceCreation, intent.id())
        }
        Command::CancelProcessInstance {
            process_instance_key,
        } => (
            *process_instance_key,
            ValueType::ProcessInstance,
            ProcessInstanceIntent::Cancel.id(),
        ),
        Command::MigrateProcessInstance(_) => (
            Key::NONE,
            ValueType::ProcessInstanceMigration,
            ProcessInstanceMigrationIntent::Migrate.id(),
        ),
        Command::ModifyProcessInstance(command) => (
            command.process_instance_key,
            ValueType::ProcessInstanceModification,
            ProcessInstanceModificationIntent::Modify.id(),
        ),
        Command::BanInstance {
            process_instance_key,
        } => (
            *process_instance_key,
            ValueType::Error,
            ErrorIntent::Created.id(),
        ),
        Command::ActivateJobs(_) => (
            Key::NONE,
            ValueType::JobBatch,
            JobBatchIntent::Activate.id(),
        ),
        Command::CompleteJob { job_key, .. } => {
            (*job_key, ValueType::Job, JobIntent::Complete.id())
        }
        Command::FailJob(command) => (command.job_key, ValueType::Job, JobIntent::Fail.id()),
        Command::ThrowError(command) => {
            (command.job_key, ValueType::Job, JobIntent::ThrowError.id())
        }
        Command::UpdateJob { job_key, kind, .. } => {
            let intent = match kind {
                UpdateJobKind::Retries => JobIntent::UpdateRetries,
                UpdateJobKind::Timeout => JobIntent::UpdateTimeout,
                UpdateJobKind::Both => JobIntent::Update,
            };
            (*job_key, ValueType::Job, intent.id())
        }
        Command::PublishMessage(_) => (Key::NONE, ValueType::Message, MessageIntent::Publish.id()),
        Command::CorrelateMessage(_) => (
            Key::NONE,
            ValueType::MessageCorrelation,
            MessageCorrelationIntent::Correlate.id(),
        ),
        Command::BroadcastSignal(_) => (Key::NONE, ValueType::Signal, SignalIntent::Broadcast.id()),
        Command::EvaluateConditionals(_) => {
            let intent = ConditionalEvaluationIntent::Evaluate.id();
            (Key::NONE, ValueType::ConditionalEvaluation, intent)
        }
        Command::CreateClusterVariable(_) => {
            let intent = ClusterVariableIntent::Create.id();
            (Key::NONE, ValueType::ClusterVariable, intent)
        }
        Command::UpdateClusterVariable(_) => {
            let intent = ClusterVariableIntent::Update.id();
            (Key::NONE, ValueType::ClusterVariable, intent)
        }
        Command::DeleteClusterVariable { .. } => {
            let intent = ClusterVariableIntent::Delete.id();
            (Key::NONE, ValueType::ClusterVariable, intent)
        }
        Command::ResolveIncident { incident_key } => (
            *incident_key,
            ValueType::Incident,
            IncidentIntent::Resolve.id(),
        ),
        Command::SetVariables {
            element_instance_key,
            ..
        } => (
            *element_instance_key,
            ValueType::VariableDocument,
            VariableDocumentIntent::Update.id(),
        ),
        Command::ActivateAdHoc(_) => (
            Key::NONE,
            ValueType::AdHocSubProcessInstruction,
            AdHocSubProcessInstructionIntent::Activate.id(),
        ),
        Command::AssignUserTask(command) => {
            let intent = match command.claim {
                true => UserTaskIntent::Claim,
                false => UserTaskIntent::Assign,
            };
            (command.user_task_key, ValueType::UserTask, intent.id())
        }
        Command::CreateGlobalListener(_) => {
            let intent = GlobalListenerIntent::Create.id();
            (Key::NONE, ValueType::GlobalListener, intent)
        }
        Command::UpdateGlobalListener(_) => {
            let intent = GlobalListenerIntent::Update.id();
            (Key::NONE, ValueType::GlobalListener, intent)
        }
        Command::DeleteGlobalListener { .. } => {
            let intent = GlobalListenerIntent::Delete.id();
            (Key::NONE, ValueType::GlobalListener, intent)
        }
        Command::UpdateUserTask(command) => {
            let intent = UserTaskIntent::Update.id();
            (command.user_task_key, ValueType::UserTask, intent)
        }
        Command::CompleteUserTask(command) => {
            let intent = UserTaskIntent::Complete.id();
            (command.user_task_key, ValueType::UserTask, intent)
        }
        Command::Batch(command) => batch_operation::header_of(command),
        Command::PinClock { .. } => (Key::NONE, ValueType::Clock, ClockIntent::Pin.id()),
        Command::ResetClock => (Key::NONE, ValueType::Clock, ClockIntent::Reset.id()),
        Command::ChangeExporting { .. } => {
            let intent = ExportingIntent::Change.id();
            (Key::NONE, ValueType::Exporting, intent)
        }
        Command::EvaluateDecision(_) => (
            Key::NONE,
            ValueType::DecisionEvaluation,
            DecisionEvaluationIntent::Evaluate.id(),
        ),
        // Reads: their header is taken back, as they write nothing after it.
        Command::ListIncidents { .. } => {
            (Key::NONE, ValueType::Incident, IncidentIntent::Resolve.id())
        }
        Command::EvaluateExpression { .. } => (
            Key::NONE,
            ValueType::Expression,
            ExpressionIntent::Evaluate.id(),
        ),
    }
}

/// As [`header_of`], for a command of another partition.
pub(crate) fn header_of_remote(command: &RemoteCommand) -> (Key, ValueType, u8) {
    use MessageSubscriptionIntent as Message;
    use ProcessMessageSubscriptionIntent as Process;
    let message = |key: &Key, intent: Message| (*key, ValueType::MessageSubscription, intent.id());
    let process =
        |key: &Key, intent: Process| (*key, ValueType::ProcessMessageSubscription, intent.id());
    match command {
        RemoteCommand::OpenMessageSubscription(value) => {
            message(&value.element_instance_key, Message::Create)
        }
        RemoteCommand::MessageSubscriptionOpened {
            element_instance_key,
            ..
        } => process(element_instance_key, Process::Create),
        RemoteCommand::CorrelateSubscription(c) => {
            process(&c.element_instance_key, Process::Correlate)
        }
        RemoteCommand::MessageCorrelated {
            element_instance_key,
            ..
        } => message(element_instance_key, Message::Correlate),
        RemoteCommand::RejectCorrelation {
            element_instance_key,
            ..
        } => message(element_instance_key, Message::Reject),
        RemoteCommand::CloseMessageSubscription {
            element_instance_key,
            ..
        } => message(element_instance_key, Message::Delete),
        RemoteCommand::MessageSubscriptionClosed {
            element_instance_key,
            ..
        } => process(element_instance_key, Process::Delete),
        RemoteCommand::BatchPart {
            batch_operation_key,
            ..
        } => (
            *batch_operation_key,
            ValueType::BatchOperationPartitionLifecycle,
            BatchOperationIntent::CompletePartition.id(),
        ),
        RemoteCommand::Distribute {
            distribution_key,
            command,
            ..
        } => {
            let key = match command {
                Distributed::Deployment { deployment_key, .. } => deployment_key,
                Distributed::ResourceDeletion { resource_key, .. } => resource_key,
                Distributed::SetGlobalListener { key, .. }
                | Distributed::DeleteGlobalListener { key, .. }
                | Distributed::BatchOperation { key, .. }
                | Distributed::ManageBatchOperation { key, .. }
                | Distributed::SetClusterVariable { key, .. }
                | Distributed::DeleteClusterVariable { key, .. } => key,
                _ => distribution_key,
            };
            let value_type = distribution::value_type_of(command);
            (*key, value_type, distribution::intent_of(command))
        }
        RemoteCommand::AcknowledgeDistribution {
            distribution_key, ..
        } => (
            *distribution_key,
            ValueType::CommandDistribution,
            CommandDistributionIntent::Acknowledge.id(),
        ),
    }
}
