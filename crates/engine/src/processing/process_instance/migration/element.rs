//! Migrates one active element to its target, with everything that belongs to it.

use std::sync::Arc;

use skep_model::{ElementIndex, ElementKind, Process, TextValue, Timer};
use skep_protocol::Key;
use skep_protocol::intent::{
    ConditionalSubscriptionIntent, IncidentIntent, JobIntent, ProcessEventIntent,
    ProcessInstanceIntent, ProcessMessageSubscriptionIntent, SignalSubscriptionIntent, TimerIntent,
    VariableIntent,
};
use skep_protocol::value::{
    IncidentValue, MigrationProgress, ProcessEventValue, ProcessInstanceValue,
    ProcessMessageSubscriptionValue, SignalSubscriptionValue, TimerValue, VariableValue,
};

use super::events::Events;
use super::plan::Plan;
use super::user_task;
use crate::processing::bpmn::subscriptions::{self, Awaited};
use crate::processing::bpmn::{Subject, flows, subject, triggers};
use crate::processing::{Context, job};

/// Cost of migrating one element, in steps of a turn, besides the step that reached it.
const STEPS: u32 = 2;
/// Number of variables that count as one step of a turn.
const VARIABLES: usize = 8;

pub(super) fn migrate(
    cx: &mut Context<'_>,
    plan: &Plan,
    key: Key,
    progress: &mut MigrationProgress,
) {
    let Some(row) = cx.state.elements.get(key) else {
        progress.done = 0;
        return;
    };
    if row.process_instance_key != plan.instance {
        // It belongs to a called instance: only its ancestors have changed.
        let value = subject::value_of(row);
        return cx.event(key, ProcessInstanceIntent::AncestorMigrated, &value);
    }
    if progress.done == 0 {
        (0..STEPS).for_each(|_| cx.budget.take_step());
        all_but_variables(cx, plan, key);
        progress.done = 1;
    }
    variables(cx, plan, key, progress);
}

fn all_but_variables(cx: &mut Context<'_>, plan: &Plan, key: Key) {
    let Some(before) = Subject::load(cx, key) else {
        return;
    };
    // All of this has been checked before.
    let Some(index) = plan.to(before.index()) else {
        return cx.broken(format_args!(
            "{key}, which is migrated, is mapped to nothing"
        ));
    };
    let Ok(events) = Events::of(plan, before.index(), index) else {
        return cx.broken(format_args!("the events of {key} cannot be migrated"));
    };
    let after = plan.subject(&before, index);
    let intent = ProcessInstanceIntent::ElementMigrated;
    cx.event(key, intent, &after.value);
    tokens(cx, plan, &before, &after);
    work(cx, &before, &after);
    incidents(cx, &after);
    triggers(cx, plan, &after);
    waiting(cx, plan, (&before, &after), &events);
    let new = events.to_open(cx, &after);
    // An evaluation that fails now but did not fail in the check of an earlier turn depends on the time. The element then
    // does not wait for these events.
    if let Ok(new) = subscriptions::evaluate_all(cx, &after, &new) {
        subscriptions::open_all(cx, new);
    }
}

/// Migrates the tokens that wait at gateways in this scope.
fn tokens(cx: &mut Context<'_>, plan: &Plan, before: &Subject, after: &Subject) {
    let row = cx.state.elements.get(after.key);
    let extra = row.and_then(|row| row.extra.as_ref());
    let waiting = extra.into_iter().flat_map(|extra| extra.joins.iter());
    let waiting: Vec<_> = waiting.collect();
    for (_, flow, count) in waiting {
        let Some(target) = plan.to(ElementIndex(flow)) else {
            continue;
        };
        let inside = |el: &Subject, element: u32| ProcessInstanceValue {
            element,
            flow_scope_key: el.key,
            ..el.value.clone()
        };
        for _ in 0..count {
            let key = cx.next_key();
            let intent = ProcessInstanceIntent::SequenceFlowDeleted;
            cx.event(key, intent, &inside(before, flow));
            let key = cx.next_key();
            let intent = ProcessInstanceIntent::SequenceFlowTaken;
            cx.event(key, intent, &inside(after, target.0));
        }
        let graph = &plan.target.graph;
        if let ElementKind::SequenceFlow(flow) = &graph.element(target).kind
            && let ElementKind::InclusiveGateway { .. } = graph.element(flow.target).kind
        {
            // In the target, nothing else may lead to the gateway.
            flows::join_again(cx, after.key, flow.target.0);
        }
    }
}

