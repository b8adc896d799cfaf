//! Users, groups, roles, tenants, mapping rules and authorizations.

pub mod authorizations;
mod faults;
pub mod mapping_rules;
pub mod members;
pub mod parents;
pub mod users;

use serde::Deserialize;
use skep_protocol::Failure;
use skep_protocol::command::{Command, IdentityCommand};

pub use self::faults::Faults;
use super::{Decoded, optional};
use crate::call::FrontEnd;
use crate::rest::encode::Echo;

fn decoded(command: IdentityCommand, echo: Echo, front: &FrontEnd) -> Decoded {
    Decoded::Command {
        request: Command::Identity(command).into(),
        timeout: front.config.request_timeout,
        waits: false,
        echo,
    }
}

/// The body of an operation that takes none.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn takes_nothing(text: &str) -> Result<(), Failure> {
    let Nothing {} = optional(text)?;
    Ok(())
}
