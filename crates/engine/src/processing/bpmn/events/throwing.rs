//! Signals and escalations, thrown by intermediate and end events.

use skep_model::{ElementKind, Signal, TextValue, ThrowEvent};
use skep_protocol::Key;
use skep_protocol::intent::EscalationIntent;
use skep_protocol::value::{EscalationValue, Step};

use crate::processing::bpmn::catching::{self, Thrown};
use crate::processing::bpmn::{
    ElementBehavior, Next, Problem, Subject, incidents, lifecycle, subscriptions, triggers,
};
use crate::processing::{Context, expression, signal};
use crate::remote::{BroadcastedSignal, Variables};

pub(crate) struct Throwing;

impl ElementBehavior for Throwing {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let (ElementKind::EndEvent(event) | ElementKind::IntermediateThrowEvent(event)) =
            &el.element().kind
        else {
            return Err(crate::processing::bpmn::wrong_kind(cx, el));
        };
        match event {
            ThrowEvent::Signal(definition) => signal(cx, el, definition),
            ThrowEvent::Escalation { code } => escalation(cx, el, code),
            _ => Err(crate::processing::bpmn::wrong_kind(cx, el)),
        }
    }

    /// Resumes an event whose signal could not be thrown, or whose step was deferred.
    fn resume(&self, cx: &mut Context<'_>, el: &Subject) {
        cx.steps.push(match &el.element().kind {
            ElementKind::EndEvent(ThrowEvent::Signal(_))
            | ElementKind::IntermediateThrowEvent(ThrowEvent::Signal(_)) => {
                Step::ThrowSignal(el.key)
            }
            _ => Step::Complete(el.key),
        });
    }
}

/// Activates the event. Its signal is thrown when its turn comes: whatever begins to listen meanwhile receives it.
fn signal(cx: &mut Context<'_>, el: &Subject, definition: &Signal) -> Result<Next, Problem> {
    subscriptions::signal::name(cx, definition, el.key)?;
    lifecycle::activated(cx, el);
    cx.steps.push(Step::ThrowSignal(el.key));
    Ok(Next::Wait)
}

/// Throws the signal, with the event's local variables. The event then completes.
pub(crate) fn signal_now(cx: &mut Context<'_>, key: Key) {
    let Some(el) = Subject::load(cx, key) else {
        return;
    };
    let (ElementKind::EndEvent(ThrowEvent::Signal(definition))
    | ElementKind::IntermediateThrowEvent(ThrowEvent::Signal(definition))) = &el.element().kind
    else {
        return cx.broken(format_args!("{key} throws no signal"));
    };
    // Its variables may have changed since it was activated.
    let name = match subscriptions::signal::name(cx, definition, key) {
        Ok(name) => name,
        Err(problem) => return incidents::raise(cx, &el, problem),
    };
    let own = cx.state.elements.get(key);
    let own = own.into_iter().flat_map(|row| row.variables.iter());
    let variables: Variables = own
        .map(|variable| (variable.name.clone(), variable.value().clone()))
        .collect();
    cx.steps.push(Step::Complete(key));
    let signal = BroadcastedSignal {
        tenant: el.process.tenant.clone(),
        name,
        variables,
    };
    signal::broadcast(cx, signal);
}

/// Whether the step completes an event that has thrown its signal. Such a step is not deferred: resuming it would throw
/// again.
pub(crate) fn has_thrown(cx: &mut Context<'_>, step: &Step) -> bool {
    let Step::Complete(key) = step else {
        return false;
    };
    let el = Subject::load(cx, *key);
    el.is_some_and(|el| {
        matches!(
            el.element().kind,
            ElementKind::EndEvent(ThrowEvent::Signal(_))
                | ElementKind::IntermediateThrowEvent(ThrowEvent::Signal(_))
        )
    })
}

/// Throws an escalation. It need not be caught.
fn escalation(cx: &mut Context<'_>, el: &Subject, code: &TextValue) -> Result<Next, Problem> {
    let code = expression::text(cx, code, el.key)?;
    lifecycle::activated(cx, el);
    let catcher = catching::find(cx, el.flow_scope(), Thrown::Escalation(&code));
    let mut value = EscalationValue {
        process_instance_key: el.value.process_instance_key,
        process_definition_key: el.process.key,
        escalation_code: code,
        throw_element: el.value.element,
        catch_element: None,
    };
    let Some(catcher) = catcher else {
        let key = cx.next_key();
        cx.event(key, EscalationIntent::NotEscalated, &value);
        return Ok(Next::Complete);
    };
    let (element, event) = (&catcher.element, catcher.event);
    value.catch_element = Some((element.process.key, event.0));
    triggers::trigger(cx, element, event, Variables::new());
    let key = cx.next_key();
    cx.event(key, EscalationIntent::Escalated, &value);
    // An interrupting event ends this event too.
    Ok(if triggers::interrupts(element, event) {
        Next::Wait
    } else {
        Next::Complete
    })
}
