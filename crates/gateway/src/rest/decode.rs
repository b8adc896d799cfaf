//! Decodes a request's body and path into a command or query.

pub(super) mod ad_hoc;
pub(super) mod batch_operations;
pub(super) mod cluster_variables;
pub(super) mod conditionals;
pub(super) mod decisions;
pub(super) mod deployments;
pub(super) mod documents;
mod fields;
pub(super) mod global_listeners;
pub(super) mod identity;
mod job_result;
pub(super) mod jobs;
pub(super) mod kept;
pub(super) mod messages;
pub(super) mod migration;
pub(super) mod modification;
pub(super) mod process_instances;
pub(super) mod signals;
pub(super) mod system;
pub(super) mod user_tasks;

use std::time::Duration;

use serde::Deserialize;
use skep_protocol::command::{ActivateJobs, Command, Draft, IdentityCommand};
use skep_protocol::value::PasswordHash;
use skep_protocol::{Failure, Key, TenantId};
use skep_query::Entity;

use self::fields::Object;
pub(super) use self::fields::parse_key;
use super::encode::Echo;
use super::queries::QueryRequest;
use crate::admission::Purpose;
use crate::call::FrontEnd;
use crate::check::invalid;
use crate::door::secret::Secret;
use crate::json_errors;

/// A decoded request to the broker.
#[derive(Debug)]
pub enum Decoded {
    Command {
        request: Draft,
        timeout: Duration,
        /// Whether the client asked to wait for something that takes long, so that the wait holds no slot.
        waits: bool,
        echo: Echo,
    },
    Activate {
        command: ActivateJobs,
        wait: Duration,
    },
    Stream(ActivateJobs),
    /// A command about an entity that must be found in secondary storage.
    Of {
        entity: &'static Entity,
        /// The name of the field that has this key.
        by: &'static str,
        key: Key,
        command: Box<Decoded>,
    },
    /// A command that needs the hash of a password.
    Hashed {
        hashed: Hashed,
        timeout: Duration,
        echo: Echo,
    },
    /// Answered from secondary storage.
    Query(Box<QueryRequest>),
}

impl Decoded {
    /// The purpose of a question at the gate.
    pub fn purpose(&self) -> Purpose {
        match self {
            Decoded::Query(asked) if asked.is_costly() => Purpose::CostlySearch,
            _ => Purpose::Question,
        }
    }
}

/// A command, and the password whose hash it will carry.
pub struct Hashed {
    pub password: Secret,
    pub command: IdentityCommand,
}

impl Hashed {
    fn decoded(self, echo: Echo, front: &FrontEnd) -> Decoded {
        Decoded::Hashed {
            hashed: self,
            timeout: front.config.request_timeout,
            echo,
        }
    }

    /// The command with the hash.
    pub fn with(mut command: IdentityCommand, hash: PasswordHash) -> Draft {
        match &mut command {
            IdentityCommand::CreateUser(user) | IdentityCommand::CreateInitialAdmin(user) => {
                user.password = hash;
            }
            IdentityCommand::UpdateUser(update) => update.password = hash,
            _ => debug_assert!(false, "only users have passwords"),
        }
        Command::Identity(command).into()
    }
}

/// Without the password.
impl std::fmt::Debug for Hashed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.command.fmt(f)
    }
}

fn command(command: Command, front: &FrontEnd) -> Decoded {
    referenced(command, None, front)
}

/// A command that makes something for a tenant.
fn of_tenant(command: Command, tenant: TenantId, front: &FrontEnd) -> Decoded {
    Decoded::Command {
        request: Draft {
            tenant: tenant.clone(),
            ..command.into()
        },
        timeout: front.config.request_timeout,
        waits: false,
        echo: Echo::Tenant(tenant),
    }
}

fn referenced(command: Command, operation_reference: Option<u64>, front: &FrontEnd) -> Decoded {
    Decoded::Command {
        request: Draft {
            operation_reference,
            ..command.into()
        },
        timeout: front.config.request_timeout,
        waits: false,
        echo: Echo::Nothing,
    }
}

/// Keys in the path are decimal digits.
pub(super) fn key(name: &str, text: &str) -> Result<Key, Failure> {
    parse_key(text).map_or_else(
        || {
            invalid(format!(
                "The path has '{text}' as {name}, which is not a key: a key is a 64-bit decimal number."
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

/// Explains the error and its place. Reads the body a second time, so that only a failing one pays for the path.
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
        "" | "." => {
            format!("The request body does not have the form that this operation expects: {said}.")
        }
        path => format!(
            "The field '{path}' does not have the form that this operation expects: {said}."
        ),
    }
}
