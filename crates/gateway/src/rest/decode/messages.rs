//! Publishing and correlating messages.

use serde::Deserialize;
use skep_protocol::command::{Command, CorrelateMessage, PublishMessage};
use skep_protocol::{Document, Failure};

use super::fields::{Text, bounded, named};
use super::{Decoded, of_tenant, required};
use crate::call::FrontEnd;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Publication<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    correlation_key: Option<Text<'a>>,
    time_to_live: Option<i64>,
    #[serde(borrow)]
    message_id: Option<Text<'a>>,
    variables: Option<Document>,
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
}

pub fn publish(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Publication = required(text)?;
    let tenancy = front.config.security.tenancy;
    let tenant = tenancy.tenant("Publish Message", body.tenant_id.as_deref())?;
    let publish = PublishMessage {
        name: named(body.name, "name", "Name the message to publish.")?.shared(),
        correlation_key: bounded(body.correlation_key, "correlationKey")?,
        time_to_live: body.time_to_live.unwrap_or(0),
        message_id: bounded(body.message_id, "messageId")?,
        variables: body.variables.unwrap_or_default(),
    };
    Ok(of_tenant(Command::PublishMessage(publish), tenant, front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Correlation<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    correlation_key: Option<Text<'a>>,
    variables: Option<Document>,
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
}

pub fn correlate(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Correlation = required(text)?;
    let tenancy = front.config.security.tenancy;
    let tenant = tenancy.tenant("Correlate Message", body.tenant_id.as_deref())?;
    let correlate = CorrelateMessage {
        name: named(body.name, "name", "Name the message to correlate.")?.shared(),
        correlation_key: bounded(body.correlation_key, "correlationKey")?,
        variables: body.variables.unwrap_or_default(),
    };
    let command = Command::CorrelateMessage(correlate);
    Ok(of_tenant(command, tenant, front))
}
