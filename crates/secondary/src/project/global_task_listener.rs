//! Global task listeners.

use skep_protocol::intent::GlobalListenerIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::GlobalListenerValue;
use skep_query::Value;
use skep_query::entities::GLOBAL_TASK_LISTENER;

use super::{Projection, intent_of, json_list, word};
use crate::changes::set;

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let is_deleted = intent_of::<GlobalListenerValue>(record)? == Intent::Deleted;
    let value: GlobalListenerValue = record.value()?;
    let events: Vec<&str> = value.events.iter().map(|event| event.name()).collect();
    set!(to.changes, GLOBAL_TASK_LISTENER, record.key, {
        "id": Value::Text(value.id),
        "type": Value::Text(value.job_type),
        "retries": Value::Int(value.retries.into()),
        "eventTypes": json_list(&events),
        "afterNonGlobal": Value::from(value.after_non_global),
        "priority": Value::Int(value.priority.into()),
        "source": word("API"),
        "isDeleted": Value::from(is_deleted),
    });
    Ok(())
}
