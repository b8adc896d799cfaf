//! What elements wait for: timers and messages, for themselves and for their boundary events.
//!
//! Everything is evaluated before anything is opened, so that a failing expression leaves no half-opened subscriptions.

use std::collections::HashSet;
use std::sync::Arc;

use skep_model::timer_value::{Cycle, parse_date, parse_duration};
use skep_model::{CatchEvent, ElementIndex, ElementKind, MessageCatch, TextValue, Timer};
use skep_protocol::Key;
use skep_protocol::intent::{ProcessEventIntent, ProcessMessageSubscriptionIntent, TimerIntent};
use skep_protocol::value::{
    Activation, ErrorType, MessageSubscriptionValue, ProcessEventValue,
    ProcessMessageSubscriptionValue, Step, TimerValue,
};
use smallvec::SmallVec;

use super::{Problem, Subject, lifecycle, start_instructions, step};
use crate::processing::{Context, expression};
use crate::remote::{RemoteCommand, Variables};
use crate::state::ElementState;

/// Something to wait for, evaluated and ready to be opened.
pub(crate) enum Wait {
    Timer(TimerValue),
    Message(ProcessMessageSubscriptionValue),
}

pub(crate) fn timer(
    cx: &mut Context<'_>,
    el: &Subject,
    target: ElementIndex,
    definition: &Timer,
) -> Result<TimerValue, Problem> {
    let invalid = |kind: &str, text: &str, reason: String| {
        Problem::new(
            ErrorType::ExtractValueError,
            format!("Invalid timer {kind} '{text}': {reason}"),
        )
    };
    let out_of_range = || "the due date lies outside of the calendar".to_string();
    let mut computed_cycle = Arc::default();
    let (due_date, repetitions) = match definition {
        Timer::Date(value) => {
            let text = expression::temporal_text(cx, value, el.key, "a date and time")?;
            let due = parse_date(&text).map_err(|e| invalid("date", &text, e.to_string()))?;
            (due, 1)
        }
        Timer::Duration(value) => {
            let text = expression::temporal_text(cx, value, el.key, "a duration")?;
            let duration =
                parse_duration(&text).map_err(|e| invalid("duration", &text, e.to_string()))?;
            let due = duration
                .add_to(cx.now)
                .ok_or_else(|| invalid("duration", &text, out_of_range()))?;
            (due, 1)
        }
        Timer::Cycle(value) => {
            let text = expression::temporal_text(cx, value, el.key, "the text of a cycle")?;
            let cycle = Cycle::parse(&text).map_err(|e| invalid("cycle", &text, e.to_string()))?;
            let due = cycle
                .first(cx.now)
                .ok_or_else(|| invalid("cycle", &text, out_of_range()))?;
            let repetitions = cycle
                .repetitions
                .map_or(-1, |n| i32::try_from(n).unwrap_or(i32::MAX));
            if matches!(value, TextValue::Expression(_)) {
                computed_cycle = text;
            }
            (due, repetitions)
        }
    };
    Ok(TimerValue {
        element_instance_key: el.key,
        process_instance_key: el.value.process_instance_key,
        process_definition_key: el.process.key,
        target_element: target.0,
        due_date,
        repetitions,
        cycle: computed_cycle,
    })
}

pub(crate) fn message(
    cx: &mut Context<'_>,
    el: &Subject,
    target: ElementIndex,
    definition: &MessageCatch,
    interrupting: bool,
) -> Result<ProcessMessageSubscriptionValue, Problem> {
    // A boundary event's expressions see the scope around its activity, a catch event's own inputs are inside.
    let scope = if target == el.index() {
        el.key
    } else {
        el.flow_scope()
    };
    let message_name = expression::text(cx, &definition.name, scope)?;
    if message_name.trim_ascii().is_empty() {
        return Err(Problem::new(
            ErrorType::ExtractValueError,
            "Expected the message name not to be empty, but its expression yields an empty text.",
        ));
    }
    let correlation_key = expression::correlation_key(cx, &definition.correlation_key, scope)?;
    Ok(ProcessMessageSubscriptionValue {
        subscription_partition: cx.message_partition(&correlation_key),
        process_instance_key: el.value.process_instance_key,
        element_instance_key: el.key,
        process_definition_key: el.process.key,
        bpmn_process_id: el.process.bpmn_process_id.clone(),
        message_name,
        correlation_key,
        interrupting,
        element: target.0,
        message_key: Key::NONE,
        variables: Vec::new(),
    })
}

