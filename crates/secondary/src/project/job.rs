//! Jobs.

use skep_protocol::intent::{Intent as _, JobBatchIntent, JobIntent as Intent};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{JobBatchValue, JobValue};
use skep_query::Value;
use skep_query::entities::JOB;

use super::{Projection, intent_of, job_statistics, key, word};
use crate::changes::set;

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<JobValue>(record)?;
    match intent {
        Intent::Created => created(to, record, &record.value()?),
        Intent::Completed | Intent::Canceled => {
            if intent == Intent::Completed {
                job_statistics::completed(to, record)?;
            }
            set!(to.changes, JOB, record.key, { "endTime": Value::Int(record.timestamp) });
        }
        Intent::ErrorThrown => error_thrown(to, record, &record.value()?),
        Intent::Failed => {
            let value: JobValue = record.value()?;
            job_statistics::count(to, record, intent, &value);
            set!(to.changes, JOB, record.key, {
                "errorMessage": Value::some_text(&value.error_message),
                "hasFailedWithRetriesLeft": Value::from(value.retries > 0),
                "retries": Value::Int(value.retries.into()),
                "failureTime": Value::Int(record.timestamp),
            });
        }
        Intent::RetriesUpdated | Intent::TimeoutUpdated | Intent::Updated => {
            let value: JobValue = record.value()?;
            set!(to.changes, JOB, record.key, {
                "retries": Value::Int(value.retries.into()),
                "deadline": deadline(value.deadline),
            });
        }
        Intent::TimedOut => {}
        Intent::Migrated => {
            let value: JobValue = record.value()?;
            let location = to.location(value.process_definition_key, value.element);
            set!(to.changes, JOB, record.key, {
                "elementId": location.element_id(),
                "elementType": location.element_type(),
                "processDefinitionId": location.process_id(),
                "processDefinitionKey": key(value.process_definition_key),
            });
        }
        _ => return Ok(()),
    }
    set!(to.changes, JOB, record.key, { "lastUpdateTime": Value::Int(record.timestamp) });
    // The API's states are the names of these events. Other events do not change the state.
    if !matches!(intent, Intent::TimeoutUpdated | Intent::Updated) {
        set!(to.changes, JOB, record.key, { "state": word(intent.name()) });
    }
    Ok(())
}

fn created(to: &mut Projection<'_>, record: &Record<'_>, value: &JobValue) {
    job_statistics::count(to, record, Intent::Created, value);
    let location = to.location(value.process_definition_key, value.element);
    let own = value.headers().or(location.element().map(|e| &e.headers));
    set!(to.changes, JOB, record.key, {
        "customHeaders": own.map_or_else(|| word("{}"), |headers| Value::Text(headers.clone())),
        "elementId": location.element_id(),
        "elementType": location.element_type(),
        "elementInstanceKey": key(value.element_instance_key),
        "hasFailedWithRetriesLeft": Value::from(false),
        "kind": word(value.kind().name()),
        "listenerEventType": word(value.kind().listener_event_name()),
        "processDefinitionId": location.process_id(),
        "processDefinitionKey": key(value.process_definition_key),
        "processInstanceKey": key(value.process_instance_key),
        "rootProcessInstanceKey": key(value.root_process_instance_key),
        "retries": Value::Int(value.retries.into()),
        "tenantId": location.tenant(),
        "type": Value::Text(value.job_type.clone()),
        "worker": word(""),
        "creationTime": Value::Int(record.timestamp),
    });
}

fn error_thrown(to: &mut Projection<'_>, record: &Record<'_>, value: &JobValue) {
    let code = value.extra.as_ref().map(|extra| &extra.error_code);
    set!(to.changes, JOB, record.key, {
        "endTime": Value::Int(record.timestamp),
        "errorCode": code.map_or_else(|| word(""), |code| Value::Text(code.clone())),
        "errorMessage": Value::some_text(&value.error_message),
        "failureTime": Value::Int(record.timestamp),
    });
}

/// Sets the worker and deadline of activated jobs.
pub fn activated(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    if intent_of::<JobBatchValue>(record)? != JobBatchIntent::Activated {
        return Ok(());
    }
    let value: JobBatchValue = record.value()?;
    for job in &value.job_keys {
        set!(to.changes, JOB, *job, {
            "worker": Value::Text(value.worker.clone()),
            "deadline": deadline(value.deadline),
        });
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
