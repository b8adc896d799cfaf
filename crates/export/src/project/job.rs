//! Jobs.

use skep_protocol::intent::{Intent as _, JobBatchIntent, JobIntent as Intent};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{JobBatchValue, JobValue};
use skep_query::Value;
use skep_query::entities::JOB;

use super::{Projection, intent_of, key, tenant, word};

pub fn changed(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &JobValue,
) -> Result<(), DecodeError> {
    let intent = intent_of::<JobValue>(record)?;
    match intent {
        Intent::Created => created(to, record, value),
        Intent::Completed | Intent::Canceled => {
            let end = [("endTime", Value::Int(record.timestamp))];
            to.changes.set(&JOB, record.key, end);
        }
        Intent::ErrorThrown => {
            let code = value.extra.as_ref().map(|extra| &extra.error_code);
            let error_code = code.map_or_else(|| word(""), |code| Value::Text(code.clone()));
            let thrown = [
                ("endTime", Value::Int(record.timestamp)),
                ("errorCode", error_code),
                ("errorMessage", Value::some_text(&value.error_message)),
            ];
            to.changes.set(&JOB, record.key, thrown);
        }
        Intent::Failed => {
            let failed = [
                ("errorMessage", Value::some_text(&value.error_message)),
                ("hasFailedWithRetriesLeft", Value::from(value.retries > 0)),
                ("retries", Value::Int(value.retries.into())),
            ];
            to.changes.set(&JOB, record.key, failed);
        }
        Intent::RetriesUpdated | Intent::TimeoutUpdated | Intent::Updated => {
            let updated = [
                ("retries", Value::Int(value.retries.into())),
                ("deadline", deadline(value.deadline)),
            ];
            to.changes.set(&JOB, record.key, updated);
        }
        Intent::TimedOut => {}
        _ => return Ok(()),
    }
    let mut columns = [
        ("lastUpdateTime", Value::Int(record.timestamp)),
        ("state", Value::Null),
    ];
    // The states of the API are the names of these events; the others leave it as it is.
    match intent {
        Intent::TimeoutUpdated | Intent::Updated => {
            let [time, _] = columns;
            to.changes.set(&JOB, record.key, [time]);
        }
        intent => {
            columns[1].1 = word(intent.name());
            to.changes.set(&JOB, record.key, columns);
        }
    }
    Ok(())
}

fn created(to: &mut Projection<'_>, record: &Record<'_>, value: &JobValue) {
    let definition = to.definition(value.process_definition_key);
    let definition = definition.as_deref();
    let element = definition.and_then(|d| d.elements.get(value.element as usize));
    let listener = value.kind().listener_event();
    let listener = listener.map_or("UNSPECIFIED", |event| event.name());
    let own = value.headers().or(element.map(|e| &e.headers));
    let headers = own.map_or_else(|| word("{}"), |headers| Value::Text(headers.clone()));
    to.changes.set(
        &JOB,
        record.key,
        [
            ("customHeaders", headers),
            (
                "elementId",
                element.map_or(Value::Null, |e| Value::Text(e.id.clone())),
            ),
            ("elementInstanceKey", key(value.element_instance_key)),
            ("hasFailedWithRetriesLeft", Value::from(false)),
            ("kind", word(value.kind().name())),
            ("listenerEventType", word(listener)),
            (
                "processDefinitionId",
                definition.map_or(Value::Null, |d| Value::Text(d.id.clone())),
            ),
            ("processDefinitionKey", key(value.process_definition_key)),
            ("processInstanceKey", key(value.process_instance_key)),
            (
                "rootProcessInstanceKey",
                key(value.root_process_instance_key),
            ),
            ("retries", Value::Int(value.retries.into())),
            ("tenantId", tenant()),
            ("type", Value::Text(value.job_type.clone())),
            ("worker", word("")),
            ("creationTime", Value::Int(record.timestamp)),
        ],
    );
}

/// A worker has taken these jobs.
pub fn activated(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &JobBatchValue,
) -> Result<(), DecodeError> {
    if intent_of::<JobBatchValue>(record)? == JobBatchIntent::Activated {
        for job in &value.job_keys {
            let taken = [
                ("worker", Value::Text(value.worker.clone())),
                ("deadline", deadline(value.deadline)),
            ];
            to.changes.set(&JOB, *job, taken);
        }
    }
    Ok(())
}

fn deadline(millis: i64) -> Value {
    if millis < 0 {
        Value::Null
    } else {
        Value::Int(millis)
    }
}
