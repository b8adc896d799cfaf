//! Subscriptions of instances and definitions: messages, timers, signals and conditions, one file per kind.
//!
//! Everything is evaluated before anything is opened, so a failing expression leaves no half-opened subscriptions.

pub(crate) mod conditional;
pub(crate) mod message;
pub(crate) mod signal;
pub(crate) mod start;
pub(crate) mod timer;

use std::collections::HashSet;
use std::sync::Arc;

use skep_model::{CatchEvent, Element, ElementIndex, ElementKind, Timer};
use skep_protocol::Key;
use skep_protocol::value::{
    ConditionalSubscriptionValue, ErrorType, ProcessMessageSubscriptionValue,
    SignalSubscriptionValue, TimerValue,
};
use smallvec::SmallVec;

use crate::processing::bpmn::{Problem, Subject};
use crate::processing::{Context, expression};
use crate::state::{ElementInstance, ElementState};

/// The owner of a subscription, as records name it.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    /// The element instance that waits for itself, for its boundary events or, as a scope, for its event sub-processes.
    /// None: the definition, for its start events.
    pub element_instance_key: Key,
    pub process_instance_key: Key,
    pub process_definition_key: Key,
}

impl Owner {
    pub fn instance(el: &Subject) -> Owner {
        Owner {
            element_instance_key: el.key,
            process_instance_key: el.value.process_instance_key,
            process_definition_key: el.process.key,
        }
    }

    pub fn definition(process_definition_key: Key) -> Owner {
        Owner {
            element_instance_key: Key::NONE,
            process_instance_key: Key::NONE,
            process_definition_key,
        }
    }
}

/// A subscription or timer, evaluated and ready to be opened.
pub(crate) enum Wait {
    Timer(TimerValue),
    Message(ProcessMessageSubscriptionValue),
    Signal(SignalSubscriptionValue),
    Conditional(ConditionalSubscriptionValue),
}

pub(crate) type Waits = SmallVec<[Wait; 2]>;

/// The trigger of an event, and whether the event interrupts what it is attached to.
pub(crate) struct Awaited<'a> {
    pub target: ElementIndex,
    pub interrupting: bool,
    pub event: &'a CatchEvent,
}

