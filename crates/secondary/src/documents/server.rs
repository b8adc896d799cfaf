//! Requests to a search server, and their failures.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use serde_json::Value as Json;

use super::Documents;
use crate::bounded::TooLarge;
use skep_exporting::Status;
use skep_exporting::TargetError;
use skep_exporting::search_client::{Client, SendError};

/// Maximum characters of a reported refusal.
const MAX_REASON: usize = 500;
/// An index that was just created has no shard to query for a moment. Such searches are retried for this long.
const MAKING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(30);

/// A failure, with a reason for operators.
#[derive(Clone, Debug)]
pub struct Failure {
    pub reason: String,
    pub kind: FailureKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The server could not be reached or did not answer in time.
    Away,
    /// The time limit was exceeded.
    TooLong,
    /// The answer would be too large.
    TooLarge,
    /// The pattern is too complex for the server.
    TooComplex,
    /// The server refused with this HTTP status code.
    Refused(u16),
    /// The answer could not be understood.
    Wrong,
    /// Somebody else has written the partition in the meantime.
    Overtaken,
    /// The indices hold data of another cluster or a later version.
    Foreign,
}

impl Failure {
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
            kind,
        }
    }

    /// Converts the failure to a target error that names this place.
    pub fn of(&self, place: &str) -> TargetError {
        let reason = format!("{place}: {}", self.reason);
        match self.kind {
            FailureKind::Away
            | FailureKind::TooLong
            | FailureKind::Overtaken
            | FailureKind::Refused(429 | 500..) => TargetError::Busy(reason),
            FailureKind::Refused(_) | FailureKind::TooLarge | FailureKind::TooComplex => {
                TargetError::Refused(reason)
            }
            FailureKind::Wrong => TargetError::Corrupt(reason),
            FailureKind::Foreign => TargetError::Foreign(reason),
        }
    }

    pub fn is(&self, code: StatusCode) -> bool {
        self.kind == FailureKind::Refused(code.as_u16())
    }
}

impl From<TooLarge> for Failure {
    fn from(_: TooLarge) -> Failure {
        Failure::new(FailureKind::TooLarge, "too large")
    }
}

/// Part of the error message when a pattern needs more automaton states than the server allows.
const TOO_COMPLEX: &str = "Determinizing automaton";

/// A connection, used by one thread.
pub struct Server {
    pub documents: Arc<Documents>,
    client: RefCell<Client>,
    /// Time limit of one request.
    limit: Duration,
    /// Deadline of all requests together.
    deadline: Option<Instant>,
    max_answer: usize,
}

impl Server {
    /// If an `exporter` is given, its stop does not wait for a silent server.
    pub fn new(
        documents: Arc<Documents>,
        exporter: Option<Arc<Status>>,
        limit: Duration,
        max_answer: usize,
    ) -> Server {
        let (urls, trust) = (documents.settings.urls.clone(), &documents.settings.trust);
        let mut client = Client::of(urls, documents.login().as_ref(), trust.clone(), exporter);
        client.name_trust(format!(
            "{}.security.certificate-path",
            documents.settings.key
        ));
        Server {
            documents,
            client: RefCell::new(client),
            limit,
            deadline: None,
            max_answer,
        }
    }

    /// Makes the next request go to the next node.
    pub fn disconnect(&self) {
        self.client.borrow_mut().disconnect();
    }

