//! Process instances: rows of PROCESS_INSTANCE events about the process itself, and what the creation gave them.

use skep_protocol::intent::ProcessInstanceIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{ProcessInstanceCreationValue, ProcessInstanceValue};
use skep_query::Value;
use skep_query::entities::PROCESS_INSTANCE;

use super::{Projection, intent_of, key, name, tenant, word};

pub fn lifecycle(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &ProcessInstanceValue,
) -> Result<(), DecodeError> {
    if record.key != value.process_instance_key {
        return Ok(());
    }
    let ended = match intent_of::<ProcessInstanceValue>(record)? {
        Intent::ElementActivating => {
            activating(to, record, value);
            return Ok(());
        }
        Intent::ElementCompleted => "COMPLETED",
        Intent::ElementTerminated => "TERMINATED",
        _ => return Ok(()),
    };
    let end = [
        ("state", word(ended)),
        ("endDate", Value::Int(record.timestamp)),
    ];
    to.changes.set(&PROCESS_INSTANCE, record.key, end);
    Ok(())
}

fn activating(to: &mut Projection<'_>, record: &Record<'_>, value: &ProcessInstanceValue) {
    let definition = to.definition(value.process_definition_key);
    let definition = definition.as_deref();
    let of =
        |text: fn(&crate::definitions::Definition) -> Value| definition.map_or(Value::Null, text);
    to.changes.set(
        &PROCESS_INSTANCE,
        record.key,
        [
            ("processDefinitionId", of(|d| Value::Text(d.id.clone()))),
            ("processDefinitionName", of(|d| name(d.name.as_ref()))),
            (
                "processDefinitionVersion",
                of(|d| Value::Int(d.version.into())),
            ),
            (
                "processDefinitionVersionTag",
                of(|d| name(d.version_tag.as_ref())),
            ),
            ("startDate", Value::Int(record.timestamp)),
            ("state", word("ACTIVE")),
            ("hasIncident", Value::from(false)),
            ("tenantId", tenant()),
            ("processDefinitionKey", key(value.process_definition_key)),
            (
                "parentProcessInstanceKey",
                key(value.parent_process_instance_key),
            ),
            (
                "parentElementInstanceKey",
                key(value.parent_element_instance_key),
            ),
            (
                "rootProcessInstanceKey",
                key(value.root_process_instance_key),
            ),
            ("activeIncidents", Value::Int(0)),
        ],
    );
}

pub fn created(
    to: &mut Projection<'_>,
    _record: &Record<'_>,
    value: &ProcessInstanceCreationValue,
) -> Result<(), DecodeError> {
    if value.tags.is_empty() && value.business_id.is_none() {
        return Ok(());
    }
    let tags: Vec<String> = value.tags.iter().map(|tag| json_text(tag)).collect();
    let business_id = value
        .business_id
        .as_deref()
        .map_or(Value::Null, Value::text);
    let columns = [
        ("tags", Value::text(&format!("[{}]", tags.join(",")))),
        ("businessId", business_id),
    ];
    to.changes
        .set(&PROCESS_INSTANCE, value.process_instance_key, columns);
    Ok(())
}

fn json_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    skep_query::answer::write_text(text, &mut out);
    out
}
