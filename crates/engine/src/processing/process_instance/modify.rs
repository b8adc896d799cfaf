//! PROCESS_INSTANCE_MODIFICATION MODIFY: an operator moves a running instance to other elements.
//!
//! This module checks all instructions and makes a plan: the scopes in which elements are activated, and the element
//! instances that terminate. The plan is carried out in steps ([`crate::processing::bpmn::modification`]).

mod plan;
mod search;

use skep_model::ElementIndex;
use skep_protocol::command::ModifyProcessInstance;
use skep_protocol::intent::ProcessInstanceModificationIntent as Intent;
use skep_protocol::value::Step;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use crate::processing::bpmn::{Subject, modification};
use crate::processing::{Context, Outcome, reject};

const INTENT: &str = "MODIFY";

/// Maximum number of instructions of one command, and of the element instances that they affect.
const MAX_INSTRUCTIONS: usize = 10_000;

pub(crate) fn process(cx: &mut Context<'_>, command: &ModifyProcessInstance) -> Outcome {
    let key = command.process_instance_key;
    let found = Subject::load(cx, key).filter(|el| el.index() == ElementIndex::PROCESS);
    let Some(instance) = found else {
        return Err(not_found(key));
    };
    let row = cx.state.elements.get(key);
    if !row.is_some_and(modification::is_open) {
        return Err(invalid_state(
            key,
            "it has not begun yet, or is about to end",
        ));
    }
    if cx.state.modifications.get(key).is_some() {
        return Err(invalid_state(
            key,
            "an earlier modification of it is still being carried out. Send the command again a little later",
        ));
    }
    let plan = plan::make(cx, &instance, command)?;
    cx.event(key, Intent::Begun, &plan);
    cx.steps.push(Step::Modify {
        instance: key,
        next: 0,
    });
    Ok(Some(Response::Empty))
}

pub(crate) fn not_found(key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        INTENT,
        format!(
            "Expected to modify process instance but no process instance found with key '{key}'"
        ),
    )
}

fn invalid_state(key: Key, why: &str) -> Rejection {
    let reason = format!("Expected to modify process instance with key '{key}', but {why}");
    reject(RejectionType::InvalidState, INTENT, reason)
}

/// The rejection of a command with an instruction that cannot be carried out.
fn refused(instance: &Subject, why: impl std::fmt::Display) -> Rejection {
    let process = &instance.process.bpmn_process_id;
    let reason = format!("Expected to modify instance of process '{process}', but {why}");
    reject(RejectionType::InvalidArgument, INTENT, reason)
}
