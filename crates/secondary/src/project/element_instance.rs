//! Element instances and taken sequence flows.

use skep_protocol::intent::ProcessInstanceIntent as Intent;
use skep_protocol::record::Record;
use skep_protocol::value::ProcessInstanceValue;
use skep_query::Value;
use skep_query::entities::ELEMENT_INSTANCE;

use super::{Projection, element_duration, key, word};
use crate::changes::{Ended, set};
use crate::definitions::Location;

pub fn activating(to: &mut Projection<'_>, record: &Record<'_>, value: &ProcessInstanceValue) {
    let location = of_definition(to, record, value);
    set!(to.changes, ELEMENT_INSTANCE, record.key, {
        "startDate": Value::Int(record.timestamp),
        "state": word("ACTIVE"),
        "hasIncident": Value::from(false),
        "tenantId": location.tenant(),
        "processInstanceKey": key(value.process_instance_key),
        "rootProcessInstanceKey": key(value.root_process_instance_key),
        "elementInstanceScopeKey": key(value.flow_scope_key),
        "activeIncidents": Value::Int(0),
    });
}

/// Sets the columns derived from the element. A migrated instance belongs to another definition.
pub fn of_definition(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &ProcessInstanceValue,
) -> Location {
    let location = to.location(value.process_definition_key, value.element);
    let element = location.element();
    let id = location.element_id();
    // An element without a name is shown with its ID.
    let name = element.and_then(|e| e.name.as_ref());
    let name = name.map_or_else(|| id.clone(), |name| Value::Text(name.clone()));
    set!(to.changes, ELEMENT_INSTANCE, record.key, {
        "processDefinitionId": location.process_id(),
        "elementId": id,
        "elementName": name,
        "type": location.element_type(),
        "processDefinitionKey": key(value.process_definition_key),
    });
    location
}

pub fn ended(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &ProcessInstanceValue,
    intent: Intent,
) {
    let at = (value.process_definition_key, value.element);
    if !to.changes.counted.ended.contains_key(&at)
        && let Some(element) = to.location(at.0, at.1).element()
    {
        let ended = Ended {
            element_id: element.id.clone(),
            completed: 0,
            terminated: 0,
        };
        to.changes.counted.ended.insert(at, ended);
    }
    if let Some(ended) = to.changes.counted.ended.get_mut(&at) {
        match intent {
            Intent::ElementCompleted => ended.completed += 1,
            _ => ended.terminated += 1,
        }
    }
    if intent == Intent::ElementCompleted {
        element_duration::completed(to, record, at);
    }
    set!(to.changes, ELEMENT_INSTANCE, record.key, {
        "state": super::process_instance::end_state(intent),
        "endDate": Value::Int(record.timestamp),
    });
}

pub fn flow_taken(to: &mut Projection<'_>, value: &ProcessInstanceValue) {
    let at = (value.process_definition_key, value.element);
    let Projection {
        changes,
        definitions,
        stored,
        ..
    } = to;
    changes.flow(value.process_instance_key, at, || {
        let definition = definitions.get(at.0, *stored)?;
        let flow = definition.elements.get(at.1 as usize)?;
        Some(flow.id.clone())
    });
}
