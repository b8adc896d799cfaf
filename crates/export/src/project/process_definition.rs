//! Process definitions.

use std::sync::Arc;

use skep_protocol::intent::ProcessIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::ProcessValue;
use skep_query::Value;
use skep_query::entities::PROCESS_DEFINITION;

use super::{Projection, intent_of, name, tenant, word};
use crate::definitions::Definition;

pub fn changed(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &ProcessValue,
) -> Result<(), DecodeError> {
    let key = value.process_definition_key;
    match intent_of::<ProcessValue>(record)? {
        Intent::Created => {
            let definition = Arc::new(Definition::new(value));
            to.definitions.insert(key, definition.clone());
            let xml = String::from_utf8_lossy(&value.resource);
            to.changes.set(
                &PROCESS_DEFINITION,
                key,
                [
                    ("name", name(definition.name.as_ref())),
                    ("resourceName", Value::Text(value.resource_name.clone())),
                    ("version", Value::Int(value.version.into())),
                    ("versionTag", name(value.version_tag.as_ref())),
                    (
                        "processDefinitionId",
                        Value::Text(value.bpmn_process_id.clone()),
                    ),
                    ("tenantId", tenant()),
                    ("hasStartForm", Value::from(definition.has_start_form)),
                    ("state", word("ACTIVE")),
                    ("isLatestVersion", Value::from(true)),
                    ("xml", Value::text(&xml)),
                ],
            );
            let body = skep_protocol::record::encode(value);
            to.changes
                .definition(key, value.bpmn_process_id.clone(), body);
        }
        Intent::Deleted => {
            let deleted = [("state", word("DELETED"))];
            to.changes.set(&PROCESS_DEFINITION, key, deleted);
            to.changes.versions.push(value.bpmn_process_id.clone());
        }
        _ => {}
    }
    Ok(())
}
