//! Answers from secondary storage: searches, and entities by key.

use std::fmt::Write as _;
use std::sync::Arc;

use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use skep_protocol::document::write_json_string;
use skep_protocol::origin::Claims;
use skep_protocol::{Failure, Key, grants};
use skep_query::access::{self, Narrowed, Sight};
use skep_query::entities::{
    BATCH_OPERATION, DECISION_INSTANCE, DECISION_REQUIREMENTS, ELEMENT_INSTANCE, INCIDENT,
    PROCESS_DEFINITION, RESOURCE,
};
use skep_query::{
    ActiveElements, Answer, Condition, Consistency, Entity, Query, QueryError, Row, Search, Value,
    answer,
};

use self::ask::Ask;
use self::job_statistics::{JobStatistics, time_parameter};
use self::related::TaskVariables;
use self::statistics::Statistics;
use super::operations::path::{AnyKey, EvaluationKey};
use super::problem::{BEHIND, Problem};
use super::{RestBody, encode, etag, sight};
use crate::call::FrontEnd;

pub mod active_elements;
mod ask;
mod batch_requests;
mod diagnosis;
mod durations;
pub mod ended;
pub mod identity;
pub mod job_statistics;
mod joins;
mod overdue;
pub mod related;
pub mod shared;
mod start_timers;
pub mod statistics;
mod time;
pub mod usage;
pub mod wait_states;
mod waiting;

/// `eventual`: the answer is the current state of the store, without waiting for what was acknowledged before. `shared`: it
/// may be another caller's recent answer.
const CONSISTENCY: HeaderName = HeaderName::from_static("skep-consistency");

/// A call activity may be called from one that was called, and so on: the engine's own bound is far below.
const MAX_HIERARCHY: usize = 10_000;

/// A query with the consistency that its caller wants.
#[derive(Debug)]
pub struct QueryRequest {
    what: What,
    consistency: Consistency,
}

/// The question itself.
#[derive(Debug)]
pub enum What {
    Page(Search),
    /// Incidents of something that must exist.
    PageOf {
        owner: &'static Entity,
        key: Key,
        search: Search,
    },
    One {
        entity: &'static Entity,
        key: Key,
    },
    /// One whose key is a text.
    OneByText {
        entity: &'static Entity,
        key: String,
    },
    /// A text that belongs to an entity, as it was deployed.
    Content {
        entity: &'static Entity,
        key: Key,
        field: usize,
        content_type: HeaderValue,
    },
    /// The file that a decision stands in.
    DecisionXml(Key),
    StartForm(Key),
    UserTaskForm(Key),
    UserTaskVariables(TaskVariables),
    /// The task, and a search of its entries.
    UserTaskAuditLog(Key, Search),
    /// An entity that is identified by ids.
    Identified(identity::Identified),
    OwnAuthorizations(Search),
    /// An entity that is identified by a name.
    Named(Search),
    Statistics(Statistics),
    JobStatistics(JobStatistics),
    Usage(usage::Usage),
    WaitStates(Search),
    WaitingStates(Key),
    Diagnosis(Key),
    Durations(Key),
    ActiveElements(ActiveElements),
    StartTimers(Key),
    BatchRequest(Key),
    Overdue,
    WaitStateStatistics(Key),
    CallHierarchy(Key),
    SequenceFlows(Key),
    ElementStatistics(Key),
}

impl QueryRequest {
    /// Adds the consistency from the headers.
    pub fn new(what: What, headers: &HeaderMap) -> Result<QueryRequest, Problem> {
        Ok(QueryRequest {
            what,
            consistency: consistency(headers)?,
        })
    }

    /// Whether it may take as long as many others.
    pub fn is_costly(&self) -> bool {
        match &self.what {
            What::Page(search)
            | What::PageOf { search, .. }
            | What::UserTaskAuditLog(_, search)
            | What::Named(search)
            | What::WaitStates(search) => search.is_costly(),
            // They ask the store many times, one query after the other.
            What::Overdue
            | What::Diagnosis(_)
            | What::WaitingStates(_)
            | What::CallHierarchy(_) => true,
            _ => false,
        }
    }
}

impl From<Search> for What {
    fn from(search: Search) -> What {
        What::Page(search)
    }
}

impl From<Statistics> for What {
    fn from(asked: Statistics) -> What {
        What::Statistics(asked)
    }
}

impl From<JobStatistics> for What {
    fn from(asked: JobStatistics) -> What {
        What::JobStatistics(asked)
    }
}

impl From<TaskVariables> for What {
    fn from(asked: TaskVariables) -> What {
        What::UserTaskVariables(asked)
    }
}

impl From<usage::Usage> for What {
    fn from(asked: usage::Usage) -> What {
        What::Usage(asked)
    }
}

