//! Incidents, and the marks they leave on the enclosing scopes.

use skep_protocol::intent::IncidentIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::IncidentValue;
use skep_query::Value;
use skep_query::entities::INCIDENT;

use super::{Projection, intent_of, key, word};
use crate::changes::{IncidentDelta, set};

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<IncidentValue>(record)?;
    if !matches!(
        intent,
        Intent::Created | Intent::Resolved | Intent::Migrated
    ) {
        return Ok(());
    }
    let value: IncidentValue = record.value()?;
    if intent == Intent::Migrated {
        // The state of the incident does not change.
        let location = to.location(value.process_definition_key, value.element);
        set!(to.changes, INCIDENT, record.key, {
            "processDefinitionId": location.process_id(),
            "elementId": location.element_id(),
            "processDefinitionKey": key(value.process_definition_key),
        });
        return Ok(());
    }
    let delta = match intent {
        Intent::Created => {
            created(to, record, &value);
            1
        }
        _ => {
            set!(to.changes, INCIDENT, record.key, { "state": word("RESOLVED") });
            -1
        }
    };
    to.changes.incident(IncidentDelta {
        incident_key: record.key,
        element_instance_key: value.element_instance_key,
        process_instance_key: value.process_instance_key,
        delta,
    });
    Ok(())
}

fn created(to: &mut Projection<'_>, record: &Record<'_>, value: &IncidentValue) {
    let location = to.location(value.process_definition_key, value.element);
    set!(to.changes, INCIDENT, record.key, {
        "processDefinitionId": location.process_id(),
        "errorType": word(value.error_type.as_str()),
        "errorMessage": Value::Text(value.error_message.clone()),
        "elementId": location.element_id(),
        "creationTime": Value::Int(record.timestamp),
        "state": word("ACTIVE"),
        "tenantId": location.tenant(),
        "processDefinitionKey": key(value.process_definition_key),
        "processInstanceKey": key(value.process_instance_key),
        "rootProcessInstanceKey": key(value.root_process_instance_key),
        "elementInstanceKey": key(value.element_instance_key),
        "jobKey": key(value.job_key),
        "errorHashCode": Value::Int(hash_code(&value.error_message).into()),
    });
}

/// The hash by which the API groups incidents with the same message: `h = 31·h + unit` over its UTF-16 units, in 32 bits.
fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_codes() {
        assert_eq!(hash_code(""), 0);
        assert_eq!(hash_code("hello"), 99_162_322);
        assert_eq!(
            hash_code("No more retries left."),
            hash_code("No more retries left.")
        );
    }
}
