//! TIMER TRIGGER: the due date has come.

use skep_model::timer_value::Cycle;
use skep_model::{BoundaryTrigger, ElementIndex, ElementKind, Timer};
use skep_protocol::Key;
use skep_protocol::intent::TimerIntent;
use skep_protocol::value::TimerValue;

use super::bpmn::{Subject, events};
use super::{Context, expression};

pub(crate) fn trigger(cx: &mut Context<'_>, key: Key) {
    let Some(timer) = cx.state.timers.get(key).cloned() else {
        return;
    };
    cx.event(key, TimerIntent::Triggered, &timer);
    let Some(el) = Subject::load(cx, timer.element_instance_key) else {
        return;
    };
    let target = ElementIndex(timer.target_element);
    if timer.repetitions != 1
        && let Some(next) = next_of_cycle(cx, &el, &timer)
    {
        let key = cx.next_key();
        cx.event(key, TimerIntent::Created, &next);
    }
    events::trigger(cx, &el, target, Vec::new());
}

/// The timer of a cycle that follows one that has fired. Its text is evaluated again, as the log holds no expression.
fn next_of_cycle(cx: &mut Context<'_>, el: &Subject, fired: &TimerValue) -> Option<TimerValue> {
    let element = el
        .process
        .graph
        .elements
        .get(fired.target_element as usize)?;
    let ElementKind::BoundaryEvent(event) = &element.kind else {
        return None;
    };
    let BoundaryTrigger::Timer(Timer::Cycle(text)) = &event.event else {
        return None;
    };
    let text = expression::temporal_text(cx, text, el.key).ok()?;
    let due_date = Cycle::parse(&text).ok()?.next(fired.due_date)?;
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