/// A search of one entity, and nothing beside it.
pub fn page(entity: &'static Entity, body: &str, parts: &Parts) -> Result<What, Problem> {
    read(entity, body, parts).map(What::Page)
}

pub fn one(entity: &'static Entity, key: Key) -> What {
    What::One { entity, key }
}

pub fn decision_instance(key: &EvaluationKey) -> Result<What, Problem> {
    Ok(What::OneByText {
        entity: &DECISION_INSTANCE,
        key: key.0.to_string(),
    })
}

fn text_of_one(
    entity: &'static Entity,
    key: Key,
    field: usize,
    content_type: HeaderValue,
) -> Result<What, Problem> {
    Ok(What::Content {
        entity,
        key,
        field,
        content_type,
    })
}

pub fn process_xml(key: Key) -> Result<What, Problem> {
    let at = const { PROCESS_DEFINITION.column("xml") };
    text_of_one(&PROCESS_DEFINITION, key, at, TEXT_XML)
}

pub fn requirements_xml(key: Key) -> Result<What, Problem> {
    let at = const { DECISION_REQUIREMENTS.column("xml") };
    text_of_one(&DECISION_REQUIREMENTS, key, at, TEXT_XML)
}

const CONTENT: usize = RESOURCE.column("content");

pub fn resource_json(key: Key) -> Result<What, Problem> {
    text_of_one(&RESOURCE, key, CONTENT, APPLICATION_JSON)
}

pub fn resource_bytes(key: Key) -> Result<What, Problem> {
    text_of_one(&RESOURCE, key, CONTENT, OCTET_STREAM)
}

pub fn wait_states(body: &str, parts: &Parts) -> Result<What, Problem> {
    read(&wait_states::WAIT_STATE, body, parts).map(What::WaitStates)
}

pub fn incidents_of_element(key: Key, body: &str, parts: &Parts) -> Result<What, Problem> {
    has_body(body)?;
    incidents_within(&ELEMENT_INSTANCE, key, body, parts)
}

/// Incidents of an entity that must exist, and of everything within it.
pub fn incidents_within(
    owner: &'static Entity,
    key: Key,
    body: &str,
    parts: &Parts,
) -> Result<What, Problem> {
    let mut search = read(&INCIDENT, body, parts)?;
    let field = INCIDENT.index_of("elementInstanceKey").unwrap_or_default();
    search.filter.push(Condition::Within { field, key });
    Ok(What::PageOf { owner, key, search })
}

pub fn batch_operation(key: &AnyKey) -> Result<What, Problem> {
    let entity = &BATCH_OPERATION;
    match key.key() {
        Some(key) => Ok(What::One { entity, key }),
        None => Err(not_found(entity, key.0)),
    }
}

pub fn batch_request(key: &AnyKey) -> Result<What, Problem> {
    let found = key.key().map(What::BatchRequest);
    found.ok_or_else(|| not_found(&BATCH_OPERATION, key.0))
}

/// Of operations that require a body.
fn has_body(body: &str) -> Result<(), Problem> {
    if body.trim_ascii().is_empty() {
        Err(invalid(
            "The request has no body. Send a JSON object, which may be empty: {}.".into(),
        ))
    } else {
        Ok(())
    }
}

fn invalid(text: String) -> Problem {
    Failure::InvalidArgument(text).into()
}

fn read(entity: &'static Entity, body: &str, parts: &Parts) -> Result<Search, Problem> {
    let mut search =
        skep_query::search(entity, body).map_err(|error| invalid(error.to_string()))?;
    let query = parts.uri.query().unwrap_or_default();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("truncateValues", "false")) => search.whole_texts = true,
            Some(("truncateValues", "true")) => {}
            Some(("truncateValues", other)) => {
                return Err(invalid(format!(
                    "The query parameter 'truncateValues' is '{other}', but must be true or false."
                )));
            }
            _ => {}
        }
    }
    Ok(search)
}

fn consistency(headers: &HeaderMap) -> Result<Consistency, Problem> {
    match headers.get(&CONSISTENCY).map(HeaderValue::as_bytes) {
        None | Some(b"read-your-writes") => Ok(Consistency::ReadYourWrites),
        Some(b"eventual" | b"shared") => Ok(Consistency::Eventual),
        Some(other) => Err(invalid(format!(
            "The header '{CONSISTENCY}' is '{}', but must be 'read-your-writes', 'eventual' or 'shared'.",
            String::from_utf8_lossy(other)
        ))),
    }
}

