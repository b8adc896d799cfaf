//! HTTP of the management port: small bodies in, JSON out.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use serde_json::{Value, json};

/// Maximum size of a request body; requests of operators are small.
const MAX_BODY: usize = 64 << 10;
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

pub type Answer = Response<Full<Bytes>>;

/// Body of a request.
pub enum Incoming {
    /// To this port, which has yet to read it.
    Arriving(hyper::body::Incoming),
    /// To the REST port, which has read it.
    Whole(Bytes),
}

/// An answer that ends the handling of a request early.
pub type Handled = Result<Answer, Answer>;

pub fn json(status: StatusCode, body: &Value) -> Answer {
    respond(status, "application/json", body.to_string())
}

pub fn ok(body: &Value) -> Answer {
    json(StatusCode::OK, body)
}

/// `{"message": "…"}`, the body of all failures.
pub fn message(status: StatusCode, text: impl Into<String>) -> Answer {
    json(status, &json!({ "message": text.into() }))
}

pub fn bad_request(text: impl Into<String>) -> Answer {
    message(StatusCode::BAD_REQUEST, text)
}

pub fn no_content() -> Answer {
    let mut answer = Answer::default();
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

pub fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let value = header::HeaderValue::from_static(content_type);
    answer.headers_mut().insert(header::CONTENT_TYPE, value);
    answer
}

/// Refuses all methods but these, naming them.
pub fn allow(method: &Method, allowed: &[Method]) -> Result<(), Answer> {
    if allowed.contains(method) {
        return Ok(());
    }
    let names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    let names = names.join(", ");
    let mut answer = message(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{method} is not possible here; use {names}"),
    );
    if let Ok(value) = header::HeaderValue::from_str(&names) {
        answer.headers_mut().insert(header::ALLOW, value);
    }
    Err(answer)
}

/// Reads a JSON object; an empty body is an empty object.
pub async fn body(body: Incoming) -> Result<serde_json::Map<String, Value>, Answer> {
    match json_body(body).await? {
        Value::Null => Ok(serde_json::Map::new()),
        Value::Object(object) => Ok(object),
        _ => Err(bad_request("the body must be a JSON object")),
    }
}

/// Reads JSON of any kind; an empty body is null.
pub async fn json_body(body: Incoming) -> Result<Value, Answer> {
    let bytes = match body {
        Incoming::Arriving(body) => arrived(body).await?,
        Incoming::Whole(bytes) => bytes,
    };
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| bad_request(format!("the body is not JSON: {error}")))
}

async fn arrived(body: hyper::body::Incoming) -> Result<Bytes, Answer> {
    let read = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
    match read {
        Err(_) => Err(message(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive in time",
        )),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(message(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body has more than {MAX_BODY} bytes"),
        )),
        Ok(Err(error)) => Err(bad_request(format!("the body ended early: {error}"))),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
    }
}

/// The value of a query parameter.
pub fn query<'q>(query: Option<&'q str>, name: &str) -> Option<&'q str> {
    query?
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}
