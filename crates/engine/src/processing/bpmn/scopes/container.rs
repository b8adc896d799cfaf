//! Elements with children: the process, sub-processes, and every other element that runs elements within itself.
//!
//! A child has the same life cycle as every element ([`crate::processing::bpmn::lifecycle`]). When a child starts or ends,
//! the scope around it is asked; its reaction, and when it is done, are defined by a [`Container`]. A scope completes when
//! nothing in it is active or about to be, and it terminates when its last child has terminated.

use skep_model::{CatchEvent, ElementIndex, ElementKind, ThrowEvent};
use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceBatchIntent;
use skep_protocol::value::{ProcessInstanceBatchValue, ProcessInstanceValue};

use crate::processing::Context;
use crate::processing::bpmn::{
    Ending, Problem, Step, Subject, behavior_of, flows, incidents, lifecycle, step,
};
use crate::state::ElementState;

/// The behavior specific to elements with children.
pub(crate) trait Container: Sync {
    /// `child` is activating: provides what it gets from its scope, before its input mappings. Repeated when the activation
    /// is retried after an incident.
    fn child_activating(&self, _cx: &mut Context<'_>, _child: &Subject) -> Result<(), Problem> {
        Ok(())
    }

    /// `child` is about to complete, and its output mappings are applied. A problem becomes an incident of the child.
    fn child_completing(
        &self,
        _cx: &mut Context<'_>,
        _child: &Subject,
    ) -> Result<Verdict, Problem> {
        Ok(Verdict::GoOn)
    }

    /// `child` has completed, nothing follows it, and its row is gone. Not called if it has fulfilled the scope.
    fn child_completed(&self, _cx: &mut Context<'_>, _child: &Subject) {}

    /// No child is active, and nothing in the scope is about to be activated.
    fn at_rest(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest;

    /// The same, if the last child was terminated.
    fn at_rest_after_termination(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        self.at_rest(cx, scope)
    }
}

/// Effect of a child's completion on its scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    GoOn,
    /// The scope is fulfilled: everything still active in it ends, and then it completes.
    Fulfilled,
}

/// Next step of a scope at rest.
#[derive(Debug, PartialEq)]
pub(crate) enum Rest {
    /// It completes.
    Done,
    /// It waits for something from outside, or for a queued step.
    Waits,
    /// Nothing in it can ever continue.
    Stuck(Problem),
}

/// The container of `child`; none for the process.
fn around(child: &Subject) -> Option<&'static dyn Container> {
    let element = child.element();
    // Compensation handlers run in the scope of the event that threw the compensation, whatever kind of scope that is.
    let compensates = element.is_for_compensation
        || matches!(element.caught(), Some(CatchEvent::Compensation { .. }));
    if child.index() == ElementIndex::PROCESS || compensates {
        return None;
    }
    let scope = child.process.graph.element(element.parent);
    behavior_of(&scope.kind).as_container()
}

pub(crate) fn child_activating(cx: &mut Context<'_>, child: &Subject) -> Result<(), Problem> {
    child_began(cx, child);
    match around(child) {
        Some(container) => container.child_activating(cx, child),
        None => Ok(()),
    }
}

/// `child` is active in a scope that may have been stuck ([`Rest::Stuck`]): its tokens no longer wait in vain. If they still do when
/// `child` has ended, there is a new incident.
pub(crate) fn child_began(cx: &mut Context<'_>, child: &Subject) {
    let scope = child.process.graph.element(child.element().parent);
    // Tokens wait only where sequence flows lead, and none leads out of an event sub-process.
    let brings_tokens = !matches!(
        (&scope.kind, &child.element().kind),
        (
            ElementKind::MultiInstanceBody(_) | ElementKind::AdHocSubProcess(_),
            _
        ) | (_, ElementKind::EventSubProcess { .. })
    );
    if brings_tokens && has_incident(cx, child.flow_scope()) {
        incidents::resolve_of_rest(cx, child.flow_scope());
    }
}

pub(crate) fn child_completing(cx: &mut Context<'_>, child: &Subject) -> Result<Verdict, Problem> {
    if let ElementKind::EndEvent(ThrowEvent::Terminate) = &child.element().kind {
        return Ok(Verdict::Fulfilled);
    }
    match around(child) {
        Some(container) => container.child_completing(cx, child),
        None => Ok(Verdict::GoOn),
    }
}

/// Handles the completion of `child`, which no sequence flow leaves.
pub(crate) fn child_completed(cx: &mut Context<'_>, child: &Subject, verdict: Verdict) {
    match (verdict, around(child)) {
        (Verdict::GoOn, Some(container)) => container.child_completed(cx, child),
        (Verdict::GoOn, None) => {}
        // This also notifies the scope if nothing is left in it.
        (Verdict::Fulfilled, _) => return end_rest(cx, child, child.flow_scope()),
    }
    child_ended(cx, child.flow_scope());
}

