//! GLOBAL_LISTENER CREATE, UPDATE and DELETE: task listeners for the user tasks of all processes, on all partitions.

use skep_protocol::intent::GlobalListenerIntent as Intent;
use skep_protocol::value::GlobalListenerValue;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::deployment::distribution;
use super::{Context, Outcome, reject};
use crate::remote::Distributed;

/// Maximum number of listeners: all of them may run for each event of each user task.
const MAX_LISTENERS: usize = 1000;

pub(crate) fn create(cx: &mut Context<'_>, value: &GlobalListenerValue) -> Outcome {
    check("CREATE", value)?;
    let id = &value.id;
    if cx.state.global_listeners.find(id).is_some() {
        return Err(reject(
            RejectionType::AlreadyExists,
            "CREATE",
            format!(
                "Expected to create a global listener with id '{id}', but there is one already"
            ),
        ));
    }
    if cx.state.global_listeners.len() >= MAX_LISTENERS {
        return Err(reject(
            RejectionType::InvalidState,
            "CREATE",
            format!(
                "Expected to create a global listener with id '{id}', but there are {MAX_LISTENERS} already. Delete some first"
            ),
        ));
    }
    let key = cx.new_key();
    Ok(everywhere(cx, key, Intent::Created, value, true))
}

pub(crate) fn update(cx: &mut Context<'_>, value: &GlobalListenerValue) -> Outcome {
    check("UPDATE", value)?;
    let found = cx.state.global_listeners.find(&value.id);
    let (key, _) = found.ok_or_else(|| not_found("UPDATE", "update", &value.id))?;
    Ok(everywhere(cx, key, Intent::Updated, value, true))
}

pub(crate) fn delete(cx: &mut Context<'_>, id: &str) -> Outcome {
    let found = cx.state.global_listeners.find(id);
    let (key, value) = found.ok_or_else(|| not_found("DELETE", "delete", id))?;
    let value = value.clone();
    Ok(everywhere(cx, key, Intent::Deleted, &value, false))
}

/// Writes the event here, and on the other partitions.
fn everywhere(
    cx: &mut Context<'_>,
    key: Key,
    event: Intent,
    value: &GlobalListenerValue,
    answers: bool,
) -> Option<Response> {
    cx.event(key, event, value);
    let answer = if answers {
        Response::GlobalListener(value.clone())
    } else {
        Response::Empty
    };
    let listener = value.clone();
    let command = match event {
        Intent::Deleted => Distributed::DeleteGlobalListener { key, listener },
        _ => Distributed::SetGlobalListener { key, listener },
    };
    let distribution = cx.next_key();
    distribution::start(cx, distribution, command, answer)
}

/// Applies a change on the other partitions, which follow the first one.
pub(crate) fn set(cx: &mut Context<'_>, key: Key, value: &GlobalListenerValue) {
    let event = match cx.state.global_listeners.find(&value.id) {
        Some(_) => Intent::Updated,
        None => Intent::Created,
    };
    cx.event(key, event, value);
}

pub(crate) fn remove(cx: &mut Context<'_>, key: Key, value: &GlobalListenerValue) {
    cx.event(key, Intent::Deleted, value);
}

fn check(intent: &'static str, value: &GlobalListenerValue) -> Result<(), Rejection> {
    let why = if value.id.trim().is_empty() {
        "its id is empty"
    } else if value.job_type.trim().is_empty() {
        "its job type is empty"
    } else if value.events.is_empty() {
        "it listens to no event"
    } else if value.retries < 1 {
        "its retries are less than 1"
    } else {
        return Ok(());
    };
    Err(reject(
        RejectionType::InvalidArgument,
        intent,
        format!("Expected a global listener that can run, but {why}"),
    ))
}

fn not_found(intent: &'static str, verb: &str, id: &str) -> Rejection {
    reject(
        RejectionType::NotFound,
        intent,
        format!(
            "Expected to {verb} global listener with id '{id}', but no such global listener was found"
        ),
    )
}
