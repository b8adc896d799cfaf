//! Execution listeners: jobs that run before an element begins, or before it has ended.
//!
//! The listeners of one event run one after the other, in the order of the model. The element's row counts those that have
//! run ([`crate::state::element_instances::Extra::listeners_run`]), so after an interruption the next one runs.

use std::sync::Arc;

use skep_model::{ElementIndex, ListenerDefinition};
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::value::{JobKind, ListenerEvent};

use super::{Problem, Subject, lifecycle};
use crate::processing::job::create;
use crate::processing::{Context, variable};
use crate::state::ElementState;

/// Whether no listener of the element's current phase has run, so that the work before them is still to be done.
pub(super) fn none_has_run(cx: &mut Context<'_>, el: &Subject, all: &[ListenerDefinition]) -> bool {
    all.is_empty() || how_many_ran(cx, el.key) == 0
}

/// Creates the job of the next listener. False when all have run.
pub(super) fn run_next(
    cx: &mut Context<'_>,
    el: &Subject,
    event: ListenerEvent,
    all: &[ListenerDefinition],
) -> Result<bool, Problem> {
    if all.is_empty() {
        return Ok(false);
    }
    let Some(listener) = all.get(how_many_ran(cx, el.key)) else {
        return Ok(false);
    };
    let (job_type, retries) =
        create::type_and_retries(cx, el, &listener.job_type, &listener.retries)?;
    let mut job = create::value(el, job_type, retries);
    job.extra().kind = JobKind::ExecutionListener(event);
    create::create(cx, &job);
    Ok(true)
}

fn how_many_ran(cx: &mut Context<'_>, key: Key) -> usize {
    let row = cx.state.elements.get(key);
    let extra = row.and_then(|row| row.extra.as_ref());
    extra.map_or(0, |extra| extra.listeners_run as usize)
}

/// Handles a listener's completed job. Its variables become local to the element or, at the end, go to the scope around it.
/// Then the next listener runs, or the element continues.
pub(crate) fn completed(cx: &mut Context<'_>, el: &Subject, variables: &[(Arc<str>, JsonText)]) {
    let Some(row) = cx.state.elements.get(el.key) else {
        return cx.broken(format_args!(
            "{}, which a listener listens to, is gone",
            el.key
        ));
    };
    match row.state {
        ElementState::Activating => {
            for (name, value) in variables {
                variable::set_local(cx, el.key, name, value);
            }
            lifecycle::activate(cx, el);
        }
        ElementState::Completing => {
            let scope = match el.index() {
                ElementIndex::PROCESS => el.key,
                _ => el.flow_scope(),
            };
            for (name, value) in variables {
                variable::set_local(cx, scope, name, value);
            }
            lifecycle::finish(cx, el, None);
        }
        state => cx.broken(format_args!(
            "a listener of {} ran while it is {state:?}",
            el.key
        )),
    }
}
