//! TIMER TRIGGER: the due date has come.

use skep_model::{ElementIndex, ElementKind};
use skep_protocol::intent::{Intent as _, TimerIntent};
use skep_protocol::{Key, RejectionType, ValueType};

use super::bpmn::subscriptions::{start, timer};
use super::bpmn::{Subject, triggers};
use super::{Context, reject};
use crate::state::Timer;

pub(crate) fn trigger(cx: &mut Context<'_>, key: Key) {
    let Some(row) = cx.state.timers.get(key).cloned() else {
        return;
    };
    if !can_trigger(cx, &row) {
        refuse(cx, key);
        return;
    }
    if row.is_of_definition() {
        start::by_timer(cx, key, row.value());
        return;
    }
    let fired = row.value();
    cx.event(key, TimerIntent::Triggered, &fired);
    let Some(el) = Subject::load(cx, fired.element_instance_key) else {
        return;
    };
    let target = ElementIndex(fired.target_element);
    triggers::trigger(cx, &el, target, Vec::new());
    if cx.state.elements.get(el.key).is_some()
        && let Some(next) = timer::next_of_cycle(cx, &fired)
    {
        timer::open(cx, &next);
    }
}

fn can_trigger(cx: &mut Context<'_>, timer: &Timer) -> bool {
    if !timer.is_of_definition() {
        return triggers::can_trigger(cx, timer.element_instance_key, timer.target_element);
    }
    let process = cx.state.processes.get(timer.process_definition_key);
    let target = process.and_then(|p| p.graph.elements.get(timer.target_element as usize));
    target.is_some_and(|target| !matches!(target.kind, ElementKind::Unusable(_)))
}

/// The element can no longer be triggered and takes its timers with it when it ends. Until then this timer rests.
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
