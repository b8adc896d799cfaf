//! From a request's body and path to what the broker is asked.

mod ad_hoc;
mod batch_operations;
pub(super) mod cluster_variables;
mod conditionals;
mod decisions;
pub(super) mod documents;
mod fields;
mod global_listeners;
mod job_result;
mod jobs;
mod messages;
mod migration;
mod modification;
mod process_instances;
mod signals;
mod system;
mod user_tasks;

use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use serde::Deserialize;
use skep_protocol::command::{ActivateJobs, Command, Request};
use skep_protocol::{Failure, Key};
use skep_query::{Entity, QueryError};

use self::fields::Object;
use super::encode::Echo;
use super::problem::Problem;
use super::queries::{self, Asked};
use super::routes::Op;
use crate::call::FrontEnd;
use crate::check::invalid;
use crate::json_errors;

/// What a request asks of the broker.
#[derive(Debug)]
pub enum Decoded {
    Command {
        request: Request,
        timeout: Duration,
        /// The client asked to wait for something that takes its time, so that the wait holds no slot.
        waits: bool,
        echo: Echo,
    },
    Activate {
        command: ActivateJobs,
        wait: Duration,
    },
    Stream(ActivateJobs),
    /// A command about something that must be there to be searched.
    Of {
        entity: &'static Entity,
        /// The name of the field that has this key.
        by: &'static str,
        key: Key,
        command: Box<Decoded>,
    },
    /// Answered from secondary storage.
    Query(Box<Asked>),
}

/// Decodes the body of an operation that takes JSON.
pub fn decode(
    op: Op,
    parameter: Option<&str>,
    body: &Bytes,
    parts: &Parts,
    front: &FrontEnd,
) -> Result<Decoded, Problem> {
    let text = std::str::from_utf8(body);
    let text =
        text.or_else(|e| invalid(format!("The request body is not UTF-8: {e}. Send UTF-8.")))?;
    if let Some(asked) = queries::decode(op, parameter, text, parts) {
        // Also where nothing would have to be looked for, or the question is wrong.
        if front.storage.is_off() {
            return Err(QueryError::Disabled.into());
        }
        return asked.map(|asked| Decoded::Query(Box::new(asked)));
    }
    let decoded = match op {
        Op::CreateProcessInstance => process_instances::create(text, front),
        Op::CancelProcessInstance => {
            process_instances::cancel(key("processInstanceKey", parameter)?, text, front)
        }
        Op::MigrateProcessInstance => {
            migration::migrate(key("processInstanceKey", parameter)?, text, front)
        }
        Op::ModifyProcessInstance => {
            modification::modify(key("processInstanceKey", parameter)?, text, front)
        }
        Op::ActivateJobs => jobs::activate(text, front),
        Op::StreamJobs => jobs::stream(text),
        Op::CompleteJob => jobs::complete(key("jobKey", parameter)?, text, front),
        Op::FailJob => jobs::fail(key("jobKey", parameter)?, text, front),
        Op::ThrowError => jobs::throw_error(key("jobKey", parameter)?, text, front),
        Op::UpdateJob => jobs::update(key("jobKey", parameter)?, text, front),
        Op::PublishMessage => messages::publish(text, front),
        Op::CorrelateMessage => messages::correlate(text, front),
        Op::BroadcastSignal => signals::broadcast(text, front),
        Op::ResolveIncident => {
            system::resolve_incident(key("incidentKey", parameter)?, text, front)
        }
        Op::ActivateAdHoc => {
            ad_hoc::activate(key("adHocSubProcessInstanceKey", parameter)?, text, front)
        }
        Op::SetVariables => {
            process_instances::set_variables(key("elementInstanceKey", parameter)?, text, front)
        }
        Op::DeleteResource => system::delete_resource(key("resourceKey", parameter)?, text, front),
        Op::AssignUserTask => user_tasks::assign(key("userTaskKey", parameter)?, text, front),
        Op::UnassignUserTask => user_tasks::unassign(key("userTaskKey", parameter)?, text, front),
        Op::UpdateUserTask => user_tasks::update(key("userTaskKey", parameter)?, text, front),
        Op::CompleteUserTask => user_tasks::complete(key("userTaskKey", parameter)?, text, front),
        Op::CreateGlobalTaskListener => global_listeners::create(text, front),
        Op::UpdateGlobalTaskListener => {
            global_listeners::update(parameter.unwrap_or_default(), text, front)
        }
        Op::DeleteGlobalTaskListener => {
            global_listeners::delete(parameter.unwrap_or_default(), text, front)
        }
        Op::PinClock => system::pin_clock(text, front),
        Op::ResetClock => system::reset_clock(text, front),
        Op::EvaluateExpression => system::evaluate_expression(text, front),
        Op::EvaluateDecision => decisions::evaluate(text, front),
        op if op.is_of_batch_operations() => batch_operations::decode(op, parameter, text, front),
        Op::EvaluateConditionals => conditionals::evaluate(text, front),
        Op::CreateGlobalClusterVariable => cluster_variables::create(None, text, front),
        Op::CreateTenantClusterVariable => cluster_variables::create(parameter, text, front),
        Op::UpdateGlobalClusterVariable => {
            cluster_variables::update(parameter.unwrap_or_default(), None, text, front)
        }
        Op::UpdateTenantClusterVariable => {
            let name = cluster_variables::name_in(parts);
            cluster_variables::update(&name, parameter, text, front)
        }
        Op::DeleteGlobalClusterVariable => {
            cluster_variables::delete(parameter.unwrap_or_default(), None, text, front)
        }
        Op::DeleteTenantClusterVariable => {
            let name = cluster_variables::name_in(parts);
            cluster_variables::delete(&name, parameter, text, front)
        }
        _ => Err(Failure::Internal(format!(
            "The operation {op:?} takes no JSON body."
        ))),
    };
    Ok(decoded?)
}

