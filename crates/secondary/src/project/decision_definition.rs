//! Decisions and decision requirements.

use skep_protocol::intent::{DecisionIntent, DecisionRequirementsIntent};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{DecisionRequirementsValue, DecisionValue};
use skep_query::Value;
use skep_query::entities::{DECISION_DEFINITION, DECISION_REQUIREMENTS};

use super::{Projection, intent_of, key};
use crate::changes::{Completion, set};

pub fn decision(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<DecisionValue>(record)?;
    let value: DecisionValue = record.value()?;
    match intent {
        DecisionIntent::Created => {
            to.changes
                .completions
                .push(Completion::DecisionDefinition(value.key));
            set!(to.changes, DECISION_DEFINITION, value.key, {
                "decisionDefinitionId": Value::Text(value.id.clone()),
                "name": Value::Text(value.name),
                "version": Value::Int(value.version.into()),
                "decisionRequirementsId": Value::Text(value.decision_requirements_id),
                "decisionRequirementsKey": key(value.decision_requirements_key),
                "tenantId": Value::text(value.tenant.as_str()),
                "isLatestVersion": Value::from(true),
                "isDeleted": Value::from(false),
            });
        }
        DecisionIntent::Deleted => {
            set!(to.changes, DECISION_DEFINITION, value.key, { "isDeleted": Value::from(true) });
        }
    }
    to.changes.decision_versions.push(value.id);
    Ok(())
}

/// Deleted decision requirements are kept, because evaluations refer to them.
pub fn requirements(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if intent_of::<DecisionRequirementsValue>(record)? != DecisionRequirementsIntent::Created {
        return Ok(());
    }
    let value: DecisionRequirementsValue = record.value()?;
    set!(to.changes, DECISION_REQUIREMENTS, value.metadata.key, {
        "decisionRequirementsName": Value::Text(value.metadata.name),
        "version": Value::Int(value.metadata.version.into()),
        "decisionRequirementsId": Value::Text(value.metadata.id),
        "tenantId": Value::text(value.metadata.tenant.as_str()),
        "resourceName": Value::Text(value.metadata.resource_name),
        "xml": Value::text(&String::from_utf8_lossy(&value.resource)),
    });
    Ok(())
}
