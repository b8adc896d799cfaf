//! Statistics of jobs: the outcomes for one type, or for all, within a span of time.

use std::fmt::Write as _;

use http::request::Parts;
use serde_json::Value as Json;
use skep_query::entities::{JOB, JOB_STATISTICS, JOB_STATISTICS_SPAN};
use skep_query::{
    Condition, Conditions, Entity, Field, Groups, Kind, Measure, Op, Ops, Query, Row, Search,
    Value, answer, merge, parse_span, parse_time, render_time,
};

use super::statistics::{forward, groups_of, is, members, required};
use super::{Ask, invalid};
use crate::rest::parameters::parameter;
use crate::rest::problem::Problem;

/// Fields that name the group come first, the outcomes of its jobs second, and fields for the filter only last.
/// Count and last time of one outcome of a group's jobs.
const fn of_jobs(name: &'static str) -> Field {
    Field::new(name, Kind::Json, Ops::NONE)
}

/// A field for the filter only.
const fn asked(name: &'static str, kind: Kind) -> Field {
    Field::new(name, kind, Ops::PLAIN).hidden()
}

static BY_TYPE: Entity = groups_of(
    "Job Statistics",
    &[
        Field::new("jobType", Kind::Text, Ops::TEXT),
        of_jobs("created"),
        of_jobs("completed"),
        of_jobs("failed"),
        Field::new("workers", Kind::Int, Ops::NONE),
        asked("from", Kind::Time),
        asked("to", Kind::Time),
    ],
);

static BY_WORKER: Entity = groups_of(
    "Job Statistics",
    &[
        Field::new("worker", Kind::Text, Ops::NONE),
        of_jobs("created"),
        of_jobs("completed"),
        of_jobs("failed"),
        asked("from", Kind::Time),
        asked("to", Kind::Time),
        asked("jobType", Kind::Text),
    ],
);

static BY_TIME: Entity = groups_of(
    "Job Statistics",
    &[
        Field::new("time", Kind::Time, Ops::NONE),
        of_jobs("created"),
        of_jobs("completed"),
        of_jobs("failed"),
        asked("from", Kind::Time),
        asked("to", Kind::Time),
        asked("jobType", Kind::Text),
        asked("resolution", Kind::Text),
    ],
);

static ERRORS: Entity = groups_of(
    "Job Error Statistics",
    &[
        // Code and message, by which cursors find their place.
        Field::new("error", Kind::Text, Ops::NONE).hidden(),
        Field::new("errorCode", Kind::Text, Ops::TEXT),
        Field::new("errorMessage", Kind::Text, Ops::TEXT),
        Field::new("workers", Kind::Int, Ops::NONE),
        asked("from", Kind::Time),
        asked("to", Kind::Time),
        asked("jobType", Kind::Text),
    ],
);

const TYPE: usize = JOB_STATISTICS.column("jobType");
const WORKER: usize = JOB_STATISTICS.column("worker");
const START: usize = JOB_STATISTICS.column("startTime");

/// Resolutions that are chosen from where the request names none: the finest with which the span has no more points than this.
const POINTS: i64 = 100;
const MINUTE: i64 = JOB_STATISTICS_SPAN;
const RESOLUTIONS: [i64; 9] = [
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    60 * MINUTE,
    180 * MINUTE,
    360 * MINUTE,
    720 * MINUTE,
    1440 * MINUTE,
];

/// A query for statistics of jobs.
#[derive(Debug)]
pub struct JobStatistics {
    groups: Groups,
    /// The page of the groups; none for the sum of all.
    page: Option<Search>,
}

fn at_least(field: usize, value: Value) -> Condition {
    let op = Op::Gte(value);
    Condition::Field { field, op }
}

fn below(field: usize, value: Value) -> Condition {
    let op = Op::Lt(value);
    Condition::Field { field, op }
}

/// Rows for spans that begin at or after `from` and before `to`: a row stands for its whole span.
fn within(from: &Value, to: Value) -> Conditions {
    let from = from.as_int().unwrap_or(i64::MIN);
    let start = from.saturating_sub(from.rem_euclid(JOB_STATISTICS_SPAN));
    vec![at_least(START, Value::Int(start)), below(START, to)]
}

fn counted(filter: Conditions, by: Vec<usize>) -> Groups {
    const OF_EVENTS: [[usize; 2]; 3] = [
        [
            JOB_STATISTICS.column("created"),
            JOB_STATISTICS.column("lastCreated"),
        ],
        [
            JOB_STATISTICS.column("completed"),
            JOB_STATISTICS.column("lastCompleted"),
        ],
        [
            JOB_STATISTICS.column("failed"),
            JOB_STATISTICS.column("lastFailed"),
        ],
    ];
    let measures = OF_EVENTS.map(|[count, last]| [Measure::Sum(count), Measure::Most(last)]);
    Groups {
        search: Search::all(&JOB_STATISTICS, filter, 0),
        by,
        span: None,
        measures: measures.into_iter().flatten().collect(),
    }
}

