//! The short ways of replay: the events of the hot path.
//!
//! Decoding a whole body copies its texts, and most events of an element's life say no more than "the next state". Here only
//! the fields that an applier needs are read, in place, and events that follow each other in every log (activating and
//! activated, completing and completed, a flow and its target) are applied in one go. Every short way does exactly what the
//! appliers do with the decoded values one after the other; the replay-equality tests hold both against each other. What is
//! not listed here goes the long way.

use std::sync::Arc;

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
use crate::state::{ElementState, Ended, JobState, State, Variable};

/// The only version of the bodies that the short ways know.
const VERSION: u8 = 1;

/// Applies the event, and perhaps some that follow, if there is a short way for it.
#[inline]
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
        ValueType::Job => job(state, record, rest)?,
        ValueType::Variable => variable(state, record)?,
        ValueType::JobBatch => job_batch(state, record)?,
        ValueType::ProcessInstanceCreation => creation(record)?,
        _ => false,
    };
    if done {
        state.observe_key(record.key);
    }
    Ok(done)
}

/// Goes past the next record if it is this event in the life of the element `key`.
#[inline]
fn next_is(rest: &mut BatchReader<'_>, intent: ProcessInstanceIntent, key: Key) -> bool {
    next_are(rest, [intent], key)
}

/// Goes past the next records if they are these events in the life of the element `key`, and stand in one run.
#[inline(always)]
fn next_are<const N: usize>(
    rest: &mut BatchReader<'_>,
    intents: [ProcessInstanceIntent; N],
    key: Key,
) -> bool {
    let kind = (ValueType::ProcessInstance, VERSION);
    rest.skip_events(kind, intents.map(Intent::id), key)
}

fn process_instance(
    state: &mut State,
    record: &Record<'_>,
    rest: &mut BatchReader<'_>,
) -> Result<bool, DecodeError> {
    use ProcessInstanceIntent as Intent;
    let key = record.key;
    match Intent::from_id(record.intent) {
        Some(Intent::ElementActivated) => {
            process_instance::set_state(state, key, ElementState::Activated);
        }
        Some(Intent::ElementCompleting) => {
            if next_is(rest, Intent::ElementCompleted, key) {
                process_instance::ended(state, key, Ended::Completed);
            } else {
                process_instance::set_state(state, key, ElementState::Completing);
            }
        }
        Some(Intent::ElementTerminating) => {
            if next_is(rest, Intent::ElementTerminated, key) {
                process_instance::ended(state, key, Ended::Terminated);
            } else {
                process_instance::set_state(state, key, ElementState::Terminating);
            }
        }
        Some(Intent::ElementCompleted) => process_instance::ended(state, key, Ended::Completed),
        Some(Intent::ElementTerminated) => process_instance::ended(state, key, Ended::Terminated),
        Some(Intent::ElementActivating) => activating(state, key, &element(record)?, rest),
        Some(Intent::SequenceFlowTaken) => flow_taken(state, &flow(record)?, rest)?,
        _ => return Ok(false),
    }
    Ok(true)
}

#[inline(always)]
fn element(record: &Record<'_>) -> Result<ProcessInstanceValue, DecodeError> {
    let mut fields = record.fields();
    Ok(ProcessInstanceValue {
        process_definition_key: fields.key()?,
        process_instance_key: fields.key()?,
        element: fields.u32()?,
        flow_scope_key: fields.key()?,
        parent_process_instance_key: fields.key()?,
        parent_element_instance_key: fields.key()?,
        root_process_instance_key: fields.key()?,
        consumed_flows: fields.u32()?,
    })
}

/// What there is to know of a flow that a token takes.
#[inline(always)]
fn flow(record: &Record<'_>) -> Result<ProcessInstanceValue, DecodeError> {
    let mut fields = record.fields();
    let process_definition_key = fields.key()?;
    fields.skip_number()?; // process instance
    Ok(ProcessInstanceValue {
        process_definition_key,
        process_instance_key: Key::NONE,
        element: fields.u32()?,
        flow_scope_key: fields.key()?,
        parent_process_instance_key: Key::NONE,
        parent_element_instance_key: Key::NONE,
        root_process_instance_key: Key::NONE,
        consumed_flows: 0,
    })
}

/// No row need be made for an element whose whole life follows without anything in between, as with events and gateways.
fn activating(
    state: &mut State,
    key: Key,
    value: &ProcessInstanceValue,
    rest: &mut BatchReader<'_>,
) {
    use ProcessInstanceIntent as Intent;
    let rest_of_life = [
        Intent::ElementActivated,
        Intent::ElementCompleting,
        Intent::ElementCompleted,
    ];
    if value.element != ElementIndex::PROCESS.0 && next_are(rest, rest_of_life, key) {
        return process_instance::passed_through(state, value);
    }
    let next = match next_is(rest, Intent::ElementActivated, key) {
        true => ElementState::Activated,
        false => ElementState::Activating,
    };
    process_instance::activating(state, key, value, next);
}

