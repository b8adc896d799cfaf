//! Combines the knowledge of all nodes, at any one of them: waiting jobs, the workers that poll for them, and the status of the partitions.
//!
//! Nodes ask each other when a client asks, at most once per second.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_engine::state::State;
use skep_protocol::TenantId;
use skep_service::work::{JobsInFlight, NodeWork, PartitionWork, WaitingJobs};
use skep_service::{NodeStates, Work};

use crate::cluster::Cluster;
use crate::local::Local;
use crate::partition::Report;
use crate::router::Broker;
use crate::workers::{self, Noted};

/// The question that nodes ask each other; the answer is the JSON of a [`NodeWork`]. Earlier versions do not know it and answer nothing.
pub(crate) const QUESTION: &str = "work";
/// Answered by the server, not by the broker.
const PARTITIONS: &str = "partitions";
/// Likewise; followed by the moment.
const MEASURED: &str = "measured ";
/// How long the nodes are not asked again.
const RENEWED: Duration = Duration::from_secs(1);
/// How long a partition may take to answer; another node may take longer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of lines in a partition's answer, per kind.
const MAX_LINES: usize = 1_000;
/// Maximum number of jobs with workers that are examined for it.
const MAX_LOOKED_AT: usize = 5_000;
/// Maximum number of those that are read from disk: the partition does nothing else meanwhile.
const MAX_READ: usize = 100;

/// The last answer of all nodes.
#[derive(Default)]
pub(crate) struct Last<T> {
    last: Mutex<Option<(Instant, Arc<T>)>>,
    /// Held by the one client whose request asks the nodes.
    asking: tokio::sync::Mutex<()>,
}

impl<T> Last<T> {
    fn young(&self) -> Option<Arc<T>> {
        let last = self.last.lock();
        let (since, answer) = last.as_ref()?;
        (since.elapsed() < RENEWED).then(|| Arc::clone(answer))
    }

    async fn or(&self, ask: impl Future<Output = T>) -> Arc<T> {
        if let Some(answer) = self.young() {
            return answer;
        }
        let _asking = self.asking.lock().await;
        if let Some(answer) = self.young() {
            return answer;
        }
        let answer = Arc::new(ask.await);
        *self.last.lock() = Some((Instant::now(), Arc::clone(&answer)));
        answer
    }
}

/// The answers of all nodes.
#[derive(Default)]
pub(crate) struct NodeReports {
    work: Last<Work>,
    states: Last<NodeStates>,
    /// Open pages ask for the same latest moments.
    measured: Mutex<Option<(i64, Arc<Last<NodeStates>>)>>,
}

/// The jobs in a partition's state, on its leader.
pub(crate) fn of_state(partition: u32, state: &mut State) -> PartitionWork {
    let mut waiting = state.jobs.waiting();
    let lines = waiting.by_ref().take(MAX_LINES);
    let lines = lines.map(|(job_type, tenant, count, oldest)| WaitingJobs {
        job_type: Arc::clone(job_type),
        tenant,
        count: count as u64,
        oldest,
    });
    let lines = lines.collect();
    let has_more = waiting.next().is_some();
    drop(waiting);
    let with_workers = state.jobs.activated_count();
    let mut counts: FxHashMap<(Arc<str>, Arc<str>, TenantId), u64> = FxHashMap::default();
    let known = state.jobs.with_workers(MAX_LOOKED_AT, MAX_READ);
    let is_incomplete = has_more || with_workers > known.len();
    for job in known {
        *counts.entry(job).or_default() += 1;
    }
    let is_incomplete = is_incomplete || counts.len() > MAX_LINES;
    let in_flight = counts.into_iter().take(MAX_LINES);
    let in_flight = in_flight.map(|((job_type, worker, tenant), count)| JobsInFlight {
        job_type,
        worker,
        tenant,
        count,
    });
    PartitionWork {
        partition,
        waiting: lines,
        in_flight: in_flight.collect(),
        is_incomplete,
    }
}

impl Local {
    /// The jobs of the partitions that are led here.
    async fn partition_works(&self) -> (Vec<PartitionWork>, bool) {
        let led = self.partitions().into_iter().filter(|it| it.leads());
        let asked: Vec<_> = led
            .map(|handle| {
                let (answer, answered) = tokio::sync::oneshot::channel();
                handle.inbox.send(Report::DescribeWork(answer));
                answered
            })
            .collect();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let (mut works, mut lacks) = (Vec::new(), false);
        for answer in asked {
            match tokio::time::timeout_at(deadline, answer).await {
                Ok(Ok(work)) => works.push(work),
                // The partition is too busy, or has just stopped.
                Ok(Err(_)) | Err(_) => lacks = true,
            }
        }
        (works, lacks)
    }
}