pub fn global(parts: &Parts) -> Result<JobStatistics, Problem> {
    let query = parts.uri.query();
    let from = Value::Int(super::time_parameter(query, "from")?);
    let to = Value::Int(super::time_parameter(query, "to")?);
    in_order(("from", &from), ("to", &to))?;
    let mut filter = within(&from, to);
    if let Some(job_type) = parameter(query, "jobType").filter(|name| !name.is_empty()) {
        filter.push(is(TYPE, Value::text(&job_type)));
    }
    let tenant = const { JOB_STATISTICS.column("tenantId") };
    Ok(JobStatistics {
        groups: counted(filter, vec![tenant]),
        page: None,
    })
}

/// The filter's span of time; the page does not need it.
fn span(page: &mut Search) -> Result<(Value, Value), Problem> {
    let mut field = |name: &str| {
        let field = page.entity.index_of(name).unwrap_or_default();
        required(page, field)
    };
    let (from, to) = (field("from")?, field("to")?);
    in_order(("filter.from", &from), ("filter.to", &to))?;
    Ok((from, to))
}

/// Checks that a span does not end before it begins.
pub(super) fn in_order(
    (start, from): (&str, &Value),
    (end, to): (&str, &Value),
) -> Result<(), Problem> {
    match (from.as_int(), to.as_int()) {
        (Some(from), Some(to)) if to < from => Err(invalid(format!(
            "'{end}' is before '{start}'. Choose an end after the start."
        ))),
        _ => Ok(()),
    }
}

fn job_type(page: &mut Search) -> Result<Value, Problem> {
    let field = page.entity.index_of("jobType").unwrap_or_default();
    required(page, field)
}

pub fn by_type(body: &str) -> Result<JobStatistics, Problem> {
    super::has_body(body)?;
    let mut page = forward(&BY_TYPE, body)?;
    // Without a filter all jobs count.
    let mut filter = match members(body)?.get("filter") {
        None | Some(Json::Null) => Conditions::new(),
        Some(_) => {
            let (from, to) = span(&mut page)?;
            within(&from, to)
        }
    };
    filter.extend(of(&mut page, &[("jobType", TYPE)]));
    let groups = counted(filter, vec![TYPE, WORKER]);
    Ok(JobStatistics {
        groups,
        page: Some(page),
    })
}

/// Moves the conditions of the page on these fields to the rows that are counted.
fn of(page: &mut Search, columns: &[(&str, usize)]) -> Conditions {
    let entity = page.entity;
    let moved = std::mem::take(&mut page.filter).into_iter();
    let moved = moved.filter_map(|condition| match condition {
        Condition::Field { field, op } => {
            let name = entity.field(field).name;
            let (_, field) = columns.iter().find(|(own, _)| *own == name)?;
            Some(Condition::Field { field: *field, op })
        }
        _ => None,
    });
    moved.collect()
}

pub fn by_worker(body: &str) -> Result<JobStatistics, Problem> {
    let mut page = forward(&BY_WORKER, body)?;
    let (from, to) = span(&mut page)?;
    let mut filter = within(&from, to);
    filter.push(is(TYPE, job_type(&mut page)?));
    let groups = counted(filter, vec![WORKER]);
    Ok(JobStatistics {
        groups,
        page: Some(page),
    })
}

pub fn by_time(body: &str) -> Result<JobStatistics, Problem> {
    let mut page = forward(&BY_TIME, body)?;
    let (from, to) = span(&mut page)?;
    let named = required(&mut page, const { BY_TIME.column("resolution") }).ok();
    let step = match named.as_ref().and_then(Value::as_text) {
        Some(text) => resolution(text)?,
        None => {
            let length = to.as_int().zip(from.as_int());
            let length = length.map_or(0, |(to, from)| to.saturating_sub(from));
            let mut fine = RESOLUTIONS
                .into_iter()
                .filter(|step| length / step <= POINTS);
            fine.next().unwrap_or(1440 * MINUTE)
        }
    };
    let mut filter = within(&from, to);
    filter.push(is(TYPE, job_type(&mut page)?));
    let mut groups = counted(filter, vec![START]);
    groups.span = Some(step);
    Ok(JobStatistics {
        groups,
        page: Some(page),
    })
}

fn resolution(text: &str) -> Result<i64, Problem> {
    let span = parse_span(text).filter(|_| text.starts_with('P'));
    match span.filter(|span| *span >= MINUTE && span % MINUTE == 0) {
        Some(span) => Ok(span),
        None => Err(invalid(format!(
            "The field 'filter.resolution' is '{text}', but must be an ISO 8601 duration of whole minutes, like PT1M or PT1H."
        ))),
    }
}