/// Asks the store and writes the answer.
pub async fn respond(
    front: &FrontEnd,
    claims: &Claims,
    asked: QueryRequest,
) -> Result<Response<RestBody>, Problem> {
    let mut ask = Ask::new(front, claims, asked.consistency)?;
    let answered = answer(&mut ask, claims, asked.what).await;
    let mut response = answered.map_err(|problem| problem.read_behind(ask.behind))?;
    if ask.behind > 0 {
        let headers = response.headers_mut();
        headers.insert(BEHIND, HeaderValue::from(ask.behind));
        // A browser keeps the headers with the text: it must not find it behind for ever.
        headers.remove(ETAG);
    }
    Ok(response)
}

async fn answer(
    ask: &mut Ask<'_>,
    claims: &Claims,
    what: What,
) -> Result<Response<RestBody>, Problem> {
    Ok(match what {
        What::Page(search) => encode::json(ask.page(search).await?),
        What::PageOf { owner, key, search } => {
            ask.one(owner, key).await?;
            encode::json(ask.page(search).await?)
        }
        What::One { entity, key } => {
            let row = ask.one(entity, key).await?;
            encode::json(answer::row(entity, &row))
        }
        What::OneByText { entity, key } => {
            let row = ask.one_by_text(entity, &key).await?;
            encode::json(answer::row(entity, &row))
        }
        What::Content {
            entity,
            key,
            field,
            content_type,
        } => {
            let row = ask.one(entity, key).await?;
            content(&row, field, content_type)
        }
        What::DecisionXml(key) => content(
            &ask.decision_requirements(key).await?,
            const { DECISION_REQUIREMENTS.column("xml") },
            TEXT_XML,
        ),
        What::StartForm(key) => related::form(ask.start_form(key).await?),
        What::UserTaskForm(key) => related::form(ask.user_task_form(key).await?),
        What::WaitStates(search) => encode::json(ask.wait_states(&search).await?),
        What::WaitingStates(key) => encode::json(ask.waiting_states(key).await?),
        What::Diagnosis(key) => encode::json(ask.diagnosis(key).await?),
        What::Durations(key) => encode::json(ask.durations(key).await?),
        What::ActiveElements(asked) => encode::json(ask.active_elements(asked).await?),
        What::StartTimers(key) => encode::json(ask.start_timers(key).await?),
        What::BatchRequest(key) => encode::json(ask.batch_request(claims, key).await?),
        What::Overdue => encode::json(ask.overdue().await?),
        What::WaitStateStatistics(key) => encode::json(ask.wait_state_statistics(key).await?),
        What::Statistics(asked) => encode::json(ask.statistics(asked).await?),
        What::JobStatistics(asked) => encode::json(ask.job_statistics(asked).await?),
        What::Usage(asked) => encode::json(ask.usage(asked).await?),
        What::UserTaskVariables(asked) => encode::json(ask.task_variables(asked).await?),
        What::UserTaskAuditLog(task, of) => encode::json(ask.task_audit_log(task, of).await?),
        What::Named(search) => encode::json(ask.named(search).await?),
        What::Identified(asked) => encode::json(ask.identified(asked).await?),
        What::OwnAuthorizations(search) => ask.own_authorizations(claims, search).await?,
        What::CallHierarchy(key) => encode::json(ask.call_hierarchy(key).await?),
        What::SequenceFlows(key) => encode::json(ask.sequence_flows(key).await?),
        What::ElementStatistics(process_instance_key) => {
            let query = Query::ElementStatistics {
                process_instance_key,
            };
            encode::json(element_statistics(&ask.rows(query).await?))
        }
    })
}

const TEXT_XML: HeaderValue = HeaderValue::from_static("text/xml");
const OCTET_STREAM: HeaderValue = HeaderValue::from_static("application/octet-stream");
const APPLICATION_JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A deployed text: unchanged, or as a JSON string. Its tag comes from the text, which never changes under its key, but in a
/// cluster that was started over with empty disks another text has the key.
fn content(row: &Row, field: usize, content_type: HeaderValue) -> Response<RestBody> {
    let text = row.get(field).and_then(Value::as_text).unwrap_or_default();
    let body = if content_type == APPLICATION_JSON {
        let mut quoted = String::with_capacity(text.len() + 2);
        write_json_string(text, &mut quoted);
        quoted
    } else {
        text.to_string()
    };
    let mut response = encode::json(body);
    etag::put(&mut response, etag::of_text(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    // The text comes from users, and browsers run scripts in XML.
    headers.insert(CONTENT_SECURITY_POLICY, NO_SCRIPTS);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

const NO_SCRIPTS: HeaderValue =
    HeaderValue::from_static("default-src 'none'; sandbox; frame-ancestors 'none'");

fn value_of<'r>(entity: &Entity, row: &'r Row, field: &str) -> Option<&'r Value> {
    row.get(entity.index_of(field)?)
}

fn text_of<'r>(entity: &Entity, row: &'r Row, field: &str) -> Option<&'r Arc<str>> {
    match value_of(entity, row, field) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn narrowed(search: &mut Search, sight: &Sight) -> Result<Narrowed, Problem> {
    access::narrow(search, sight).map_err(|error| invalid(error.to_string()))
}

