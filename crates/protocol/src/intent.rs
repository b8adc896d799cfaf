//! Value types and intents, with the ids and names of the record model.

use std::fmt;

/// Subject of a record. Ids are fixed for ever: they are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ValueType {
    Job = 0,
    Deployment = 4,
    ProcessInstance = 5,
    Incident = 6,
    Message = 10,
    MessageSubscription = 11,
    ProcessMessageSubscription = 12,
    JobBatch = 14,
    Timer = 15,
    MessageStartEventSubscription = 16,
    Variable = 17,
    VariableDocument = 18,
    ProcessInstanceCreation = 19,
    Error = 20,
    ProcessInstanceResult = 21,
    Process = 22,
    ProcessEvent = 24,
    Decision = 25,
    DecisionRequirements = 26,
    DecisionEvaluation = 27,
    ResourceDeletion = 32,
    SignalSubscription = 30,
    Signal = 31,
    ProcessInstanceModification = 28,
    Escalation = 29,
    CommandDistribution = 33,
    ProcessInstanceBatch = 34,
    Form = 36,
    UserTask = 37,
    ProcessInstanceMigration = 38,
    CompensationSubscription = 39,
    MessageCorrelation = 40,
    Clock = 42,
    BatchOperationCreation = 50,
    BatchOperationExecution = 51,
    BatchOperationChunk = 52,
    BatchOperationLifecycleManagement = 54,
    BatchOperationPartitionLifecycle = 55,
    BatchOperationInitialization = 60,
    HistoryDeletion = 62,
    AdHocSubProcessInstruction = 53,
    MultiInstance = 58,
    Resource = 44,
    RuntimeInstruction = 59,
    ClusterVariable = 61,
    ConditionalSubscription = 63,
    ConditionalEvaluation = 64,
    Expression = 66,
    GlobalListener = 68,
    User = 41,
    Authorization = 43,
    Tenant = 45,
    Group = 46,
    MappingRule = 47,
    IdentitySetup = 48,
    Role = 49,
    /// Skep's own: the work of a command that continues in later batches. It is never exported.
    Continuation = 200,
    /// Skep's own: a change within the value of a variable.
    VariableElement = 210,
    /// Skep's own: the outcome of an item of a batch operation.
    BatchOperationItem = 250,
    /// Skep's own: variables have changed where very many conditions listen. It is never exported.
    ConditionCheck = 220,
    /// Skep's own: the positions of the exporters. It is never exported.
    Exporting = 230,
    /// Skep's own: browsers that have logged in. It is never exported.
    Session = 240,
    /// Skep's own: what users of the web interface keep. It is never exported.
    Kept = 241,
    /// Skep's own: slots of correlation keys that move between partitions. It is never exported.
    Routing = 242,
    /// Partitions are added.
    Scale = 253,
}

impl ValueType {
    pub const ALL: [ValueType; 65] = [
        ValueType::Job,
        ValueType::Deployment,
        ValueType::ProcessInstance,
        ValueType::Incident,
        ValueType::Message,
        ValueType::MessageSubscription,
        ValueType::ProcessMessageSubscription,
        ValueType::JobBatch,
        ValueType::Timer,
        ValueType::MessageStartEventSubscription,
        ValueType::Variable,
        ValueType::VariableDocument,
        ValueType::ProcessInstanceCreation,
        ValueType::Error,
        ValueType::ProcessInstanceResult,
        ValueType::Process,
        ValueType::ProcessEvent,
        ValueType::ResourceDeletion,
        ValueType::SignalSubscription,
        ValueType::Signal,
        ValueType::Escalation,
        ValueType::CommandDistribution,
        ValueType::ProcessInstanceBatch,
        ValueType::UserTask,
        ValueType::ProcessInstanceMigration,
        ValueType::CompensationSubscription,
        ValueType::MessageCorrelation,
        ValueType::Clock,
        ValueType::RuntimeInstruction,
        ValueType::Decision,
        ValueType::DecisionRequirements,
        ValueType::DecisionEvaluation,
        ValueType::Form,
        ValueType::Resource,
        ValueType::Expression,
        ValueType::GlobalListener,
        ValueType::Continuation,
        ValueType::MultiInstance,
        ValueType::AdHocSubProcessInstruction,
        ValueType::VariableElement,
        ValueType::BatchOperationCreation,
        ValueType::BatchOperationExecution,
        ValueType::BatchOperationChunk,
        ValueType::BatchOperationLifecycleManagement,
        ValueType::BatchOperationPartitionLifecycle,
        ValueType::BatchOperationInitialization,
        ValueType::HistoryDeletion,
        ValueType::BatchOperationItem,
        ValueType::ClusterVariable,
        ValueType::ConditionalSubscription,
        ValueType::ConditionalEvaluation,
        ValueType::ConditionCheck,
        ValueType::ProcessInstanceModification,
        ValueType::Exporting,
        ValueType::Scale,
        ValueType::User,
        ValueType::Authorization,
        ValueType::Tenant,
        ValueType::Group,
        ValueType::MappingRule,
        ValueType::IdentitySetup,
        ValueType::Role,
        ValueType::Session,
        ValueType::Kept,
        ValueType::Routing,
    ];