    /// Sets the deadline of all following requests.
    pub fn until(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Sends JSON and parses the JSON answer.
    pub fn ask(&self, method: Method, path: &str, body: &Json) -> Result<Json, Failure> {
        let body = match body {
            Json::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        self.send(method, path, "application/json", body)
    }

    /// Sends newline-delimited JSON.
    pub fn lines(&self, path: &str, body: Vec<u8>) -> Result<Json, Failure> {
        self.send(Method::POST, path, "application/x-ndjson", body)
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Json, Failure> {
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = left.unwrap_or(self.limit).min(self.limit);
        if limit.is_zero() {
            return Err(Failure::new(FailureKind::TooLong, "it took too long"));
        }
        let mut client = self.client.borrow_mut();
        client.limit(limit, self.max_answer);
        let sent = client.send(method, path, content_type, body);
        let (code, answer) = sent.map_err(|error| {
            let is_late = self.deadline.is_some_and(|at| Instant::now() >= at);
            let kind = match error {
                SendError::TooLarge(_) => FailureKind::TooLarge,
                _ if is_late => FailureKind::TooLong,
                _ => FailureKind::Away,
            };
            Failure::new(kind, format!("{}: {error}", client.url()))
        })?;
        if !code.is_success() {
            return Err(self.refused(client.url(), path, code, &answer));
        }
        serde_json::from_slice(&answer).map_err(|error| {
            let reason = format!(
                "the answer of {} to {path} cannot be read: {error}",
                client.url()
            );
            Failure::new(FailureKind::Wrong, reason)
        })
    }

    fn refused(&self, url: &str, path: &str, code: StatusCode, answer: &[u8]) -> Failure {
        let mut text = String::from_utf8_lossy(answer).into_owned();
        if let Some((at, _)) = text.char_indices().nth(MAX_REASON) {
            text.truncate(at);
        }
        let hint = match code {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let key = self.documents.settings.key;
                format!("; see {key}.username and {key}.password")
            }
            _ => String::new(),
        };
        let path = path.split('?').next().unwrap_or_default();
        let kind = if code == StatusCode::BAD_REQUEST && text.contains(TOO_COMPLEX) {
            FailureKind::TooComplex
        } else {
            FailureKind::Refused(code.as_u16())
        };
        Failure::new(
            kind,
            format!("{url} answers {path} with {code}{hint}: {text}"),
        )
    }

    /// Searches an index. A missing index has no rows.
    pub fn search(&self, index: &str, body: &Json) -> Result<Json, Failure> {
        let path =
            format!("/{index}/_search?ignore_unavailable=true&allow_partial_search_results=false");
        let began = Instant::now();
        loop {
            match self.ask(Method::POST, &path, body) {
                Err(failure)
                    if failure.is(StatusCode::SERVICE_UNAVAILABLE) && began.elapsed() < MAKING =>
                {
                    std::thread::sleep(LOOK);
                }
                answered => return answered,
            }
        }
    }

    /// Makes previous writes visible to searches.
    pub fn refresh(&self, indices: &[String]) -> Result<(), Failure> {
        if indices.is_empty() {
            return Ok(());
        }
        let path = format!("/{}/_refresh?ignore_unavailable=true", indices.join(","));
        self.ask(Method::POST, &path, &Json::Null).map(drop)
    }

    /// Reads documents by index and ID, in the requested order. Each has `_source` and `_version`, or neither if it does not
    /// exist.
    pub fn get(&self, wanted: &[(String, String)]) -> Result<Vec<Json>, Failure> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let docs = wanted
            .iter()
            .map(|(index, id)| serde_json::json!({"_index": index, "_id": id}));
        let body = serde_json::json!({"docs": docs.collect::<Vec<Json>>()});
        let mut answer = match self.ask(Method::POST, "/_mget", &body) {
            // Reads fewer documents at a time to bound memory.
            Err(failure) if failure.kind == FailureKind::TooLarge && wanted.len() > 1 => {
                let (first, second) = wanted.split_at(wanted.len() / 2);
                let mut found = self.get(first)?;
                found.append(&mut self.get(second)?);
                return Ok(found);
            }
            answered => answered?,
        };
        let Some(Json::Array(found)) = answer.get_mut("docs").map(Json::take) else {
            return Err(strange("/_mget"));
        };
        if found.len() != wanted.len() {
            return Err(strange("/_mget"));
        }
        for document in &found {
            let error = document.get("error");
            let kind = error
                .and_then(|error| error.get("type"))
                .and_then(Json::as_str);
            if kind.is_some_and(|kind| kind != "index_not_found_exception") {
                let reason = format!("a document cannot be read: {}", document["error"]);
                return Err(Failure::new(FailureKind::Away, reason));
            }
        }
        Ok(found)
    }
}

pub fn strange(path: &str) -> Failure {
    let reason = format!("the answer to {path} is not that of a search server");
    Failure::new(FailureKind::Wrong, reason)
}
