//! Version N+1 reads everything that version N wrote: the bytes of every value type, of batches and of their JSON.
//!
//! The files in `golden/` are never edited. A new value type, or a new version of one, adds a line:
//! `SKEP_GOLDEN=write cargo test -p skep-protocol --test golden` adds missing lines and changes nothing else.

mod samples;

use std::collections::BTreeMap;
use std::sync::Mutex;

use samples::*;
use serde_json::json;
use skep_protocol::batch::{BatchReader, BatchWriter};
use skep_protocol::intent::{ClockIntent, Intent, SignalIntent, SignalSubscriptionIntent};
use skep_protocol::json::{Definitions, ElementNames, Lineage, render};
use skep_protocol::origin::Origin;
use skep_protocol::record::{decode, encode};
use skep_protocol::value::*;
use skep_protocol::{Key, Rejection, RejectionType, TenantId, ValueType};
use skep_testkit::golden_file::{self, hex, path, unhex};

/// The golden lines `name hex`; missing ones are added on request.
fn golden(file: &str, current: &[(String, Vec<u8>)]) -> BTreeMap<String, Vec<u8>> {
    // Tests run in parallel, and none may read a half-written file.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let text = std::fs::read_to_string(path(file)).unwrap_or_default();
    let mut lines: BTreeMap<String, Vec<u8>> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, bytes)| (name.to_string(), unhex(bytes)))
        .collect();
    if golden_file::is_to_be_written() {
        for (name, bytes) in current {
            lines.entry(name.clone()).or_insert_with(|| bytes.clone());
        }
        let text: String = lines
            .iter()
            .map(|(n, b)| format!("{n} {}\n", hex(b)))
            .collect();
        std::fs::write(path(file), text).unwrap();
    }
    lines
}

fn check<V: RecordValue + PartialEq + std::fmt::Debug>(
    lines: &BTreeMap<String, Vec<u8>>,
    sample: &V,
) {
    let name = name::<V>();
    let bytes = lines
        .get(&name)
        .unwrap_or_else(|| panic!("{name} has no golden line: add it with SKEP_GOLDEN=write"));
    let read: V = decode(bytes).unwrap_or_else(|e| panic!("{name} cannot be read any more: {e}"));
    assert_eq!(&read, sample, "{name} reads differently");
    assert_eq!(
        hex(&encode(sample)),
        hex(bytes),
        "{name} is written differently under the same version"
    );
}

/// A clock whose second version counts in seconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Seconds(i64);

impl RecordValue for Seconds {
    const VALUE_TYPE: ValueType = ValueType::Clock;
    const VERSION: u8 = 2;
    type Intent = ClockIntent;

    fn read_earlier(version: u8, body: &[u8]) -> Option<Seconds> {
        let millis: i64 = (version == 1).then(|| decode(body).ok())??;
        Some(Seconds(millis / 1000))
    }
}

#[test]
fn a_body_of_an_earlier_version_is_read_and_one_of_a_later_is_not() {
    let mut out = BatchWriter::new(1);
    out.event(Key::new(1, 1), ClockIntent::Pinned, &clock());
    out.event(Key::new(1, 2), ClockIntent::Pinned, &Seconds(7));
    let batch = out.take().unwrap();
    let records: Vec<_> = BatchReader::new(&batch)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let seconds = Seconds(clock().time / 1000);
    assert_eq!(records[0].value::<Seconds>(), Ok(seconds));
    assert_eq!(records[1].value::<Seconds>(), Ok(Seconds(7)));
    let unknown = records[1].value::<ClockValue>().unwrap_err().to_string();
    assert!(unknown.contains("unknown body version 2"), "{unknown}");
}

