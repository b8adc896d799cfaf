//! Incidents of elements: raised when an element cannot continue, closed when the element ends. Client commands are in
//! `incident_commands.rs`.

use skep_protocol::Key;
use skep_protocol::intent::IncidentIntent;
use skep_protocol::value::{ErrorType, IncidentValue};

use super::{Problem, Subject};
use crate::processing::Context;
use crate::state::incidents::IncidentRow;

/// Raises an incident: the element cannot continue until someone resolves it.
pub(crate) fn raise(cx: &mut Context<'_>, el: &Subject, problem: Problem) {
    raise_for_job(cx, el, problem, Key::NONE);
}

pub(crate) fn raise_for_job(cx: &mut Context<'_>, el: &Subject, problem: Problem, job_key: Key) {
    let value = IncidentValue {
        error_type: problem.error_type,
        error_message: problem.message.into(),
        process_definition_key: el.process.key,
        process_instance_key: el.value.process_instance_key,
        root_process_instance_key: el.value.root_process_instance_key,
        element: el.value.element,
        element_instance_key: el.key,
        job_key,
        variable_scope_key: problem.variable_scope.some().unwrap_or(el.key),
    };
    let key = cx.next_key();
    cx.event(key, IncidentIntent::Created, &value);
}

/// Closes the incidents of an element that ends for another reason.
pub(crate) fn resolve_all(cx: &mut Context<'_>, element_instance_key: Key) {
    resolve_some(cx, element_instance_key, |_| true);
}

/// Closes those of a job that its element no longer needs.
pub(crate) fn resolve_of_job(cx: &mut Context<'_>, element_instance_key: Key, job_key: Key) {
    resolve_some(cx, element_instance_key, |row| row.job_key == job_key);
}

/// Closes those of a scope that was at rest and could not complete: something is active in it again, or its tokens are gone.
pub(crate) fn resolve_of_rest(cx: &mut Context<'_>, scope: Key) {
    resolve_some(cx, scope, |row| {
        row.error_type == ErrorType::Unknown && row.job_key.is_none()
    });
}

fn resolve_some(
    cx: &mut Context<'_>,
    element_instance_key: Key,
    which: impl Fn(&IncidentRow) -> bool,
) {
    let row = cx.state.elements.get(element_instance_key);
    let extra = row.and_then(|row| row.extra.as_ref());
    let incidents = extra.map(|extra| extra.incidents.clone());
    for key in incidents.unwrap_or_default() {
        let row = cx.state.incidents.get(key).filter(|row| which(row));
        if let Some(value) = row.map(|row| row.value()) {
            cx.event(key, IncidentIntent::Resolved, &value);
        }
    }
}
