//! Conditional events: when variables have changed, the conditions that may see them are evaluated.
//!
//! Setting a variable only notes the change ([`changed`]). At the end of the step, with the whole document set, the
//! listening conditions whose filter accepts the change are evaluated, before anything else that the step has queued, so
//! that elements that an event interrupts do not begin first. A change counts, not a difference: a non-interrupting
//! condition that was true and is true again triggers its event again. A condition that yields anything but true does not
//! hold.

use std::sync::Arc;

use skep_feel::Value;
use skep_model::{Condition, ElementIndex};
use skep_protocol::Key;
use skep_protocol::intent::{ConditionCheckIntent, ConditionalSubscriptionIntent};
use skep_protocol::value::{ConditionCheckValue, Step};
use smallvec::SmallVec;

use crate::processing::bpmn::subscriptions::conditional;
use crate::processing::bpmn::{Subject, triggers};
use crate::processing::{Context, Named, expression};
use crate::remote::Variables;

/// A change of a variable in a scope with listening conditions.
#[derive(Debug)]
pub(crate) struct Change {
    scope: Key,
    name: Arc<str>,
    is_new: bool,
}

/// The changes of the step in progress. They do not outlive it.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Number of queued steps at the time of the first change.
    place: usize,
    list: Vec<Change>,
}

/// Maximum number of conditions of one scope that become separate steps; more are checked in turns.
const TOGETHER: usize = 16;

/// Notes that a variable was set, if any condition listens.
#[inline]
pub(crate) fn changed(cx: &mut Context<'_>, scope: Key, name: &Arc<str>, is_new: bool) {
    if !cx.state.conditions.listen_to(scope) {
        return;
    }
    let place = cx.steps.len();
    let changes = &mut cx.steps.changes;
    if changes.list.is_empty() {
        changes.place = place;
    }
    let same =
        |change: &Change| change.scope == scope && change.is_new == is_new && change.name == *name;
    if !changes.list.iter().rev().take(TOGETHER).any(same) {
        changes.list.push(Change {
            scope,
            name: name.clone(),
            is_new,
        });
    }
}

/// Queues the evaluation of the conditions affected by the step's changes. Called at the end of the step.
pub(crate) fn settle(cx: &mut Context<'_>) {
    if cx.steps.changes.list.is_empty() {
        return;
    }
    let Changes { place, mut list } = std::mem::take(&mut cx.steps.changes);
    let mut steps: SmallVec<[Step; 4]> = SmallVec::new();
    while let Some(first) = list.first() {
        let scope = first.scope;
        let (here, others) = list.into_iter().partition(|change| change.scope == scope);
        list = others;
        settle_scope(cx, scope, here, &mut steps);
    }
    cx.steps.insert_at(place, &steps);
}

fn settle_scope(
    cx: &mut Context<'_>,
    scope: Key,
    changes: Vec<Change>,
    steps: &mut SmallVec<[Step; 4]>,
) {
    let changes: Vec<_> = changes
        .into_iter()
        .map(|change| (change.name, change.is_new))
        .collect();
    if cx.state.conditions.of_scope(scope).len() <= TOGETHER {
        let listening = cx.state.conditions.of_scope(scope);
        let listening: SmallVec<[Key; TOGETHER]> = listening.collect();
        for key in listening {
            let step = Step::EvaluateCondition(key);
            if !steps.contains(&step) && concerns(cx, key, &changes) {
                steps.push(step);
            }
        }
        return;
    }
    let row = cx.state.elements.get(scope);
    let value = ConditionCheckValue {
        process_instance_key: row.map_or(Key::NONE, |row| row.process_instance_key),
        scope_key: scope,
        changes,
        last: cx.state.conditions.newest_of_scope(scope),
    };
    let check = cx.next_key();
    cx.event(check, ConditionCheckIntent::Begun, &value);
    let after = Key::NONE;
    steps.push(Step::CheckConditions { check, after });
}

/// Runs the next turn of a check of very many conditions.
pub(crate) fn check_next(cx: &mut Context<'_>, check: Key, mut after: Key) {
    let Some(row) = cx.state.conditions.checks.get(check).cloned() else {
        return;
    };
    let value = row.0;
    let mut looked_at = 0;
    loop {
        let conditions = &cx.state.conditions;
        let Some(next) = conditions.next_of_scope(value.scope_key, after, value.last) else {
            break;
        };
        if looked_at > 0 && cx.is_spent() {
            return cx.steps.again(Step::CheckConditions { check, after });
        }
        cx.budget.take_step();
        if concerns(cx, next, &value.changes) {
            evaluate_with(cx, next, triggers::trigger_in_turn);
        }
        after = next;
        looked_at += 1;
    }
    let ended = ConditionCheckValue {
        changes: Vec::new(),
        ..value
    };
    cx.event(check, ConditionCheckIntent::Ended, &ended);
}

/// Whether one of these changes, in a scope that the subscription listens to, passes its filter. A variable further inside
/// that hides the changed one makes no difference.
fn concerns(cx: &mut Context<'_>, key: Key, changes: &[(Arc<str>, bool)]) -> bool {
    let Some(row) = cx.state.conditions.get(key) else {
        return false;
    };
    let definition = row.process_definition_key;
    let target = ElementIndex(row.catch_event);
    let Some(process) = cx.process(definition) else {
        return false;
    };
    let event = process.graph.elements.get(target.get());
    let Some(condition) = event.and_then(conditional::condition_of) else {
        return false;
    };
    let mut changes = changes.iter();
    changes.any(|(name, is_new)| passes(condition, name, *is_new))
}

/// Whether the change passes the filter of a condition.
fn passes(condition: &Condition, name: &Arc<str>, is_new: bool) -> bool {
    let counts = if is_new {
        condition.on_create
    } else {
        condition.on_update
    };
    let names = &condition.variable_names;
    counts && (names.is_empty() || names.contains(name))
}

/// Evaluates a condition and triggers its event if the condition holds.
pub(crate) fn evaluate(cx: &mut Context<'_>, key: Key) {
    evaluate_with(cx, key, triggers::trigger);
}

fn evaluate_with(
    cx: &mut Context<'_>,
    key: Key,
    trigger: fn(&mut Context<'_>, &Subject, ElementIndex, Variables),
) {
    let Some(row) = cx.state.conditions.get(key) else {
        return;
    };
    let (scope, element) = (row.scope(), row.element_instance_key);
    let target = ElementIndex(row.catch_event);
    let Some(el) = Subject::load(cx, element) else {
        return;
    };
    let event = el.process.graph.elements.get(target.get());
    let Some(condition) = event.and_then(conditional::condition_of) else {
        return;
    };
    let no_others = Named::default();
    let result = expression::evaluate(cx, &condition.expression, scope, &no_others);
    let holds = result.is_ok_and(|result| matches!(result.value, Value::Boolean(true)));
    if !holds || !triggers::can_trigger(cx, element, target.0) {
        return;
    }
    if let Some(value) = conditional::value_of(cx, key) {
        cx.event(key, ConditionalSubscriptionIntent::Triggered, &value);
    }
    trigger(cx, &el, target, Variables::new());
}