/// Migrates the element's job or user task.
fn work(cx: &mut Context<'_>, before: &Subject, after: &Subject) {
    let Some(row) = cx.state.elements.get(after.key) else {
        return;
    };
    let (job, task) = (row.job_key.some(), row.user_task());
    if let Some(task) = task {
        user_task::migrate(cx, task, after);
    }
    let Some(job_key) = job else {
        return;
    };
    if user_task::is_to_be_made(cx, job_key, after) {
        return user_task::make(cx, job_key, after);
    }
    let Some(mut value) = cx.state.jobs.get(job_key).map(job::value_of) else {
        return;
    };
    // The job keeps its original headers: they do not follow the element.
    let (own, others) = (
        before.element().headers_json(),
        after.element().headers_json(),
    );
    if value.headers().is_none() && own != others {
        value.extra().headers = Some(own.cloned().unwrap_or_else(|| "{}".into()));
    }
    value.process_definition_key = after.process.key;
    value.element = after.value.element;
    cx.event(job_key, JobIntent::Migrated, &value);
}

fn incidents(cx: &mut Context<'_>, after: &Subject) {
    let row = cx.state.elements.get(after.key);
    let extra = row.and_then(|row| row.extra.as_ref());
    for key in extra
        .map(|extra| extra.incidents.clone())
        .unwrap_or_default()
    {
        if let Some(incident) = cx.state.incidents.get(key) {
            let value = IncidentValue {
                process_definition_key: after.process.key,
                element: after.value.element,
                ..incident.value()
            };
            cx.event(key, IncidentIntent::Migrated, &value);
        }
    }
}

/// Migrates triggers that are still to be used.
fn triggers(cx: &mut Context<'_>, plan: &Plan, after: &Subject) {
    let row = cx.state.elements.get(after.key);
    let extra = row.and_then(|row| row.extra.as_ref());
    for key in extra
        .map(|extra| extra.triggers.clone())
        .unwrap_or_default()
    {
        let Some(trigger) = cx.state.triggers.get(key) else {
            continue;
        };
        if let Some(target) = plan.to(ElementIndex(trigger.target_element)) {
            let value = ProcessEventValue {
                process_definition_key: after.process.key,
                target_element: target.0,
                ..triggers::value_of(trigger)
            };
            cx.event(key, ProcessEventIntent::Migrated, &value);
        }
    }
}

/// Keeps subscriptions and timers of mapped events, and closes those of all others.
fn waiting(
    cx: &mut Context<'_>,
    plan: &Plan,
    (before, after): (&Subject, &Subject),
    events: &Events,
) {
    let row = cx.state.elements.get(after.key);
    let Some(extra) = row.and_then(|row| row.extra.as_ref()) else {
        return;
    };
    let (messages, timers) = (extra.subscriptions.clone(), extra.timers.clone());
    let (signals, conditions) = (extra.signals.clone(), extra.conditions.clone());
    let to = |event: u32| match ElementIndex(event) {
        own if own == before.index() => Some(after.index()),
        event => events.to(event),
    };
    for key in messages {
        let subscription = cx.state.process_subscriptions.get(key);
        let Some(value) = subscription.map(|row| row.value()) else {
            continue;
        };
        match to(value.element) {
            Some(event) => message(cx, key, value, (after, event)),
            None => subscriptions::message::close(cx, key),
        }
    }
    for key in timers {
        let Some(value) = cx.state.timers.get(key).map(|row| row.value()) else {
            continue;
        };
        match to(value.target_element) {
            Some(event) => timer(cx, plan, (key, value), event),
            None => subscriptions::timer::close(cx, key),
        }
    }
    for key in signals {
        let Some(value) = cx.state.signals.get(key).map(|row| row.value()) else {
            continue;
        };
        match to(value.catch_event) {
            Some(event) => {
                let value = SignalSubscriptionValue {
                    process_definition_key: after.process.key,
                    bpmn_process_id: after.process.bpmn_process_id.clone(),
                    catch_event: event.0,
                    ..value
                };
                cx.event(key, SignalSubscriptionIntent::Migrated, &value);
            }
            None => subscriptions::signal::close(cx, key),
        }
    }
    for key in conditions {
        let Some(event) = cx.state.conditions.get(key).map(|row| row.catch_event) else {
            continue;
        };
        match to(event) {
            Some(event) => condition(cx, key, (after, event)),
            None => subscriptions::conditional::close(cx, key),
        }
    }
}

