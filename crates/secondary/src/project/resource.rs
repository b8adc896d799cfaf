//! Forms and other resources.

use skep_protocol::intent::{FormIntent, ResourceIntent};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{FormValue, ResourceValue};
use skep_query::Value;
use skep_query::entities::{FORM, RESOURCE};

use super::{Projection, intent_of, key};
use crate::changes::set;

pub fn form(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let is_created = intent_of::<FormValue>(record)? == FormIntent::Created;
    let FormValue(value) = record.value()?;
    let row = value.metadata.key;
    set!(to.changes, FORM, row, { "isDeleted": Value::from(!is_created) });
    if is_created {
        set!(to.changes, FORM, row, {
            "tenantId": Value::text(value.metadata.tenant.as_str()),
            "formId": Value::Text(value.metadata.id),
            "schema": Value::text(&String::from_utf8_lossy(&value.resource)),
            "version": Value::Int(value.metadata.version.into()),
            "versionTag": Value::opt_text(value.metadata.version_tag.as_ref()),
            "deploymentKey": key(value.metadata.deployment_key),
        });
    }
    Ok(())
}

pub fn resource(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let is_created = intent_of::<ResourceValue>(record)? == ResourceIntent::Created;
    let ResourceValue(value) = record.value()?;
    let row = value.metadata.key;
    set!(to.changes, RESOURCE, row, { "isDeleted": Value::from(!is_created) });
    if is_created {
        set!(to.changes, RESOURCE, row, {
            "resourceName": Value::Text(value.metadata.resource_name),
            "version": Value::Int(value.metadata.version.into()),
            "versionTag": Value::opt_text(value.metadata.version_tag.as_ref()),
            "resourceId": Value::Text(value.metadata.id),
            "tenantId": Value::text(value.metadata.tenant.as_str()),
            "deploymentKey": key(value.metadata.deployment_key),
            "content": Value::text(&String::from_utf8_lossy(&value.resource)),
        });
    }
    Ok(())
}
