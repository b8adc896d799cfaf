//! Combines the knowledge of all nodes, at any one of them: waiting jobs, the workers that poll for them, and the status of the partitions.
//!
//! Nodes ask each other when a client asks, at most once per second.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_service::work::NodeWork;
use skep_service::{NodeStates, Work};

use crate::cluster::WORK_QUESTION;
use crate::router::Broker;

/// Answered by the server, not by the broker.
const PARTITIONS: &str = "partitions";
/// Likewise; followed by the moment.
const MEASURED: &str = "measured ";
/// How long the nodes are not asked again.
const RENEWED: Duration = Duration::from_secs(1);

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

impl Broker {
    pub(crate) async fn work_of_all(&self) -> Arc<Work> {
        self.reports().work.or(self.ask_for_work()).await
    }

    async fn ask_for_work(&self) -> Work {
        let Some(cluster) = self.shared().others() else {
            let own = self.shared().cluster.own_work(&self.shared().local).await;
            return self.joined(vec![Some(own)]);
        };
        let answers = cluster.ask_nodes(WORK_QUESTION).await.into_values();
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
