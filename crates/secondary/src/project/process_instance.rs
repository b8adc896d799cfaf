//! Process instances: rows from PROCESS_INSTANCE events of the process itself, and data from their creation.

use skep_protocol::intent::ProcessInstanceIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{ProcessInstanceCreationValue, ProcessInstanceValue, RecordValue as _};
use skep_query::Value;
use skep_query::entities::PROCESS_INSTANCE;

use super::{Projection, element_instance, intent_of, json_list, key, usage, word};
use crate::changes::set;

pub fn lifecycle(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<ProcessInstanceValue>(record)?;
    // Most events change nothing in rows, so their bodies are not read.
    match intent {
        Intent::ElementActivating => {
            let value = value_of(record)?;
            // The process element is a process instance, not an element instance.
            if is_process(record, &value) {
                activating(to, record, &value)
            } else {
                element_instance::activating(to, record, &value)
            }
        }
        Intent::ElementCompleted | Intent::ElementTerminated => {
            let value = value_of(record)?;
            if is_process(record, &value) {
                ended(to, record, intent)
            } else {
                element_instance::ended(to, record, &value, intent)
            }
        }
        Intent::ElementMigrated => {
            let value = record.value()?;
            if is_process(record, &value) {
                of_definition(to, record, &value)
            } else {
                element_instance::of_definition(to, record, &value);
            }
        }
        Intent::SequenceFlowTaken => element_instance::flow_taken(to, &value_of(record)?),
        _ => {}
    }
    Ok(())
}

/// Reads the body in place, because these records outnumber all others together.
fn value_of(record: &Record<'_>) -> Result<ProcessInstanceValue, DecodeError> {
    if record.version != ProcessInstanceValue::VERSION {
        return record.value();
    }
    let mut fields = record.fields();
    Ok(ProcessInstanceValue {
        process_definition_key: fields.key()?,
        process_instance_key: fields.key()?,
        element: fields.u32()?,
        flow_scope_key: fields.key()?,
        parent_process_instance_key: fields.key()?,
        parent_element_instance_key: fields.key()?,
        root_process_instance_key: fields.key()?,
        consumed_flows: fields.u32()?,
    })
}

fn is_process(record: &Record<'_>, value: &ProcessInstanceValue) -> bool {
    record.key == value.process_instance_key
}

pub fn end_state(intent: Intent) -> Value {
    word(match intent {
        Intent::ElementCompleted => "COMPLETED",
        _ => "TERMINATED",
    })
}

fn activating(to: &mut Projection<'_>, record: &Record<'_>, value: &ProcessInstanceValue) {
    let location = to.location(value.process_definition_key, value.element);
    of_definition(to, record, value);
    if value.parent_process_instance_key.is_none() {
        usage::process_instance(to, record, &location.tenant());
    }
    set!(to.changes, PROCESS_INSTANCE, record.key, {
        "startDate": Value::Int(record.timestamp),
        "state": word("ACTIVE"),
        "hasIncident": Value::from(false),
        "tenantId": location.tenant(),
        "parentProcessInstanceKey": key(value.parent_process_instance_key),
        "parentElementInstanceKey": key(value.parent_element_instance_key),
        "rootProcessInstanceKey": key(value.root_process_instance_key),
        "activeIncidents": Value::Int(0),
    });
}

/// Sets the columns derived from the definition. A migrated instance has another one.
fn of_definition(to: &mut Projection<'_>, record: &Record<'_>, value: &ProcessInstanceValue) {
    let location = to.location(value.process_definition_key, value.element);
    set!(to.changes, PROCESS_INSTANCE, record.key, {
        "processDefinitionId": location.process_id(),
        "processDefinitionName": location.process_name(),
        "processDefinitionVersion": location.version(),
        "processDefinitionVersionTag": location.version_tag(),
        "processDefinitionKey": key(value.process_definition_key),
    });
}

fn ended(to: &mut Projection<'_>, record: &Record<'_>, intent: Intent) {
    set!(to.changes, PROCESS_INSTANCE, record.key, {
        "state": end_state(intent),
        "endDate": Value::Int(record.timestamp),
    });
}

pub fn created(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: ProcessInstanceCreationValue = record.value()?;
    if value.tags.is_empty() && value.business_id.is_none() {
        return Ok(());
    }
    let business_id = value.business_id.as_deref();
    set!(to.changes, PROCESS_INSTANCE, value.process_instance_key, {
        "tags": json_list(&value.tags),
        "businessId": business_id.map_or(Value::Null, Value::text),
    });
    Ok(())
}
