//! PROCESS_INSTANCE CANCEL.

use skep_model::ElementIndex;
use skep_protocol::intent::ProcessInstanceIntent;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use crate::processing::bpmn::{Step, Subject};
use crate::processing::{Context, Outcome, reject};
use crate::state::ElementState;

pub(crate) fn process(cx: &mut Context<'_>, key: Key) -> Outcome {
    let found = Subject::load(cx, key).filter(|el| el.index() == ElementIndex::PROCESS);
    let Some(el) = found else {
        return Err(not_found(key));
    };
    // An instance that is already cancelled ends when everything in it has ended. If anything is banned, termination is
    // triggered again.
    let row = cx.state.elements.get(key);
    let terminates = row.is_some_and(|row| row.state == ElementState::Terminating);
    if terminates && cx.state.banned.is_empty() {
        return Err(not_found(key));
    }
    if el.value.parent_process_instance_key.some().is_some() {
        return Err(reject(
            RejectionType::InvalidState,
            "CANCEL",
            format!(
                "Expected to cancel a process instance with key '{key}', but it is created by a parent process \
                 instance. Cancel the root process instance '{}' instead.",
                el.value.root_process_instance_key
            ),
        ));
    }
    cx.event(key, ProcessInstanceIntent::Canceling, &el.value);
    cx.steps.push(Step::Terminate(key));
    Ok(Some(Response::Empty))
}

pub(crate) fn not_found(key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        "CANCEL",
        format!(
            "Expected to cancel a process instance with key '{key}', but no such process was found"
        ),
    )
}