pub fn errors(body: &str) -> Result<JobStatistics, Problem> {
    const CODE: usize = JOB.column("errorCode");
    const MESSAGE: usize = JOB.column("errorMessage");
    let mut page = forward(&ERRORS, body)?;
    let (from, to) = span(&mut page)?;
    let failed = const { JOB.column("failureTime") };
    let mut filter = vec![at_least(failed, from), below(failed, to)];
    filter.push(is(const { JOB.column("type") }, job_type(&mut page)?));
    filter.extend(of(
        &mut page,
        &[("errorCode", CODE), ("errorMessage", MESSAGE)],
    ));
    let groups = Groups {
        search: Search::all(&JOB, filter, 0),
        by: vec![CODE, MESSAGE, const { JOB.column("worker") }],
        span: None,
        measures: vec![Measure::Rows],
    };
    Ok(JobStatistics {
        groups,
        page: Some(page),
    })
}

/// One outcome of jobs: the sum and the last time over the groups.
fn status(rows: &[Row], at: usize) -> String {
    let values = |at: usize| rows.iter().filter_map(move |row| row.get(at)?.as_int());
    let (count, last): (i64, _) = (values(at).sum(), values(at + 1).max());
    let last = last.map_or_else(
        || "null".to_string(),
        |last| format!(r#""{}""#, render_time(last)),
    );
    format!(r#"{{"count":{count},"lastUpdatedAt":{last}}}"#)
}

fn text(value: Option<&Value>) -> Value {
    Value::text(value.and_then(Value::as_text).unwrap_or_default())
}

/// One row for all that share the first value; those are adjacent.
fn per_first(rows: &[Row]) -> impl Iterator<Item = (Value, &[Row])> {
    let same = rows.chunk_by(|a, b| a.first() == b.first());
    same.filter_map(|rows| Some((rows.first()?.first()?.clone(), rows)))
}

/// Workers among rows that name them at this place; none is no worker.
fn workers(rows: &[Row], at: usize) -> Value {
    let named = rows.iter().filter_map(|row| row.get(at)?.as_text());
    let count = named.filter(|name| !name.is_empty()).count();
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn of_events(rows: &[Row], at: usize) -> impl Iterator<Item = Value> {
    [at, at + 2, at + 4]
        .map(|at| Value::text(&status(rows, at)))
        .into_iter()
}

/// The groups as rows of the page.
fn rows_of(entity: &Entity, rows: &[Row]) -> Vec<Row> {
    if std::ptr::eq(entity, &BY_TYPE) {
        let of_type = |(job_type, rows): (Value, &[Row])| {
            let mut row = vec![job_type];
            row.extend(of_events(rows, 2));
            row.push(workers(rows, 1));
            row
        };
        return per_first(rows).map(of_type).collect();
    }
    if std::ptr::eq(entity, &ERRORS) {
        let same = rows.chunk_by(|a, b| a.iter().take(2).eq(b.iter().take(2)));
        let of_error = |rows: &[Row]| {
            let first = rows.first()?;
            let (code, message) = (text(first.first()), text(first.get(1)));
            let mut both = String::new();
            for part in [&code, &message] {
                let _ = writeln!(both, "{}", part.as_text().unwrap_or_default());
            }
            Some(vec![Value::text(&both), code, message, workers(rows, 2)])
        };
        return same.filter_map(of_error).collect();
    }
    let each = |(first, rows): (Value, &[Row])| {
        let mut row = vec![first];
        row.extend(of_events(rows, 1));
        row
    };
    per_first(rows).map(each).collect()
}

impl Ask<'_> {
    pub(super) async fn job_statistics(&mut self, asked: JobStatistics) -> Result<String, Problem> {
        let rows = self.rows(Query::Groups(asked.groups)).await?;
        let Some(page) = asked.page else {
            let [created, completed, failed] = [1, 3, 5].map(|at| status(&rows, at));
            return Ok(format!(
                r#"{{"created":{created},"completed":{completed},"failed":{failed},"isIncomplete":false}}"#
            ));
        };
        let mut groups = rows_of(page.entity, &rows);
        for row in &mut groups {
            row.resize(page.entity.fields.len(), Value::Null);
        }
        Ok(answer::page(&page, &merge::page(&page, groups)))
    }
}

/// A point in time that a parameter must name.
pub fn time_parameter(query: Option<&str>, name: &str) -> Result<i64, Problem> {
    let Some(text) = parameter(query, name) else {
        return Err(invalid(format!(
            "The query parameter '{name}' is missing. Name a date-time, like 2026-01-31T13:05:00.000Z."
        )));
    };
    // A plus sign that was not escaped is a blank.
    match parse_time(&text.replace(' ', "+")) {
        Some(time) => Ok(time),
        None => Err(invalid(format!(
            "The query parameter '{name}' is '{text}', which is not a date-time with zone. Write it like 2026-01-31T13:05:00.000Z."
        ))),
    }
}
