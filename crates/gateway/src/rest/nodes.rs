//! Answers of which every node knows a part: which jobs wait and who asks for them, and the state of partitions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Response;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use skep_identity::Tenancy;
use skep_protocol::origin::Claims;
use skep_protocol::{Failure, Key, TenantId};
use skep_query::entities::JOB;
use skep_query::{Answer, Condition, Consistency, Op, Query, Row, Search, Value, render_time};
use skep_service::Work;
use skep_service::work::Way;

use super::monitor;
use super::operations::Operation;
use super::problem::Problem;
use super::{RestBody, encode, sight};
use crate::call::FrontEnd;

/// Job types of one answer at most: those with the most jobs that wait.
const MAX_TYPES: usize = 1_000;
/// Workers of each: those that asked last.
const MAX_WORKERS: usize = 100;
/// Jobs whose age is looked up at most.
const MAX_AGES: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub enum NodesQuery {
    JobTypes,
    States,
    Monitor,
}

/// `query`: of the request.
pub async fn answer(
    front: &FrontEnd,
    claims: &Claims,
    operation: &Operation,
    (asked, query): (NodesQuery, Option<&str>),
) -> Result<Response<RestBody>, Problem> {
    sight::may(front, claims, operation)?;
    let body = match asked {
        NodesQuery::JobTypes => job_types(front, claims).await,
        NodesQuery::States => states(front).await,
        NodesQuery::Monitor => return Ok(encode::json(monitor::answer(front, query).await?)),
    };
    let body = body.map_err(|error| {
        Failure::Internal(format!("The answer cannot be written as JSON: {error}"))
    })?;
    Ok(encode::json(body))
}

/// The partitions of each node, in its own words.
async fn states(front: &FrontEnd) -> serde_json::Result<String> {
    let answers = front.broker.node_states().await;
    let nodes = answers.iter().map(|(node, answer)| {
        let partitions = answer.as_deref().map(serde_json::from_str::<Json>);
        let partitions = partitions.and_then(Result::ok).unwrap_or_default();
        (node.to_string(), partitions)
    });
    serde_json::to_string(&nodes.collect::<Map<_, _>>())
}

/// One job type, over all nodes.
#[derive(Debug, Default)]
struct OfType {
    waiting: u64,
    /// The oldest one of each partition and tenant.
    oldest: Vec<Key>,
    last_asked: Option<i64>,
    workers: BTreeMap<Arc<str>, OfWorker>,
}

#[derive(Debug, Default)]
struct OfWorker {
    nodes: BTreeSet<Arc<str>>,
    ways: BTreeSet<Way>,
    in_flight: u64,
    seen: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    items: Vec<Item<'a>>,
    since: Option<String>,
    is_incomplete: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    r#type: &'a str,
    waiting: u64,
    oldest: Option<String>,
    last_asked: Option<String>,
    workers: Vec<Worker<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Worker<'a> {
    name: &'a str,
    nodes: Vec<&'a str>,
    ways: Vec<&'static str>,
    in_flight: u64,
    seen: Option<String>,
}

/// Jobs of these tenants and their workers, by type.
fn by_type(work: &Work, tenancy: &Tenancy) -> BTreeMap<Arc<str>, OfType> {
    let mut types: BTreeMap<Arc<str>, OfType> = BTreeMap::new();
    for asker in work.nodes.iter().flat_map(|node| &node.askers) {
        let has = |tenants: &Vec<TenantId>| tenants.iter().any(|tenant| tenancy.has(tenant));
        if !asker.tenants.as_ref().is_none_or(has) {
            continue;
        }
        let of_type = types.entry(Arc::clone(&asker.job_type)).or_default();
        of_type.last_asked = of_type.last_asked.max(Some(asker.seen));
        let worker = of_type
            .workers
            .entry(Arc::clone(&asker.worker))
            .or_default();
        worker.nodes.insert(Arc::clone(&asker.node));
        worker.ways.insert(asker.way);
        worker.seen = worker.seen.max(Some(asker.seen));
    }
    for partition in work.nodes.iter().flat_map(|node| &node.partitions) {
        for jobs in partition
            .waiting
            .iter()
            .filter(|it| tenancy.has(&it.tenant))
        {
            let of_type = types.entry(Arc::clone(&jobs.job_type)).or_default();
            of_type.waiting += jobs.count;
            of_type.oldest.push(jobs.oldest);
        }
        for jobs in partition
            .in_flight
            .iter()
            .filter(|it| tenancy.has(&it.tenant))
        {
            let of_type = types.entry(Arc::clone(&jobs.job_type)).or_default();
            let worker = of_type.workers.entry(Arc::clone(&jobs.worker)).or_default();
            worker.in_flight += jobs.count;
        }
    }
    types
}

