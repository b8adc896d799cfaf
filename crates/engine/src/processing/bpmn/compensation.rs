//! Compensation: handlers undo completed activities.
//!
//! An activity that can be compensated leaves a subscription behind when it completes; so does a scope around one. An event
//! that throws compensation triggers the subscriptions of its scope, oldest first, and a scope before its content, in one
//! step each. Then the handlers are activated, all in the scope of the event, again in one step each. The event completes
//! when they have completed. An event in an event sub-process also compensates the scope around the event sub-process,
//! because that is where the work was done.

use skep_model::{CatchEvent, Element, ElementIndex, ElementKind, ThrowEvent};
use skep_protocol::Key;
use skep_protocol::intent::CompensationSubscriptionIntent as Intent;
use skep_protocol::value::{Activation, CompensationSubscriptionValue, Step};

use super::{ElementBehavior, Next, Problem, Subject, lifecycle};
use crate::processing::Context;
use crate::state::{Compensation, ElementState};

/// Maximum number of subscriptions of one instance that its end deletes with one record each. Any further ones are dropped
/// silently: the end of an instance is one step, whatever has run in it.
const MAX_DELETED: usize = 1000;

/// The event that throws compensation.
pub(crate) struct CompensationEvent;

impl ElementBehavior for CompensationEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(match next_at_root(cx, el, Key::NONE) {
            Some(subscription) => {
                let thrower = el.key;
                cx.steps.push(Step::Compensate {
                    thrower,
                    subscription,
                });
                Next::Wait
            }
            None => Next::Complete,
        })
    }
}

/// The activity named by a compensation event.
fn named(element: &Element) -> Option<ElementIndex> {
    match element.kind {
        ElementKind::EndEvent(ThrowEvent::Compensation { activity })
        | ElementKind::IntermediateThrowEvent(ThrowEvent::Compensation { activity }) => activity,
        _ => None,
    }
}

/// The scopes that an event compensates, in addition to their content.
#[derive(Clone, Copy)]
struct Roots {
    own: Key,
    /// The scope around the event sub-process of the event; none for other events.
    around: Key,
}

impl Roots {
    fn of(cx: &mut Context<'_>, event: &Subject) -> Roots {
        let own = event.flow_scope();
        let scope = event.process.graph.element(event.element().parent);
        let row = match scope.kind {
            ElementKind::EventSubProcess { .. } => cx.state.elements.get(own),
            _ => None,
        };
        let around = row.map_or(Key::NONE, |row| row.flow_scope_key);
        Roots { own, around }
    }

    fn has(self, scope: Key) -> bool {
        scope == self.own || scope == self.around
    }

    /// The oldest subscription in these scopes after this one.
    fn waiting(self, cx: &Context<'_>, after: Key) -> Option<Key> {
        let compensations = &cx.state.compensations;
        let own = compensations.waiting(self.own, after).next();
        let around = self.around.some();
        let around = around.and_then(|around| compensations.waiting(around, after).next());
        own.into_iter().chain(around).min()
    }
}

/// The next subscription of the scopes that the event compensates.
fn next_at_root(cx: &mut Context<'_>, event: &Subject, after: Key) -> Option<Key> {
    let activity = named(event.element());
    let roots = Roots::of(cx, event);
    let mut next = after;
    loop {
        let key = roots.waiting(cx, next)?;
        let row = cx.state.compensations.get(key)?;
        if activity.is_none_or(|activity| activity.0 == row.activity) {
            return Some(key);
        }
        next = key;
    }
}

/// The next subscription after this one: the first one inside its activity, else the next one in its scope, else the next
/// one in an outer scope.
fn next(cx: &mut Context<'_>, event: &Subject, key: Key, row: &Compensation) -> Option<Key> {
    let inside = row.activity_instance_key;
    let first = cx.state.compensations.waiting(inside, Key::NONE).next();
    if first.is_some() {
        return first;
    }
    let roots = Roots::of(cx, event);
    let (mut key, mut scope) = (key, row.scope_key);
    while !roots.has(scope) {
        let beside = cx.state.compensations.waiting(scope, key).next();
        if beside.is_some() {
            return beside;
        }
        key = cx.state.compensations.of_activity(scope)?;
        scope = cx.state.compensations.get(key)?.scope_key;
    }
    next_at_root(cx, event, key)
}

