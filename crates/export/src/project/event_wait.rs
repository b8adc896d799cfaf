//! Timers, signals and conditions that element instances wait for.

use skep_protocol::intent::{ConditionalSubscriptionIntent, SignalSubscriptionIntent, TimerIntent};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{ConditionalSubscriptionValue, SignalSubscriptionValue, TimerValue};
use skep_query::Value;
use skep_query::entities::EVENT_WAIT;

use super::{Projection, intent_of, key, word};
use crate::changes::{Completion, set};

pub fn timer(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<TimerValue>(record)?;
    let value: TimerValue = record.value()?;
    // Those of start events wait for no instance.
    if value.process_instance_key.some().is_none() {
        return Ok(());
    }
    match intent {
        TimerIntent::Created => {
            let place = to.place(value.process_definition_key, value.target_element);
            set!(to.changes, EVENT_WAIT, record.key, {
                "kind": word("TIMER"),
                "elementInstanceKey": key(value.element_instance_key),
                "processInstanceKey": key(value.process_instance_key),
                "elementId": place.element_id(),
                "dueDate": Value::Int(value.due_date),
                "creationTime": Value::Int(record.timestamp),
                "isOpen": Value::from(true),
            });
        }
        TimerIntent::Migrated => {
            let place = to.place(value.process_definition_key, value.target_element);
            set!(to.changes, EVENT_WAIT, record.key, { "elementId": place.element_id() });
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
            let place = to.place(value.process_definition_key, value.catch_event);
            to.changes
                .completions
                .push(Completion::EventWait(record.key));
            set!(to.changes, EVENT_WAIT, record.key, {
                "kind": word("SIGNAL"),
                "elementInstanceKey": key(value.catch_event_instance_key),
                "elementId": place.element_id(),
                "signalName": Value::Text(value.signal_name),
                "creationTime": Value::Int(record.timestamp),
                "isOpen": Value::from(true),
            });
        }
        SignalSubscriptionIntent::Migrated => {
            let place = to.place(value.process_definition_key, value.catch_event);
            set!(to.changes, EVENT_WAIT, record.key, { "elementId": place.element_id() });
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
    // Those of start events wait for no instance.
    if value.process_instance_key.some().is_none() {
        return Ok(());
    }
    match intent {
        ConditionalSubscriptionIntent::Created => {
            let place = to.place(value.process_definition_key, value.catch_event);
            set!(to.changes, EVENT_WAIT, record.key, {
                "kind": word("CONDITION"),
                "elementInstanceKey": key(value.element_instance_key),
                "processInstanceKey": key(value.process_instance_key),
                "elementId": place.element_id(),
                "condition": Value::Text(value.condition),
                "creationTime": Value::Int(record.timestamp),
                "isOpen": Value::from(true),
            });
        }
        ConditionalSubscriptionIntent::Migrated => {
            let place = to.place(value.process_definition_key, value.catch_event);
            set!(to.changes, EVENT_WAIT, record.key, { "elementId": place.element_id() });
        }
        ConditionalSubscriptionIntent::Deleted => {
            set!(to.changes, EVENT_WAIT, record.key, { "isOpen": Value::from(false) });
        }
        ConditionalSubscriptionIntent::Trigger | ConditionalSubscriptionIntent::Triggered => {}
    }
    Ok(())
}
