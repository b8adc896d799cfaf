//! The short ways of replay: events of the hot path of which the applier needs only a part.
//!
//! Decoding a whole body copies its texts, and most events of an element's life say no more than "the next state". Here the
//! part that is needed is read in place. Every short way does exactly what the applier does with the decoded value; the
//! replay-equality tests hold both against each other. What is not listed here goes the long way.

use std::sync::Arc;

use serde::Deserialize;
use skep_model::ElementIndex;
use skep_protocol::batch::BatchReader;
use skep_protocol::intent::{
    Intent, JobBatchIntent, JobIntent, ProcessInstanceCreationIntent, ProcessInstanceIntent,
    VariableIntent,
};
use skep_protocol::record::{DecodeError, Record, RecordType};
use skep_protocol::value::ProcessInstanceValue;
use skep_protocol::{Key, ValueType};

use super::{job, process_instance};
use crate::state::{ElementState, JobState, State, Variable};

/// The only version of the bodies that the short ways know.
const VERSION: u8 = 1;

/// The head of a JOB body.
#[derive(Deserialize)]
struct JobHead<'a> {
    job_type: &'a str,
    process_definition_key: Key,
    process_instance_key: Key,
    root_process_instance_key: Key,
    element: u32,
    element_instance_key: Key,
    retries: i32,
}

/// The head of a VARIABLE body.
#[derive(Deserialize)]
struct VariableHead<'a> {
    name: &'a str,
    value: &'a str,
    scope_key: Key,
}

/// The body of a JOB_BATCH, but for its last field.
#[derive(Deserialize)]
struct JobBatchHead<'a> {
    _job_type: &'a str,
    worker: &'a str,
    _timeout: i64,
    deadline: i64,
    _max_jobs: u32,
    job_keys: smallvec::SmallVec<[Key; 4]>,
}

/// The body of a PROCESS_INSTANCE_CREATION.
#[derive(Deserialize)]
struct CreationHead<'a> {
    _process_definition_key: Key,
    _process_instance_key: Key,
    #[serde(borrow)]
    _bpmn_process_id: &'a str,
    _version: i32,
    _start_elements: Vec<u32>,
    terminate_after: Vec<u32>,
    tags: Vec<&'a str>,
    business_id: Option<&'a str>,
}

/// Applies the event if there is a short way for it.
pub(super) fn apply(
    state: &mut State,
    record: &Record<'_>,
    rest: &mut BatchReader<'_>,
) -> Result<bool, DecodeError> {
    if record.version != VERSION {
        return Ok(false);
    }
    let done = match record.value_type {
        ValueType::ProcessInstance => process_instance(state, record, rest)?,
        ValueType::Job => job(state, record)?,
        ValueType::Variable => variable(state, record)?,
        ValueType::JobBatch => job_batch(state, record)?,
        ValueType::ProcessInstanceCreation => {
            let head: CreationHead<'_> = record.decode_head()?;
            // Nothing is kept of a plain creation.
            record.intent == ProcessInstanceCreationIntent::Created.id()
                && head.tags.is_empty()
                && head.business_id.is_none()
                && head.terminate_after.is_empty()
        }
        _ => false,
    };
    if done {
        state.observe_key(record.key);
    }
    Ok(done)
}

fn process_instance(
    state: &mut State,
    record: &Record<'_>,
    rest: &mut BatchReader<'_>,
) -> Result<bool, DecodeError> {
    use ProcessInstanceIntent as Intent;
    match Intent::from_id(record.intent) {
        Some(Intent::ElementActivated) => {
            process_instance::set_state(state, record.key, ElementState::Activated);
        }
        Some(Intent::ElementCompleting) => {
            process_instance::set_state(state, record.key, ElementState::Completing);
        }
        Some(Intent::ElementTerminating) => {
            process_instance::set_state(state, record.key, ElementState::Terminating);
        }
        Some(Intent::ElementCompleted | Intent::ElementTerminated) => {
            process_instance::ended(state, record.key);
        }
        Some(Intent::ElementActivating) => {
            let value: ProcessInstanceValue = record.value()?;
            if value.element != ElementIndex::PROCESS.0 && passes_at_once(record.key, rest) {
                process_instance::passed_through(state, &value);
            } else {
                process_instance::activating(state, record.key, &value);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The element's whole life follows without anything in between, as with events and gateways: no row need be made for it.
/// Takes these records off the reader.
fn passes_at_once(key: Key, rest: &mut BatchReader<'_>) -> bool {
    use ProcessInstanceIntent as Intent;
    let mut ahead = rest.clone();
    let life = [
        Intent::ElementActivated,
        Intent::ElementCompleting,
        Intent::ElementCompleted,
    ];
    for intent in life {
        let Some(Ok(record)) = ahead.next() else {
            return false;
        };
        let follows = record.record_type == RecordType::Event
            && record.value_type == ValueType::ProcessInstance
            && record.intent == intent.id()
            && record.version == VERSION
            && record.key == key;
        if !follows {
            return false;
        }
    }
    *rest = ahead;
    true
}

fn job(state: &mut State, record: &Record<'_>) -> Result<bool, DecodeError> {
    match JobIntent::from_id(record.intent) {
        Some(JobIntent::Created) => {
            let head: JobHead<'_> = record.decode_head()?;
            let job = crate::state::Job {
                job_type: state.names.get(head.job_type),
                state: JobState::Activatable,
                element: head.element,
                element_instance_key: head.element_instance_key,
                process_definition_key: head.process_definition_key,
                process_instance_key: head.process_instance_key,
                root_process_instance_key: head.root_process_instance_key,
                retries: head.retries,
                worker: Arc::default(),
                due: -1,
            };
            job::insert(state, record.key, job);
            Ok(true)
        }
        Some(JobIntent::Completed | JobIntent::Canceled) => {
            let head: JobHead<'_> = record.decode_head()?;
            job::removed(state, record.key, head.element_instance_key);
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn variable(state: &mut State, record: &Record<'_>) -> Result<bool, DecodeError> {
    if record.intent != VariableIntent::Created.id() {
        return Ok(false);
    }
    let head: VariableHead<'_> = record.decode_head()?;
    let name = state.names.get(head.name);
    if let Some(scope) = state.elements.get_mut(head.scope_key) {
        scope.variables.push(Variable {
            key: record.key,
            name,
            value: head.value.into(),
        });
    }
    Ok(true)
}

fn job_batch(state: &mut State, record: &Record<'_>) -> Result<bool, DecodeError> {
    if record.intent != JobBatchIntent::Activated.id() {
        return Ok(false);
    }
    let head: JobBatchHead<'_> = record.decode_head()?;
    let worker = state.names.get(head.worker);
    for key in head.job_keys {
        state.jobs.update(key, |job| {
            job.state = JobState::Activated;
            job.due = head.deadline;
            job.worker = worker.clone();
        });
    }
    Ok(true)
}
