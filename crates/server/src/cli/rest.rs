//! Requests to the REST interface, used by commands that search and commands that act.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use skep_client::{Client, ClientConfig};

use super::{fetch, login, profiles};
use crate::errors::{Coded, known};

/// The server to ask, and how its answer is printed.
#[derive(Args, Clone, Debug)]
pub struct RestArgs {
    /// Print JSON, with all fields.
    #[arg(long)]
    pub json: bool,
    /// Address of the server's REST interface, or several, separated by commas.
    #[arg(
        long,
        env = "SKEP_ADDRESS",
        default_value = DEFAULT_ADDRESS,
        value_name = "URL"
    )]
    pub address: String,
}

pub const DEFAULT_ADDRESS: &str = "http://localhost:8080";
const TIMEOUT: Duration = Duration::from_secs(15);

impl RestArgs {
    /// Sends a GET below `/v2/` and returns the answer.
    pub async fn get(&self, what: &str) -> anyhow::Result<Value> {
        let path = format!("/v2/{what}");
        read(fetch::get(&self.address, &path, TIMEOUT).await?)
    }

    /// As [`get`](Self::get), for Skep's own operations below `/skep/v1/`.
    pub async fn get_own(&self, what: &str) -> anyhow::Result<Value> {
        let path = format!("/skep/v1/{what}");
        read(fetch::get(&self.address, &path, TIMEOUT).await?)
    }

    /// As [`get`](Self::get), for repeated polling: does not warn about stale rows.
    pub async fn look(&self, what: &str) -> anyhow::Result<(StatusCode, Bytes)> {
        let path = format!("/v2/{what}");
        fetch::look(&self.address, &path, TIMEOUT).await
    }

    /// Sends a POST and returns the answer; null if it is empty.
    pub async fn post(&self, what: &str, body: Body) -> anyhow::Result<Value> {
        self.send(Method::POST, what, body).await
    }

    pub async fn send(&self, method: Method, what: &str, body: Body) -> anyhow::Result<Value> {
        let path = format!("/v2/{what}");
        let body = body.text()?;
        let (status, body) = fetch::request(method, &self.address, &path, body, TIMEOUT).await?;
        if status.is_success() && body.is_empty() {
            Ok(Value::Null)
        } else {
            read((status, body))
        }
    }

    /// A client of the same server.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let address = fetch::one_of(&self.address, 8080).await?;
        let mut config = ClientConfig::new(&address);
        config.authorities = fetch::authorities().map(Into::into);
        config.authorization = login::at(&address)?;
        Ok(Client::rest(config)?)
    }

    /// The `--address` flag that a suggested command line needs to reach the same server.
    pub fn flag(&self) -> String {
        let known = std::env::var("SKEP_ADDRESS").ok();
        let known = known
            .as_deref()
            .or(profiles::address())
            .unwrap_or(DEFAULT_ADDRESS);
        if self.address == known {
            String::new()
        } else {
            format!(" --address {}", self.address)
        }
    }

    /// Prints the result: a sentence, or JSON.
    pub fn say(&self, sentence: &str, done: &Value) -> anyhow::Result<()> {
        if self.json {
            super::print(&format!("{done:#}\n"))
        } else {
            super::print(&format!("{sentence}\n"))
        }
    }
}

/// The fields of a JSON object. Variables stay as written: parsing and writing a number again might round it.
#[derive(Default, Serialize)]
pub struct Body(BTreeMap<&'static str, Box<RawValue>>);

impl Body {
    /// Adds a field.
    pub fn with(mut self, name: &'static str, value: impl Serialize) -> Body {
        // Serialization of texts, numbers and JSON values has no error.
        if let Ok(value) = to_raw_value(&value) {
            self.0.insert(name, value);
        }
        self
    }

    /// Adds a field, if it has a value.
    pub fn with_some(self, name: &'static str, value: Option<impl Serialize>) -> Body {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub fn text(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(&self.0)?)
    }
}

/// Returns the server's answer, or its reason for refusing.
pub fn read((status, body): (StatusCode, Bytes)) -> anyhow::Result<Value> {
    let answer: Value = serde_json::from_slice(&body).map_err(|_| without_json(status, &body))?;
    if status.is_success() {
        return Ok(answer);
    }
    let text = |field| answer.get(field).and_then(Value::as_str);
    let code = text("title").and_then(known).unwrap_or("UNKNOWN");
    let detail = match text("detail") {
        Some(detail) => detail.to_string(),
        None => format!("the server answered {status}: {answer}"),
    };
    Err(Coded::new(code, detail).into())
}

/// The error for an answer that no server with this API gives, as of a proxy.
pub fn without_json(status: StatusCode, body: &[u8]) -> Coded {
    let code = match status {
        StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
        StatusCode::FORBIDDEN => "PERMISSION_DENIED",
        status if status.is_server_error() => "UNAVAILABLE",
        _ => "NOT_UNDERSTOOD",
    };
    let start: String = String::from_utf8_lossy(body).chars().take(200).collect();
    let text = format!("the server answered {status} without JSON, as a proxy may do: {start}");
    Coded::new(code, text.trim_end().trim_end_matches(':'))
}
