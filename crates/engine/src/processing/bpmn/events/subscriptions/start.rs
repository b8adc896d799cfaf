//! Subscriptions of start events. Only the latest version of a process has them.
//!
//! Timers and signals are on the partition that receives deployments; conditions and messages are on every partition. An
//! instance started by a condition lives where the client's variables arrived. One started by a message lives where the
//! message is, because that partition also knows the instances started before.

use std::sync::Arc;

use skep_model::{CatchEvent, ElementIndex, ElementKind, Process, Signal, TextValue};
use skep_protocol::Key;
use skep_protocol::intent::{MessageStartEventSubscriptionIntent, ProcessEventIntent, TimerIntent};
use skep_protocol::value::{
    MessageStartEventSubscriptionValue, ProcessEventValue, SignalSubscriptionValue, Step,
    TimerValue,
};

use super::{Owner, conditional, signal, timer};
use crate::processing::bpmn::Problem;
use crate::processing::{Context, slots};
use crate::remote::Variables;
use crate::state::{DeployedProcess, Rank};

/// The triggered start events of the process itself, in reverse document order.
fn start_events(graph: &Process) -> impl Iterator<Item = (ElementIndex, &CatchEvent)> {
    let elements = graph.elements.iter().enumerate().rev();
    elements.filter_map(|(index, element)| match &element.kind {
        ElementKind::StartEvent(start) if element.parent == ElementIndex::PROCESS => {
            Some((ElementIndex(index as u32), start.event.as_ref()?))
        }
        _ => None,
    })
}

/// Whether messages start instances of the process.
pub(crate) fn has_message(graph: &Process) -> bool {
    let mut events = start_events(graph);
    events.any(|(_, event)| matches!(event, CatchEvent::MessageStart(_)))
}

/// The timers of the start events. Their expressions see no variables.
pub(crate) fn timers(
    cx: &mut Context<'_>,
    graph: &Process,
    process_definition_key: Key,
) -> Result<Vec<TimerValue>, (ElementIndex, Problem)> {
    let owner = Owner::definition(process_definition_key);
    let mut timers = Vec::new();
    for (target, event) in start_events(graph) {
        if let CatchEvent::Timer(definition) = event {
            let timer = timer::evaluate(cx, owner, target, definition);
            timers.push(timer.map_err(|problem| (target, problem))?);
        }
    }
    Ok(timers)
}

/// Closes the timers of a definition that is no longer the latest version of its process.
pub(crate) fn close_timers(cx: &mut Context<'_>, definition: Key) {
    for key in cx.state.timers.of_definition(definition) {
        timer::close(cx, key);
    }
}

/// Opens the subscriptions of a definition that became the latest version of its process: messages start it on this
/// partition, and signals where it was deployed.
pub(crate) fn open_subscriptions(cx: &mut Context<'_>, process: &DeployedProcess) {
    let is_origin = process.key.partition() == Some(cx.state.partition);
    for (target, event) in start_events(&process.graph) {
        match event {
            CatchEvent::MessageStart(name) => open_message(cx, process, target, name),
            CatchEvent::Signal(Signal {
                name: TextValue::Static(name),
            }) if is_origin => {
                let value = SignalSubscriptionValue {
                    process_definition_key: process.key,
                    bpmn_process_id: process.bpmn_process_id.clone(),
                    signal_name: name.clone(),
                    catch_event: target.0,
                    catch_event_instance_key: Key::NONE,
                    tenant: process.tenant.clone(),
                };
                signal::open(cx, &value);
            }
            CatchEvent::Conditional(condition) => {
                let value = conditional::of_definition(process, target, Some(condition), true);
                conditional::open(cx, &value);
            }
            _ => {}
        }
    }
}

fn open_message(
    cx: &mut Context<'_>,
    process: &DeployedProcess,
    target: ElementIndex,
    name: &Arc<str>,
) {
    let value = MessageStartEventSubscriptionValue {
        process_definition_key: process.key,
        bpmn_process_id: process.bpmn_process_id.clone(),
        message_name: name.clone(),
        start_event: target.0,
        process_instance_key: Key::NONE,
        message_key: Key::NONE,
        correlation_key: Arc::default(),
        variables: Vec::new(),
        tenant: process.tenant.clone(),
    };
    let key = cx.next_key();
    cx.event(key, MessageStartEventSubscriptionIntent::Created, &value);
}

/// Closes the subscriptions of a definition that is no longer the latest version of its process.
pub(crate) fn close_subscriptions(cx: &mut Context<'_>, definition: Key) {
    for key in cx
        .state
        .message_starts
        .of_definition(definition)
        .into_iter()
        .rev()
    {
        if let Some(value) = cx.state.message_starts.get(key).map(|row| row.value()) {
            cx.event(key, MessageStartEventSubscriptionIntent::Deleted, &value);
        }
    }
    for key in cx.state.signals.of_definition(definition).into_iter().rev() {
        signal::close(cx, key);
    }
    let conditions = cx.state.conditions.of_definition(definition);
    for key in conditions.into_iter().rev() {
        conditional::close(cx, key);
    }
}