#[test]
fn chunks_without_resources_keep_their_first_encoding() {
    let chunk = BatchOperationChunkValue {
        resources: ItemResources::default(),
        ..batch_operation_chunk()
    };
    let first = &golden("values.txt", &[])["BATCH_OPERATION_CHUNK.1"];
    assert_eq!((chunk.version(), &encode(&chunk)), (1, first));
    assert_eq!(batch_operation_chunk().version(), 2);
    let read = BatchOperationChunkValue::read_earlier(1, first);
    assert_eq!(read, Some(chunk));
}

#[test]
fn values_of_the_default_tenant_keep_their_first_encoding() {
    let lines = golden("values.txt", &[]);
    let own = TenantId::default();
    let subscription = SignalSubscriptionValue {
        tenant: own.clone(),
        ..signal_subscription()
    };
    let broadcast = SignalValue {
        tenant: own,
        ..signal()
    };
    assert_eq!(encode(&subscription), lines["SIGNAL_SUBSCRIPTION.1"]);
    assert_eq!(encode(&broadcast), lines["SIGNAL.1"]);
    let mut out = BatchWriter::new(1);
    let created = SignalSubscriptionIntent::Created;
    out.event(Key::new(1, 1), created, &subscription);
    out.event(Key::new(1, 2), created, &signal_subscription());
    out.event(Key::new(1, 3), SignalIntent::Broadcasted, &broadcast);
    out.event(Key::new(1, 4), SignalIntent::Broadcasted, &signal());
    let batch = out.take().unwrap();
    let records: Vec<_> = (BatchReader::new(&batch).unwrap())
        .map(Result::unwrap)
        .collect();
    let versions: Vec<u8> = records.iter().map(|record| record.version).collect();
    assert_eq!(versions, [1, 2, 1, 2]);
    assert_eq!(records[0].value(), Ok(subscription));
    assert_eq!(records[1].value(), Ok(signal_subscription()));
    assert_eq!(records[2].value(), Ok(broadcast));
    assert_eq!(records[3].value(), Ok(signal()));
}

fn name<V: RecordValue>() -> String {
    format!("{}.{}", V::VALUE_TYPE.name(), V::VERSION)
}

macro_rules! all_samples {
    ($do:ident) => {
        $do!(
            job,
            deployment,
            process_instance,
            incident,
            message,
            message_subscription,
            process_message_subscription,
            job_batch,
            timer,
            message_start_event_subscription,
            signal_subscription,
            signal,
            escalation,
            variable,
            variable_document,
            process_instance_creation,
            error,
            process_instance_result,
            process,
            process_event,
            resource_deletion,
            command_distribution,
            message_correlation,
            clock,
            process_instance_batch,
            continuation,
            runtime_instruction,
            multi_instance,
            ad_hoc_sub_process_instruction,
            process_instance_modification,
            variable_element,
            decision,
            decision_requirements,
            decision_evaluation,
            form,
            resource,
            user_task,
            compensation_subscription,
            process_instance_migration,
            global_listener,
            batch_operation_creation,
            batch_operation_chunk,
            batch_operation_initialization,
            batch_operation_execution,
            batch_operation_item,
            batch_operation_partition_lifecycle,
            batch_operation_lifecycle_management,
            history_deletion,
            conditional_subscription,
            conditional_evaluation,
            condition_check,
            cluster_variable,
            exporting,
            user,
            group,
            role,
            tenant,
            mapping_rule,
            authorization,
            identity_setup,
            scale,
            session,
            kept,
            routing
        )
    };
}

#[test]
fn the_encoding_of_every_value_type_is_unchanged() {
    macro_rules! lines {
        ($($sample:ident),+) => { vec![$(named(&$sample())),+] };
    }
    fn named<V: RecordValue>(value: &V) -> (String, Vec<u8>) {
        (name::<V>(), encode(value))
    }
    let current = all_samples!(lines);
    // Expressions are answered, but never recorded.
    assert_eq!(
        current.len(),
        ValueType::ALL.len() - 1,
        "every value type has a sample"
    );
    let lines = golden("values.txt", &current);
    macro_rules! check_all {
        ($($sample:ident),+) => { $(check(&lines, &$sample());)+ };
    }
    all_samples!(check_all);
}