/// Opens what the boundary events of an activity wait for.
pub(crate) fn subscribe_boundary_events(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    subscribe(cx, el, None)
}

/// Opens what the boundary events of an activity and, if given, the activity itself wait for.
pub(crate) fn subscribe(
    cx: &mut Context<'_>,
    el: &Subject,
    own: Option<Wait>,
) -> Result<(), Problem> {
    let boundary_events = &el.element().boundary_events;
    if boundary_events.is_empty() && own.is_none() {
        return Ok(());
    }
    let mut waits: SmallVec<[Wait; 2]> = SmallVec::new();
    waits.extend(own);
    for index in boundary_events {
        let ElementKind::BoundaryEvent(event) = &el.process.graph.element(*index).kind else {
            continue;
        };
        match &event.event {
            CatchEvent::Timer(definition) => {
                waits.push(Wait::Timer(timer(cx, el, *index, definition)?));
            }
            CatchEvent::Message(definition) => {
                let wait = message(cx, el, *index, definition, event.interrupting)?;
                waits.push(Wait::Message(wait));
            }
            _ => {}
        }
    }
    check_names(&waits)?;
    // Messages first; of timers that fall due together, the later in the document fires.
    let (messages, timers): (Vec<_>, Vec<_>) = waits
        .into_iter()
        .partition(|wait| matches!(wait, Wait::Message(_)));
    for wait in messages.into_iter().chain(timers.into_iter().rev()) {
        open(cx, wait);
    }
    Ok(())
}

/// Static names are checked at deployment; computed ones can turn out the same.
fn check_names(waits: &[Wait]) -> Result<(), Problem> {
    let names = waits.iter().filter_map(|wait| match wait {
        Wait::Message(subscription) => Some(&subscription.message_name),
        Wait::Timer(_) => None,
    });
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Problem::new(
                ErrorType::ExtractValueError,
                format!(
                    "Two events of this element wait for the same message '{name}', so it could not be told which one it \
                     triggers. Give them different message names."
                ),
            ));
        }
    }
    Ok(())
}

pub(crate) fn open(cx: &mut Context<'_>, wait: Wait) {
    let key = cx.next_key();
    match wait {
        Wait::Timer(timer) => cx.event(key, TimerIntent::Created, &timer),
        Wait::Message(subscription) => {
            cx.event(
                key,
                ProcessMessageSubscriptionIntent::Creating,
                &subscription,
            );
            send_open(cx, &subscription);
        }
    }
}

/// Asks the message's partition to open its side. Repeated until it answers.
pub(crate) fn send_open(cx: &mut Context<'_>, subscription: &ProcessMessageSubscriptionValue) {
    let value = MessageSubscriptionValue {
        process_instance_key: subscription.process_instance_key,
        element_instance_key: subscription.element_instance_key,
        process_definition_key: subscription.process_definition_key,
        bpmn_process_id: subscription.bpmn_process_id.clone(),
        message_name: subscription.message_name.clone(),
        correlation_key: subscription.correlation_key.clone(),
        interrupting: subscription.interrupting,
        message_key: Key::NONE,
        variables: Vec::new(),
    };
    let command = RemoteCommand::OpenMessageSubscription(value);
    cx.effects
        .sends
        .push((subscription.subscription_partition, command));
}

/// Asks the message's partition to close its side. Repeated until it answers.
pub(crate) fn send_close(cx: &mut Context<'_>, subscription: &ProcessMessageSubscriptionValue) {
    let command = RemoteCommand::CloseMessageSubscription {
        element_instance_key: subscription.element_instance_key,
        message_name: subscription.message_name.clone(),
        reply_to: cx.state.partition,
    };
    cx.effects
        .sends
        .push((subscription.subscription_partition, command));
}