impl<'a> Awaited<'a> {
    /// The trigger of this element, if it is a triggered event.
    pub fn of(target: ElementIndex, element: &'a Element) -> Option<Awaited<'a>> {
        let interrupting = match &element.kind {
            ElementKind::BoundaryEvent(boundary) => boundary.interrupting,
            ElementKind::StartEvent(start) => start.interrupting,
            _ => true,
        };
        Some(Awaited {
            target,
            interrupting,
            event: element.caught()?,
        })
    }
}

/// Opens the subscriptions of an activity's boundary events.
pub(crate) fn subscribe_boundary_events(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    subscribe(cx, el, Waits::new())
}

/// Opens the subscriptions of a catching element and of its boundary events.
pub(crate) fn subscribe_own(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    let own = match &el.element().kind {
        ElementKind::ReceiveTask(definition) => {
            let wait = message::evaluate(cx, el, el.index(), definition, true)?;
            Some(Wait::Message(wait))
        }
        _ => match Awaited::of(el.index(), el.element()) {
            Some(awaited) => evaluate(cx, el, &awaited)?,
            None => None,
        },
    };
    subscribe(cx, el, own.into_iter().collect())
}

fn subscribe(cx: &mut Context<'_>, el: &Subject, mut waits: Waits) -> Result<(), Problem> {
    if el.element().boundary_events.is_empty() && waits.is_empty() {
        return Ok(());
    }
    of_boundary_events(cx, el, &mut waits)?;
    check_names(cx, &waits)?;
    open_all(cx, waits);
    Ok(())
}

/// Opens the subscriptions of the events behind an event-based gateway.
pub(crate) fn subscribe_gateway(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    let ElementKind::EventBasedGateway { events } = &el.element().kind else {
        return Ok(());
    };
    let mut waits = Waits::new();
    for index in events.iter().rev() {
        waits.extend(of_event(cx, el, *index)?);
    }
    check_names(cx, &waits)?;
    open_all(cx, waits);
    Ok(())
}

/// Opens the subscriptions of a scope's boundary events and event sub-processes.
pub(crate) fn subscribe_scope(cx: &mut Context<'_>, scope: &Subject) -> Result<(), Problem> {
    let mut waits = Waits::new();
    of_boundary_events(cx, scope, &mut waits)?;
    of_event_sub_processes(cx, scope, &mut waits)?;
    check_names(cx, &waits)?;
    open_all(cx, waits);
    Ok(())
}

/// Evaluates the subscriptions of these events of an element, to be opened later.
pub(crate) fn evaluate_all(
    cx: &mut Context<'_>,
    el: &Subject,
    events: &[ElementIndex],
) -> Result<Waits, Problem> {
    let mut waits = Waits::new();
    for event in events {
        waits.extend(of_event(cx, el, *event)?);
    }
    check_names(cx, &waits)?;
    Ok(waits)
}

/// Evaluates the subscription of one event, or of a receive task behind an event-based gateway.
fn of_event(
    cx: &mut Context<'_>,
    el: &Subject,
    index: ElementIndex,
) -> Result<Option<Wait>, Problem> {
    let element = el.process.graph.element(index);
    if let ElementKind::ReceiveTask(definition) = &element.kind {
        let wait = message::evaluate(cx, el, index, definition, true)?;
        return Ok(Some(Wait::Message(wait)));
    }
    match Awaited::of(index, element) {
        Some(awaited) => evaluate(cx, el, &awaited),
        None => Ok(None),
    }
}

fn of_boundary_events(
    cx: &mut Context<'_>,
    el: &Subject,
    waits: &mut Waits,
) -> Result<(), Problem> {
    let own = waits.len();
    for index in &el.element().boundary_events {
        let element = el.process.graph.element(*index);
        if let Some(awaited) = Awaited::of(*index, element) {
            waits.extend(evaluate(cx, el, &awaited)?);
        }
    }
    // Of several timers due at the same time, the last in the document fires.
    let (timers, others): (Waits, Waits) = waits
        .drain(own..)
        .partition(|wait| matches!(wait, Wait::Timer(_)));
    waits.extend(others);
    waits.extend(timers.into_iter().rev());
    Ok(())
}

fn of_event_sub_processes(
    cx: &mut Context<'_>,
    scope: &Subject,
    waits: &mut Waits,
) -> Result<(), Problem> {
    let graph = &scope.process.graph;
    for index in &scope.element().event_sub_processes {
        let ElementKind::EventSubProcess { start } = graph.element(*index).kind else {
            continue;
        };
        if let Some(awaited) = Awaited::of(start, graph.element(start)) {
            waits.extend(evaluate(cx, scope, &awaited)?);
        }
    }
    Ok(())
}

/// Evaluates a subscription. `None`: the event needs none; thrown errors, for instance, search for their event.
fn evaluate(
    cx: &mut Context<'_>,
    el: &Subject,
    awaited: &Awaited<'_>,
) -> Result<Option<Wait>, Problem> {
    let Awaited {
        target,
        interrupting,
        event,
    } = awaited;
    Ok(match event {
        CatchEvent::Timer(definition) => {
            let owner = Owner::instance(el);
            Some(Wait::Timer(timer::evaluate(
                cx, owner, *target, definition,
            )?))
        }
        CatchEvent::Message(definition) => {
            let wait = message::evaluate(cx, el, *target, definition, *interrupting)?;
            Some(Wait::Message(wait))
        }
        CatchEvent::Signal(definition) => {
            let wait = signal::evaluate(cx, el, *target, definition)?;
            Some(Wait::Signal(wait))
        }
        CatchEvent::Conditional(condition) => {
            let wait = conditional::of_element(el, *target, condition, *interrupting);
            Some(Wait::Conditional(wait))
        }
        _ => None,
    })
}

/// Called when the start event of a scope completes: from here on the scope's boundary events and event sub-processes
/// listen, and see all variables of the start event. A problem belongs to the start event.
pub(crate) fn subscribe_scope_around(
    cx: &mut Context<'_>,
    start_event: &Subject,
) -> Result<(), Problem> {
    let graph = &start_event.process.graph;
    let scope = graph.element(start_event.element().parent);
    if scope.event_sub_processes.is_empty() && scope.boundary_events.is_empty() {
        return Ok(());
    }
    // A scope that is already terminating has closed its subscriptions, and would not close them again.
    let row = cx.state.elements.get(start_event.flow_scope());
    let Some(row) = row.filter(|row| row.state == ElementState::Activated) else {
        return Ok(());
    };
    // A sequence flow has led back into the start event.
    if !start_event.element().incoming.is_empty() && listens(row) {
        return Ok(());
    }
    match Subject::load(cx, start_event.flow_scope()) {
        Some(scope) => subscribe_scope(cx, &scope).map_err(|problem| problem.seen_from(scope.key)),
        None => Ok(()),
    }
}

fn listens(scope: &ElementInstance) -> bool {
    scope.extra.as_ref().is_some_and(|open| {
        !(open.timers.is_empty()
            && open.subscriptions.is_empty()
            && open.signals.is_empty()
            && open.conditions.is_empty())
    })
}

/// Checks for duplicate names. Static names are checked at deployment, but computed ones may turn out to be equal.
fn check_names(cx: &Context<'_>, waits: &[Wait]) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    for wait in waits {
        if let Wait::Message(subscription) = wait {
            let name = &subscription.message_name;
            let open = &cx.state.process_subscriptions;
            let is_open = open.of_element(subscription.element_instance_key, name);
            if is_open.is_some() || !seen.insert(name) {
                return Err(same_name(name));
            }
        }
    }
    Ok(())
}