/// A batch with a command, an event of every value type, a run of events and a rejection.
fn batch() -> Vec<u8> {
    let mut writer = BatchWriter::new(1000);
    writer.begin(1_767_225_600_123);
    writer.command(Key::NONE, ValueType::Deployment, 0, &origin());
    macro_rules! events {
        ($($sample:ident),+) => { $(event(&mut writer, &$sample());)+ };
    }
    fn event<V: RecordValue>(writer: &mut BatchWriter, value: &V) {
        let intent = (0..=u8::MAX).rev().find_map(V::Intent::from_id).unwrap();
        writer.event(Key::new(2, 77), intent, value);
    }
    all_samples!(events);
    use skep_protocol::intent::ProcessInstanceIntent::{ElementActivated, ElementActivating};
    for intent in [ElementActivating, ElementActivated] {
        writer.event(Key::new(2, 78), intent, &process_instance());
    }
    writer.command(Key::new(3, 9), ValueType::Job, 1, &Origin::internal());
    let rejection = Rejection::new(RejectionType::NotFound, "COMPLETE", "no such job");
    writer.rejection(Key::new(3, 9), ValueType::Job, 1, &rejection);
    writer.take().unwrap()
}

#[test]
fn the_encoding_of_a_batch_is_unchanged() {
    // A line is added for each new value type, each new version of one, and each new intent that is the last of its type: they change the
    // content of the batch, not its format.
    let lines = golden("batch.txt", &[("batch.10".to_string(), batch())]);
    for (name, bytes) in &lines {
        let mut reader = BatchReader::new(bytes).unwrap();
        let count = reader.by_ref().filter(|r| r.is_ok()).count();
        // Expressions are answered, but never recorded; in addition there are two events of a run, two commands and a rejection.
        let came_later = match name.as_str() {
            "batch.10" => 0,
            "batch.7" | "batch.8" | "batch.9" => 1,
            "batch.6" => 2,
            "batch.4" | "batch.5" => 3,
            _ => 4,
        };
        let records = ValueType::ALL.len() - came_later - 1 + 2 + 3;
        assert_eq!(count, records);
        assert_eq!(reader.position(), 1000 + records as u64);
    }
    assert_eq!(hex(&batch()), hex(&lines["batch.10"]));
}

struct Named(Lineage);

impl Definitions for Named {
    fn calling_element(&self, _: Key, element: u32) -> Option<u32> {
        Some(100 + element)
    }
    fn lineage(&self) -> &Lineage {
        &self.0
    }
    fn element(&self, _: Key, element: u32) -> Option<ElementNames> {
        Some(ElementNames {
            bpmn_process_id: "order".into(),
            version: 3,
            element_id: format!("element-{element}"),
            element_type: "SERVICE_TASK",
            event_type: "UNSPECIFIED",
            custom_headers: r#"{"currency":"EUR"}"#.into(),
            tenant: TenantId::new("acme"),
        })
    }
    fn partition_id(&self) -> u32 {
        2
    }
}

/// Knows no definition, as after lost records.
struct Lost(Lineage);

impl Definitions for Lost {
    fn calling_element(&self, _: Key, _: u32) -> Option<u32> {
        None
    }
    fn lineage(&self) -> &Lineage {
        &self.0
    }
    fn element(&self, _: Key, _: u32) -> Option<ElementNames> {
        None
    }
    fn partition_id(&self) -> u32 {
        2
    }
}

fn rendered() -> Vec<serde_json::Value> {
    rendered_by(&Named(Lineage::default()))
}

fn rendered_by(definitions: &dyn Definitions) -> Vec<serde_json::Value> {
    let batch = batch();
    let records = BatchReader::new(&batch).unwrap();
    records
        .map(|r| render(&r.unwrap(), definitions).unwrap())
        .collect()
}

