//! The audit log: operations by users and clients. There is one entry per affected entity, created from the event that reports
//! the operation, or from the rejection.
//!
//! An event alone does not tell whether a caller requested it: variables are set by commands and by processes. So the preceding
//! command in the batch is considered, too.

mod identity;

use skep_protocol::command::{Audit, BatchCommand, IdentityCommand, RecordName};
use skep_protocol::intent::{
    BatchOperationIntent, DecisionEvaluationIntent, DecisionIntent, DecisionRequirementsIntent,
    FormIntent, IncidentIntent, Intent, ProcessInstanceCreationIntent, ProcessInstanceIntent,
    ProcessInstanceMigrationIntent, ProcessInstanceModificationIntent, ProcessIntent,
    ResourceDeletionIntent, ResourceIntent, UserTaskIntent, VariableIntent,
};
use skep_protocol::origin::{Claims, Origin};
use skep_protocol::record::{DecodeError, Record, RecordType};
use skep_protocol::value::{
    BatchOperationCreationValue, BatchOperationLifecycleManagementValue, DecisionEvaluationValue,
    DecisionRequirementsValue, DecisionValue, FormValue, IncidentValue,
    ProcessInstanceCreationValue, ProcessInstanceMigrationValue, ProcessInstanceModificationValue,
    ProcessInstanceValue, ProcessValue, RejectionValue, ResourceDeletionValue, ResourceValue,
    StoredResource, UserTaskValue, VariableValue,
};
use skep_protocol::{Command, Key, RejectionType, ValueType};
use skep_query::Value;
use skep_query::entities::{AUDIT_LOG, INCIDENT, PROCESS_INSTANCE, USER_TASK};

use super::{Projection, intent_of, key, word};
use crate::changes::{Refusal, set};

const RESOURCES: &str = "DEPLOYED_RESOURCES";
const TASKS: &str = "USER_TASKS";

/// The command that the following records belong to.
pub type Cause = Option<(ValueType, u8)>;

/// An operation and the entity it was applied to.
#[derive(Clone, Copy)]
struct Done {
    entity: &'static str,
    operation: &'static str,
    key: Key,
}

fn done(entity: &'static str, operation: &'static str, key: Key) -> Done {
    Done {
        entity,
        operation,
        key,
    }
}

pub fn record(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    match record.record_type {
        RecordType::Command => {
            to.cause = Some((record.value_type, record.intent));
            Ok(())
        }
        RecordType::CommandRejection => rejection(to, record),
        RecordType::Event => event(to, record),
    }
}

fn event(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    match record.value_type {
        ValueType::ProcessInstanceCreation => created(to, record),
        ValueType::ProcessInstance => canceled(to, record),
        ValueType::ProcessInstanceModification => modified(to, record),
        ValueType::ProcessInstanceMigration => migrated(to, record),
        ValueType::Variable => variable(to, record),
        ValueType::Incident => incident(to, record),
        ValueType::Process
        | ValueType::DecisionRequirements
        | ValueType::Form
        | ValueType::Resource => deployed(to, record),
        ValueType::Decision => decision(to, record),
        ValueType::ResourceDeletion => deleted(to, record),
        ValueType::DecisionEvaluation => evaluated(to, record),
        ValueType::BatchOperationCreation | ValueType::BatchOperationLifecycleManagement => {
            batch_operation(to, record)
        }
        ValueType::UserTask => user_task(to, record),
        ValueType::User
        | ValueType::Group
        | ValueType::Role
        | ValueType::Tenant
        | ValueType::MappingRule
        | ValueType::Authorization => identity::event(to, record),
        _ => Ok(()),
    }
}

/// The origin of a record, if the audit log covers it.
fn wanted(
    to: &Projection<'_>,
    record: &Record<'_>,
    category: &str,
    entity: &str,
) -> Option<Origin> {
    let origin = record.origin();
    to.audit
        .covers(&origin.claims, category, entity)
        .then_some(origin)
}

