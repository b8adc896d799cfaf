//! REST v2: one route match, one decode, one answer.

mod body;
pub(crate) mod content_coding;
mod decode;
mod documents;
mod encode;
mod etag;
pub mod guard;
mod json;
mod login;
mod management;
mod monitor;
mod multipart;
pub mod nodes;
pub mod openapi;
pub mod operations;
mod parameters;
mod path;
mod problem;
mod pulse;
mod queries;
mod router;
mod sight;
mod stream;

pub use self::decode::identity::Faults;
pub use self::queries::shared::{SharedAnswers, SharedCounts};

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap};
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use skep_protocol::command::{ActivateJobs, Held};
use skep_protocol::origin::Claims;
use skep_protocol::{ActivatedJob, Failure, Key};
use skep_query::{BoxFuture, Entity, QueryError};
use skep_service::Timings;

use self::body::Received;
pub use body::RestBody;

use self::decode::{Decoded, Hashed};
use self::encode::Echo;
use self::operations::path::Texts;
use self::operations::{Call, Does, OPERATIONS, Operation, Takes};
use self::problem::Problem;
use self::queries::shared::{self, Question};
use self::queries::{QueryRequest, ended};
use self::router::{ROUTER, RouteMatch};
use self::stream::JobLines;
use crate::admission::{Purpose, Sender, Slot};
use crate::budget::{Budget, Share};
use crate::call::{FrontEnd, JobStream, Stopwatch};
use crate::check::invalid;
use crate::door::visitor::Visitor;
use crate::door::{Head, host};
use crate::metrics::served::NO_ROUTE;
use crate::undelivered::Undelivered;

/// Answers one request; every failure is an answer as well. Not an `async fn`: its future would hold the request twice.
pub fn handle(
    front: Arc<FrontEnd>,
    visitor: Arc<Visitor>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<RestBody>, Infallible>> + Send {
    let mut watch = Stopwatch::of_call(request.headers(), &front.config);
    let (parts, body) = request.into_parts();
    async move {
        let path = parts.uri.path();
        let meant = path::decoded(path);
        let found = match host::fault(parts.version, &parts.headers) {
            Some(fault) => Err(fault),
            None => Ok(ROUTER.find(parts.method.as_str(), &meant)),
        };
        let (route, answered) = match found {
            Ok(RouteMatch::Route { index, texts }) => {
                let route = (index, texts);
                let answered = answer(&front, route, (&parts, &visitor), body, &mut watch).await;
                (index, answered)
            }
            Ok(RouteMatch::OtherMethods(methods)) => {
                let problem = Problem::wrong_method(parts.method.as_str(), path, &methods);
                (NO_ROUTE, Err(problem))
            }
            Ok(RouteMatch::Nothing) => (NO_ROUTE, beside(&front, &parts, &visitor, body).await),
            Err(fault) => (NO_ROUTE, Err(Problem::bad_head(fault))),
        };
        // A body that was not read to its end makes the connection useless for the next request.
        let unread = matches!(&answered, Err(problem) if problem.unread_body);
        let mut response = answered.unwrap_or_else(|problem| problem.into_response(path));
        if unread && parts.version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, CLOSE);
        }
        if let Some(plain) = content_coding::candidate(&parts.headers, &response) {
            let accepted = content_coding::takes_gzip(&parts.headers);
            // Boxed: rarely needed state must not enlarge the future of each request.
            Box::pin(content_coding::compress(accepted, plain, &mut response)).await;
        }
        login::renew(&front, &parts, &mut response);
        if response.status() == StatusCode::UNAUTHORIZED {
            login::leave_to_the_page(&parts, &mut response);
        }
        let status = response.status().as_u16();
        front.metrics.http.observe(route, status, watch.total_ns());
        Ok(response)
    }
}

/// A path outside the API may be a login, or a page for browsers.
async fn beside(
    front: &FrontEnd,
    parts: &Parts,
    visitor: &Visitor,
    body: Incoming,
) -> Result<Response<RestBody>, Problem> {
    // Boxed: rarely needed state must not enlarge the future of each request.
    match Box::pin(login::answer(front, &head(parts, visitor), parts, body)).await {
        Some(answer) => answer,
        None => page(front, parts),
    }
}