/// The element ends: nothing it waits for is needed any more.
pub(crate) fn unsubscribe(cx: &mut Context<'_>, element_instance_key: Key) {
    let Some(extra) = cx
        .state
        .elements
        .get(element_instance_key)
        .and_then(|row| row.extra.as_ref())
    else {
        return;
    };
    let (timers, subscriptions) = (extra.timers.clone(), extra.subscriptions.clone());
    for key in timers {
        if let Some(timer) = cx.state.timers.get(key).cloned() {
            cx.event(key, TimerIntent::Canceled, &timer);
        }
    }
    for key in subscriptions {
        if let Some(subscription) = cx
            .state
            .process_subscriptions
            .get(key)
            .map(|s| s.value.clone())
        {
            cx.event(
                key,
                ProcessMessageSubscriptionIntent::Deleting,
                &subscription,
            );
            send_close(cx, &subscription);
        }
    }
}

/// Events reach an element while it waits: not while an incident holds it in its completion, and not once it is interrupted.
/// What they are for must be something that this release can run.
pub(crate) fn can_trigger(cx: &mut Context<'_>, element_instance_key: Key, target: u32) -> bool {
    let Some(row) = cx.state.elements.get(element_instance_key) else {
        return false;
    };
    let definition = row.process_definition_key;
    let waits = row.state == ElementState::Activated && !row.is_interrupted();
    let process = cx.state.processes.get(definition);
    let target = process.and_then(|process| process.graph.elements.get(target as usize));
    waits && target.is_some_and(|target| !matches!(target.kind, ElementKind::Unusable(_)))
}

/// An event has happened for `el`: at the element itself, or at one of its boundary events.
pub(crate) fn trigger(
    cx: &mut Context<'_>,
    el: &Subject,
    target: ElementIndex,
    variables: Variables,
) {
    if target == el.index() {
        lifecycle::complete_with(cx, el, &variables, None);
        return;
    }
    let ElementKind::BoundaryEvent(event) = &el.process.graph.element(target).kind else {
        return;
    };
    if event.interrupting {
        interrupt(cx, el, target, variables);
    } else {
        let trigger = triggering(cx, el, (el.flow_scope(), target), false, variables);
        step::activate_triggered(cx, trigger);
    }
}

/// Ends the activity; the boundary event follows. The first one that interrupts it counts.
pub(crate) fn interrupt(
    cx: &mut Context<'_>,
    activity: &Subject,
    boundary_event: ElementIndex,
    variables: Variables,
) {
    let row = cx.state.elements.get(activity.key);
    if row.is_none_or(|row| row.is_interrupted()) {
        return;
    }
    let target = (activity.flow_scope(), boundary_event);
    triggering(cx, activity, target, true, variables);
    cx.steps.push(Step::Terminate(activity.key));
}

/// Remembers that `target`, an element within a scope, is to be activated because of something that reached `el`.
pub(crate) fn triggering(
    cx: &mut Context<'_>,
    el: &Subject,
    (flow_scope_key, target): (Key, ElementIndex),
    interrupting: bool,
    variables: Variables,
) -> Key {
    let value = ProcessEventValue {
        scope_key: el.key,
        flow_scope_key,
        interrupting,
        process_instance_key: el.value.process_instance_key,
        process_definition_key: el.process.key,
        target_element: target.0,
        variables,
    };
    let key = cx.next_key();
    cx.event(key, ProcessEventIntent::Triggering, &value);
    key
}

/// Creates the target of a trigger, which is used up by that, and hands out the trigger's variables. `None` when its scope
/// ends; a target deeper inside has a trigger of its own then.
pub(crate) fn activating_triggered(cx: &mut Context<'_>, key: Key) -> Option<(Subject, Variables)> {
    let trigger = cx.state.triggers.get(key)?.clone();
    let value = ProcessEventValue {
        scope_key: trigger.scope_key,
        flow_scope_key: trigger.flow_scope_key,
        interrupting: trigger.interrupting,
        process_instance_key: trigger.process_instance_key,
        process_definition_key: trigger.process_definition_key,
        target_element: trigger.target_element,
        variables: Vec::new(),
    };
    cx.event(key, ProcessEventIntent::Triggered, &value);
    let target = ElementIndex(trigger.target_element);
    let scope = Subject::load(cx, trigger.flow_scope_key)?;
    if scope.process.graph.element(target).parent != scope.index() {
        start_instructions::descend(cx, &scope, target);
        return None;
    }
    let el = lifecycle::activating(
        cx,
        &Activation {
            scope: scope.key,
            element: target.0,
            via: None,
            consumed_flows: 0,
        },
    )?;
    Some((el, trigger.variables))
}