/// Creates an entry, whose key is the position of the record. Callers add the columns that are specific to the entity.
fn entry(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    origin: &Origin,
    (category, done): (&'static str, Done),
    succeeded: bool,
) -> Key {
    let row = Key::new(to.partition, record.position);
    let (actor_type, actor) = match &origin.claims {
        Claims::Anonymous => ("ANONYMOUS", Value::Null),
        Claims::Internal => ("UNKNOWN", Value::Null),
        Claims::User(principal) => ("USER", Value::Text(principal.id.clone())),
        Claims::Client(principal) => ("CLIENT", Value::Text(principal.id.clone())),
    };
    let entity_key = done.key.some().map(|key| Value::text(&key.to_string()));
    set!(to.changes, AUDIT_LOG, row, {
        "entityKey": entity_key.unwrap_or_else(|| word("")),
        "entityType": word(done.entity),
        "operationType": word(done.operation),
        "batchOperationKey": key(origin.batch_operation_reference),
        "timestamp": Value::Int(record.timestamp),
        "actorId": actor,
        "actorType": word(actor_type),
        "result": word(if succeeded { "SUCCESS" } else { "FAIL" }),
        "category": word(category),
    });
    row
}

/// Sets the columns for a process definition and its instance.
fn of_instance(to: &mut Projection<'_>, row: Key, definition: Key, instance: Key, root: Key) {
    let location = to.location(definition, 0);
    set!(to.changes, AUDIT_LOG, row, {
        "processDefinitionId": location.process_id(),
        "processDefinitionKey": key(definition),
        "processInstanceKey": key(instance),
        "rootProcessInstanceKey": key(root),
        "tenantId": location.tenant(),
    });
}

fn is_by(to: &Projection<'_>, record: &Record<'_>, value_type: ValueType) -> bool {
    let by_client = to.cause.is_some_and(|(by, _)| by == value_type);
    by_client || record.origin().batch_operation_reference.some().is_some()
}

/// Every partition receives distributed records, but only the partition that made the entity audits them.
fn is_made_here(to: &Projection<'_>, key: Key) -> bool {
    key.partition() == Some(to.partition)
}

fn created(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if intent_of::<ProcessInstanceCreationValue>(record)? != ProcessInstanceCreationIntent::Created
    {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "PROCESS_INSTANCE") else {
        return Ok(());
    };
    let value: ProcessInstanceCreationValue = record.value()?;
    let instance = value.process_instance_key;
    let what = done("PROCESS_INSTANCE", "CREATE", instance);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let definition = value.process_definition_key;
    of_instance(to, row, definition, instance, instance);
    Ok(())
}

fn canceled(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if record.intent != ProcessInstanceIntent::Canceling.id()
        || !is_by(to, record, ValueType::ProcessInstance)
    {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "PROCESS_INSTANCE") else {
        return Ok(());
    };
    let value: ProcessInstanceValue = record.value()?;
    let what = done("PROCESS_INSTANCE", "CANCEL", record.key);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let root = value.root_process_instance_key;
    of_instance(to, row, value.process_definition_key, record.key, root);
    Ok(())
}

fn modified(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if record.intent != ProcessInstanceModificationIntent::Modified.id() {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "PROCESS_INSTANCE") else {
        return Ok(());
    };
    let value: ProcessInstanceModificationValue = record.value()?;
    let instance = value.process_instance_key;
    let what = done("PROCESS_INSTANCE", "MODIFY", instance);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let root = value.root_process_instance_key;
    of_instance(to, row, value.process_definition_key, instance, root);
    Ok(())
}

/// The entry names the target definition.
fn migrated(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if record.intent != ProcessInstanceMigrationIntent::Migrated.id() {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "PROCESS_INSTANCE") else {
        return Ok(());
    };
    let value: ProcessInstanceMigrationValue = record.value()?;
    let instance = value.process_instance_key;
    let what = done("PROCESS_INSTANCE", "MIGRATE", instance);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let (definition, root) = (
        value.target_process_definition_key,
        value.root_process_instance_key,
    );
    of_instance(to, row, definition, instance, root);
    Ok(())
}

fn variable(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if to.cause.map(|(by, _)| by) != Some(ValueType::VariableDocument) {
        return Ok(());
    }
    let operation = match intent_of::<VariableValue>(record)? {
        VariableIntent::Created => "CREATE",
        VariableIntent::Updated => "UPDATE",
        VariableIntent::Migrated => return Ok(()),
    };
    let Some(origin) = wanted(to, record, RESOURCES, "VARIABLE") else {
        return Ok(());
    };
    let value: VariableValue = record.value()?;
    let what = done("VARIABLE", operation, record.key);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let (instance, root) = (value.process_instance_key, value.root_process_instance_key);
    of_instance(to, row, value.process_definition_key, instance, root);
    set!(to.changes, AUDIT_LOG, row, {
        "elementInstanceKey": key(value.scope_key),
        "entityDescription": Value::Text(value.name),
    });
    Ok(())
}

fn incident(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if record.intent != IncidentIntent::Resolved.id() || !is_by(to, record, ValueType::Incident) {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "INCIDENT") else {
        return Ok(());
    };
    let value: IncidentValue = record.value()?;
    let what = done("INCIDENT", "RESOLVE", record.key);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let (instance, root) = (value.process_instance_key, value.root_process_instance_key);
    of_instance(to, row, value.process_definition_key, instance, root);
    set!(to.changes, AUDIT_LOG, row, {
        "elementInstanceKey": key(value.element_instance_key),
        "jobKey": key(value.job_key),
    });
    Ok(())
}

/// Audits the resources that a deployment created.
fn deployed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    // CREATED has the same number in all of these intents.
    const _: () = assert!(
        ProcessIntent::Created as u8 == FormIntent::Created as u8
            && ResourceIntent::Created as u8 == DecisionRequirementsIntent::Created as u8
            && FormIntent::Created as u8 == ResourceIntent::Created as u8
    );
    if record.intent != ProcessIntent::Created.id() || !is_made_here(to, record.key) {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "RESOURCE") else {
        return Ok(());
    };
    let what = done("RESOURCE", "CREATE", record.key);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let own = key(record.key);
    let (name, tenant, deployment) = match record.value_type {
        ValueType::Process => {
            let value: ProcessValue = record.value()?;
            set!(to.changes, AUDIT_LOG, row, {
                "processDefinitionId": Value::Text(value.bpmn_process_id),
                "processDefinitionKey": own.clone(),
            });
            (value.resource_name, value.tenant, value.deployment_key)
        }
        ValueType::DecisionRequirements => {
            let DecisionRequirementsValue { metadata, .. } = record.value()?;
            set!(to.changes, AUDIT_LOG, row, {
                "decisionRequirementsId": Value::Text(metadata.id),
                "decisionRequirementsKey": own.clone(),
            });
            (
                metadata.resource_name,
                metadata.tenant,
                metadata.deployment_key,
            )
        }
        value_type => {
            let FormValue(StoredResource { metadata, .. }) = match value_type {
                ValueType::Form => record.value()?,
                _ => FormValue(record.value::<ResourceValue>()?.0),
            };
            if value_type == ValueType::Form {
                set!(to.changes, AUDIT_LOG, row, { "formKey": own.clone() });
            }
            (
                metadata.resource_name,
                metadata.tenant,
                metadata.deployment_key,
            )
        }
    };
    set!(to.changes, AUDIT_LOG, row, {
        "tenantId": Value::text(tenant.as_str()),
        "deploymentKey": key(deployment),
        "resourceKey": own,
        "entityDescription": Value::Text(name),
    });
    Ok(())
}

