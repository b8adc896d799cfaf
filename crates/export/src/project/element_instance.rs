//! Element instances and taken sequence flows.

use skep_protocol::intent::ProcessInstanceIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::ProcessInstanceValue;
use skep_query::Value;
use skep_query::entities::ELEMENT_INSTANCE;

use super::{Projection, intent_of, key, name, tenant, word};

pub fn lifecycle(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &ProcessInstanceValue,
) -> Result<(), DecodeError> {
    let ended = match intent_of::<ProcessInstanceValue>(record)? {
        Intent::SequenceFlowTaken => {
            flow_taken(to, value);
            return Ok(());
        }
        // The process itself is a process instance, not an element instance.
        _ if record.key == value.process_instance_key => return Ok(()),
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
    to.changes.set(&ELEMENT_INSTANCE, record.key, end);
    Ok(())
}

fn activating(to: &mut Projection<'_>, record: &Record<'_>, value: &ProcessInstanceValue) {
    let definition = to.definition(value.process_definition_key);
    let definition = definition.as_deref();
    let element = definition.and_then(|d| d.elements.get(value.element as usize));
    let id = element.map_or(Value::Null, |e| Value::Text(e.id.clone()));
    // Where the model has no name, the id stands for it.
    let element_name = element.and_then(|e| e.name.as_ref());
    let element_name = element_name.map_or_else(|| id.clone(), |text| name(Some(text)));
    to.changes.set(
        &ELEMENT_INSTANCE,
        record.key,
        [
            (
                "processDefinitionId",
                definition.map_or(Value::Null, |d| Value::Text(d.id.clone())),
            ),
            ("startDate", Value::Int(record.timestamp)),
            ("elementId", id),
            ("elementName", element_name),
            (
                "type",
                word(element.map_or("UNKNOWN", |e| e.element_type.as_str())),
            ),
            ("state", word("ACTIVE")),
            ("hasIncident", Value::from(false)),
            ("tenantId", tenant()),
            ("processInstanceKey", key(value.process_instance_key)),
            (
                "rootProcessInstanceKey",
                key(value.root_process_instance_key),
            ),
            ("processDefinitionKey", key(value.process_definition_key)),
            ("elementInstanceScopeKey", key(value.flow_scope_key)),
            ("activeIncidents", Value::Int(0)),
        ],
    );
}

fn flow_taken(to: &mut Projection<'_>, value: &ProcessInstanceValue) {
    let definition = to.definition(value.process_definition_key);
    let flow = definition.and_then(|d| Some(d.elements.get(value.element as usize)?.id.clone()));
    if let Some(flow) = flow {
        let definition = value.process_definition_key;
        to.changes
            .flow(value.process_instance_key, flow, definition);
    }
}
