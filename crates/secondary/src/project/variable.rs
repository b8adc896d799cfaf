//! Variables: their current values.

use std::borrow::Cow;

use skep_protocol::document::{JsonText, in_one_form};
use skep_protocol::intent::VariableIntent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{RecordValue as _, VariableElementValue, VariableValue};
use skep_query::Value;
use skep_query::entities::{PREVIEW, VARIABLE};

use super::{Projection, intent_of, key};
use crate::changes::set;

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    // The record of a migrated variable does not contain the value.
    if intent_of::<VariableValue>(record)? == VariableIntent::Migrated {
        return Ok(());
    }
    let value = value_of(to, record)?;
    to.changes.set_whole(value.scope_key, &value.name);
    let (text, is_long) = shown(&value.value);
    let location = to.location(value.process_definition_key, 0);
    set!(to.changes, VARIABLE, record.key, {
        "name": Value::Text(value.name),
        "value": Value::Text(text),
        "tenantId": location.tenant(),
        "isTruncated": Value::from(is_long),
        "scopeKey": key(value.scope_key),
        "processInstanceKey": key(value.process_instance_key),
        "rootProcessInstanceKey": key(value.root_process_instance_key),
    });
    Ok(())
}

/// Reads the body in place. Names are interned, because few different ones occur.
fn value_of(to: &mut Projection<'_>, record: &Record<'_>) -> Result<VariableValue, DecodeError> {
    if record.version != VariableValue::VERSION {
        return record.value();
    }
    let mut fields = record.fields();
    Ok(VariableValue {
        name: to.changes.name(fields.text()?),
        value: fields.text()?.into(),
        scope_key: fields.key()?,
        process_instance_key: fields.key()?,
        process_definition_key: fields.key()?,
        root_process_instance_key: fields.key()?,
    })
}

/// The value as stored in rows, and whether lists truncate it. Earlier versions stored texts as they were sent.
pub fn shown(value: &JsonText) -> (JsonText, bool) {
    let text = match in_one_form(value) {
        Cow::Borrowed(_) => value.clone(),
        Cow::Owned(text) => text.into(),
    };
    let is_long = text.len() > PREVIEW && text.chars().nth(PREVIEW).is_some();
    (text, is_long)
}

/// Sets one item of a list.
pub fn element_changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let value: VariableElementValue = record.value()?;
    let text = in_one_form(&value.value).into_owned();
    to.changes
        .element((value.scope_key, value.name), value.index, text);
    Ok(())
}
