//! Timers: of elements, boundary events and event sub-processes, and of the start events of definitions.

use std::sync::Arc;

use skep_model::timer_value::{Cycle, parse_date, parse_duration};
use skep_model::{ElementIndex, TextValue, Timer};
use skep_protocol::Key;
use skep_protocol::intent::TimerIntent;
use skep_protocol::value::{ErrorType, TimerValue};

use super::Owner;
use crate::processing::bpmn::Problem;
use crate::processing::{Context, expression};

/// The first due date of the timer of `target`. Its expressions see the owner's variables; those of a definition see none.
pub(crate) fn evaluate(
    cx: &mut Context<'_>,
    owner: Owner,
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
    let scope = owner.element_instance_key;
    let mut computed_cycle = Arc::default();
    let (due_date, repetitions) = match definition {
        Timer::Date(value) => {
            let text = expression::temporal_text(cx, value, scope, "a date and time")?;
            let due = parse_date(&text).map_err(|e| invalid("date", &text, e.to_string()))?;
            (due, 1)
        }
        Timer::Duration(value) => {
            let text = expression::temporal_text(cx, value, scope, "a duration")?;
            let duration =
                parse_duration(&text).map_err(|e| invalid("duration", &text, e.to_string()))?;
            let due = duration
                .add_to(cx.now)
                .ok_or_else(|| invalid("duration", &text, out_of_range()))?;
            (due, 1)
        }
        Timer::Cycle(value) => {
            let text = expression::temporal_text(cx, value, scope, "the text of a cycle")?;
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
        element_instance_key: owner.element_instance_key,
        process_instance_key: owner.process_instance_key,
        process_definition_key: owner.process_definition_key,
        target_element: target.0,
        due_date,
        repetitions,
        cycle: computed_cycle,
    })
}

pub(crate) fn open(cx: &mut Context<'_>, timer: &TimerValue) {
    let key = cx.next_key();
    cx.event(key, TimerIntent::Created, timer);
}

pub(crate) fn close(cx: &mut Context<'_>, key: Key) {
    if let Some(timer) = cx.state.timers.get(key).map(|row| row.value()) {
        cx.event(key, TimerIntent::Canceled, &timer);
    }
}

/// The next timer of a cycle after one that has fired. None after the last repetition, and none at the end of the calendar.
pub(crate) fn next_of_cycle(cx: &mut Context<'_>, fired: &TimerValue) -> Option<TimerValue> {
    // R0 repeats nothing: it fires once, and not endlessly.
    if matches!(fired.repetitions, 0 | 1) {
        return None;
    }
    let text = cycle_of(cx, fired)?;
    let due_date = Cycle::parse(&text).ok()?.next(fired.due_date, cx.now)?;
    let repetitions = if fired.repetitions > 0 {
        fired.repetitions - 1
    } else {
        -1
    };
    Some(TimerValue {
        due_date,
        repetitions,
        ..fired.clone()
    })
}

fn cycle_of(cx: &mut Context<'_>, fired: &TimerValue) -> Option<Arc<str>> {
    if !fired.cycle.is_empty() {
        return Some(fired.cycle.clone());
    }
    let process = cx.process(fired.process_definition_key)?;
    let element = process.graph.elements.get(fired.target_element as usize)?;
    match super::timer_of(element)? {
        Timer::Cycle(TextValue::Static(text)) => Some(text.clone()),
        _ => None,
    }
}
