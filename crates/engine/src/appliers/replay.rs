//! Fast-path replay of the most frequent events.
//!
//! Decoding a whole body copies its texts, but most events of an element say no more than "the next state". The fast paths
//! read only the fields that an applier needs, in place, and apply events that always follow each other (activating and
//! activated, completing and completed, a flow and its target) in one go. Every fast path does exactly what the appliers do
//! with the decoded values one after the other; the replay-equality tests compare both. All other events take the slow
//! path.

use std::sync::Arc;

use skep_model::ElementIndex;
use skep_protocol::batch::BatchReader;
use skep_protocol::header_view::HeaderView;
use skep_protocol::intent::{
    Intent, JobBatchIntent, JobIntent, ProcessInstanceCreationIntent, ProcessInstanceIntent,
    VariableIntent,
};
use skep_protocol::value::ProcessInstanceValue;
use skep_protocol::{Key, ValueType};

use super::{job, process_instance};
use crate::state::{ElementState, Ended, JobState, State, Variable};

/// The only body version that the fast paths know.
const VERSION: u8 = 1;

/// Applies the event, which the reader has already passed, and possibly some that follow. `None`: there is no fast path for
/// it, or it cannot be read. In that case nothing has changed that the slow path would not change in the same way.
#[inline]
pub(super) fn apply(
    state: &mut State,
    event: &HeaderView<'_>,
    rest: &mut BatchReader<'_>,
) -> Option<()> {
    let [_, value_type, intent, version] = event.head;
    if version != VERSION {
        return None;
    }
    match ValueType::from_id(value_type)? {
        ValueType::ProcessInstance => process_instance(state, event, rest)?,
        ValueType::Job => job(state, event, rest)?,
        ValueType::Variable if intent == VariableIntent::Created.id() => variable(state, event)?,
        ValueType::JobBatch if intent == JobBatchIntent::Activated.id() => {
            jobs_activated(state, event)?;
        }
        ValueType::ProcessInstanceCreation
            if intent == ProcessInstanceCreationIntent::Created.id() =>
        {
            is_plain_creation(event)?.then_some(())?;
        }
        _ => return None,
    }
    state.observe_key(event.key);
    Some(())
}

/// Skips the next record if it is this life-cycle event of the element `key`.
#[inline]
fn next_is(rest: &mut BatchReader<'_>, intent: ProcessInstanceIntent, key: Key) -> bool {
    next_are(rest, [intent], key)
}

/// Skips the next records if they are these life-cycle events of the element `key`, in one run.
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
    event: &HeaderView<'_>,
    rest: &mut BatchReader<'_>,
) -> Option<()> {
    use ProcessInstanceIntent as Intent;
    let key = event.key;
    let [_, _, intent, _] = event.head;
    match Intent::from_id(intent)? {
        Intent::ElementActivated => {
            process_instance::set_state(state, key, ElementState::Activated);
        }
        Intent::ElementCompleting => {
            if next_is(rest, Intent::ElementCompleted, key) {
                process_instance::ended(state, key, Ended::Completed);
            } else {
                process_instance::set_state(state, key, ElementState::Completing);
            }
        }
        Intent::ElementTerminating => {
            if next_is(rest, Intent::ElementTerminated, key) {
                process_instance::ended(state, key, Ended::Terminated);
            } else {
                process_instance::set_state(state, key, ElementState::Terminating);
            }
        }
        Intent::ElementCompleted => process_instance::ended(state, key, Ended::Completed),
        Intent::ElementTerminated => process_instance::ended(state, key, Ended::Terminated),
        Intent::ElementActivating => activating(state, key, &element(event)?, rest),
        Intent::SequenceFlowTaken => flow_taken(state, event, rest)?,
        _ => return None,
    }
    Some(())
}

/// Whether the rest of the element's life cycle follows its activation immediately in the same run, as with events and
/// gateways.
#[inline(always)]
fn is_whole_life(more: &[u8]) -> bool {
    use ProcessInstanceIntent as Life;
    matches!(more, [activated, completing, completed, ..]
        if *activated == Life::ElementActivated.id()
            && *completing == Life::ElementCompleting.id()
            && *completed == Life::ElementCompleted.id())
}

/// The body of a life-cycle event of an element. If the whole life cycle follows, only the fields needed for it are read.
#[inline(always)]
fn element(event: &HeaderView<'_>) -> Option<ProcessInstanceValue> {
    let mut body = event.body;
    if !is_whole_life(event.more) {
        return Some(ProcessInstanceValue {
            process_definition_key: body.key()?,
            process_instance_key: body.key()?,
            element: body.u32()?,
            flow_scope_key: body.key()?,
            parent_process_instance_key: body.key()?,
            parent_element_instance_key: body.key()?,
            root_process_instance_key: body.key()?,
            consumed_flows: body.u32()?,
        });
    }
    body.skip_key()?; // definition
    body.skip_key()?; // process instance
    let (element, flow_scope_key) = (body.u32()?, body.key()?);
    if flow_scope_key == Key::NONE {
        // A process: its row needs the keys.
        return None;
    }
    body.skip_key()?; // parent process instance
    body.skip_key()?; // parent element instance
    body.skip_key()?; // root process instance
    let consumed_flows = body.u32()?;
    Some(short(Key::NONE, element, flow_scope_key, consumed_flows))
}