fn head<'r>(parts: &'r Parts, visitor: &'r Visitor) -> Head<'r> {
    Head {
        method: &parts.method,
        authority: parts.uri.authority(),
        headers: &parts.headers,
        visitor,
    }
}

/// Answers with a page for browsers, if the path is one.
fn page(front: &FrontEnd, parts: &Parts) -> Result<Response<RestBody>, Problem> {
    let pages = front.config.hooks.pages.as_ref();
    match pages.and_then(|pages| pages.answer(parts)) {
        Some(page) => Ok(page.map(RestBody::from)),
        None => Err(Problem::unknown_path(parts.uri.path())),
    }
}

async fn answer(
    front: &Arc<FrontEnd>,
    (index, path): (usize, Texts<'_>),
    (parts, visitor): (&Parts, &Visitor),
    body: Incoming,
    watch: &mut Stopwatch,
) -> Result<Response<RestBody>, Problem> {
    let Some(operation) = OPERATIONS.get(index) else {
        return Err(Problem::unknown_path(parts.uri.path()));
    };
    let claims = if operation.is_open() {
        front.is_own(&head(parts, visitor))?;
        Claims::Anonymous
    } else {
        front.enter(&head(parts, visitor), watch).await?
    };
    if let Some(why) = front.config.security.closed(operation.tag) {
        return Err(Problem::no_access(parts.uri.path(), why));
    }
    match operation.does {
        Does::NotYet => Err(Problem::not_yet(operation.id)),
        Does::Answer(answer) => Ok(answer(front)),
        Does::AnswerCaller(answer) => Ok(answer((front, &claims))),
        // Boxed: rarely needed state must not enlarge the future of each request.
        Does::Pulse => Box::pin(pulse::answer(front, &parts.headers)).await,
        Does::AskNodes(asked) => {
            let asked = (asked, parts.uri.query());
            Box::pin(nodes::answer(front, &claims, operation, asked)).await
        }
        Does::Manage => {
            let asked = (operation, path);
            Box::pin(management::answer(
                front,
                &claims,
                asked,
                (parts, visitor),
                body,
            ))
            .await
        }
        Does::Document(does) => {
            sight::may(front, &claims, operation)?;
            Box::pin(documents::answer(front, does, path.first(), parts, body)).await
        }
        Does::Command { .. } | Does::Query { .. } => {
            let head = (parts, visitor.peer);
            ask_broker(front, (operation, path), claims, head, body, watch).await
        }
    }
}

/// Size of a body above which a question is costly.
const LARGE_QUESTION: usize = 16 << 10;

async fn ask_broker(
    front: &Arc<FrontEnd>,
    (operation, path): (&Operation, Texts<'_>),
    claims: Claims,
    (parts, peer): (&Parts, IpAddr),
    body: Incoming,
    watch: &mut Stopwatch,
) -> Result<Response<RestBody>, Problem> {
    let (takes, budget) = (operation.takes(), &front.gate.budget);
    let Received { bytes, share } = receive(front, takes, budget, &parts.headers, body).await?;
    watch.decoded();
    if matches!(operation.does, Does::Query { .. }) {
        let asked = (operation, path, bytes, share);
        // Boxed: rarely needed state must not enlarge the future of each request.
        let response = match shared::accepted_age(&parts.headers) {
            Some(age) => Box::pin(ask_once(front, asked, age, claims, (parts, peer), watch)).await,
            None => Box::pin(ask(front, asked, claims, (parts, peer), watch)).await,
        }?;
        return Ok(etag::unless_known(&parts.headers, response));
    }
    let sender = Sender {
        claims: &claims,
        peer,
    };
    let slot = front.gate.enter(operation.purpose(), sender).await?;
    watch.queued();
    let decoded = decoded(operation, path, &bytes, parts, front)?;
    // The decoded request has its own copy; the share stays with the request.
    drop(bytes);
    watch.decoded();
    carry_out(front, decoded, claims, (slot, share), watch).await
}

/// The decoded question, and its slot. It is decoded before it has a slot, as the gate needs to know whether it is costly; a large one is
/// costly unread, since reading it takes the time of a hundred others.
async fn admitted(
    front: &FrontEnd,
    (operation, path, bytes): (&Operation, Texts<'_>, &Bytes),
    parts: &Parts,
    sender: Sender<'_>,
    watch: &mut Stopwatch,
) -> Result<(Decoded, Slot), Problem> {
    let decode = || decoded(operation, path, bytes, parts, front);
    if bytes.len() > LARGE_QUESTION {
        let slot = front.gate.enter(Purpose::CostlySearch, sender).await?;
        watch.queued();
        let decoded = decode()?;
        watch.decoded();
        return Ok((decoded, slot));
    }
    let decoded = decode()?;
    watch.decoded();
    let slot = front.gate.enter(decoded.purpose(), sender).await?;
    watch.queued();
    Ok((decoded, slot))
}

/// Asks a question.
async fn ask(
    front: &Arc<FrontEnd>,
    (operation, path, bytes, share): (&Operation, Texts<'_>, Bytes, Share),
    claims: Claims,
    (parts, peer): (&Parts, IpAddr),
    watch: &mut Stopwatch,
) -> Result<Response<RestBody>, Problem> {
    let sender = Sender {
        claims: &claims,
        peer,
    };
    let asked = (operation, path, &bytes);
    let (decoded, slot) = admitted(front, asked, parts, sender, watch).await?;
    // The decoded request has its own copy; the share stays with the request.
    drop(bytes);
    carry_out(front, decoded, claims, (slot, share), watch).await
}

/// Asks a question whose answer others may share.
async fn ask_once(
    front: &Arc<FrontEnd>,
    (operation, path, bytes, share): (&Operation, Texts<'_>, Bytes, Share),
    accepted: Duration,
    claims: Claims,
    (parts, peer): (&Parts, IpAddr),
    watch: &mut Stopwatch,
) -> Result<Response<RestBody>, Problem> {
    let directory = front.broker.directory();
    // What needs no permission is about the caller.
    let sees_all = !operation.is_about_caller() && sight::sight(front, &claims).is_whole();
    let whole_path = parts.uri.path_and_query();
    let question = Question {
        method: parts.method.clone(),
        path: whole_path.map(ToString::to_string).unwrap_or_default(),
        body: bytes.clone(),
        whose: (!sees_all).then(|| claims.clone()),
    };
    let ask = async |mut spending: shared::Spending| {
        let sender = Sender {
            claims: &claims,
            peer,
        };
        let asked = (operation, path, &bytes);
        let (decoded, slot) = admitted(front, asked, parts, sender, watch).await?;
        spending.begin();
        carry_out(front, decoded, claims, (slot, share), watch).await
    };
    front
        .shared
        .answer(question, accepted, &directory, ask)
        .await
}

/// The decoded request to the broker, by the operation's row.
fn decoded(
    operation: &Operation,
    path: Texts<'_>,
    bytes: &Bytes,
    parts: &Parts,
    front: &FrontEnd,
) -> Result<Decoded, Problem> {
    let text = match operation.takes() {
        Takes::Json => std::str::from_utf8(bytes)
            .or_else(|e| invalid(format!("The request body is not UTF-8: {e}. Send UTF-8.")))?,
        Takes::Files => "",
    };
    let call = Call {
        path,
        bytes,
        text,
        parts,
        front,
    };
    match operation.does {
        Does::Command { decode, .. } => decode(&call),
        // Even if the search would be empty, or the question is invalid.
        Does::Query { .. } if front.storage.is_off() => Err(QueryError::Disabled.into()),
        Does::Query { decode, .. } => {
            let asked = QueryRequest::new(decode(&call)?, &parts.headers)?;
            Ok(Decoded::Query(Box::new(asked)))
        }
        Does::Answer(_)
        | Does::AnswerCaller(_)
        | Does::Pulse
        | Does::AskNodes(_)
        | Does::Manage
        | Does::Document(_)
        | Does::NotYet => Err(Failure::Internal(format!(
            "The operation {} is not a broker operation.",
            operation.id
        ))
        .into()),
    }
}

/// The whole body, within its limit.
async fn receive(
    front: &FrontEnd,
    takes: Takes,
    budget: &Budget,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Received, Problem> {
    let limit = match takes {
        Takes::Files => front.config.multipart.max_size,
        Takes::Json => front.config.max_message_size,
    };
    receive_within(front, (takes, limit), budget, headers, body).await
}

async fn receive_within(
    front: &FrontEnd,
    (takes, limit): (Takes, usize),
    budget: &Budget,
    headers: &HeaderMap,
    mut body: Incoming,
) -> Result<Received, Problem> {
    if !http_body::Body::is_end_stream(&body) {
        if let Err(problem) = check_content_encoding(headers) {
            return Err(unread(problem, headers, body));
        }
        check_content_type(headers.get(CONTENT_TYPE), takes)?;
    }
    let mut first = Bytes::new();
    let received = match body::read_at_once(&mut body, limit, &mut first) {
        Some(received) => received,
        // Boxed: rarely needed state must not enlarge the future of each request.
        None => Box::pin(body::read(&mut body, first, limit, front, budget)).await,
    };
    received.map_err(|mut problem| {
        if problem.status == StatusCode::PAYLOAD_TOO_LARGE {
            return unread(problem, headers, body);
        }
        problem.unread_body = true;
        problem
    })
}

/// The refusal of a body that may be large, of which at least a part was not read.
fn unread(mut problem: Problem, headers: &HeaderMap, body: Incoming) -> Problem {
    problem.unread_body = true;
    // A client that waits for permission to send the body has not sent it.
    if !headers.contains_key(EXPECT) {
        body::drain(body);
    }
    problem
}

/// Carries out a decoded request; `held` are the gateway resources it holds. The broker has a command before the future is
/// made, which therefore does not hold the request.
fn carry_out<'a>(
    front: &'a Arc<FrontEnd>,
    decoded: Decoded,
    claims: Claims,
    held: (Slot, Share),
    watch: &'a Stopwatch,
) -> impl Future<Output = Result<Response<RestBody>, Problem>> + Send + use<'a> {
    let under_way = match decoded {
        Decoded::Command {
            request,
            timeout,
            waits: false,
            echo,
        } => {
            let mut request = request.by(claims);
            request.peer = held.0.peer();
            let held = Held::new(held);
            request.held = held.clone();
            Ok((front.send(request, timeout, watch), echo, held))
        }
        // Boxed: rarely needed state must not enlarge the future of each request.
        other => Err(carry_out_others(front, other, claims, held, watch)),
    };
    async move {
        let (sent, echo, held) = match under_way {
            Ok(sent) => sent,
            Err(other) => return other.await,
        };
        let (result, timings) = front.answered(sent.await, watch);
        let answer = match result {
            Ok(response) => encode::response(response, echo).map_err(Problem::from),
            Err(failure) => Err(echo.failure(failure)),
        };
        drop(held);
        front.book(watch, &timings);
        answer
    }
}

/// The same for all but commands whose answer is their commit.
fn carry_out_others<'a>(
    front: &'a Arc<FrontEnd>,
    decoded: Decoded,
    claims: Claims,
    held: (Slot, Share),
    watch: &'a Stopwatch,
) -> BoxFuture<'a, Result<Response<RestBody>, Problem>> {
    match decoded {
        Decoded::Command {
            request,
            timeout,
            waits: _,
            echo,
        } => {
            let mut request = request.by(claims);
            request.peer = held.0.peer();
            request.held = Held::new(held);
            Box::pin(async move {
                let answered = front.execute_waiting(request, timeout, watch);
                let (result, Timings { .. }) = answered.await;
                Ok(encode::response(result?, echo)?)
            })
        }
        Decoded::Query(asked) => Box::pin(async move {
            let _held = held;
            queries::respond(front, &claims, *asked).await
        }),
        Decoded::Of {
            entity,
            by,
            key,
            command,
        } => about(front, (entity, by, key), command, claims, held, watch),
        Decoded::Hashed {
            hashed,
            timeout,
            echo,
        } => hash_first(front, hashed, (timeout, echo), claims, held, watch),
        Decoded::Activate { command, wait } => {
            drop(held);
            Box::pin(activated(front, command, claims, wait))
        }
        Decoded::Stream(spec) => {
            drop(held);
            let jobs = front.open_job_stream(spec, claims);
            let keep_alive = front.config.stream_keep_alive;
            let opened = jobs.map(|jobs| streamed(jobs, keep_alive));
            Box::pin(std::future::ready(opened.map_err(Problem::from)))
        }
    }
}

/// Jobs as they come, and the end of the stream for the connection.
fn streamed(jobs: JobStream, keep_alive: Duration) -> Response<RestBody> {
    let end = jobs.end();
    let mut response = Response::new(RestBody::Jobs(JobLines::new(jobs, keep_alive)));
    response.headers_mut().insert(CONTENT_TYPE, ND_JSON);
    response.extensions_mut().insert(end);
    response
}

/// Available jobs, or jobs that arrive soon. Those that do not reach their client go back.
async fn activated(
    front: &FrontEnd,
    command: ActivateJobs,
    claims: Claims,
    wait: Duration,
) -> Result<Response<RestBody>, Problem> {
    let jobs = front.activate(command, claims, wait).await?;
    let mut body = String::new();
    encode::jobs(&mut body, &jobs);
    let jobs = jobs.iter().map(ActivatedJob::activation).collect();
    let undelivered = Undelivered::new(Arc::clone(&front.broker), jobs);
    Ok(encode::json(body).map(|body| body.with_jobs(undelivered)))
}

/// Carries out a request about an entity that must exist. Boxed, because it is recursive.
fn about<'a>(
    front: &'a Arc<FrontEnd>,
    (entity, by, key): (&'static Entity, &'static str, Key),
    mut command: Box<Decoded>,
    claims: Claims,
    held: (Slot, Share),
    watch: &'a Stopwatch,
) -> BoxFuture<'a, Result<Response<RestBody>, Problem>> {
    Box::pin(async move {
        let rows = ended::must_exist(front, &claims, entity, by, key).await?;
        ended::may_command(front, &claims, (entity, &rows), &command)?;
        ended::name_owner((entity, &rows), &mut command);
        carry_out(front, *command, claims, held, watch).await
    })
}