fn command(command: Command, front: &FrontEnd) -> Decoded {
    referenced(command, None, front)
}

fn referenced(command: Command, operation_reference: Option<u64>, front: &FrontEnd) -> Decoded {
    Decoded::Command {
        request: Request {
            operation_reference,
            ..command.into()
        },
        timeout: front.config.request_timeout,
        waits: false,
        echo: Echo::Nothing,
    }
}

/// Keys in the path are decimal digits.
pub(super) fn key(name: &str, text: Option<&str>) -> Result<Key, Failure> {
    let text = text.unwrap_or_default();
    fields::parse_key(text).map_or_else(
        || {
            invalid(format!(
                "The path names '{text}' as {name}, which is no key: a key is a decimal number of 64 bits."
            ))
        },
        Ok,
    )
}

/// Reads a body that has to be there.
fn required<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    if text.trim_ascii().is_empty() {
        return invalid("The request body is missing. Send a JSON object.");
    }
    parse::<Object<T>>(text).map(|Object(body)| body)
}

/// Reads a body that may be absent, which means an empty object.
fn optional<'a, T: Deserialize<'a> + Default>(text: &'a str) -> Result<T, Failure> {
    if text.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    let body = parse::<Option<Object<T>>>(text)?;
    Ok(body.unwrap_or_default().0)
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    serde_json::from_str(text).or_else(|error| invalid(explain::<T>(text, &error)))
}

/// Says what is wrong and where. Reads the body a second time, as only a failing one pays for knowing the path.
fn explain<'a, T: Deserialize<'a>>(text: &'a str, error: &serde_json::Error) -> String {
    if !error.is_data() {
        return format!("The request body is not valid JSON: {error}. Send one JSON object.");
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let path = match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Err(e) => e.path().to_string(),
        Ok(_) => String::new(),
    };
    let error = error.to_string();
    let said = json_errors::plain(json_errors::without_position(&error));
    match path.as_str() {
        "" | "." => format!("The request body is not as this operation takes it: {said}."),
        path => format!("The field '{path}' is not as this operation takes it: {said}."),
    }
}
