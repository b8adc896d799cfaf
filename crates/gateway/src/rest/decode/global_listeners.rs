//! Task listeners for the user tasks of all processes.

use serde::Deserialize;
use skep_protocol::Failure;
use skep_protocol::command::Command;
use skep_protocol::value::{GlobalListenerEvent, GlobalListenerValue};

use super::fields::{Text, named, present, said};
use super::{Decoded, command, optional, required};
use crate::call::FrontEnd;
use crate::check::{self, invalid};
use crate::rest::encode::Echo;
use crate::rest::operations::path::Name;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Creation<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    job_type: Option<Text<'a>>,
    retries: Option<i32>,
    #[serde(borrow)]
    event_types: Option<Vec<Text<'a>>>,
    after_non_global: Option<bool>,
    priority: Option<i32>,
}

pub fn create(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let mut body: Creation = required(text)?;
    let id = said(body.id.take(), "id", "Choose an id for the listener.")?;
    check::name("id", &id)?;
    let value = listener(&id, body)?;
    Ok(Decoded::Command {
        request: Command::CreateGlobalListener(value).into(),
        timeout: front.config.request_timeout,
        waits: false,
        echo: Echo::Created,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update<'a> {
    #[serde(borrow, rename = "type")]
    job_type: Option<Text<'a>>,
    retries: Option<i32>,
    #[serde(borrow)]
    event_types: Option<Vec<Text<'a>>>,
    after_non_global: Option<bool>,
    priority: Option<i32>,
}

/// Replaces the listener: fields that are left out get their defaults.
pub fn update(Name(id): Name, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Update = required(text)?;
    let body = Creation {
        id: None,
        job_type: body.job_type,
        retries: body.retries,
        event_types: body.event_types,
        after_non_global: body.after_non_global,
        priority: body.priority,
    };
    let value = listener(id, body)?;
    Ok(command(Command::UpdateGlobalListener(value), front))
}

/// The body of an operation that takes none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub fn delete(Name(id): Name, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let Nothing {} = optional(text)?;
    Ok(command(
        Command::DeleteGlobalListener { id: id.into() },
        front,
    ))
}

fn listener(id: &str, body: Creation) -> Result<GlobalListenerValue, Failure> {
    let what = "Name the job type of its workers.";
    let job_type = named(body.job_type, "type", what)?.shared();
    let retries = body.retries.unwrap_or(GlobalListenerValue::DEFAULT_RETRIES);
    check::at_least_one(
        "retries",
        i64::from(retries),
        "Give the number of times that a worker may try.",
    )?;
    let what = "Name the events to listen to.";
    let events = present(body.event_types, "eventTypes", what)?;
    if events.is_empty() {
        return invalid(format!("The field 'eventTypes' is empty. {what}"));
    }
    let events: Result<Vec<_>, _> = events.iter().map(|event| known(event)).collect();
    Ok(GlobalListenerValue {
        id: id.into(),
        job_type,
        retries,
        events: events?,
        after_non_global: body.after_non_global.unwrap_or(false),
        priority: body
            .priority
            .unwrap_or(GlobalListenerValue::DEFAULT_PRIORITY),
    })
}

fn known(event: &str) -> Result<GlobalListenerEvent, Failure> {
    let mut all = GlobalListenerEvent::ALL.iter();
    match all.find(|(name, _)| event.eq_ignore_ascii_case(name)) {
        Some((_, known)) => Ok(*known),
        None => invalid(format!(
            "The field 'eventTypes' holds '{event}', but must hold all, creating, assigning, updating, completing or canceling."
        )),
    }
}
