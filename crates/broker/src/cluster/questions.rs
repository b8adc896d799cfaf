//! What operators want to know of all nodes, whichever of them they ask.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::Cluster;
use super::wire::NodeMessage;
use crate::router::Broker;

/// Tells what this node knows, as text; who is asked and who asks agree about the questions.
pub type Answerer = Box<dyn Fn(&str) -> String + Send + Sync>;

/// A node gets so long to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Questions that are with other nodes: by number, who was asked and who waits.
#[derive(Default)]
pub(super) struct Questions {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, (u32, oneshot::Sender<String>)>>,
}

impl Cluster {
    /// `None`: the question cannot be sent.
    fn ask_node(&self, node: u32, question: &str) -> Option<oneshot::Receiver<String>> {
        let id = self.questions.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let mut pending = self.questions.pending.lock();
        pending.retain(|_, (_, waiting)| !waiting.is_closed());
        pending.insert(id, (node, answer));
        drop(pending);
        let question = question.to_string();
        if self.send(node, &NodeMessage::Ask { id, question }) {
            return Some(answered);
        }
        self.questions.pending.lock().remove(&id);
        None
    }

    pub(super) fn asked(self: &Arc<Self>, from: u32, id: u64, question: &str) {
        let broker = self.broker();
        let answer = broker.and_then(|broker| Some(broker.answerer.get()?(question)));
        // One that has just started knows nothing yet.
        let answer = answer.unwrap_or_default();
        self.send(from, &NodeMessage::Told { id, answer });
    }

    pub(super) fn told(&self, id: u64, answer: String) {
        let waiting = self.questions.pending.lock().remove(&id);
        if let Some((_, waiting)) = waiting {
            let _ = waiting.send(answer);
        }
    }

    /// The connection with the node is lost: there will be no answer.
    pub(super) fn lose_questions(&self, node: u32) {
        let mut pending = self.questions.pending.lock();
        pending.retain(|_, (asked, _)| *asked != node);
    }
}

impl Broker {
    /// From now on this node can be asked.
    pub fn answer_questions(&self, answerer: Answerer) {
        // There is one start.
        let _ = self.shared().answerer.set(answerer);
    }

    /// What each node of the cluster tells, this one too; `None` of those that do not answer within 2 s.
    pub async fn ask_nodes(&self, question: &str) -> BTreeMap<u32, Option<String>> {
        let own = self.shared().answerer.get();
        let own = own.map(|answerer| answerer(question));
        let mut told = BTreeMap::from([(self.config().node_id, own)]);
        if self.config().is_gateway() {
            told.clear();
        }
        let Some(cluster) = self.cluster() else {
            return told;
        };
        let others = cluster
            .nodes()
            .into_iter()
            .filter(|node| *node != cluster.node());
        let asked: Vec<_> = others
            .map(|node| (node, cluster.ask_node(node, question)))
            .collect();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        for (node, answer) in asked {
            let answer = match answer {
                Some(answer) => tokio::time::timeout_at(deadline, answer).await.ok(),
                None => None,
            };
            let answer = answer.and_then(Result::ok);
            told.insert(node, answer.filter(|text| !text.is_empty()));
        }
        told
    }
}