/// Whether the scope is terminating: everything in it ends, and then the scope itself.
pub(crate) fn is_terminating(cx: &mut Context<'_>, scope: Key) -> bool {
    let row = cx.state.elements.get(scope);
    row.is_some_and(|row| row.state == ElementState::Terminating)
}

/// Called when a child of `scope` has ended without a successor, or a token has ended: the scope may be done.
pub(crate) fn child_ended(cx: &mut Context<'_>, scope: Key) {
    ended(cx, scope, |container, cx, scope| {
        container.at_rest(cx, scope)
    });
}

/// Called when a child of `scope` was terminated.
pub(crate) fn child_terminated(cx: &mut Context<'_>, scope: Key) {
    ended(cx, scope, |container, cx, scope| {
        container.at_rest_after_termination(cx, scope)
    });
}

type AtRest = fn(&dyn Container, &mut Context<'_>, &Subject) -> Rest;

fn ended(cx: &mut Context<'_>, scope: Key, at_rest: AtRest) {
    // The process has no scope around it.
    if scope.is_none() {
        return;
    }
    let Some(row) = cx.state.elements.get(scope) else {
        return cx.broken(format_args!("the scope {scope} of a child is gone"));
    };
    if row.active_children > 0 {
        return;
    }
    let interrupted_within = row.interrupted_within();
    match row.state {
        ElementState::Activated if row.goes_on() => {}
        ElementState::Activated => match interrupted_within {
            Some(event_sub_process) => step::activate_triggered(cx, event_sub_process),
            // The interrupting event ends it.
            None if row.is_interrupted() => {}
            None => rest(cx, scope, at_rest),
        },
        ElementState::Terminating => lifecycle::terminated(cx, scope),
        ElementState::Activating | ElementState::Completing => {}
    }
}

fn rest(cx: &mut Context<'_>, scope: Key, at_rest: AtRest) {
    let Some(el) = Subject::load(cx, scope) else {
        return;
    };
    let Some(container) = behavior_of(&el.element().kind).as_container() else {
        return cx.broken(format_args!("{scope} has had a child and is no scope"));
    };
    match at_rest(container, cx, &el) {
        Rest::Done => cx.steps.push(Step::Complete(scope)),
        Rest::Waits => {}
        // One incident is enough.
        Rest::Stuck(_) if has_incident(cx, scope) => {}
        Rest::Stuck(problem) => incidents::raise(cx, &el, problem),
    }
}

fn has_incident(cx: &mut Context<'_>, key: Key) -> bool {
    let row = cx.state.elements.get(key);
    let extra = row.and_then(|row| row.extra.as_ref());
    extra.is_some_and(|extra| !extra.incidents.is_empty())
}

/// Ends everything left in `scope`; the scope itself then completes. Tokens in transit end when their turn comes (see
/// [`crate::processing::bpmn::lifecycle::activating`]). `of`: an element in the scope.
fn end_rest(cx: &mut Context<'_>, of: &Subject, scope: Key) {
    let value = ProcessInstanceBatchValue {
        process_instance_key: of.value.process_instance_key,
        batch_element_instance_key: scope,
        index: Key::NONE,
    };
    let key = cx.next_key();
    cx.event(key, ProcessInstanceBatchIntent::Terminated, &value);
    end_children(cx, of, scope);
}

/// Ends everything active in `scope`, and the tokens that wait in it. `of`: an element in the scope, or the scope itself.
pub(crate) fn end_children(cx: &mut Context<'_>, of: &Subject, scope: Key) {
    let inside = ProcessInstanceValue {
        flow_scope_key: scope,
        ..of.value.clone()
    };
    let extra = cx.state.elements.get(scope).map(|row| row.extra.as_ref());
    let joins: Vec<_> = extra
        .flatten()
        .into_iter()
        .flat_map(|extra| extra.joins.iter())
        .collect();
    if !joins.is_empty() {
        incidents::resolve_of_rest(cx, scope);
    }
    for (_, flow, count) in joins {
        for _ in 0..count {
            flows::delete(cx, &inside, flow);
        }
    }
    let row = cx.state.elements.get(scope);
    let Some(newest) = row.and_then(|row| row.first_child.some()) else {
        child_ended(cx, scope);
        return;
    };
    // Children newer than this follow an interruption and must stay.
    cx.steps.push(Step::TerminateChildren {
        scope,
        next: Key::NONE,
        last: newest,
    });
}

/// Terminates a scope: first its children, however many there are.
pub(crate) fn terminate_children(cx: &mut Context<'_>, el: &Subject) -> Ending {
    let row = cx.state.elements.get(el.key);
    if row.is_none_or(|row| row.active_children == 0) {
        return Ending::Now;
    }
    terminate_all(cx, el.key);
    Ending::Waits
}

fn terminate_all(cx: &mut Context<'_>, scope: Key) {
    cx.steps.push(Step::TerminateChildren {
        scope,
        next: Key::NONE,
        last: Key::NONE,
    });
}