/// Handles a start event's timer that has fired: an instance begins when its turn comes.
pub(crate) fn by_timer(cx: &mut Context<'_>, key: Key, mut timer: TimerValue) {
    timer.process_instance_key = cx.new_key();
    cx.event(key, TimerIntent::Triggered, &timer);
    let target = ElementIndex(timer.target_element);
    let next = timer::next_of_cycle(cx, &timer);
    let instance = timer.process_instance_key;
    begin_later(
        cx,
        (timer.process_definition_key, target),
        instance,
        Vec::new(),
    );
    if let Some(next) = next {
        timer::open(cx, &next);
    }
}

/// Starts an instance by a message, unless an instance started with the same correlation key is still active. Returns its
/// key.
pub(crate) fn by_message(cx: &mut Context<'_>, start: Key, message_key: Key) -> Option<Key> {
    let mut value = cx.state.message_starts.get(start)?.value();
    let message = cx.state.messages.get(message_key)?;
    let taken = message.correlated.contains(&value.bpmn_process_id);
    value.correlation_key = message.correlation_key.clone();
    value.variables = message.variables.clone();
    let key = &value.correlation_key;
    let runs = !key.is_empty() && {
        let starts = &cx.state.message_starts;
        starts.is_running(&value.tenant, &value.bpmn_process_id, key)
    };
    if taken || runs {
        return None;
    }
    let instance = cx.new_key();
    value.process_instance_key = instance;
    value.message_key = message_key;
    cx.event(
        start,
        MessageStartEventSubscriptionIntent::Correlated,
        &value,
    );
    let target = ElementIndex(value.start_event);
    let definition = value.process_definition_key;
    begin_later(cx, (definition, target), instance, value.variables);
    Some(instance)
}

/// The start of the next instance when one that a message has started is over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NextStart {
    /// The start event, and the message that starts the next instance there.
    Here { start: Key, message: Key },
    /// The partition to which the correlation key has moved decides, when it hears of this instance's end.
    Elsewhere { over: Key },
}

/// Finds the start of the next instance when this one is about to end or to leave its process: if a message has started it, the oldest
/// message that waits for that. Other processes start no instance then: they either have one for this message, or were deployed later.
pub(crate) fn next_start(cx: &mut Context<'_>, instance: Key) -> Option<NextStart> {
    if slots::starts::is_elsewhere(cx, instance) {
        return Some(NextStart::Elsewhere { over: instance });
    }
    next_start_here(cx, instance)
}

/// Like [`next_start`], on the partition that has the correlation key.
pub(crate) fn next_start_here(cx: &mut Context<'_>, instance: Key) -> Option<NextStart> {
    let started = cx.state.message_starts.started_by(instance)?;
    let mut next: Option<(Key, Rank)> = None;
    let tenant = &started.tenant;
    let starts = &cx.state.message_starts;
    for start in starts.of_process(tenant, &started.bpmn_process_id) {
        let Some(name) = cx.state.message_starts.get(start) else {
            continue;
        };
        let name = name.message_name.clone();
        let process = &started.bpmn_process_id;
        let awaited = (tenant, &name, &started.correlation_key);
        let oldest = cx.state.messages.oldest_for(awaited, process, cx.now);
        if let Some(message) = oldest
            && next.is_none_or(|(_, other)| message < other)
        {
            next = Some((start, message));
        }
    }
    next.map(|(start, message)| NextStart::Here {
        start,
        message: message.key,
    })
}

/// Starts the next instance, now that the one before it has ended or left its process.
pub(crate) fn start_next(cx: &mut Context<'_>, next: Option<NextStart>) {
    match next {
        Some(NextStart::Here { start, message }) => {
            by_message(cx, start, message);
        }
        Some(NextStart::Elsewhere { over }) => slots::starts::report(cx, over),
        None => {}
    }
}

/// Queues the beginning of an instance at this start event.
pub(crate) fn begin_later(
    cx: &mut Context<'_>,
    (process_definition_key, target): (Key, ElementIndex),
    process_instance_key: Key,
    variables: Variables,
) {
    let value = ProcessEventValue {
        scope_key: process_definition_key,
        flow_scope_key: process_instance_key,
        interrupting: false,
        process_instance_key,
        process_definition_key,
        target_element: target.0,
        variables,
    };
    let key = cx.next_key();
    cx.event(key, ProcessEventIntent::Triggering, &value);
    cx.steps.push(Step::ActivateTriggered(key));
}