fn same_name(name: &str) -> Problem {
    Problem::new(
        ErrorType::ExtractValueError,
        format!(
            "Two events of this element wait for the same message '{name}', so the message cannot be assigned to one of them. Give them \
             different message names."
        ),
    )
}

/// Opens messages first, then timers, signals and conditions.
pub(crate) fn open_all(cx: &mut Context<'_>, mut waits: Waits) {
    waits.sort_by_key(|wait| match wait {
        Wait::Message(_) => 0,
        Wait::Timer(_) => 1,
        Wait::Signal(_) => 2,
        Wait::Conditional(_) => 3,
    });
    for wait in waits {
        match wait {
            Wait::Message(value) => message::open(cx, &value),
            Wait::Timer(value) => timer::open(cx, &value),
            Wait::Signal(value) => signal::open(cx, &value),
            Wait::Conditional(value) => conditional::open(cx, &value),
        }
    }
}

/// Closes all subscriptions of an element that ends.
pub(crate) fn unsubscribe(cx: &mut Context<'_>, element_instance_key: Key) {
    close_all(cx, element_instance_key, &|_| true);
}

/// Closes the subscriptions of all event sub-processes after one has interrupted the scope. Boundary events of the scope
/// stay.
pub(crate) fn unsubscribe_event_sub_processes(cx: &mut Context<'_>, scope: &Subject) {
    let boundary_events = &scope.element().boundary_events;
    close_all(cx, scope.key, &|target| {
        !boundary_events.contains(&ElementIndex(target))
    });
}

fn close_all(cx: &mut Context<'_>, element_instance_key: Key, is_of: &dyn Fn(u32) -> bool) {
    let row = cx.state.elements.get(element_instance_key);
    let Some(extra) = row.and_then(|row| row.extra.as_ref()) else {
        return;
    };
    let (timers, messages) = (extra.timers.clone(), extra.subscriptions.clone());
    let (signals, conditions) = (extra.signals.clone(), extra.conditions.clone());
    for key in timers {
        let timer = cx.state.timers.get(key);
        if timer.is_some_and(|timer| is_of(timer.target_element)) {
            timer::close(cx, key);
        }
    }
    for key in messages {
        let subscription = cx.state.process_subscriptions.get(key);
        if subscription.is_some_and(|subscription| is_of(subscription.element)) {
            message::close(cx, key);
        }
    }
    for key in signals {
        let subscription = cx.state.signals.get(key);
        if subscription.is_some_and(|subscription| is_of(subscription.catch_event)) {
            signal::close(cx, key);
        }
    }
    for key in conditions {
        let subscription = cx.state.conditions.get(key);
        if subscription.is_some_and(|subscription| is_of(subscription.catch_event)) {
            conditional::close(cx, key);
        }
    }
}

/// The timer that triggers this element, if one does.
pub(crate) fn timer_of(element: &Element) -> Option<&Timer> {
    match element.caught()? {
        CatchEvent::Timer(timer) => Some(timer),
        _ => None,
    }
}

fn empty_name(what: &str) -> Problem {
    Problem::new(
        ErrorType::ExtractValueError,
        format!(
            "Expected the {what} name not to be empty, but its expression yields an empty text."
        ),
    )
}

fn checked_name(what: &str, name: Arc<str>) -> Result<Arc<str>, Problem> {
    if name.trim_ascii().is_empty() {
        return Err(empty_name(what));
    }
    expression::not_too_long(format_args!("{what} name"), &name)?;
    Ok(name)
}