/// Has the password hashed, and then carries out the command. Boxed, likewise.
fn hash_first<'a>(
    front: &'a Arc<FrontEnd>,
    Hashed { password, command }: Hashed,
    (timeout, echo): (Duration, Echo),
    claims: Claims,
    held: (Slot, Share),
    watch: &'a Stopwatch,
) -> BoxFuture<'a, Result<Response<RestBody>, Problem>> {
    Box::pin(async move {
        let hash = front.passwords.hash(password).await?;
        let decoded = Decoded::Command {
            request: Hashed::with(command, hash),
            timeout,
            waits: false,
            echo,
        };
        carry_out(front, decoded, claims, held, watch).await
    })
}

const CLOSE: HeaderValue = HeaderValue::from_static("close");
const ND_JSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// The header's text, when it is of the expected type (parameters aside).
fn check_content_type(header: Option<&HeaderValue>, takes: Takes) -> Result<&str, Problem> {
    let expected = takes.content_type();
    let text = header.and_then(|h| h.to_str().ok());
    let essence = text.map(|t| t.split_once(';').map_or(t, |(essence, _)| essence).trim());
    match text {
        Some(text) if essence.is_some_and(|e| e.eq_ignore_ascii_case(expected)) => Ok(text),
        _ => Err(Problem::wrong_content_type(text, expected)),
    }
}

/// Only bodies as they are: a compressed one would not be what it says, and could unpack to any size.
fn check_content_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    for header in headers.get_all(CONTENT_ENCODING) {
        let text = String::from_utf8_lossy(header.as_bytes());
        let mut encodings = text.split(',').map(str::trim);
        if !encodings.all(|one| one.is_empty() || one.eq_ignore_ascii_case("identity")) {
            return Err(Problem::wrong_content_encoding(&text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn future_size<A, B, F: Future>(_: impl Fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_under_way_is_small() {
        let from = Arc::new(Visitor::new(std::net::Ipv4Addr::LOCALHOST.into()));
        let bytes = future_size(|front, request| handle(front, Arc::clone(&from), request));
        assert!(bytes <= 1500, "{bytes} bytes to move with each request");
    }
}