/// [`Step::Compensate`].
pub(crate) fn compensate(cx: &mut Context<'_>, thrower: Key, subscription: Key) {
    let Some(event) = active(cx, thrower) else {
        return;
    };
    let row = cx.state.compensations.get(subscription).cloned();
    let Some(row) = row.filter(|row| row.thrower_instance_key.is_none()) else {
        // Another event came first: continue with the remaining ones, from the start.
        let next = next_at_root(cx, &event, Key::NONE);
        return go_on(cx, thrower, next);
    };
    let mut value = CompensationSubscriptionValue {
        thrower: Some(event.value.element),
        thrower_instance_key: thrower,
        ..row.value()
    };
    if row.handler.is_some() {
        pass_boundary_event(cx, &event, &row);
        value.handler_instance_key = cx.new_key();
    }
    cx.event(subscription, Intent::Triggered, &value);
    let next = next(cx, &event, subscription, &row);
    go_on(cx, thrower, next);
}

fn go_on(cx: &mut Context<'_>, thrower: Key, next: Option<Key>) {
    if let Some(subscription) = next {
        return cx.steps.push(Step::Compensate {
            thrower,
            subscription,
        });
    }
    match cx.state.compensations.handler_after(thrower, Key::NONE) {
        Some(handler) => cx.steps.push(Step::ActivateHandlers { thrower, handler }),
        None => {
            let handler = Key::NONE;
            cx.steps.push(Step::ActivateHandlers { thrower, handler });
        }
    }
}

/// The event, while it waits for the compensation that it has thrown.
fn active(cx: &mut Context<'_>, thrower: Key) -> Option<Subject> {
    let row = cx.state.elements.get(thrower)?;
    let waits = row.state == ElementState::Activated;
    Subject::load(cx, thrower).filter(|_| waits)
}

/// Runs the boundary event of the activity, in the scope of the throwing event.
fn pass_boundary_event(cx: &mut Context<'_>, event: &Subject, row: &Compensation) {
    let graph = &event.process.graph;
    let activity = graph.element(ElementIndex(row.activity));
    let Some((boundary_event, _)) = handler_of(event, activity) else {
        return;
    };
    if let Some(el) = lifecycle::activating(cx, &activation(event, boundary_event)) {
        lifecycle::activated(cx, &el);
        lifecycle::complete_with(cx, &el, &[], None);
    }
}

fn activation(event: &Subject, element: ElementIndex) -> Activation {
    Activation {
        scope: event.flow_scope(),
        element: element.0,
        via: None,
        consumed_flows: 0,
    }
}

/// The compensation boundary event of an activity, and its handler.
fn handler_of(of: &Subject, activity: &Element) -> Option<(ElementIndex, ElementIndex)> {
    let graph = &of.process.graph;
    let mut events = activity.boundary_events.iter();
    events.find_map(|event| match graph.element(*event).caught() {
        Some(CatchEvent::Compensation { handler }) => Some((*event, *handler)),
        _ => None,
    })
}

/// [`Step::ActivateHandlers`].
pub(crate) fn activate_handlers(cx: &mut Context<'_>, thrower: Key, handler: Key) {
    let Some(event) = active(cx, thrower) else {
        return;
    };
    if handler.is_none() {
        return end_scope(cx, thrower);
    }
    if let Some(handler) = cx.state.compensations.handler_after(thrower, handler) {
        cx.steps.push(Step::ActivateHandlers { thrower, handler });
    }
    let subscription = cx.state.compensations.of_handler(handler);
    let row = subscription.and_then(|key| cx.state.compensations.get(key));
    let Some(element) = row.and_then(|row| row.handler) else {
        return;
    };
    let activation = activation(&event, ElementIndex(element));
    if let Some(el) = lifecycle::activating_as(cx, &activation, handler) {
        lifecycle::activate(cx, &el);
    }
}

