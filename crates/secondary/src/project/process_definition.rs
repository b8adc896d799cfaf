//! Process definitions.

use std::sync::Arc;

use skep_protocol::intent::ProcessIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::ProcessValue;
use skep_query::Value;
use skep_query::entities::PROCESS_DEFINITION;

use super::{Projection, intent_of, word};
use crate::changes::set;
use crate::definitions::Definition;

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<ProcessValue>(record)?;
    if !matches!(intent, Intent::Created | Intent::Deleted) {
        return Ok(());
    }
    let value: ProcessValue = record.value()?;
    let key = value.process_definition_key;
    match intent {
        Intent::Created => created(to, &value),
        _ => {
            set!(to.changes, PROCESS_DEFINITION, key, { "state": word("DELETED") });
            to.changes.versions.push(value.bpmn_process_id.clone());
        }
    }
    Ok(())
}

fn created(to: &mut Projection<'_>, value: &ProcessValue) {
    let key = value.process_definition_key;
    let definition = Arc::new(Definition::new(value));
    to.definitions.insert(key, Some(definition.clone()));
    set!(to.changes, PROCESS_DEFINITION, key, {
        "name": Value::opt_text(definition.name.as_ref()),
        "resourceName": Value::Text(value.resource_name.clone()),
        "version": Value::Int(value.version.into()),
        "versionTag": Value::opt_text(value.version_tag.as_ref()),
        "processDefinitionId": Value::Text(value.bpmn_process_id.clone()),
        "tenantId": Value::text(value.tenant.as_str()),
        "hasStartForm": Value::from(definition.start_form.is_some()),
        "startFormId": Value::opt_text(definition.start_form.as_ref().map(|form| &form.id)),
        "startFormBinding": Value::opt_text(definition.start_form.as_ref().map(|form| &form.binding)),
        "deploymentKey": super::key(value.deployment_key),
        "state": word("ACTIVE"),
        "isLatestVersion": Value::from(true),
        "xml": Value::text(&String::from_utf8_lossy(&value.resource)),
    });
    let body = skep_protocol::record::encode(value);
    to.changes
        .definition(key, value.bpmn_process_id.clone(), body);
}
