//! TIMER TRIGGER: the due date has come.

use std::sync::Arc;

use skep_model::timer_value::Cycle;
use skep_model::{CatchEvent, ElementIndex, ElementKind, TextValue, Timer};
use skep_protocol::intent::{Intent as _, TimerIntent};
use skep_protocol::value::TimerValue;
use skep_protocol::{Key, RejectionType, ValueType};

use super::bpmn::{Subject, events};
use super::{Context, expression, reject};

pub(crate) fn trigger(cx: &mut Context<'_>, key: Key) {
    let Some(timer) = cx.state.timers.get(key).cloned() else {
        return;
    };
    if !events::can_trigger(cx, timer.element_instance_key, timer.target_element) {
        refuse(cx, key);
        return;
    }
    cx.event(key, TimerIntent::Triggered, &timer);
    let Some(el) = Subject::load(cx, timer.element_instance_key) else {
        return;
    };
    let target = ElementIndex(timer.target_element);
    events::trigger(cx, &el, target, Vec::new());
    // R0 repeats nothing: it fires once, and not without end.
    if !matches!(timer.repetitions, 0 | 1)
        && cx.state.elements.get(el.key).is_some()
        && let Some(next) = next_of_cycle(cx, &el, &timer)
    {
        let key = cx.next_key();
        cx.event(key, TimerIntent::Created, &next);
    }
}

/// The element cannot be reached any more and takes its timers with it when it ends; until then this one rests.
fn refuse(cx: &mut Context<'_>, key: Key) {
    let rejection = reject(
        RejectionType::InvalidState,
        "TRIGGER",
        format!(
            "Expected to trigger timer with key '{key}', but its element does not wait any more, or cannot be run"
        ),
    );
    let intent = TimerIntent::Trigger.id();
    cx.out.rejection(key, ValueType::Timer, intent, &rejection);
    cx.state.timers.rest(key);
}

/// The timer of a cycle that follows one that has fired; none at the end of the calendar.
fn next_of_cycle(cx: &mut Context<'_>, el: &Subject, fired: &TimerValue) -> Option<TimerValue> {
    let text = cycle_of(cx, el, fired)?;
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

fn cycle_of(cx: &mut Context<'_>, el: &Subject, fired: &TimerValue) -> Option<Arc<str>> {
    if !fired.cycle.is_empty() {
        return Some(fired.cycle.clone());
    }
    let index = fired.target_element as usize;
    let ElementKind::BoundaryEvent(event) = &el.process.graph.elements.get(index)?.kind else {
        return None;
    };
    match &event.event {
        CatchEvent::Timer(Timer::Cycle(TextValue::Static(text))) => Some(text.clone()),
        // Timers of version 1 do not bring their text.
        CatchEvent::Timer(Timer::Cycle(value)) => {
            expression::temporal_text(cx, value, el.key, "a cycle").ok()
        }
        _ => None,
    }
}