/// Creates the subscription that an element leaves behind just before it has completed.
pub(super) fn leave_behind(cx: &mut Context<'_>, el: &Subject) {
    if el.index() == ElementIndex::PROCESS {
        return delete_all(cx, el.key);
    }
    let element = el.element();
    let handler = handler_of(el, element).map(|(_, handler)| handler.0);
    let compensations = &cx.state.compensations;
    let has_inside =
        !compensations.is_empty() && compensations.waiting(el.key, Key::NONE).next().is_some();
    let is_left = handler.is_some() || has_inside;
    // A compensation handler is not compensated itself.
    if !is_left || element.is_for_compensation {
        return;
    }
    let value = CompensationSubscriptionValue {
        process_definition_key: el.process.key,
        process_instance_key: el.value.process_instance_key,
        activity: el.value.element,
        activity_instance_key: el.key,
        scope_key: el.flow_scope(),
        handler,
        handler_instance_key: Key::NONE,
        thrower: None,
        thrower_instance_key: Key::NONE,
    };
    let key = cx.next_key();
    cx.event(key, Intent::Created, &value);
}

/// Deletes the subscriptions of a process instance that ends.
pub(super) fn delete_all(cx: &mut Context<'_>, instance: Key) {
    if cx.state.compensations.is_empty() {
        return;
    }
    let compensations = &cx.state.compensations;
    let keys: Vec<Key> = compensations
        .of_instance(instance)
        .take(MAX_DELETED)
        .collect();
    for key in keys {
        if let Some(row) = cx.state.compensations.get(key) {
            let value = row.value();
            cx.event(key, Intent::Deleted, &value);
        }
    }
}

/// Deletes the subscriptions in a scope that is terminated, and in completed scopes inside it: nothing can throw their compensation any
/// more. Any beyond [`MAX_DELETED`] stay until the instance ends.
pub(super) fn delete_inside(cx: &mut Context<'_>, scope: Key) {
    if cx.state.compensations.is_empty() {
        return;
    }
    let mut keys: Vec<Key> = Vec::new();
    let mut scopes = vec![scope];
    while let Some(scope) = scopes.pop() {
        let room = MAX_DELETED.saturating_sub(keys.len());
        let waiting = cx.state.compensations.waiting(scope, Key::NONE);
        let waiting: Vec<Key> = waiting.take(room).collect();
        for key in &waiting {
            let row = cx.state.compensations.get(*key);
            scopes.extend(row.map(|row| row.activity_instance_key));
        }
        keys.extend(waiting);
    }
    keys.sort_unstable();
    for key in keys {
        if let Some(row) = cx.state.compensations.get(key) {
            let value = row.value();
            cx.event(key, Intent::Deleted, &value);
        }
    }
}

/// Handles the end of a handler, which was completed or terminated.
pub(super) fn handler_ended(cx: &mut Context<'_>, handler: &Subject, intent: Intent) {
    let Some(key) = cx.state.compensations.of_handler(handler.key) else {
        return;
    };
    let Some(row) = cx.state.compensations.get(key).cloned() else {
        return;
    };
    cx.event(key, intent, &row.value());
    let thrower = row.thrower_instance_key;
    end_around(cx, thrower, row.scope_key);
    end_event(cx, thrower);
}

/// Completes scopes that are compensated through their content, once the last of it is done.
fn end_around(cx: &mut Context<'_>, thrower: Key, inside: Key) {
    let mut scope = inside;
    while !cx.state.compensations.goes_on(thrower, Some(scope)) {
        let around = cx.state.compensations.of_activity(scope);
        let row = around.and_then(|key| Some((key, cx.state.compensations.get(key)?.clone())));
        let Some((key, row)) = row else { return };
        if row.thrower_instance_key != thrower || row.handler.is_some() {
            return;
        }
        cx.event(key, Intent::Completed, &row.value());
        scope = row.scope_key;
    }
}

/// Completes scopes one after the other if no handler was triggered, because their content is already compensated.
fn end_scope(cx: &mut Context<'_>, thrower: Key) {
    let scope = cx.state.compensations.first_thrown(thrower);
    let row = scope.and_then(|key| Some((key, cx.state.compensations.get(key)?.value())));
    let Some((key, value)) = row else {
        return end_event(cx, thrower);
    };
    cx.event(key, Intent::Completed, &value);
    go_on(cx, thrower, None);
}

/// Completes the event once everything that it has thrown is done.
fn end_event(cx: &mut Context<'_>, thrower: Key) {
    if !cx.state.compensations.goes_on(thrower, None) && active(cx, thrower).is_some() {
        cx.steps.push(Step::Complete(thrower));
    }
}