    #[inline]
    pub fn from_id(id: u8) -> Option<ValueType> {
        const BY_ID: [Option<ValueType>; 256] = {
            let mut by_id = [None; 256];
            let mut rest: &[ValueType] = &ValueType::ALL;
            while let [value_type, others @ ..] = rest {
                let from_it_on = by_id.split_at_mut(*value_type as usize).1;
                if let [place, ..] = from_it_on {
                    *place = Some(*value_type);
                }
                rest = others;
            }
            by_id
        };
        BY_ID.get(usize::from(id)).copied().flatten()
    }

    pub fn name(self) -> &'static str {
        match self {
            ValueType::Job => "JOB",
            ValueType::Deployment => "DEPLOYMENT",
            ValueType::ProcessInstance => "PROCESS_INSTANCE",
            ValueType::Incident => "INCIDENT",
            ValueType::Message => "MESSAGE",
            ValueType::MessageSubscription => "MESSAGE_SUBSCRIPTION",
            ValueType::ProcessMessageSubscription => "PROCESS_MESSAGE_SUBSCRIPTION",
            ValueType::JobBatch => "JOB_BATCH",
            ValueType::Timer => "TIMER",
            ValueType::MessageStartEventSubscription => "MESSAGE_START_EVENT_SUBSCRIPTION",
            ValueType::Variable => "VARIABLE",
            ValueType::VariableDocument => "VARIABLE_DOCUMENT",
            ValueType::ProcessInstanceCreation => "PROCESS_INSTANCE_CREATION",
            ValueType::Error => "ERROR",
            ValueType::ProcessInstanceResult => "PROCESS_INSTANCE_RESULT",
            ValueType::Process => "PROCESS",
            ValueType::ProcessEvent => "PROCESS_EVENT",
            ValueType::ResourceDeletion => "RESOURCE_DELETION",
            ValueType::SignalSubscription => "SIGNAL_SUBSCRIPTION",
            ValueType::Signal => "SIGNAL",
            ValueType::Escalation => "ESCALATION",
            ValueType::CommandDistribution => "COMMAND_DISTRIBUTION",
            ValueType::ProcessInstanceBatch => "PROCESS_INSTANCE_BATCH",
            ValueType::UserTask => "USER_TASK",
            ValueType::ProcessInstanceMigration => "PROCESS_INSTANCE_MIGRATION",
            ValueType::CompensationSubscription => "COMPENSATION_SUBSCRIPTION",
            ValueType::MessageCorrelation => "MESSAGE_CORRELATION",
            ValueType::Clock => "CLOCK",
            ValueType::RuntimeInstruction => "RUNTIME_INSTRUCTION",
            ValueType::Decision => "DECISION",
            ValueType::DecisionRequirements => "DECISION_REQUIREMENTS",
            ValueType::DecisionEvaluation => "DECISION_EVALUATION",
            ValueType::Form => "FORM",
            ValueType::Resource => "RESOURCE",
            ValueType::Expression => "EXPRESSION",
            ValueType::GlobalListener => "GLOBAL_LISTENER",
            ValueType::Continuation => "CONTINUATION",
            ValueType::MultiInstance => "MULTI_INSTANCE",
            ValueType::AdHocSubProcessInstruction => "AD_HOC_SUB_PROCESS_INSTRUCTION",
            ValueType::VariableElement => "VARIABLE_ELEMENT",
            ValueType::BatchOperationCreation => "BATCH_OPERATION_CREATION",
            ValueType::BatchOperationExecution => "BATCH_OPERATION_EXECUTION",
            ValueType::BatchOperationChunk => "BATCH_OPERATION_CHUNK",
            ValueType::BatchOperationLifecycleManagement => "BATCH_OPERATION_LIFECYCLE_MANAGEMENT",
            ValueType::BatchOperationPartitionLifecycle => "BATCH_OPERATION_PARTITION_LIFECYCLE",
            ValueType::BatchOperationInitialization => "BATCH_OPERATION_INITIALIZATION",
            ValueType::HistoryDeletion => "HISTORY_DELETION",
            ValueType::BatchOperationItem => "BATCH_OPERATION_ITEM",
            ValueType::ClusterVariable => "CLUSTER_VARIABLE",
            ValueType::ConditionalSubscription => "CONDITIONAL_SUBSCRIPTION",
            ValueType::ConditionalEvaluation => "CONDITIONAL_EVALUATION",
            ValueType::ConditionCheck => "CONDITION_CHECK",
            ValueType::Exporting => "EXPORTING",
            ValueType::Scale => "SCALE",
            ValueType::ProcessInstanceModification => "PROCESS_INSTANCE_MODIFICATION",
            ValueType::User => "USER",
            ValueType::Authorization => "AUTHORIZATION",
            ValueType::Tenant => "TENANT",
            ValueType::Group => "GROUP",
            ValueType::MappingRule => "MAPPING_RULE",
            ValueType::IdentitySetup => "IDENTITY_SETUP",
            ValueType::Role => "ROLE",
            ValueType::Session => "SESSION",
            ValueType::Kept => "KEPT",
            ValueType::Routing => "ROUTING",
        }
    }

    /// The name of an intent of this value type; `UNKNOWN` for an id that this version does not know.
    pub fn intent_name(self, id: u8) -> &'static str {
        use MessageStartEventSubscriptionIntent as StartSubscriptionIntent;
        match self {
            ValueType::Job => name::<JobIntent>(id),
            ValueType::Deployment => name::<DeploymentIntent>(id),
            ValueType::ProcessInstance => name::<ProcessInstanceIntent>(id),
            ValueType::Incident => name::<IncidentIntent>(id),
            ValueType::Message => name::<MessageIntent>(id),
            ValueType::MessageSubscription => name::<MessageSubscriptionIntent>(id),
            ValueType::ProcessMessageSubscription => name::<ProcessMessageSubscriptionIntent>(id),
            ValueType::JobBatch => name::<JobBatchIntent>(id),
            ValueType::Timer => name::<TimerIntent>(id),
            ValueType::MessageStartEventSubscription => name::<StartSubscriptionIntent>(id),
            ValueType::Variable => name::<VariableIntent>(id),
            ValueType::VariableDocument => name::<VariableDocumentIntent>(id),
            ValueType::ProcessInstanceCreation => name::<ProcessInstanceCreationIntent>(id),
            ValueType::Error => name::<ErrorIntent>(id),
            ValueType::ProcessInstanceResult => name::<ProcessInstanceResultIntent>(id),
            ValueType::Process => name::<ProcessIntent>(id),
            ValueType::ProcessEvent => name::<ProcessEventIntent>(id),
            ValueType::ResourceDeletion => name::<ResourceDeletionIntent>(id),
            ValueType::SignalSubscription => name::<SignalSubscriptionIntent>(id),
            ValueType::Signal => name::<SignalIntent>(id),
            ValueType::Escalation => name::<EscalationIntent>(id),
            ValueType::CommandDistribution => name::<CommandDistributionIntent>(id),
            ValueType::ProcessInstanceBatch => name::<ProcessInstanceBatchIntent>(id),
            ValueType::UserTask => name::<UserTaskIntent>(id),
            ValueType::ProcessInstanceMigration => name::<ProcessInstanceMigrationIntent>(id),
            ValueType::CompensationSubscription => name::<CompensationSubscriptionIntent>(id),
            ValueType::MessageCorrelation => name::<MessageCorrelationIntent>(id),
            ValueType::Clock => name::<ClockIntent>(id),
            ValueType::RuntimeInstruction => name::<RuntimeInstructionIntent>(id),
            ValueType::Decision => name::<DecisionIntent>(id),
            ValueType::DecisionRequirements => name::<DecisionRequirementsIntent>(id),
            ValueType::DecisionEvaluation => name::<DecisionEvaluationIntent>(id),
            ValueType::Form => name::<FormIntent>(id),
            ValueType::Resource => name::<ResourceIntent>(id),
            ValueType::Expression => name::<ExpressionIntent>(id),
            ValueType::GlobalListener => name::<GlobalListenerIntent>(id),
            ValueType::Continuation => name::<ContinuationIntent>(id),
            ValueType::MultiInstance => name::<MultiInstanceIntent>(id),
            ValueType::AdHocSubProcessInstruction => name::<AdHocSubProcessInstructionIntent>(id),
            ValueType::VariableElement => name::<VariableElementIntent>(id),
            ValueType::BatchOperationExecution => name::<BatchOperationExecutionIntent>(id),
            ValueType::BatchOperationChunk => name::<BatchOperationChunkIntent>(id),
            ValueType::BatchOperationCreation
            | ValueType::BatchOperationInitialization
            | ValueType::BatchOperationLifecycleManagement
            | ValueType::BatchOperationPartitionLifecycle => name::<BatchOperationIntent>(id),
            ValueType::HistoryDeletion => name::<HistoryDeletionIntent>(id),
            ValueType::BatchOperationItem => name::<BatchOperationItemIntent>(id),
            ValueType::ClusterVariable => name::<ClusterVariableIntent>(id),
            ValueType::ConditionalSubscription => name::<ConditionalSubscriptionIntent>(id),
            ValueType::ConditionalEvaluation => name::<ConditionalEvaluationIntent>(id),
            ValueType::ConditionCheck => name::<ConditionCheckIntent>(id),
            ValueType::Exporting => name::<ExportingIntent>(id),
            ValueType::Scale => name::<ScaleIntent>(id),
            ValueType::ProcessInstanceModification => name::<ProcessInstanceModificationIntent>(id),
            ValueType::User => name::<UserIntent>(id),
            ValueType::Authorization => name::<AuthorizationIntent>(id),
            ValueType::Tenant => name::<TenantIntent>(id),
            ValueType::Group => name::<GroupIntent>(id),
            ValueType::MappingRule => name::<MappingRuleIntent>(id),
            ValueType::IdentitySetup => name::<IdentitySetupIntent>(id),
            ValueType::Role => name::<RoleIntent>(id),
            ValueType::Session => name::<SessionIntent>(id),
            ValueType::Kept => name::<KeptIntent>(id),
            ValueType::Routing => name::<RoutingIntent>(id),
        }
    }
}