/// Whether the caller may see rows of an entity that belong to this one, which has the id that they have.
fn is_granted(sight: &Sight, entity: &Entity, (owner, row): (&Entity, &Row)) -> bool {
    let (Some(grants), Some(access::Access::By(column, permissions))) =
        (sight.grants.as_ref(), access::of(entity))
    else {
        return sight.grants.is_none();
    };
    let id = text_of(owner, row, column);
    id.is_some_and(|id| permissions.iter().any(|it| grants.allows(*it, id)))
}

/// The error for an entity that exists, but that the caller may not see.
fn refused(entity: &Entity) -> Problem {
    use access::Access;
    let permissions = match access::of(entity) {
        Some(
            Access::By(_, permissions)
            | Access::All(permissions)
            | Access::OfInstance(_, permissions),
        ) => permissions,
        Some(Access::Task) => grants![ProcessDefinition: ReadUserTask, UserTask: Read],
        Some(Access::Audit) => grants![AuditLog: Read],
        Some(Access::Members) | None => &[],
    };
    sight::unauthorized(permissions)
}

/// Deleted resources cannot be read any more; other deleted entities are history.
fn is_there(entity: &Entity, row: &Row) -> bool {
    let deleted = row.get(const { RESOURCE.column("isDeleted") });
    !std::ptr::eq(entity, &RESOURCE) || deleted != Some(&Value::from(true))
}

fn not_found(entity: &Entity, key: impl std::fmt::Display) -> Problem {
    let text = format!("{} with key '{key}' not found", entity.title);
    Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", text)
}

fn unexpected(answer: &Answer) -> Problem {
    Failure::Internal(format!(
        "The store gave an unexpected kind of answer: {answer:?}"
    ))
    .into()
}

fn sequence_flows(rows: &[Row]) -> String {
    let mut out = String::from(r#"{"items":["#);
    for (n, row) in rows.iter().enumerate() {
        let [flow, instance, root, definition, process_id, tenant] = &row[..] else {
            continue;
        };
        let key = |key: &Value| match key {
            Value::Int(key) => format!("\"{key}\""),
            _ => "null".to_string(),
        };
        let text = |value: &Value| {
            let mut out = String::new();
            answer::write_text(value.as_text().unwrap_or_default(), &mut out);
            out
        };
        let _ = write!(
            out,
            r#"{}{{"sequenceFlowId":{},"processInstanceKey":{},"rootProcessInstanceKey":{},"processDefinitionKey":{},"processDefinitionId":{},"elementId":{},"tenantId":{}}}"#,
            if n > 0 { "," } else { "" },
            text(&Value::text(&format!(
                "{}_{}",
                instance.as_int().unwrap_or_default(),
                flow.as_text().unwrap_or_default()
            ))),
            key(instance),
            key(root),
            key(definition),
            text(process_id),
            text(flow),
            text(tenant)
        );
    }
    out.push_str("]}");
    out
}

fn element_statistics(rows: &[Row]) -> String {
    let mut out = String::from(r#"{"items":["#);
    for (n, row) in rows.iter().enumerate() {
        let [element, counts @ ..] = &row[..] else {
            continue;
        };
        out.push_str(if n > 0 {
            ",{\"elementId\":"
        } else {
            "{\"elementId\":"
        });
        answer::write_text(element.as_text().unwrap_or_default(), &mut out);
        let names = ["active", "canceled", "incidents", "completed"];
        for (name, count) in names.iter().zip(counts) {
            let _ = write!(out, ",\"{name}\":{}", count.as_int().unwrap_or_default());
        }
        out.push('}');
    }
    out.push_str("]}");
    out
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Problem {
        let text = error.to_string();
        match error {
            QueryError::Disabled => Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", text),
            QueryError::Unavailable(_) => Failure::Unavailable(text).into(),
            QueryError::TooLong { .. } => Failure::DeadlineExceeded(text).into(),
            QueryError::TooMany { .. } | QueryError::TooLarge { .. } | QueryError::TooComplex => {
                Failure::InvalidArgument(text).into()
            }
            QueryError::Busy => Failure::ResourceExhausted(text).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use skep_query::entities::JOB;

    use super::*;

    #[test]
    fn a_deleted_resource_is_not_there() {
        let mut row = vec![Value::Null; RESOURCE.fields.len()];
        assert!(is_there(&RESOURCE, &row));
        for (deleted, there) in [(false, true), (true, false)] {
            row[const { RESOURCE.column("isDeleted") }] = Value::from(deleted);
            assert_eq!(is_there(&RESOURCE, &row), there);
        }
        assert!(is_there(&JOB, &row));
    }
}