fn decision(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let operation = match intent_of::<DecisionValue>(record)? {
        DecisionIntent::Created => "CREATE",
        DecisionIntent::Deleted => "DELETE",
    };
    let Some(origin) = wanted(to, record, RESOURCES, "DECISION") else {
        return Ok(());
    };
    let value: DecisionValue = record.value()?;
    if !is_made_here(to, value.key) {
        return Ok(());
    }
    let what = done("DECISION", operation, value.key);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    set!(to.changes, AUDIT_LOG, row, {
        "tenantId": Value::text(value.tenant.as_str()),
        "deploymentKey": key(value.deployment_key),
        "decisionRequirementsId": Value::Text(value.decision_requirements_id),
        "decisionRequirementsKey": key(value.decision_requirements_key),
        "decisionDefinitionId": Value::Text(value.id),
        "decisionDefinitionKey": key(value.key),
    });
    Ok(())
}

fn deleted(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if record.intent != ResourceDeletionIntent::Deleting.id() {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "RESOURCE") else {
        return Ok(());
    };
    let value: ResourceDeletionValue = record.value()?;
    if !is_made_here(to, value.resource_key) {
        return Ok(());
    }
    let what = done("RESOURCE", "DELETE", value.resource_key);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    let location = to.location(value.resource_key, 0);
    if location.definition.is_some() {
        set!(to.changes, AUDIT_LOG, row, {
            "processDefinitionId": location.process_id(),
            "processDefinitionKey": key(value.resource_key),
        });
    }
    set!(to.changes, AUDIT_LOG, row, {
        "tenantId": location.tenant(),
        "resourceKey": key(value.resource_key),
    });
    Ok(())
}