/// Mostly the flow's target is activated at once and consumes the token: the scope need not be told.
fn flow_taken(
    state: &mut State,
    flow: &ProcessInstanceValue,
    rest: &mut BatchReader<'_>,
) -> Result<(), DecodeError> {
    let towards = process_instance::towards(state, flow);
    if towards == process_instance::Towards::Anything
        && let Some((record, ahead)) = rest.peek()
        && record.record_type == RecordType::Event
        && record.value_type == ValueType::ProcessInstance
        && record.intent == ProcessInstanceIntent::ElementActivating.id()
        && record.version == VERSION
    {
        let mut target = element(&record)?;
        if target.consumed_flows == 1 && target.flow_scope_key == flow.flow_scope_key {
            target.consumed_flows = 0;
            rest.pass(ahead);
            state.observe_key(record.key);
            activating(state, record.key, &target, rest);
            return Ok(());
        }
    }
    process_instance::flow_taken(state, flow, towards);
    Ok(())
}

fn job(
    state: &mut State,
    record: &Record<'_>,
    rest: &mut BatchReader<'_>,
) -> Result<bool, DecodeError> {
    let intent = JobIntent::from_id(record.intent);
    let created = match intent {
        Some(JobIntent::Created) => true,
        Some(JobIntent::Completed | JobIntent::Canceled) => false,
        _ => return Ok(false),
    };
    let mut fields = record.fields();
    let job_type = fields.bytes()?;
    let process_definition_key = fields.key()?;
    let process_instance_key = fields.key()?;
    let root_process_instance_key = fields.key()?;
    let element = fields.u32()?;
    let element_instance_key = fields.key()?;
    let retries = fields.i32()?;
    // Those of listeners, for instance, change more than their element.
    if fields.is_some()? {
        return Ok(false);
    }
    if !created {
        removed(state, record.key, element_instance_key, rest);
        return Ok(true);
    }
    let mut job = crate::state::Job {
        job_type: name(state, record, job_type)?,
        state: JobState::Activatable,
        element,
        element_instance_key,
        process_definition_key,
        process_instance_key,
        retries,
        worker: Arc::default(),
        due: -1,
        extra: None,
    };
    job.set_root_process_instance_key(root_process_instance_key);
    // Mostly its element is activated with it.
    let activated = next_is(
        rest,
        ProcessInstanceIntent::ElementActivated,
        element_instance_key,
    );
    job::insert(state, record.key, job, activated);
    Ok(true)
}

/// Mostly the job's element completes at once.
fn removed(state: &mut State, key: Key, element_instance_key: Key, rest: &mut BatchReader<'_>) {
    use ProcessInstanceIntent as Intent;
    let ends = [Intent::ElementCompleting, Intent::ElementCompleted];
    if next_are(rest, ends, element_instance_key) {
        state.jobs.remove(key);
        process_instance::ended(state, element_instance_key, Ended::Completed);
    } else {
        job::removed(state, key, element_instance_key);
    }
}

/// The shared copy of a text in the record's body.
fn name(state: &mut State, record: &Record<'_>, text: &[u8]) -> Result<Arc<str>, DecodeError> {
    let name = state.names.find(text);
    name.map_or_else(|| record.text(text).map(|text| state.names.get(text)), Ok)
}

fn variable(state: &mut State, record: &Record<'_>) -> Result<bool, DecodeError> {
    if record.intent != VariableIntent::Created.id() {
        return Ok(false);
    }
    let mut fields = record.fields();
    let (name, value) = (fields.bytes()?, fields.text()?);
    let scope_key = fields.key()?;
    let variable = Variable {
        key: record.key,
        name: self::name(state, record, name)?,
        value: value.into(),
    };
    state.elements.add_variable(scope_key, variable);
    Ok(true)
}

fn job_batch(state: &mut State, record: &Record<'_>) -> Result<bool, DecodeError> {
    if record.intent != JobBatchIntent::Activated.id() {
        return Ok(false);
    }
    let mut fields = record.fields();
    fields.skip_text()?; // job type
    let worker = name(state, record, fields.bytes()?)?;
    fields.skip_number()?; // time-out
    let deadline = fields.signed()?;
    fields.skip_number()?; // jobs asked for
    for _ in 0..fields.length()? {
        state.jobs.update(fields.key()?, |job| {
            job.state = JobState::Activated;
            job.due = deadline;
            job.worker = worker.clone();
        });
    }
    Ok(true)
}

/// Nothing is kept of a plain creation; what was asked for beyond goes the long way.
fn creation(record: &Record<'_>) -> Result<bool, DecodeError> {
    if record.intent != ProcessInstanceCreationIntent::Created.id() {
        return Ok(false);
    }
    let mut fields = record.fields();
    fields.skip_number()?; // process definition
    fields.skip_number()?; // process instance
    fields.skip_text()?; // process id
    fields.skip_number()?; // version
    for _ in 0..fields.length()? {
        fields.skip_number()?; // start elements
    }
    let terminate_after = fields.length()?;
    if terminate_after > 0 {
        return Ok(false);
    }
    let tags = fields.length()?;
    Ok(tags == 0 && !fields.is_some()?)
}