async fn job_types(front: &FrontEnd, claims: &Claims) -> serde_json::Result<String> {
    let tenancy = sight::sight(front, claims).tenancy;
    let work = front.broker.work().await;
    let mut types: Vec<_> = by_type(&work, &tenancy).into_iter().collect();
    let mut is_incomplete = work.is_incomplete;
    if types.len() > MAX_TYPES {
        types.sort_by_key(|(_, of_type)| Reverse(of_type.waiting));
        types.truncate(MAX_TYPES);
        types.sort_by(|(a, _), (b, _)| a.cmp(b));
        is_incomplete = true;
    }
    let oldest = types.iter().flat_map(|(_, of_type)| &of_type.oldest);
    let ages = created(front, oldest.take(MAX_AGES)).await;
    let items = types.iter().map(|(job_type, of_type)| {
        let oldest = of_type.oldest.iter().filter_map(|key| ages.get(key)).min();
        Item {
            r#type: job_type,
            waiting: of_type.waiting,
            oldest: oldest.map(|time| render_time(*time)),
            last_asked: of_type.last_asked.map(render_time),
            workers: workers(of_type),
        }
    });
    let since = work.nodes.iter().map(|node| node.since).max();
    serde_json::to_string(&Page {
        items: items.collect(),
        since: since.map(render_time),
        is_incomplete,
    })
}

fn workers(of_type: &OfType) -> Vec<Worker<'_>> {
    let mut workers: Vec<_> = of_type.workers.iter().collect();
    workers.sort_by(|(a, one), (b, other)| other.seen.cmp(&one.seen).then(a.cmp(b)));
    let shown = workers.into_iter().take(MAX_WORKERS);
    let each = shown.map(|(name, worker)| Worker {
        name,
        nodes: worker.nodes.iter().map(|node| &**node).collect(),
        ways: worker.ways.iter().map(|way| name_of(*way)).collect(),
        in_flight: worker.in_flight,
        seen: worker.seen.map(render_time),
    });
    each.collect()
}

fn name_of(way: Way) -> &'static str {
    match way {
        Way::Poll => "POLL",
        Way::Stream => "STREAM",
    }
}

/// Creation times of jobs, as far as secondary storage has them. The caller chose the jobs by tenant; no other field leaves
/// this function.
async fn created(front: &FrontEnd, keys: impl Iterator<Item = &Key>) -> BTreeMap<Key, i64> {
    let keys: Vec<Value> = keys.map(|key| Value::Int(key.0)).collect();
    if keys.is_empty() || front.storage.is_off() {
        return BTreeMap::new();
    }
    let limit = u32::try_from(keys.len()).unwrap_or(u32::MAX);
    let filter = vec![Condition::Field {
        field: 0,
        op: Op::In(keys),
    }];
    let query = Query::Search(Search::all(&JOB, filter, limit));
    let found = match front.storage.query(query, Consistency::Eventual).await {
        Ok((Answer::Page(found), _)) => found.rows,
        // Counts and workers are reported without it.
        Ok(_) | Err(_) => Vec::new(),
    };
    let time = |row: &Row| {
        let key = row.first()?.as_int()?;
        let created = row.get(const { JOB.column("creationTime") })?.as_int()?;
        Some((Key(key), created))
    };
    found.iter().filter_map(time).collect()
}