/// Audits evaluations requested by a client.
fn evaluated(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let succeeded = match intent_of::<DecisionEvaluationValue>(record)? {
        DecisionEvaluationIntent::Evaluated => true,
        DecisionEvaluationIntent::Failed => false,
        DecisionEvaluationIntent::Evaluate => return Ok(()),
    };
    if !is_by(to, record, ValueType::DecisionEvaluation) {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, RESOURCES, "DECISION") else {
        return Ok(());
    };
    let value: DecisionEvaluationValue = record.value()?;
    let what = done("DECISION", "EVALUATE", value.decision_key);
    let row = entry(to, record, &origin, (RESOURCES, what), succeeded);
    set!(to.changes, AUDIT_LOG, row, {
        "tenantId": Value::text(value.tenant.as_str()),
        "decisionRequirementsId": Value::some_text(&value.decision_requirements_id),
        "decisionRequirementsKey": key(value.decision_requirements_key),
        "decisionDefinitionId": Value::Text(value.decision_id),
        "decisionDefinitionKey": key(value.decision_key),
        "decisionEvaluationKey": key(record.key),
    });
    Ok(())
}

fn batch_operation(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let operation = match BatchOperationIntent::from_id(record.intent) {
        Some(BatchOperationIntent::Created) => "CREATE",
        Some(BatchOperationIntent::Suspended) => "SUSPEND",
        Some(BatchOperationIntent::Resumed) => "RESUME",
        Some(BatchOperationIntent::Canceled) => "CANCEL",
        _ => return Ok(()),
    };
    let Some(origin) = wanted(to, record, RESOURCES, "BATCH") else {
        return Ok(());
    };
    let (batch, kind) = match record.value_type {
        ValueType::BatchOperationCreation => {
            let value: BatchOperationCreationValue = record.value()?;
            (record.key, Some(value.kind))
        }
        _ => {
            let value: BatchOperationLifecycleManagementValue = record.value()?;
            (value.batch_operation_key, None)
        }
    };
    if !is_made_here(to, batch) {
        return Ok(());
    }
    let what = done("BATCH", operation, batch);
    let row = entry(to, record, &origin, (RESOURCES, what), true);
    set!(to.changes, AUDIT_LOG, row, {
        "batchOperationKey": key(batch),
        "batchOperationType": kind.map_or(Value::Null, |kind| word(kind.as_str())),
    });
    Ok(())
}