/// Builds a partial value from the fields that were read.
#[inline(always)]
fn short(
    process_definition_key: Key,
    element: u32,
    flow_scope_key: Key,
    consumed_flows: u32,
) -> ProcessInstanceValue {
    ProcessInstanceValue {
        process_definition_key,
        process_instance_key: Key::NONE,
        element,
        flow_scope_key,
        parent_process_instance_key: Key::NONE,
        parent_element_instance_key: Key::NONE,
        root_process_instance_key: Key::NONE,
        consumed_flows,
    }
}

/// Skips creating a row for an element whose whole life cycle follows immediately.
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
    let next = if next_is(rest, Intent::ElementActivated, key) {
        ElementState::Activated
    } else {
        ElementState::Activating
    };
    process_instance::activating(state, key, value, next);
}

/// Usually the flow's target is activated immediately and consumes the token, so the scope need not record it.
fn flow_taken(state: &mut State, event: &HeaderView<'_>, rest: &mut BatchReader<'_>) -> Option<()> {
    let mut body = event.body;
    let definition = body.key()?;
    body.skip_key()?; // process instance
    let flow = short(definition, body.u32()?, body.key()?, 0);
    let towards = process_instance::towards(state, &flow);
    if towards == process_instance::Towards::Anything
        && let Some((next, ahead)) = rest.header_view()
        && next.is_event()
        && let [_, value_type, intent, VERSION] = next.head
        && value_type == ValueType::ProcessInstance as u8
        && intent == ProcessInstanceIntent::ElementActivating.id()
        && let Some(mut target) = element(&next)
        && target.consumed_flows == 1
        && target.flow_scope_key == flow.flow_scope_key
    {
        target.consumed_flows = 0;
        rest.pass(ahead);
        state.observe_key(next.key);
        activating(state, next.key, &target, rest);
        return Some(());
    }
    process_instance::flow_taken(state, &flow, towards);
    Some(())
}

fn job(state: &mut State, event: &HeaderView<'_>, rest: &mut BatchReader<'_>) -> Option<()> {
    let [_, _, intent, _] = event.head;
    let mut body = event.body;
    match JobIntent::from_id(intent)? {
        JobIntent::Created => return job_created(state, event, rest),
        JobIntent::Completed | JobIntent::Canceled => {}
        _ => return None,
    }
    body.skip_text()?; // type
    body.skip_key()?; // definition
    body.skip_key()?; // process instance
    body.skip_key()?; // root process instance
    body.skip_number()?; // element
    let element_instance_key = body.key()?;
    body.skip_number()?; // retries
    // Jobs of listeners, for instance, change more than their element.
    if body.is_some()? {
        return None;
    }
    removed(state, event.key, element_instance_key, rest);
    Some(())
}

fn job_created(
    state: &mut State,
    event: &HeaderView<'_>,
    rest: &mut BatchReader<'_>,
) -> Option<()> {
    let mut body = event.body;
    let job_type = body.text()?;
    let process_definition_key = body.key()?;
    let process_instance_key = body.key()?;
    let root_process_instance_key = body.key()?;
    let element = body.u32()?;
    let element_instance_key = body.key()?;
    let retries = body.i32()?;
    if body.is_some()? {
        return None;
    }
    let mut job = crate::state::Job {
        job_type: name(state, job_type)?,
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
    // Usually its element is activated with it.
    let activated = next_is(
        rest,
        ProcessInstanceIntent::ElementActivated,
        element_instance_key,
    );
    job::insert(state, event.key, job, activated);
    Some(())
}

/// Usually the job's element completes immediately.
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

/// The shared copy of a text.
fn name(state: &mut State, text: &[u8]) -> Option<Arc<str>> {
    match state.names.find(text) {
        Some(name) => Some(name),
        None => Some(state.names.get(str::from_utf8(text).ok()?)),
    }
}

fn variable(state: &mut State, event: &HeaderView<'_>) -> Option<()> {
    let mut body = event.body;
    let (name, value) = (body.text()?, body.text()?);
    let scope_key = body.key()?;
    let value = str::from_utf8(value).ok()?.into();
    let variable = Variable::new(event.key, self::name(state, name)?, value);
    state.elements.add_variable(scope_key, variable);
    Some(())
}

/// Applies the activation of these jobs by workers.
fn jobs_activated(state: &mut State, event: &HeaderView<'_>) -> Option<()> {
    let mut body = event.body;
    body.skip_text()?; // job type
    let worker = name(state, body.text()?)?;
    body.skip_number()?; // time-out
    let deadline = body.signed()?;
    body.skip_number()?; // jobs asked for
    for _ in 0..body.length()? {
        state.jobs.update(body.key()?, |job| {
            job.state = JobState::Activated;
            job.due = deadline;
            job.worker = worker.clone();
        });
    }
    Some(())
}

/// Whether nothing of the creation needs to be stored. Creations with further options take the slow path.
fn is_plain_creation(event: &HeaderView<'_>) -> Option<bool> {
    let mut body = event.body;
    body.skip_key()?; // process definition
    body.skip_key()?; // process instance
    body.skip_text()?; // process id
    body.skip_number()?; // version
    for _ in 0..body.length()? {
        body.skip_number()?; // start elements
    }
    let terminate_after = body.length()?;
    if terminate_after > 0 {
        return Some(false);
    }
    let tags = body.length()?;
    Some(tags == 0 && !body.is_some()?)
}