impl Cluster {
    /// The jobs and workers known to this node.
    pub(crate) async fn own_work(&self, local: &Local) -> NodeWork {
        let now = crate::clock::real_time();
        let directory = local.directory.get();
        let mut askers = local.workers.all(now);
        let own = local.streams.streams().into_iter();
        let streams = own.map(|stream| (self.node(), stream));
        for (node, stream) in streams.chain(self.streams_of_gateways()) {
            let noted = Noted { node, now };
            askers.push(workers::stream(&stream, &directory, noted));
        }
        let (partitions, is_incomplete) = local.partition_works().await;
        NodeWork {
            since: local.began,
            askers,
            partitions,
            is_incomplete,
        }
    }
}

impl Broker {
    pub(crate) async fn work_of_all(&self) -> Arc<Work> {
        self.reports().work.or(self.ask_for_work()).await
    }

    async fn ask_for_work(&self) -> Work {
        let Some(cluster) = self.shared().others() else {
            let own = self.shared().cluster.own_work(&self.shared().local).await;
            return self.joined(vec![Some(own)]);
        };
        let answers = cluster.ask_nodes(QUESTION).await.into_values();
        let read = |text: String| serde_json::from_str(&text).ok();
        self.joined(answers.map(|answer| answer.and_then(read)).collect())
    }

    fn joined(&self, answers: Vec<Option<NodeWork>>) -> Work {
        let missing = answers.iter().any(Option::is_none);
        let nodes: Vec<NodeWork> = answers.into_iter().flatten().collect();
        let partitions = nodes.iter().flat_map(|node| &node.partitions);
        let led: BTreeSet<u32> = partitions.clone().map(|it| it.partition).collect();
        let all = self.routing().partitions().all(|it| led.contains(&it));
        let is_incomplete = missing
            || !all
            || nodes.iter().any(|node| node.is_incomplete)
            || partitions.clone().any(|it| it.is_incomplete);
        Work {
            is_incomplete,
            nodes,
        }
    }

    pub(crate) async fn states_of_all(&self) -> Arc<NodeStates> {
        self.reports().states.or(self.ask_nodes(PARTITIONS)).await
    }

    pub(crate) async fn measured_by_all(&self, from: i64) -> Arc<NodeStates> {
        let last = {
            let mut measured = self.reports().measured.lock();
            let known = measured.as_ref().filter(|(of, _)| *of == from);
            let last = known.map(|(_, last)| Arc::clone(last)).unwrap_or_default();
            *measured = Some((from, Arc::clone(&last)));
            last
        };
        let question = format!("{MEASURED}{from}");
        last.or(self.ask_nodes(&question)).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use skep_engine::state::State;
    use skep_model::builder::Bpmn;
    use skep_protocol::{Key, TenantId};
    use skep_service::work::PartitionWork;
    use skep_testkit::rig::{MemoryStore, Pending, Rig};

    use super::{MAX_READ, of_state};

    /// Two job types, with this many activated jobs, as in a newly opened partition: no job is in memory.
    fn cold(with_workers: usize, waiting: usize) -> State {
        let mut rig = Rig::new();
        for job_type in ["taken", "waits"] {
            let model = Bpmn::process(job_type)
                .start("s")
                .service_task("t", job_type)
                .end("e");
            rig.deploy(model);
        }
        for _ in 0..with_workers {
            rig.create("taken", "{}");
        }
        assert_eq!(rig.jobs("taken").len(), with_workers);
        for _ in 0..waiting {
            rig.create("waits", "{}");
        }
        let (store, mut rows) = (MemoryStore::default(), Pending::default());
        rig.engine(1).state.checkpoint(&mut rows);
        store.write(rows);
        State::open(1, Arc::new(store)).expect("a state")
    }

    fn in_flight(work: &PartitionWork) -> u64 {
        work.in_flight.iter().map(|jobs| jobs.count).sum()
    }

    #[test]
    fn jobs_that_wait_are_counted_without_reading_them() {
        let mut state = cold(0, 500);
        let before = state.resident_bytes();
        let work = of_state(1, &mut state);
        let [line] = &work.waiting[..] else {
            panic!("{work:?}");
        };
        let oldest = state.jobs.activatable("waits", &TenantId::default()).next();
        assert_eq!((&*line.job_type, line.count), ("waits", 500));
        assert_eq!(Some(line.oldest), oldest);
        assert!(line.oldest > Key(0) && !work.is_incomplete);
        assert_eq!(state.resident_bytes(), before, "nothing was read");
    }

    #[test]
    fn only_a_limited_number_of_activated_jobs_is_read_at_a_time() {
        let mut state = cold(MAX_READ + 50, 1);
        let work = of_state(1, &mut state);
        assert_eq!(
            (in_flight(&work), work.is_incomplete),
            (MAX_READ as u64, true)
        );
        // Those are in memory now.
        let work = of_state(1, &mut state);
        let all = MAX_READ as u64 + 50;
        assert_eq!((in_flight(&work), work.is_incomplete), (all, false));
        assert_eq!(work.waiting.len(), 1);
    }
}
