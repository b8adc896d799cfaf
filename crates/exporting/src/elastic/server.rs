//! Requests of the record exporters: documents, templates, and the policy that deletes old indices.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::Value;

use super::settings::{Flavor, Retention, SearchSettings};
use super::templates;
use crate::search_client::Client;
use crate::status::Status;
use crate::target_error::TargetError;

/// Maximum bytes of an answer.
const MAX_ANSWER: usize = 16 << 20;
/// Maximum characters of a refusal shown in messages.
const MAX_REASON: usize = 500;

/// The server that an exporter writes to.
pub struct Server {
    client: Client,
    /// Time limit of a bulk request, on the server as well.
    timeout: Duration,
}

/// Outcome of a bulk request.
#[derive(Debug)]
pub enum Bulked {
    Done(Bytes),
    /// The request is larger than the server accepts.
    TooLarge(String),
}

impl Server {
    pub fn new(settings: &SearchSettings, status: Arc<Status>) -> Server {
        let mut client = Client::of(
            settings.urls.clone(),
            settings.login.as_ref(),
            settings.trust.clone(),
            Some(status),
        );
        client.limit(settings.request_timeout, MAX_ANSWER);
        Server {
            client,
            timeout: settings.request_timeout,
        }
    }

    /// Makes the next request use a new connection to the next server.
    pub fn disconnect(&mut self) {
        self.client.disconnect();
    }

    fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), TargetError> {
        let sent = self.client.send(method, path, content_type, body);
        sent.map_err(|error| error.of(self.client.url()))
    }

    /// Sends a JSON body. Answers without a success status are errors.
    pub fn ask(&mut self, method: Method, path: &str, body: Value) -> Result<Bytes, TargetError> {
        let body = body.to_string().into_bytes();
        let (code, answer) = self.send(method, path, "application/json", body)?;
        self.successful(path, code, answer)
    }

    /// Sends documents. The answer lists those that were refused.
    pub fn bulk(&mut self, body: Vec<u8>) -> Result<Bulked, TargetError> {
        let path =
            "/_bulk?filter_path=errors,items.*.error,items.*.status,items.*._id,items.*._index";
        let path = format!("{path}&timeout={}ms", self.timeout.as_millis());
        let (code, answer) = self.send(Method::POST, &path, "application/x-ndjson", body)?;
        let too_large = code == StatusCode::PAYLOAD_TOO_LARGE;
        match self.successful("/_bulk", code, answer) {
            Err(refusal) if too_large => Ok(Bulked::TooLarge(refusal.to_string())),
            done => done.map(Bulked::Done),
        }
    }

    /// Creates or updates the policy that deletes old indices.
    pub fn put_policy(
        &mut self,
        settings: &SearchSettings,
        retention: &Retention,
    ) -> Result<(), TargetError> {
        let body = templates::policy(settings, retention);
        let name = &retention.policy_name;
        if settings.flavor == Flavor::Elasticsearch {
            let path = format!("/_ilm/policy/{name}");
            return self.ask(Method::PUT, &path, body).map(drop);
        }
        let path = format!("/_plugins/_ism/policies/{name}");
        let text = body.to_string().into_bytes();
        let (code, answer) = self.send(Method::PUT, &path, "application/json", text)?;
        if code != StatusCode::CONFLICT {
            return self.successful(&path, code, answer).map(drop);
        }
        // The policy exists. An update has to name the version it replaces.
        let (code, found) = self.send(Method::GET, &path, "application/json", Vec::new())?;
        let found = self.successful(&path, code, found)?;
        let found: Value = serde_json::from_slice(&found).map_err(|e| {
            TargetError::Corrupt(format!("the answer to {path} cannot be read: {e}"))
        })?;
        let number = |name: &str| found.get(name).and_then(Value::as_i64).unwrap_or_default();
        let (number, term) = (number("_seq_no"), number("_primary_term"));
        let path = format!("{path}?if_seq_no={number}&if_primary_term={term}");
        self.ask(Method::PUT, &path, body).map(drop)
    }

    fn successful(
        &self,
        path: &str,
        code: StatusCode,
        answer: Bytes,
    ) -> Result<Bytes, TargetError> {
        if code.is_success() {
            return Ok(answer);
        }
        let mut text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((at, _)) = text.char_indices().nth(MAX_REASON) {
            text.truncate(at);
        }
        let hint = match code {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "; see authentication.username and authentication.password of the exporter"
            }
            _ => "",
        };
        // Redirects are not followed, because credentials must not be sent to arbitrary servers.
        let said = match self.client.location().filter(|_| code.is_redirection()) {
            Some(place) => format!(" to {place}; name that address in url"),
            None => String::new(),
        };
        let url = self.client.url();
        let reason = format!("{url} answers {path} with {code}{hint}{said}: {text}");
        Err(refusal(code, reason))
    }
}

/// The error for a refusal. A server that is overloaded or restarting may accept the same request later.
pub fn refusal(code: StatusCode, reason: String) -> TargetError {
    if code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error() {
        TargetError::Busy(reason)
    } else {
        TargetError::Refused(reason)
    }
}
