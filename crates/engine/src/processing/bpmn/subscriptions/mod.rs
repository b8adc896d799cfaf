//! What instances and definitions wait for: timers and messages, one file per kind.
//!
//! Everything is evaluated before anything is opened, so that a failing expression leaves no half-opened subscriptions.

pub(crate) mod message;
pub(crate) mod start;
pub(crate) mod timer;

use std::collections::HashSet;
use std::sync::Arc;

use skep_model::{CatchEvent, Element, ElementIndex, ElementKind, Timer};
use skep_protocol::Key;
use skep_protocol::value::{ErrorType, ProcessMessageSubscriptionValue, TimerValue};
use smallvec::SmallVec;

use super::{Problem, Subject};
use crate::processing::Context;

/// Who waits, as records name it.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    /// The instance that waits for itself, for its boundary events, or, as a scope, for its event sub-processes. None: the
    /// definition, for its start events.
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

/// Something to wait for, evaluated and ready to be opened.
pub(crate) enum Wait {
    Timer(TimerValue),
    Message(ProcessMessageSubscriptionValue),
}

type Waits = SmallVec<[Wait; 2]>;

/// What an event is triggered by, and whether it then ends what it is attached to.
pub(crate) struct Awaited<'a> {
    pub target: ElementIndex,
    pub interrupting: bool,
    pub event: &'a CatchEvent,
}

impl<'a> Awaited<'a> {
    /// What triggers this element, if it is an event that something triggers.
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

/// Opens what the boundary events of an activity wait for.
pub(crate) fn subscribe_boundary_events(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    subscribe(cx, el, Waits::new())
}

/// Opens what a catching element and its boundary events wait for.
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
    let boundary_events = &el.element().boundary_events;
    if boundary_events.is_empty() && waits.is_empty() {
        return Ok(());
    }
    let own = waits.len();
    for index in boundary_events {
        let element = el.process.graph.element(*index);
        if let Some(awaited) = Awaited::of(*index, element) {
            waits.extend(evaluate(cx, el, &awaited)?);
        }
    }
    check_names(&waits)?;
    // Of timers that fall due together, the later in the document fires.
    if let Some(boundary) = waits.get_mut(own..) {
        boundary.sort_by_key(|wait| matches!(wait, Wait::Timer(_)));
        let timers = boundary.partition_point(|wait| !matches!(wait, Wait::Timer(_)));
        boundary[timers..].reverse();
    }
    open_all(cx, waits);
    Ok(())
}

/// `None`: the event waits for nothing that would have to be opened; errors, for instance, look for it.
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
        _ => None,
    })
}

/// Static names are checked at deployment; computed ones can turn out the same.
fn check_names(waits: &[Wait]) -> Result<(), Problem> {
    let names = waits.iter().filter_map(|wait| match wait {
        Wait::Message(subscription) => Some(&subscription.message_name),
        Wait::Timer(_) => None,
    });
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Problem::new(
                ErrorType::ExtractValueError,
                format!(
                    "Two events of this element wait for the same message '{name}', so it could not be told which one it \
                     triggers. Give them different message names."
                ),
            ));
        }
    }
    Ok(())
}

/// Messages first, then timers.
fn open_all(cx: &mut Context<'_>, waits: Waits) {
    let (messages, timers): (Waits, Waits) = waits
        .into_iter()
        .partition(|wait| matches!(wait, Wait::Message(_)));
    for wait in messages.into_iter().chain(timers) {
        match wait {
            Wait::Timer(value) => timer::open(cx, &value),
            Wait::Message(value) => message::open(cx, &value),
        }
    }
}

/// The element ends: nothing it waits for is needed any more.
pub(crate) fn unsubscribe(cx: &mut Context<'_>, element_instance_key: Key) {
    let Some(extra) = cx
        .state
        .elements
        .get(element_instance_key)
        .and_then(|row| row.extra.as_ref())
    else {
        return;
    };
    let (timers, messages) = (extra.timers.clone(), extra.subscriptions.clone());
    for key in timers {
        timer::close(cx, key);
    }
    for key in messages {
        message::close(cx, key);
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
    match name.trim_ascii().is_empty() {
        true => Err(empty_name(what)),
        false => Ok(name),
    }
}