/// The fields of each value type, from the record model (`records.md`).
const FIELDS: &[(&str, &str)] = &[
    (
        "JOB",
        "bpmnProcessId changedAttributes customHeaders deadline elementId elementInstanceKey errorCode errorMessage jobKind jobListenerEventType jobToUserTaskMigration processDefinitionKey processDefinitionVersion processInstanceKey recurringTime result retries retryBackoff rootProcessInstanceKey tags tenantId timeout type variables worker",
    ),
    (
        "DEPLOYMENT",
        "decisionRequirementsMetadata decisionsMetadata deploymentKey formMetadata processesMetadata resourceMetadata resources tenantId",
    ),
    (
        "PROCESS_INSTANCE",
        "bpmnElementType bpmnEventType bpmnProcessId businessId callingElementPath elementId elementInstanceKey elementInstancePath flowScopeKey parentElementInstanceKey parentProcessInstanceKey processDefinitionKey processDefinitionPath processInstanceKey rootProcessInstanceKey tags tenantId version",
    ),
    (
        "INCIDENT",
        "bpmnProcessId callingElementPath elementId elementInstanceKey elementInstancePath errorMessage errorType jobKey processDefinitionKey processDefinitionPath processInstanceKey rootProcessInstanceKey tenantId variableScopeKey",
    ),
    (
        "MESSAGE",
        "correlationKey deadline messageId name tenantId timeToLive variables",
    ),
    (
        "MESSAGE_START_EVENT_SUBSCRIPTION",
        "bpmnProcessId correlationKey messageKey messageName processDefinitionKey processInstanceKey startEventId tenantId variables",
    ),
    (
        "SIGNAL_SUBSCRIPTION",
        "bpmnProcessId catchEventId catchEventInstanceKey processDefinitionKey signalName tenantId",
    ),
    ("SIGNAL", "signalName tenantId variables"),
    (
        "CONDITIONAL_SUBSCRIPTION",
        "bpmnProcessId catchEventId condition elementInstanceKey interrupting processDefinitionKey processInstanceKey scopeKey tenantId variableEvents variableNames",
    ),
    (
        "CONDITIONAL_EVALUATION",
        "processDefinitionKey startedProcessInstances tenantId variables",
    ),
    ("CLUSTER_VARIABLE", "name scope tenantId value"),
    (
        "ESCALATION",
        "catchElementId escalationCode processInstanceKey tenantId throwElementId",
    ),
    (
        "MESSAGE_SUBSCRIPTION",
        "bpmnProcessId correlationKey elementInstanceKey interrupting messageKey messageName processDefinitionKey processInstanceKey tenantId variables",
    ),
    (
        "PROCESS_MESSAGE_SUBSCRIPTION",
        "bpmnProcessId correlationKey elementId elementInstanceKey interrupting messageKey messageName processDefinitionKey processInstanceKey rootProcessInstanceKey tenantId variables",
    ),
    (
        "JOB_BATCH",
        "jobKeys jobs maxJobsToActivate tenantFilter tenantIds timeout truncated type worker",
    ),
    (
        "TIMER",
        "dueDate elementInstanceKey processDefinitionKey processInstanceKey repetitions targetElementId tenantId",
    ),
    (
        "VARIABLE",
        "bpmnProcessId elementInstanceKey name processDefinitionKey processInstanceKey rootProcessInstanceKey scopeKey source tenantId value",
    ),
    (
        "VARIABLE_DOCUMENT",
        "scopeKey tenantId updateSemantics variables",
    ),
    (
        "PROCESS_INSTANCE_CREATION",
        "bpmnProcessId businessId elementInstanceKey processDefinitionKey processInstanceKey rootProcessInstanceKey runtimeInstructions startInstructions tags tenantId variables version",
    ),
    (
        "ERROR",
        "errorEventPosition exceptionMessage processInstanceKey stacktrace",
    ),
    (
        "PROCESS_INSTANCE_RESULT",
        "bpmnProcessId businessId processDefinitionKey processInstanceKey tags tenantId variables version",
    ),
    (
        "PROCESS",
        "bpmnProcessId checksum deploymentKey duplicate processDefinitionKey resource resourceName tenantId version versionTag",
    ),
    (
        "PROCESS_EVENT",
        "processDefinitionKey processInstanceKey scopeKey targetElementId tenantId variables",
    ),
    (
        "RESOURCE_DELETION",
        "batchOperationKey batchOperationType deleteHistory resourceId resourceKey resourceType tenantId",
    ),
    (
        "COMMAND_DISTRIBUTION",
        "commandValue intent partitionId queueId valueType",
    ),
    (
        "MESSAGE_CORRELATION",
        "correlationKey messageKey name processDefinitionKey processInstanceKey requestId requestStreamId tenantId variables",
    ),
    (
        "PROCESS_INSTANCE_MIGRATION",
        "bpmnProcessId elementInstanceKey mappingInstructions processDefinitionKey processInstanceKey rootProcessInstanceKey targetProcessDefinitionKey tenantId",
    ),
    (
        "COMPENSATION_SUBSCRIPTION",
        "compensableActivityId compensableActivityInstanceKey compensableActivityScopeKey compensationHandlerId compensationHandlerInstanceKey processDefinitionKey processInstanceKey tenantId throwEventId throwEventInstanceKey variables",
    ),
    ("CLOCK", "time"),
    ("USER", "email name password userKey username"),
    (
        "GROUP",
        "description entityId entityType groupId groupKey name",
    ),
    (
        "ROLE",
        "description entityId entityType name roleId roleKey",
    ),
    (
        "TENANT",
        "description entityId entityType name tenantId tenantKey",
    ),
    (
        "MAPPING_RULE",
        "claimName claimValue mappingRuleId mappingRuleKey name",
    ),
    (
        "AUTHORIZATION",
        "authorizationKey ownerId ownerType permissionTypes resourceId resourceMatcher resourcePropertyName resourceType",
    ),
    (
        "IDENTITY_SETUP",
        "authorizations defaultTenant groupMembers groups mappingRules roleMembers roles tenantMembers tenants users",
    ),
    (
        "PROCESS_INSTANCE_BATCH",
        "batchElementInstanceKey index processDefinitionKey processInstanceKey tenantId",
    ),
    // Skep's own fields.
    ("CONTINUATION", "runaway steps taken"),
    (
        "RUNTIME_INSTRUCTION",
        "elementId processDefinitionKey processInstanceKey tenantId",
    ),
    (
        "GLOBAL_LISTENER",
        "afterNonGlobal configKey eventTypes globalListenerKey id listenerType priority retries source type",
    ),
    (
        "DECISION",
        "decisionId decisionKey decisionName decisionRequirementsId decisionRequirementsKey deploymentKey duplicate tenantId version versionTag",
    ),
    (
        "DECISION_REQUIREMENTS",
        "checksum decisionRequirementsId decisionRequirementsKey decisionRequirementsName decisionRequirementsVersion deploymentKey duplicate namespace resource resourceName tenantId",
    ),
    (
        "DECISION_EVALUATION",
        "bpmnProcessId decisionId decisionKey decisionName decisionOutput decisionRequirementsId decisionRequirementsKey decisionVersion elementId elementInstanceKey evaluatedDecisions evaluationFailureMessage failedDecisionId processDefinitionKey processInstanceKey rootProcessInstanceKey tenantId variables",
    ),
    (
        "FORM",
        "checksum deploymentKey duplicate formId formKey resource resourceName tenantId version versionTag",
    ),
    (
        "RESOURCE",
        "checksum deploymentKey duplicate resourceId resourceKey resourceName resourceProp tenantId version versionTag",
    ),
    (
        "USER_TASK",
        "action assignee bpmnProcessId candidateGroupsList candidateUsersList changedAttributes creationTimestamp customHeaders deniedReason dueDate elementId elementInstanceKey externalFormReference followUpDate formKey priority processDefinitionKey processDefinitionVersion processInstanceKey rootProcessInstanceKey tags tenantId userTaskKey variables",
    ),
];