fn name<I: Intent>(id: u8) -> &'static str {
    I::from_id(id).map_or("UNKNOWN", I::name)
}

/// The static name; `UNKNOWN` for one that this version does not know.
pub(crate) fn known(name: &str) -> &'static str {
    let names = ValueType::ALL.into_iter();
    let mut names = names.flat_map(|kind| (0..=u8::MAX).map(move |id| kind.intent_name(id)));
    names.find(|known| *known == name).unwrap_or("UNKNOWN")
}

/// The intents of one value type.
pub trait Intent: Copy + fmt::Debug + PartialEq {
    fn id(self) -> u8;
    fn from_id(id: u8) -> Option<Self>;
    fn name(self) -> &'static str;
}

macro_rules! intents {
    ($($(#[$doc:meta])* $enum:ident { $($variant:ident = $id:literal $name:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $enum { $($variant = $id),+ }

        impl Intent for $enum {
            #[inline]
            fn id(self) -> u8 {
                self as u8
            }
            #[inline]
            fn from_id(id: u8) -> Option<Self> {
                match id {
                    $($id => Some($enum::$variant),)+
                    _ => None,
                }
            }
            fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name),+
                }
            }
        }
    )+};
}

intents! {
    JobIntent {
        Created = 0 "CREATED", Complete = 1 "COMPLETE", Completed = 2 "COMPLETED", TimeOut = 3 "TIME_OUT",
        TimedOut = 4 "TIMED_OUT", Fail = 5 "FAIL", Failed = 6 "FAILED", UpdateRetries = 7 "UPDATE_RETRIES",
        RetriesUpdated = 8 "RETRIES_UPDATED", Canceled = 10 "CANCELED", ThrowError = 11 "THROW_ERROR",
        ErrorThrown = 12 "ERROR_THROWN", RecurAfterBackoff = 13 "RECUR_AFTER_BACKOFF",
        RecurredAfterBackoff = 14 "RECURRED_AFTER_BACKOFF", Yield = 15 "YIELD", Yielded = 16 "YIELDED",
        UpdateTimeout = 17 "UPDATE_TIMEOUT", TimeoutUpdated = 18 "TIMEOUT_UPDATED", Migrated = 19 "MIGRATED", Update = 20 "UPDATE",
        Updated = 21 "UPDATED",
    }
    DeploymentIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Distribute = 2 "DISTRIBUTE", Distributed = 3 "DISTRIBUTED",
        FullyDistributed = 4 "FULLY_DISTRIBUTED",
    }
    ProcessInstanceIntent {
        Cancel = 0 "CANCEL", SequenceFlowTaken = 1 "SEQUENCE_FLOW_TAKEN", ElementActivating = 2 "ELEMENT_ACTIVATING",
        ElementActivated = 3 "ELEMENT_ACTIVATED", ElementCompleting = 4 "ELEMENT_COMPLETING",
        ElementCompleted = 5 "ELEMENT_COMPLETED", ElementTerminating = 6 "ELEMENT_TERMINATING",
        ElementTerminated = 7 "ELEMENT_TERMINATED", ActivateElement = 8 "ACTIVATE_ELEMENT",
        CompleteElement = 9 "COMPLETE_ELEMENT", TerminateElement = 10 "TERMINATE_ELEMENT",
        ElementMigrated = 11 "ELEMENT_MIGRATED", AncestorMigrated = 13 "ANCESTOR_MIGRATED", SequenceFlowDeleted = 15 "SEQUENCE_FLOW_DELETED", Canceling = 16 "CANCELING",
    }
    IncidentIntent {
        Created = 0 "CREATED", Resolve = 1 "RESOLVE", Resolved = 2 "RESOLVED", Migrated = 3 "MIGRATED",
    }
    MessageIntent {
        Publish = 0 "PUBLISH", Published = 1 "PUBLISHED", Expire = 2 "EXPIRE", Expired = 3 "EXPIRED",
    }
    MessageSubscriptionIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Correlate = 2 "CORRELATE", Correlated = 3 "CORRELATED",
        Reject = 4 "REJECT", Rejected = 5 "REJECTED", Delete = 6 "DELETE", Deleted = 7 "DELETED",
        Correlating = 8 "CORRELATING", Migrated = 10 "MIGRATED",
    }
    ProcessMessageSubscriptionIntent {
        Creating = 0 "CREATING", Create = 1 "CREATE", Created = 2 "CREATED", Correlate = 3 "CORRELATE",
        Correlated = 4 "CORRELATED", Deleting = 5 "DELETING", Delete = 6 "DELETE", Deleted = 7 "DELETED",
        Migrated = 8 "MIGRATED",
    }
    JobBatchIntent {
        Activate = 0 "ACTIVATE", Activated = 1 "ACTIVATED",
    }
    TimerIntent {
        Created = 0 "CREATED", Trigger = 1 "TRIGGER", Triggered = 2 "TRIGGERED", Canceled = 4 "CANCELED",
        Migrated = 5 "MIGRATED",
    }
    MessageStartEventSubscriptionIntent {
        Created = 0 "CREATED", Correlated = 1 "CORRELATED", Deleted = 2 "DELETED", Migrated = 200 "MIGRATED",
    }
    VariableIntent {
        Created = 0 "CREATED", Updated = 1 "UPDATED", Migrated = 2 "MIGRATED",
    }
    VariableDocumentIntent {
        Update = 0 "UPDATE", Updated = 1 "UPDATED", Updating = 2 "UPDATING", UpdateDenied = 3 "UPDATE_DENIED",
    }
    ProcessInstanceCreationIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", CreateWithAwaitingResult = 2 "CREATE_WITH_AWAITING_RESULT",
    }
    ErrorIntent {
        Created = 0 "CREATED",
    }
    ProcessInstanceResultIntent {
        Completed = 0 "COMPLETED",
    }
    ProcessIntent {
        Created = 0 "CREATED", Deleting = 1 "DELETING", Deleted = 2 "DELETED",
    }
    ProcessEventIntent {
        Triggering = 0 "TRIGGERING", Triggered = 1 "TRIGGERED", Passed = 200 "PASSED", Migrated = 201 "MIGRATED",
    }
    ResourceDeletionIntent {
        Delete = 0 "DELETE", Deleting = 1 "DELETING", Deleted = 2 "DELETED",
    }
    SignalSubscriptionIntent {
        Created = 0 "CREATED", Deleted = 1 "DELETED", Migrated = 2 "MIGRATED",
    }
    SignalIntent {
        Broadcast = 0 "BROADCAST", Broadcasted = 1 "BROADCASTED", Continued = 200 "CONTINUED", Delivered = 201 "DELIVERED",
    }
    ConditionalSubscriptionIntent {
        Created = 0 "CREATED", Trigger = 1 "TRIGGER", Triggered = 2 "TRIGGERED", Deleted = 3 "DELETED",
        Migrated = 4 "MIGRATED",
    }
    ConditionalEvaluationIntent {
        Evaluate = 0 "EVALUATE", Evaluated = 1 "EVALUATED", Continued = 200 "CONTINUED",
    }
    ConditionCheckIntent {
        Begun = 0 "BEGUN", Ended = 1 "ENDED",
    }
    ClusterVariableIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Update = 2 "UPDATE", Updated = 3 "UPDATED", Delete = 4 "DELETE",
        Deleted = 5 "DELETED",
    }
    EscalationIntent {
        Escalated = 0 "ESCALATED", NotEscalated = 1 "NOT_ESCALATED",
    }
    CommandDistributionIntent {
        Started = 0 "STARTED", Distributing = 1 "DISTRIBUTING", Acknowledge = 2 "ACKNOWLEDGE",
        Acknowledged = 3 "ACKNOWLEDGED", Finished = 4 "FINISHED", Received = 200 "RECEIVED",
    }
    ProcessInstanceBatchIntent {
        Terminate = 0 "TERMINATE", Activate = 1 "ACTIVATE", Terminated = 2 "TERMINATED", Activated = 3 "ACTIVATED",
    }
    UserTaskIntent {
        Creating = 0 "CREATING", Created = 1 "CREATED", Complete = 2 "COMPLETE", Completing = 3 "COMPLETING",
        Completed = 4 "COMPLETED", Canceling = 5 "CANCELING", Canceled = 6 "CANCELED", Assign = 7 "ASSIGN",
        Assigning = 8 "ASSIGNING", Assigned = 9 "ASSIGNED", Claim = 10 "CLAIM", Update = 11 "UPDATE",
        Updating = 12 "UPDATING", Updated = 13 "UPDATED", Migrated = 14 "MIGRATED", CompletionDenied = 17 "COMPLETION_DENIED",
        Corrected = 18 "CORRECTED", AssignmentDenied = 19 "ASSIGNMENT_DENIED", Claiming = 20 "CLAIMING",
        UpdateDenied = 21 "UPDATE_DENIED",
    }
    CompensationSubscriptionIntent {
        Created = 0 "CREATED", Triggered = 1 "TRIGGERED", Completed = 2 "COMPLETED", Deleted = 3 "DELETED",
        Migrated = 4 "MIGRATED",
    }
    ProcessInstanceMigrationIntent {
        Migrate = 0 "MIGRATE", Migrated = 1 "MIGRATED", Migrating = 200 "MIGRATING", Abandoned = 201 "ABANDONED",
    }
    MessageCorrelationIntent {
        Correlate = 1 "CORRELATE", Correlating = 2 "CORRELATING", Correlated = 3 "CORRELATED",
        NotCorrelated = 4 "NOT_CORRELATED",
    }
    ClockIntent {
        Pin = 0 "PIN", Pinned = 1 "PINNED", Reset = 2 "RESET", Resetted = 3 "RESETTED",
    }
    RuntimeInstructionIntent {
        Interrupted = 0 "INTERRUPTED",
    }
    DecisionIntent {
        Created = 0 "CREATED", Deleted = 1 "DELETED",
    }
    DecisionRequirementsIntent {
        Created = 0 "CREATED", Deleted = 1 "DELETED",
    }
    DecisionEvaluationIntent {
        Evaluated = 0 "EVALUATED", Failed = 1 "FAILED", Evaluate = 2 "EVALUATE",
    }
    FormIntent {
        Created = 0 "CREATED", Deleted = 1 "DELETED",
    }
    ResourceIntent {
        Created = 0 "CREATED", Deleted = 1 "DELETED",
    }
    ExpressionIntent {
        Evaluate = 0 "EVALUATE", Evaluated = 1 "EVALUATED",
    }
    GlobalListenerIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Update = 2 "UPDATE", Updated = 3 "UPDATED", Delete = 4 "DELETE",
        Deleted = 5 "DELETED",
    }
    ContinuationIntent {
        Continue = 0 "CONTINUE", Continued = 1 "CONTINUED",
    }
    AdHocSubProcessInstructionIntent {
        Activate = 0 "ACTIVATE", Activated = 1 "ACTIVATED", Complete = 2 "COMPLETE", Completed = 3 "COMPLETED",
    }
    MultiInstanceIntent {
        InputCollectionEvaluated = 0 "INPUT_COLLECTION_EVALUATED",
    }
    ProcessInstanceModificationIntent {
        Modify = 0 "MODIFY", Modified = 1 "MODIFIED", Begun = 200 "BEGUN", Prepared = 201 "PREPARED",
    }
    ExportingIntent {
        Change = 0 "CHANGE", Changed = 1 "CHANGED",
    }
    ScaleIntent {
        ScaleUp = 1 "SCALE_UP", ScalingUp = 2 "SCALING_UP", ScaledUp = 3 "SCALED_UP", Status = 4 "STATUS",
        StatusResponse = 5 "STATUS_RESPONSE", MarkPartitionBootstrapped = 6 "MARK_PARTITION_BOOTSTRAPPED",
        PartitionBootstrapped = 7 "PARTITION_BOOTSTRAPPED", PartitionPulling = 200 "PARTITION_PULLING",
    }
    SessionIntent {
        Begin = 0 "BEGIN", Began = 1 "BEGAN", Use = 2 "USE", Used = 3 "USED", Claim = 4 "CLAIM", Claimed = 5 "CLAIMED",
        Renew = 6 "RENEW", Renewed = 7 "RENEWED", End = 8 "END", Ended = 9 "ENDED",
    }
    KeptIntent {
        Put = 0 "PUT", Created = 1 "CREATED", Replaced = 2 "REPLACED", Delete = 3 "DELETE", Deleted = 4 "DELETED",
    }
    RoutingIntent {
        Leaving = 0 "LEAVING", Arrive = 1 "ARRIVE", Arrived = 2 "ARRIVED", Taken = 3 "TAKEN", Leave = 4 "LEAVE", Gone = 5 "GONE",
        Drop = 6 "DROP", Dropped = 7 "DROPPED", Report = 8 "REPORT", StartLeft = 9 "START_LEFT",
        StartReleased = 10 "START_RELEASED", EndStart = 11 "END_START", StartEnded = 12 "START_ENDED",
        SettleStart = 13 "SETTLE_START", StartSettled = 14 "START_SETTLED", Adopt = 15 "ADOPT",
        Adopted = 16 "ADOPTED",
    }
    VariableElementIntent {
        Updated = 0 "UPDATED",
    }
    /// Of the whole life of a batch operation; several value types share them.
    BatchOperationIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", FinishInitialization = 4 "FINISH_INITIALIZATION",
        Initialized = 5 "INITIALIZED", Fail = 6 "FAIL", Failed = 7 "FAILED", Cancel = 8 "CANCEL",
        Canceled = 9 "CANCELED", Suspend = 10 "SUSPEND", Suspended = 11 "SUSPENDED", Resume = 12 "RESUME",
        Resumed = 13 "RESUMED", Completed = 15 "COMPLETED", CompletePartition = 16 "COMPLETE_PARTITION",
        PartitionCompleted = 17 "PARTITION_COMPLETED", PartitionFailed = 19 "PARTITION_FAILED",
        Progressed = 200 "PROGRESSED",
    }
    BatchOperationExecutionIntent {
        Execute = 0 "EXECUTE", Executing = 1 "EXECUTING", Executed = 2 "EXECUTED",
    }
    BatchOperationChunkIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Deleted = 200 "DELETED",
    }
    BatchOperationItemIntent {
        Executed = 0 "EXECUTED", Failed = 1 "FAILED",
    }
    HistoryDeletionIntent {
        Delete = 0 "DELETE", Deleted = 1 "DELETED",
    }
    UserIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Update = 2 "UPDATE", Updated = 3 "UPDATED", Delete = 4 "DELETE",
        Deleted = 5 "DELETED", CreateInitialAdmin = 6 "CREATE_INITIAL_ADMIN", InitialAdminCreated = 7 "INITIAL_ADMIN_CREATED",
    }
    GroupIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Update = 2 "UPDATE", Updated = 3 "UPDATED", Delete = 4 "DELETE",
        Deleted = 5 "DELETED", AddEntity = 6 "ADD_ENTITY", EntityAdded = 7 "ENTITY_ADDED",
        RemoveEntity = 8 "REMOVE_ENTITY", EntityRemoved = 9 "ENTITY_REMOVED",
    }
    RoleIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Update = 2 "UPDATE", Updated = 3 "UPDATED", Delete = 4 "DELETE",
        Deleted = 5 "DELETED", AddEntity = 6 "ADD_ENTITY", EntityAdded = 7 "ENTITY_ADDED",
        RemoveEntity = 8 "REMOVE_ENTITY", EntityRemoved = 9 "ENTITY_REMOVED",
    }
    TenantIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Update = 2 "UPDATE", Updated = 3 "UPDATED", Delete = 4 "DELETE",
        Deleted = 5 "DELETED", AddEntity = 6 "ADD_ENTITY", EntityAdded = 7 "ENTITY_ADDED",
        RemoveEntity = 8 "REMOVE_ENTITY", EntityRemoved = 9 "ENTITY_REMOVED",
    }
    MappingRuleIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Delete = 2 "DELETE", Deleted = 3 "DELETED", Update = 4 "UPDATE",
        Updated = 5 "UPDATED",
    }
    AuthorizationIntent {
        Create = 0 "CREATE", Created = 1 "CREATED", Delete = 2 "DELETE", Deleted = 3 "DELETED", Update = 4 "UPDATE",
        Updated = 5 "UPDATED",
    }
    IdentitySetupIntent {
        Initialize = 0 "INITIALIZE", Initialized = 1 "INITIALIZED",
    }
}