/// Replaces the condition with that of the target.
fn condition(cx: &mut Context<'_>, key: Key, (after, event): (&Subject, ElementIndex)) {
    let element = after.process.graph.element(event);
    let awaited = Awaited::of(event, element);
    let condition = subscriptions::conditional::condition_of(element);
    if let Some((awaited, condition)) = awaited.zip(condition) {
        let interrupting = awaited.interrupting;
        let value = subscriptions::conditional::of_element(after, event, condition, interrupting);
        cx.event(key, ConditionalSubscriptionIntent::Migrated, &value);
    }
}

fn message(
    cx: &mut Context<'_>,
    key: Key,
    value: ProcessMessageSubscriptionValue,
    (after, event): (&Subject, ElementIndex),
) {
    let awaited = Awaited::of(event, after.process.graph.element(event));
    let value = ProcessMessageSubscriptionValue {
        process_definition_key: after.process.key,
        bpmn_process_id: after.process.bpmn_process_id.clone(),
        interrupting: awaited.is_none_or(|awaited| awaited.interrupting),
        element: event.0,
        revision: value.revision + 1,
        ..value
    };
    cx.event(key, ProcessMessageSubscriptionIntent::Migrated, &value);
    subscriptions::message::send_open(cx, &value);
}

/// Migrates a timer. Its due date stays; the later dates of a cycle follow the target if it defines a static cycle.
fn timer(
    cx: &mut Context<'_>,
    plan: &Plan,
    (key, mut value): (Key, TimerValue),
    event: ElementIndex,
) {
    let definition =
        |graph: &Process, event: ElementIndex| match subscriptions::timer_of(graph.element(event))?
        {
            Timer::Cycle(TextValue::Static(text)) => Some(text.clone()),
            _ => None,
        };
    value.cycle = match definition(&plan.target.graph, event) {
        Some(_) => Arc::default(),
        None if value.cycle.is_empty() => {
            let before = ElementIndex(value.target_element);
            definition(&plan.source.graph, before).unwrap_or_default()
        }
        None => value.cycle,
    };
    value.process_definition_key = plan.target.key;
    value.target_element = event.0;
    cx.event(key, TimerIntent::Migrated, &value);
}

/// Migrates variables. They stay in their scope; the events report the new definition, without the values.
fn variables(cx: &mut Context<'_>, plan: &Plan, scope: Key, progress: &mut MigrationProgress) {
    let Some(row) = cx.state.elements.get(scope) else {
        progress.done = 0;
        return;
    };
    let root = row.root_process_instance_key();
    let all = row
        .variables
        .iter()
        .map(|variable| (variable.key, variable.name.clone()));
    let left: Vec<(Key, Arc<str>)> = all.skip(progress.done as usize - 1).collect();
    for (number, (key, name)) in left.into_iter().enumerate() {
        if number % VARIABLES == VARIABLES - 1 {
            cx.budget.take_step();
        }
        let value = VariableValue {
            name,
            value: "null".into(),
            scope_key: scope,
            process_instance_key: plan.instance,
            process_definition_key: plan.target.key,
            root_process_instance_key: root,
        };
        cx.event(key, VariableIntent::Migrated, &value);
        progress.done += 1;
        if cx.is_spent() {
            return;
        }
    }
    progress.done = 0;
}
