//! Timers, signals and conditions that element instances wait for.

use skep_protocol::Key;
use skep_protocol::intent::{ConditionalSubscriptionIntent, SignalSubscriptionIntent, TimerIntent};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{ConditionalSubscriptionValue, SignalSubscriptionValue, TimerValue};
use skep_query::Value;
use skep_query::entities::EVENT_WAIT;

use super::{Projection, intent_of, json_list, key, start_timer, word};
use crate::changes::{At, Completion, set};

/// Adds a row for an event that waits at an element instance.
fn begins(to: &mut Projection<'_>, record: &Record<'_>, event: At, waits_at: Key) {
    to.changes
        .completions
        .push(Completion::EventWait(record.key));
    of_definition(to, record.key, event);
    set!(to.changes, EVENT_WAIT, record.key, {
        "elementInstanceKey": key(waits_at),
        "creationTime": Value::Int(record.timestamp),
        "isOpen": Value::from(true),
    });
}

/// Sets the columns derived from the element. A migrated instance belongs to another definition.
fn of_definition(to: &mut Projection<'_>, row: Key, (definition, element): At) {
    let location = to.location(definition, element);
    set!(to.changes, EVENT_WAIT, row, {
        "elementId": location.element_id(),
        "elementType": location.element_type(),
        "processDefinitionId": location.process_id(),
        "tenantId": location.tenant(),
    });
}

pub fn timer(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<TimerValue>(record)?;
    let value: TimerValue = record.value()?;
    // Timers of start events belong to no element instance. When one fires, its record names the instance that it starts.
    if value.element_instance_key.some().is_none() {
        start_timer::changed(to, intent, &value);
        return Ok(());
    }
    match intent {
        TimerIntent::Created => {
            let at = (value.process_definition_key, value.target_element);
            begins(to, record, at, value.element_instance_key);
            set!(to.changes, EVENT_WAIT, record.key, {
                "kind": word("TIMER"),
                "processInstanceKey": key(value.process_instance_key),
                "dueDate": Value::Int(value.due_date),
                "repetitions": Value::Int(value.repetitions.into()),
            });
        }
        TimerIntent::Migrated => {
            of_definition(
                to,
                record.key,
                (value.process_definition_key, value.target_element),
            );
        }
        TimerIntent::Triggered | TimerIntent::Canceled => {
            set!(to.changes, EVENT_WAIT, record.key, { "isOpen": Value::from(false) });
        }
        _ => {}
    }
    Ok(())
}

pub fn signal(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<SignalSubscriptionValue>(record)?;
    let value: SignalSubscriptionValue = record.value()?;
    if value.catch_event_instance_key.some().is_none() {
        return Ok(());
    }
    match intent {
        SignalSubscriptionIntent::Created => {
            let at = (value.process_definition_key, value.catch_event);
            begins(to, record, at, value.catch_event_instance_key);
            let completions = &mut to.changes.completions;
            completions.push(Completion::SignalWait(record.key));
            set!(to.changes, EVENT_WAIT, record.key, {
                "kind": word("SIGNAL"),
                "signalName": Value::Text(value.signal_name),
            });
        }
        SignalSubscriptionIntent::Migrated => {
            of_definition(
                to,
                record.key,
                (value.process_definition_key, value.catch_event),
            );
        }
        SignalSubscriptionIntent::Deleted => {
            set!(to.changes, EVENT_WAIT, record.key, { "isOpen": Value::from(false) });
        }
    }
    Ok(())
}

pub fn condition(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<ConditionalSubscriptionValue>(record)?;
    let value: ConditionalSubscriptionValue = record.value()?;
    // Subscriptions of start events belong to no instance.
    if value.process_instance_key.some().is_none() {
        return Ok(());
    }
    match intent {
        ConditionalSubscriptionIntent::Created => {
            let at = (value.process_definition_key, value.catch_event);
            begins(to, record, at, value.element_instance_key);
            let events = if value.variable_events.is_empty() {
                json_list(&["create", "update"])
            } else {
                json_list(&value.variable_events)
            };
            set!(to.changes, EVENT_WAIT, record.key, {
                "kind": word("CONDITION"),
                "processInstanceKey": key(value.process_instance_key),
                "condition": Value::Text(value.condition),
                "conditionEvents": events,
            });
        }
        ConditionalSubscriptionIntent::Migrated => {
            of_definition(
                to,
                record.key,
                (value.process_definition_key, value.catch_event),
            );
        }
        ConditionalSubscriptionIntent::Deleted => {
            set!(to.changes, EVENT_WAIT, record.key, { "isOpen": Value::from(false) });
        }
        ConditionalSubscriptionIntent::Trigger | ConditionalSubscriptionIntent::Triggered => {}
    }
    Ok(())
}
