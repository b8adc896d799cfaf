//! Broadcasting signals.

use serde::Deserialize;
use skep_protocol::command::{BroadcastSignal, Command};
use skep_protocol::{Document, Failure};

use super::fields::{Text, named};
use super::{Decoded, of_tenant, required};
use crate::call::FrontEnd;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Broadcast<'a> {
    #[serde(borrow)]
    signal_name: Option<Text<'a>>,
    variables: Option<Document>,
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
}

pub fn broadcast(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Broadcast = required(text)?;
    let tenancy = front.config.security.tenancy;
    let tenant = tenancy.tenant("Broadcast Signal", body.tenant_id.as_deref())?;
    let name = named(
        body.signal_name,
        "signalName",
        "Name the signal to broadcast.",
    )?;
    let broadcast = BroadcastSignal {
        signal_name: name.shared(),
        variables: body.variables.unwrap_or_default(),
    };
    let command = Command::BroadcastSignal(broadcast);
    Ok(of_tenant(command, tenant, front))
}