#[test]
fn the_json_of_every_value_type_has_the_fields_of_the_record_model() {
    let rendered = rendered();
    for (value_type, fields) in FIELDS {
        let record = rendered
            .iter()
            .find(|r| r["valueType"] == *value_type && r["recordType"] == "EVENT")
            .unwrap_or_else(|| panic!("{value_type} is in the batch"));
        let mut found: Vec<&str> = record["value"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        found.sort_unstable();
        let expected: Vec<&str> = fields.split(' ').collect();
        assert_eq!(found, expected, "{value_type}");
    }
}

#[test]
fn the_frame_of_a_record_has_the_fields_of_the_record_model() {
    let rendered = rendered();
    let (command, event) = (&rendered[0], &rendered[1]);
    let rejection = rendered.last().unwrap();
    for record in &rendered {
        let mut fields: Vec<&str> = record
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        fields.sort_unstable();
        let expected = "authorizations batchOperationReference brokerVersion intent key operationReference partitionId \
                        position recordType recordVersion rejectionReason rejectionType sourceRecordPosition timestamp \
                        value valueType";
        assert_eq!(fields, expected.split_whitespace().collect::<Vec<_>>());
        assert_eq!(record["partitionId"], 2);
        assert_eq!(record["timestamp"], 1_767_225_600_123_i64);
    }
    assert_eq!(
        (&command["recordType"], &command["operationReference"]),
        (&"COMMAND".into(), &4711.into())
    );
    assert_eq!(
        (&command["position"], &command["sourceRecordPosition"]),
        (&1000.into(), &(-1).into())
    );
    assert_eq!(
        (&event["position"], &event["sourceRecordPosition"]),
        (&1001.into(), &1000.into())
    );
    assert_eq!(
        (&event["rejectionType"], &event["operationReference"]),
        (&"NULL_VAL".into(), &4711.into()),
        "events carry the reference of their command"
    );
    assert_eq!(
        (&command["authorizations"], &event["authorizations"]),
        (
            &json!({"authorized_username": "anna", "user_groups_claims": ["sales"], "user_token_claims": {"sub": "anna"}}),
            &json!({"authorized_username": "anna"})
        ),
        "events name their caller, and show nothing of the token"
    );
    assert_eq!(event["batchOperationReference"], Key::new(2, 12).0);
    assert_eq!(rejection["operationReference"], -1);
    assert_eq!(rejection["recordType"], "COMMAND_REJECTION");
    assert_eq!(
        (&rejection["rejectionType"], &rejection["rejectionReason"]),
        (&"NOT_FOUND".into(), &"no such job".into())
    );
    let rejected = &rendered[rendered.len() - 2];
    assert_eq!(rejection["sourceRecordPosition"], rejected["position"]);
}

#[test]
fn values_are_shown_by_name_and_not_by_index() {
    let rendered = rendered();
    let value = |value_type: &str| {
        let record = rendered
            .iter()
            .find(|r| r["valueType"] == value_type && r["recordType"] == "EVENT");
        record.unwrap()["value"].clone()
    };
    let job = value("JOB");
    assert_eq!(
        (&job["elementId"], &job["bpmnProcessId"]),
        (&"element-5".into(), &"order".into())
    );
    assert_eq!(job["customHeaders"]["h"], "v", "the job's own");
    assert_eq!(
        (&job["jobKind"], &job["jobListenerEventType"]),
        (&"TASK_LISTENER".into(), &"COMPLETING".into())
    );
    assert_eq!(job["result"]["type"], "AD_HOC_SUB_PROCESS");
    assert_eq!(job["result"]["corrections"]["priority"], 80);
    assert_eq!(
        job["result"]["correctedAttributes"][1],
        "candidateGroupsList"
    );
    assert_eq!(job["result"]["activateElements"][0]["elementId"], "ask");
    assert_eq!(job["variables"]["text"], "ä\"");
    assert_eq!(value("INCIDENT")["errorType"], "UNHANDLED_ERROR_EVENT");
    assert_eq!(value("TIMER")["targetElementId"], "element-6");
    assert_eq!(value("PROCESS")["checksum"], "AQID");
    assert_eq!(
        value("VARIABLE")["value"],
        "\"ä\\\"\"",
        "the value stays JSON text"
    );
    assert_eq!(value("VARIABLE_DOCUMENT")["updateSemantics"], "LOCAL");
    let creation = value("PROCESS_INSTANCE_CREATION");
    assert_eq!(creation["startInstructions"][0]["elementId"], "element-1");
    assert_eq!(
        creation["runtimeInstructions"][0]["afterElementId"],
        "element-2"
    );
    let distribution = value("COMMAND_DISTRIBUTION");
    assert_eq!(
        (&distribution["valueType"], &distribution["intent"]),
        (&"DEPLOYMENT".into(), &"DISTRIBUTE".into())
    );
}

/// A reader of records must not take an instance of another tenant for one of the default tenant.
#[test]
fn what_has_no_tenant_of_its_own_has_that_of_its_definition() {
    let tenant = |rendered: &[serde_json::Value], value_type: &str| {
        let mut records = rendered.iter();
        let record = records.find(|r| r["valueType"] == value_type && r["recordType"] == "EVENT");
        record.unwrap()["value"]["tenantId"].clone()
    };
    let known = rendered();
    let lost = rendered_by(&Lost(Lineage::default()));
    for value_type in [
        "PROCESS_INSTANCE",
        "INCIDENT",
        "TIMER",
        "VARIABLE",
        "ESCALATION",
    ] {
        assert_eq!(tenant(&known, value_type), "acme", "{value_type}");
        assert_eq!(tenant(&lost, value_type), "<unknown>", "{value_type}");
    }
    // No element instance is known either.
    for value_type in [
        "VARIABLE_DOCUMENT",
        "PROCESS_INSTANCE_BATCH",
        "AD_HOC_SUB_PROCESS_INSTRUCTION",
    ] {
        assert_eq!(tenant(&lost, value_type), "<unknown>", "{value_type}");
    }
}

#[test]
fn variables_of_a_scope_belong_to_the_tenant_of_its_definition() {
    use skep_protocol::intent::ProcessInstanceIntent::ElementActivating;
    use skep_protocol::intent::VariableDocumentIntent::Updated;
    let values = rendered_with_lineage(|batch| {
        batch.event(Key(1), ElementActivating, &element(0, 0, 70, 0));
        for scope in [1, 9] {
            let variables = VariableDocumentValue {
                scope_key: Key(scope),
                ..variable_document()
            };
            batch.event(Key(5), Updated, &variables);
        }
    });
    let tenants: Vec<_> = values.iter().map(|value| &value["tenantId"]).collect();
    assert_eq!(tenants, ["acme", "acme", "<unknown>"]);
}

fn element(scope: i64, caller: i64, definition: i64, element: u32) -> ProcessInstanceValue {
    let key = |n: i64| if n == 0 { Key::NONE } else { Key(n) };
    ProcessInstanceValue {
        process_definition_key: Key(definition),
        process_instance_key: Key(1),
        element,
        flow_scope_key: key(scope),
        parent_process_instance_key: Key::NONE,
        parent_element_instance_key: key(caller),
        root_process_instance_key: Key(1),
        consumed_flows: 0,
    }
}

/// Renders every record of a batch after reading all of them, as readers do.
fn rendered_with_lineage(write: impl FnOnce(&mut BatchWriter)) -> Vec<serde_json::Value> {
    let mut batch = BatchWriter::new(1);
    batch.begin(0);
    write(&mut batch);
    let batch = batch.take().unwrap();
    let mut named = Named(Lineage::default());
    for record in BatchReader::new(&batch).unwrap() {
        named.0.learn(&record.unwrap());
    }
    let records = BatchReader::new(&batch).unwrap();
    records
        .map(|r| render(&r.unwrap(), &named).unwrap()["value"].clone())
        .collect()
}

#[test]
fn an_element_instance_knows_its_path_through_scopes_and_calls() {
    use skep_protocol::intent::ProcessInstanceIntent::{ElementActivating, ElementCompleted};
    let values = rendered_with_lineage(|batch| {
        // Process 1 contains sub-process 2, which contains call activity 3, with the called process 4 and its task 5.
        batch.event(Key(1), ElementActivating, &element(0, 0, 70, 0));
        batch.event(Key(2), ElementActivating, &element(1, 0, 70, 5));
        batch.event(Key(3), ElementActivating, &element(2, 0, 70, 6));
        batch.event(Key(4), ElementActivating, &element(0, 3, 80, 0));
        batch.event(Key(5), ElementActivating, &element(4, 3, 80, 2));
        batch.event(Key(5), ElementCompleted, &element(4, 3, 80, 2));
    });
    assert_eq!(
        values[2]["elementInstancePath"],
        serde_json::json!([[1, 2, 3]])
    );
    assert_eq!(values[2]["processDefinitionPath"], serde_json::json!([70]));
    assert_eq!(values[2]["callingElementPath"], serde_json::json!([]));
    for value in &values[4..] {
        assert_eq!(
            value["elementInstancePath"],
            serde_json::json!([[1, 2, 3], [4, 5]])
        );
        assert_eq!(value["processDefinitionPath"], serde_json::json!([70, 80]));
        assert_eq!(value["callingElementPath"], serde_json::json!([106]));
    }
}

#[test]
fn a_path_that_began_before_the_first_record_is_empty() {
    use skep_protocol::intent::ProcessInstanceIntent::ElementActivating;
    let values = rendered_with_lineage(|batch| {
        batch.event(Key(5), ElementActivating, &element(4, 0, 80, 2));
    });
    assert_eq!(values[0]["elementInstancePath"], serde_json::json!([]));
}

#[test]
fn tags_and_business_id_of_the_creation_stand_at_every_element_of_the_instance() {
    use skep_protocol::intent::{ProcessInstanceCreationIntent, ProcessInstanceIntent};
    let values = rendered_with_lineage(|batch| {
        let process = element(0, 0, 70, 0);
        batch.event(Key(1), ProcessInstanceIntent::ElementActivating, &process);
        let creation = ProcessInstanceCreationValue {
            process_definition_key: Key(70),
            process_instance_key: Key(1),
            bpmn_process_id: "order".into(),
            version: 1,
            start_elements: vec![],
            terminate_after: vec![],
            tags: vec!["red".into()],
            business_id: Some("o-1".into()),
        };
        batch.event(Key(9), ProcessInstanceCreationIntent::Created, &creation);
    });
    assert_eq!(values[0]["tags"], serde_json::json!(["red"]));
    assert_eq!(values[0]["businessId"], "o-1");
}

#[test]
fn a_password_is_shown_nowhere() {
    let setup = identity_setup();
    for debug in [format!("{:?}", user()), format!("{setup:?}")] {
        assert!(
            debug.contains("anna") && !debug.contains("argon2"),
            "{debug}"
        );
    }
    let users = rendered().into_iter().filter(|record| {
        let value_type = record["valueType"].as_str();
        matches!(value_type, Some("USER" | "IDENTITY_SETUP"))
    });
    let shown: Vec<String> = users.map(|record| record["value"].to_string()).collect();
    assert_eq!(shown.len(), 2);
    for json in shown {
        assert!(json.contains(r#""password":"""#), "{json}");
        assert!(!json.contains("argon2"), "{json}");
    }
}
