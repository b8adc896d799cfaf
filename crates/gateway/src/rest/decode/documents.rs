//! Requests about documents.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use skep_documents::Given;
use skep_protocol::Failure;

use super::fields::{KeyText, Object};
use super::{optional, parse};
use crate::check::invalid;
use crate::rest::documents::TIME_TO_LIVE;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metadata {
    content_type: Option<String>,
    file_name: Option<String>,
    #[serde(default, deserialize_with = "moment")]
    expires_at: Option<Timestamp>,
    /// The size is counted.
    #[serde(rename = "size")]
    _size: Option<i64>,
    process_definition_id: Option<String>,
    process_instance_key: Option<KeyText>,
    custom_properties: Option<Box<RawValue>>,
}

fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else {
        return Ok(None);
    };
    let Some(millis) = skep_query::parse_time(&text) else {
        return Err(D::Error::custom(format!(
            "'{text}' is not a date-time with zone, such as 2026-10-01T12:00:00Z"
        )));
    };
    // The last day of the calendar is beyond the library's timestamps.
    Ok(Some(
        Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX),
    ))
}

/// The metadata of documents, from JSON of one object or a list of them, in `place` of the request.
pub fn metadata(place: &str, json: &[u8]) -> Result<Vec<Given>, Failure> {
    let Ok(text) = std::str::from_utf8(json) else {
        return invalid(format!("'{place}' is not UTF-8. Send UTF-8."));
    };
    let read = if text.trim_ascii_start().starts_with('[') {
        parse::<Vec<Object<Metadata>>>(text)
    } else {
        parse::<Object<Metadata>>(text).map(|one| vec![one])
    };
    let read = read.or_else(|failure| match failure {
        Failure::InvalidArgument(text) => invalid(format!("In '{place}': {text}")),
        other => Err(other),
    })?;
    Ok(read.into_iter().map(|Object(one)| given(one)).collect())
}

fn given(said: Metadata) -> Given {
    let properties = said.custom_properties;
    Given {
        content_type: said.content_type,
        file_name: said.file_name,
        expires_at: said.expires_at,
        process_definition_id: said.process_definition_id,
        process_instance_key: said.process_instance_key.map(|KeyText(key)| key.0),
        custom_properties: properties.filter(|json| json.get() != "null"),
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkRequest {
    time_to_live: Option<i64>,
}

/// The requested validity of a link.
pub fn time_to_live(body: &Bytes) -> Result<Duration, Failure> {
    let text = std::str::from_utf8(body);
    let text =
        text.or_else(|e| invalid(format!("The request body is not UTF-8: {e}. Send UTF-8.")))?;
    let LinkRequest { time_to_live } = optional(text)?;
    let Some(ms) = time_to_live else {
        return Ok(TIME_TO_LIVE);
    };
    match u64::try_from(ms) {
        Ok(ms) => Ok(Duration::from_millis(ms)),
        Err(_) => invalid(format!(
            "The field 'timeToLive' is {ms}, but must be a number of milliseconds of at least 1."
        )),
    }
}
