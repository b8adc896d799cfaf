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
    // An instance that is already cancelled ends when everything in it has ended. Where the engine has failed on it, or on
    // an instance that it called, steps were skipped: its termination begins again.
    let row = cx.state.elements.get(key);
    let terminates = row.is_some_and(|row| row.state == ElementState::Terminating);
    if terminates && !has_banned(cx, el.value.root_process_instance_key) {
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

/// Whether an instance below `root` is banned. If there are too many to look at, one is assumed to be: terminating again
/// changes nothing that is already ending.
fn has_banned(cx: &mut Context<'_>, root: Key) -> bool {
    const LOOKED_AT: usize = 200;
    let banned = cx.state.banned.keys(LOOKED_AT);
    banned.len() == LOOKED_AT
        || banned.into_iter().any(|key| {
            let row = cx.state.elements.get(key);
            row.is_some_and(|row| row.root_process_instance_key() == root)
        })
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
