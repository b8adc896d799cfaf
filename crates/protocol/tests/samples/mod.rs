//! One value of each value type, with something in every field.

mod batch_operations;
mod definitions;
mod identity;

pub use batch_operations::*;
pub use definitions::*;
pub use identity::*;
use std::sync::Arc;

use skep_protocol::document::JsonText;
use skep_protocol::element_type::ElementType;
use skep_protocol::origin::{Claims, Origin, Principal};
use skep_protocol::value::*;
use skep_protocol::{Key, TenantFilter, TenantId, Tenants};

fn key(counter: u64) -> Key {
    Key::new(2, counter)
}

fn variables() -> Vec<(Arc<str>, JsonText)> {
    vec![
        ("text".into(), r#""ä\"""#.into()),
        ("number".into(), "1.50".into()),
        ("object".into(), r#"{"z":1,"a":[true,null]}"#.into()),
    ]
}

pub fn job() -> JobValue {
    JobValue {
        job_type: "charge-card".into(),
        process_definition_key: key(1),
        process_instance_key: key(2),
        root_process_instance_key: key(3),
        element: 5,
        element_instance_key: key(4),
        retries: -3,
        extra: Some(Box::new(JobExtra {
            kind: JobKind::TaskListener(ListenerEvent::Completing),
            headers: Some(r#"{"h":"v"}"#.into()),
            retry_backoff: 500,
            recurring_time: 1_767_225_661_000,
            error_code: "card-declined".into(),
            result: Some(job_result()),
            becomes_user_task: false,
            tenant: TenantId::new("acme"),
        })),
        worker: "worker-1".into(),
        deadline: 1_767_225_660_000,
        error_message: "limit reached".into(),
        variables: variables(),
    }
}

fn job_result() -> JobResult {
    JobResult {
        kind: JobResultType::AdHocSubProcess,
        denied: true,
        denied_reason: "not now".into(),
        corrections: Corrections {
            assignee: Some("anna".into()),
            candidate_groups: Some(vec!["managers".into()]),
            candidate_users: Some(vec![]),
            due_date: Some("2031-05-06T07:08:09Z".into()),
            follow_up_date: Some("".into()),
            priority: Some(80),
        },
        activate_elements: vec![ActivateElement {
            element_id: "ask".into(),
            variables: variables(),
        }],
        completion_condition_fulfilled: true,
        cancel_remaining_instances: true,
    }
}

pub fn process_instance() -> ProcessInstanceValue {
    ProcessInstanceValue {
        process_definition_key: key(1),
        process_instance_key: key(2),
        element: 300,
        flow_scope_key: key(3),
        parent_process_instance_key: key(4),
        parent_element_instance_key: key(5),
        root_process_instance_key: Key::NONE,
        consumed_flows: 2,
    }
}

pub fn incident() -> IncidentValue {
    IncidentValue {
        error_type: ErrorType::UnhandledErrorEvent,
        error_message: "not caught".into(),
        process_definition_key: key(1),
        process_instance_key: key(2),
        root_process_instance_key: key(3),
        element: 5,
        element_instance_key: key(4),
        job_key: key(5),
        variable_scope_key: key(6),
    }
}

pub fn message() -> MessageValue {
    MessageValue {
        name: "paid".into(),
        correlation_key: "A-1".into(),
        time_to_live: 60_000,
        deadline: 1_767_225_660_000,
        message_id: "id-1".into(),
        variables: variables(),
        tenant: TenantId::new("acme"),
    }
}

pub fn message_subscription() -> MessageSubscriptionValue {
    MessageSubscriptionValue {
        process_instance_key: key(1),
        element_instance_key: key(2),
        process_definition_key: key(3),
        bpmn_process_id: "order".into(),
        message_name: "paid".into(),
        correlation_key: "A-1".into(),
        interrupting: true,
        message_key: key(4),
        variables: variables(),
        tenant: TenantId::new("acme"),
        revision: 1,
    }
}

pub fn process_message_subscription() -> ProcessMessageSubscriptionValue {
    ProcessMessageSubscriptionValue {
        subscription_partition: 3,
        process_instance_key: key(1),
        element_instance_key: key(2),
        process_definition_key: key(3),
        bpmn_process_id: "order".into(),
        message_name: "paid".into(),
        correlation_key: "A-1".into(),
        interrupting: true,
        element: 7,
        message_key: key(4),
        variables: variables(),
        revision: 1,
    }
}

pub fn job_batch() -> JobBatchValue {
    JobBatchValue {
        job_type: "charge-card".into(),
        worker: "worker-1".into(),
        timeout: 60_000,
        deadline: 1_767_225_660_000,
        max_jobs_to_activate: 32,
        job_keys: vec![key(1), key(2)],
        truncated: true,
        tenants: Tenants {
            filter: TenantFilter::Assigned,
            provided: vec![TenantId::new("acme")],
        },
    }
}

pub fn timer() -> TimerValue {
    TimerValue {
        cycle: "R3/PT1H".into(),
        element_instance_key: key(1),
        process_instance_key: key(2),
        process_definition_key: key(3),
        target_element: 6,
        due_date: 1_767_225_660_000,
        repetitions: -1,
    }
}

pub fn message_start_event_subscription() -> MessageStartEventSubscriptionValue {
    MessageStartEventSubscriptionValue {
        process_definition_key: key(1),
        bpmn_process_id: "order".into(),
        message_name: "order-placed".into(),
        start_event: 7,
        process_instance_key: key(2),
        message_key: key(3),
        correlation_key: "order-1".into(),
        variables: variables(),
        tenant: TenantId::new("acme"),
    }
}

pub fn signal_subscription() -> SignalSubscriptionValue {
    SignalSubscriptionValue {
        process_definition_key: key(1),
        bpmn_process_id: "order".into(),
        signal_name: "stop".into(),
        catch_event: 7,
        catch_event_instance_key: key(2),
        tenant: TenantId::new("acme"),
    }
}

pub fn conditional_subscription() -> ConditionalSubscriptionValue {
    ConditionalSubscriptionValue {
        process_definition_key: key(1),
        bpmn_process_id: "order".into(),
        process_instance_key: key(2),
        element_instance_key: key(3),
        scope_key: key(4),
        catch_event: 7,
        interrupting: true,
        condition: "x > 5".into(),
        variable_names: vec!["x".into()],
        variable_events: vec!["update".into()],
        tenant: TenantId::new("acme"),
    }
}

pub fn conditional_evaluation() -> ConditionalEvaluationValue {
    ConditionalEvaluationValue {
        process_definition_key: key(1),
        tenant: TenantId::new("acme"),
        variables: variables(),
        started: vec![(key(1), key(2))],
        last: key(3),
    }
}

pub fn condition_check() -> ConditionCheckValue {
    ConditionCheckValue {
        process_instance_key: key(1),
        scope_key: key(2),
        changes: vec![("x".into(), true), ("y".into(), false)],
        last: key(3),
    }
}

pub fn cluster_variable() -> ClusterVariableValue {
    ClusterVariableValue {
        name: "limit".into(),
        value: "1.50".into(),
        tenant: Some(TenantId::new("acme")),
    }
}

pub fn signal() -> SignalValue {
    SignalValue {
        signal_name: "stop".into(),
        variables: variables(),
        tenant: TenantId::new("acme"),
    }
}

pub fn escalation() -> EscalationValue {
    EscalationValue {
        process_instance_key: key(1),
        process_definition_key: key(2),
        escalation_code: "late".into(),
        throw_element: 3,
        catch_element: Some((key(4), 5)),
    }
}

pub fn process_instance_migration() -> ProcessInstanceMigrationValue {
    ProcessInstanceMigrationValue {
        process_instance_key: key(1),
        root_process_instance_key: key(2),
        process_definition_key: key(3),
        target_process_definition_key: key(4),
        mapping_instructions: vec![MappingInstruction {
            source_element_id: "ship".into(),
            target_element_id: "send".into(),
        }],
        progress: MigrationProgress {
            phase: MigrationPhase::Migrating,
            level: 2,
            at: key(5),
            depth: 3,
            found: true,
            done: 6,
        },
    }
}

pub fn compensation_subscription() -> CompensationSubscriptionValue {
    CompensationSubscriptionValue {
        process_definition_key: key(1),
        process_instance_key: key(2),
        activity: 3,
        activity_instance_key: key(4),
        scope_key: key(5),
        handler: Some(6),
        handler_instance_key: key(7),
        thrower: Some(8),
        thrower_instance_key: key(9),
    }
}

pub fn variable() -> VariableValue {
    VariableValue {
        name: "text".into(),
        value: r#""ä\"""#.into(),
        scope_key: key(1),
        process_instance_key: key(2),
        process_definition_key: key(3),
        root_process_instance_key: key(4),
    }
}

pub fn variable_document() -> VariableDocumentValue {
    VariableDocumentValue {
        scope_key: key(1),
        local: true,
        variables: variables(),
    }
}

pub fn process_instance_creation() -> ProcessInstanceCreationValue {
    ProcessInstanceCreationValue {
        process_definition_key: key(1),
        process_instance_key: key(2),
        bpmn_process_id: "order".into(),
        version: 3,
        start_elements: vec![1],
        terminate_after: vec![2],
        tags: vec!["urgent".into()],
        business_id: Some("B-1".into()),
    }
}

pub fn ad_hoc_sub_process_instruction() -> AdHocSubProcessInstructionValue {
    AdHocSubProcessInstructionValue {
        ad_hoc_sub_process_instance_key: key(1),
        activate_elements: vec![ActivateElement {
            element_id: "search".into(),
            variables: variables(),
        }],
        cancel_remaining_instances: true,
        completion_condition_fulfilled: true,
    }
}

pub fn process_instance_modification() -> ProcessInstanceModificationValue {
    let variables = vec![VariableInstruction {
        element_id: "task".into(),
        variables: variables(),
    }];
    ProcessInstanceModificationValue {
        process_instance_key: key(1),
        process_definition_key: key(2),
        root_process_instance_key: key(3),
        activate_instructions: vec![ActivateInstruction {
            element_id: "task".into(),
            ancestor_scope_key: key(4),
            variable_instructions: variables.clone(),
            ancestor_scope_keys: vec![key(4), key(1)],
        }],
        terminate_instructions: vec![TerminateInstruction {
            element_instance_key: key(5),
            element_id: "old".into(),
        }],
        move_instructions: vec![MoveInstruction {
            source_element_id: "old".into(),
            source_element_instance_key: key(5),
            target_element_id: "task".into(),
            ancestor: MoveAncestor::Inferred,
            variable_instructions: variables,
        }],
    }
}

pub fn multi_instance() -> MultiInstanceValue {
    MultiInstanceValue {
        input_collection: vec!["1".into(), r#"{"a":null}"#.into()],
        chain: 300,
    }
}

pub fn variable_element() -> VariableElementValue {
    VariableElementValue {
        name: "results".into(),
        scope_key: key(1),
        process_instance_key: key(2),
        process_definition_key: key(3),
        root_process_instance_key: key(4),
        index: 5,
        begin: 600,
        end: 604,
        value: "17".into(),
    }
}

pub fn error() -> ErrorValue {
    ErrorValue {
        error_event_position: 17,
        exception_message: "it broke".into(),
        process_instance_key: key(1),
        stacktrace: "at step.rs:1".into(),
    }
}

pub fn process_instance_result() -> ProcessInstanceResultValue {
    ProcessInstanceResultValue {
        process_definition_key: key(1),
        process_instance_key: key(2),
        bpmn_process_id: "order".into(),
        version: 3,
        variables: variables(),
    }
}

fn pinned(id: &str, element_type: ElementType) -> PinnedElement {
    PinnedElement {
        id: id.into(),
        element_type,
    }
}

pub fn process() -> ProcessValue {
    ProcessValue {
        bpmn_process_id: "order".into(),
        version: 3,
        version_tag: Some("stable".into()),
        process_definition_key: key(1),
        deployment_key: key(2),
        resource_name: "order.bpmn".into(),
        checksum: vec![1, 2, 3].into(),
        resource: "<xml/>".into(),
        elements: vec![
            pinned("order", ElementType::Process),
            pinned("start", ElementType::StartEvent),
        ],
        tenant: TenantId::new("acme"),
    }
}

pub fn process_event() -> ProcessEventValue {
    ProcessEventValue {
        scope_key: key(1),
        flow_scope_key: key(4),
        interrupting: true,
        process_instance_key: key(2),
        process_definition_key: key(3),
        target_element: 9,
        variables: variables(),
    }
}

pub fn process_instance_batch() -> ProcessInstanceBatchValue {
    ProcessInstanceBatchValue {
        process_instance_key: key(1),
        batch_element_instance_key: key(2),
        index: key(3),
    }
}

pub fn continuation() -> ContinuationValue {
    let steps = [
        Step::Activate(Activation {
            scope: key(1),
            element: 2,
            via: Some(3),
            consumed_flows: 1,
        }),
        Step::ActivateTriggered(key(4)),
        Step::Complete(key(5)),
        Step::Terminate(key(8)),
        Step::TerminateChildren {
            scope: key(9),
            next: Key::NONE,
            last: key(9),
        },
        Step::Terminated(key(10)),
        Step::CorrelateMessage(key(11)),
        Step::Modify {
            instance: key(12),
            next: 13,
        },
        Step::ModifyTerminate {
            instance: key(12),
            next: 13,
            at: key(14),
        },
    ];
    let steps = steps.map(|step| QueuedStep { step, chain: 12 });
    ContinuationValue {
        taken: 13,
        steps: steps.to_vec(),
        runaway: true,
        origin: Some(Box::new(origin())),
    }
}

pub fn origin() -> Origin {
    let principal = Principal {
        id: "anna".into(),
        groups: Some(vec!["sales".into()]),
        token: r#"{"sub":"anna"}"#.into(),
    };
    Origin {
        operation_reference: Some(4711),
        batch_operation_reference: key(12),
        claims: Claims::User(Arc::new(principal)),
    }
}

pub fn resource_deletion() -> ResourceDeletionValue {
    ResourceDeletionValue {
        resource_key: key(1),
        resource_id: "order".into(),
        kind: ResourceType::ProcessDefinition,
        delete_history: true,
        batch_operation: Some((key(2), BatchOperationType::DeleteProcessInstance)),
        tenant: TenantId::new("acme"),
    }
}

pub fn command_distribution() -> CommandDistributionValue {
    CommandDistributionValue {
        partition_id: 3,
        value_type: 4,
        intent: 2,
        command_value: vec![9, 8, 7].into(),
    }
}

pub fn message_correlation() -> MessageCorrelationValue {
    MessageCorrelationValue {
        name: "paid".into(),
        correlation_key: "A-1".into(),
        message_key: key(1),
        process_instance_key: key(2),
        variables: variables(),
        tenant: TenantId::new("acme"),
    }
}

pub fn runtime_instruction() -> RuntimeInstructionValue {
    RuntimeInstructionValue {
        process_instance_key: key(1),
        process_definition_key: key(2),
        element: 3,
    }
}

pub fn scale() -> ScaleValue {
    ScaleValue {
        desired_partition_count: 6,
        message_correlation_partitions: 3,
        redistributed_partitions: vec![4, 6],
    }
}

pub fn session() -> SessionValue {
    SessionValue {
        id: [7; 32],
        user: "anna".into(),
        sealed: "c2VhbGVk".into(),
        began: 1_767_225_600_000,
        used: 1_767_225_900_000,
        revision: 3,
        claimed_until: 1_767_225_930_000,
    }
}

pub fn kept() -> KeptValue {
    KeptValue {
        id: KeptId {
            owner: KeptOwner::Client("robot".into()),
            kind: KeptKind::Models,
            name: "bpmn-1".into(),
        },
        title: "Order".into(),
        shared: true,
        changed: 1_767_225_600_000,
        body: r#"{"xml":"<definitions/>"}"#.into(),
    }
}

pub fn routing() -> RoutingValue {
    RoutingValue {
        partition: 4,
        slots: vec![7, 5000],
        rows: vec![
            MovedRow::Start {
                process_instance_key: key(1),
                bpmn_process_id: "order".into(),
                correlation_key: "4711".into(),
                tenant: TenantId::default(),
            },
            MovedRow::Message {
                key: key(2),
                value: message(),
                correlated: vec!["order".into()],
                moves: 1,
            },
            MovedRow::Subscription {
                key: key(3),
                value: message_subscription(),
            },
        ],
        up_to: RowLocation {
            kind: RowLocation::SUBSCRIPTION,
            key: key(3),
        },
        dropped: vec![RowLocation {
            kind: RowLocation::MESSAGE,
            key: key(2),
        }],
    }
}

pub fn exporting() -> ExportingValue {
    ExportingValue {
        phase: ExportingPhase::SoftPaused,
        exporters: vec![ExporterValue {
            id: "search".into(),
            is_enabled: true,
            position: ExporterPosition {
                entry: 7,
                record: 300,
                timestamp: 1_700_000_000_000,
            },
            metadata: vec![1, 2],
        }],
    }
}

pub fn clock() -> ClockValue {
    ClockValue {
        time: 1_767_225_600_000,
    }
}

pub fn user_task() -> UserTaskValue {
    UserTaskValue {
        process_definition_key: key(1),
        process_instance_key: key(2),
        root_process_instance_key: key(3),
        element: 5,
        element_instance_key: key(4),
        creation_timestamp: 1_767_225_600_000,
        form_key: key(5),
        external_form_reference: "https://forms.example.org/1".into(),
        attributes: UserTaskAttributes {
            assignee: "anna".into(),
            candidate_groups: vec!["clerks".into(), "sales".into()],
            candidate_users: vec!["bert".into()],
            due_date: "2026-02-01T12:00:00Z".into(),
            follow_up_date: "2026-01-31T12:00:00Z".into(),
            priority: 70,
        },
        changed: vec![UserTaskAttribute::Assignee, UserTaskAttribute::Variables],
        action: "approve".into(),
        variables: variables(),
        denied_reason: "not yet".into(),
    }
}

pub fn global_listener() -> GlobalListenerValue {
    GlobalListenerValue {
        id: "audit".into(),
        job_type: "write-audit".into(),
        retries: 5,
        events: vec![
            GlobalListenerEvent::All,
            GlobalListenerEvent::One(ListenerEvent::Completing),
        ],
        after_non_global: true,
        priority: 70,
    }
}