/// Changes by users have an action name; changes by the process have none.
fn user_task(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<UserTaskValue>(record)?;
    if !matches!(
        intent,
        UserTaskIntent::Assigned | UserTaskIntent::Updated | UserTaskIntent::Completed
    ) {
        return Ok(());
    }
    let Some(origin) = wanted(to, record, TASKS, "USER_TASK") else {
        return Ok(());
    };
    let value: UserTaskValue = record.value()?;
    if value.action.is_empty() {
        return Ok(());
    }
    let assignee = &value.attributes.assignee;
    let operation = match intent {
        UserTaskIntent::Assigned if assignee.is_empty() => "UNASSIGN",
        UserTaskIntent::Assigned => "ASSIGN",
        UserTaskIntent::Updated => "UPDATE",
        _ => "COMPLETE",
    };
    let what = done("USER_TASK", operation, record.key);
    let row = entry(to, record, &origin, (TASKS, what), true);
    if operation == "ASSIGN" {
        set!(to.changes, AUDIT_LOG, row, {
            "relatedEntityKey": Value::Text(assignee.clone()),
            "relatedEntityType": word("USER"),
        });
    }
    let (instance, root) = (value.process_instance_key, value.root_process_instance_key);
    of_instance(to, row, value.process_definition_key, instance, root);
    set!(to.changes, AUDIT_LOG, row, {
        "elementInstanceKey": key(value.element_instance_key),
        "userTaskKey": key(record.key),
        "formKey": key(value.form_key),
    });
    Ok(())
}

/// The audit settings in the command tables for commands that are written as this record.
fn audit_of(value_type: ValueType, intent: u8) -> Audit {
    let families = [Command::ROWS, BatchCommand::ROWS, IdentityCommand::ROWS];
    let mut rows = families.into_iter().flatten();
    let row = rows.find(|row| row.records.contains(&RecordName(value_type, intent)));
    row.map_or(Audit::None, |row| row.audit)
}

/// Audits commands that were rejected because of the state of the entity.
fn rejection(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let Audit::Entry {
        category,
        entity,
        operation,
    } = audit_of(record.value_type, record.intent)
    else {
        return Ok(());
    };
    let category = category.name();
    let Some(origin) = wanted(to, record, category, entity) else {
        return Ok(());
    };
    let value: RejectionValue = record.decode()?;
    let recorded = match entity {
        "PROCESS_INSTANCE" => &[RejectionType::InvalidState, RejectionType::ProcessingError][..],
        "INCIDENT" | "BATCH" | "USER_TASK" => &[RejectionType::InvalidState][..],
        _ => &[][..],
    };
    if !recorded.contains(&value.rejection_type) {
        return Ok(());
    }
    let what = done(entity, operation, record.key);
    let row = entry(to, record, &origin, (category, what), false);
    match entity {
        "PROCESS_INSTANCE" => {
            set!(to.changes, AUDIT_LOG, row, { "processInstanceKey": key(record.key) });
        }
        "USER_TASK" => set!(to.changes, AUDIT_LOG, row, { "userTaskKey": key(record.key) }),
        "BATCH" => set!(to.changes, AUDIT_LOG, row, { "batchOperationKey": key(record.key) }),
        _ => {}
    }
    located(to, record, entity, row);
    Ok(())
}

/// Gives the entry of a refused command its tenant, and its process, which the record does not contain.
fn located(to: &mut Projection<'_>, record: &Record<'_>, entity: &str, row: Key) {
    let entity = match entity {
        "PROCESS_INSTANCE" => &PROCESS_INSTANCE,
        "USER_TASK" => &USER_TASK,
        "INCIDENT" => &INCIDENT,
        // Batch operations belong to the cluster.
        _ => return,
    };
    // An entry without a tenant would be visible to all. A record of an earlier version has none, so the tenant comes from the entity, too.
    let tenant = record.tenant_of_rejection();
    set!(to.changes, AUDIT_LOG, row, { "tenantId": Value::text(tenant.as_str()) });
    let key = record.key;
    if key.some().is_some() {
        to.changes.refusals.push(Refusal { row, entity, key });
    }
}
