//! Operators' questions about all nodes, at any node.

pub(super) mod node_answers;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;

use self::node_answers::{PULSE_QUESTION, WORK_QUESTION};
use super::Cluster;
use super::queries::unanswered::Unanswered;
use super::wire::NodeMessage;

/// Produces this node's answer as text; both sides agree on the questions.
pub type Answerer = Box<dyn Fn(&str) -> String + Send + Sync>;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Operators' questions.
#[derive(Default)]
pub(super) struct Questions {
    /// Callers whose questions are at other nodes.
    pending: Unanswered<oneshot::Sender<String>>,
    /// Answers questions on this node. It is set once the broker has started, because its answers come from the running broker and from
    /// what the server builds upon it. Until then the node answers nothing, and the caller treats it as a node that does not answer.
    answerer: OnceLock<Answerer>,
}

impl Cluster {
    /// Sets the answerer: from now on this node can be asked.
    pub(crate) fn answer_questions(&self, answerer: Answerer) {
        let is_first = self.exchanges.questions.answerer.set(answerer).is_ok();
        debug_assert!(is_first, "the answerer is set once");
    }

    async fn own_answer(&self, question: &str) -> Option<String> {
        if question == PULSE_QUESTION {
            return self.local().map(|local| local.own_part());
        }
        if question == WORK_QUESTION {
            let work = self.own_work(self.local()?.as_ref()).await;
            // Texts and numbers can always be serialized.
            return serde_json::to_string(&work).ok();
        }
        let answerer = self.exchanges.questions.answerer.get();
        answerer.map(|answerer| answerer(question))
    }

    /// The answers of all nodes of the cluster, including this one; `None` for those that do not answer within 2 s.
    pub(crate) async fn ask_nodes(&self, question: &str) -> BTreeMap<u32, Option<String>> {
        let mut answers = BTreeMap::new();
        if !self.is_gateway() {
            answers.insert(self.node(), self.own_answer(question).await);
        }
        let nodes = self.nodes().into_iter();
        let others = nodes.filter(|node| *node != self.node());
        let asked: Vec<_> = others
            .map(|node| (node, self.ask_node(node, question)))
            .collect();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        for (node, answer) in asked {
            let answer = match answer {
                Some(answer) => tokio::time::timeout_at(deadline, answer).await.ok(),
                None => None,
            };
            let answer = answer.and_then(Result::ok);
            answers.insert(node, answer.filter(|text| !text.is_empty()));
        }
        answers
    }

    /// Asks one node. `None`: the question cannot be sent.
    fn ask_node(&self, node: u32, question: &str) -> Option<oneshot::Receiver<String>> {
        let (answer, answered) = oneshot::channel();
        let pending = &self.exchanges.questions.pending;
        let id = pending.add(node, answer, oneshot::Sender::is_closed);
        let question = question.to_string();
        if self.send(node, &NodeMessage::Ask { id, question }) {
            return Some(answered);
        }
        pending.take(node, id);
        None
    }

    pub(super) fn asked(self: &Arc<Self>, from: u32, id: u64, question: String) {
        let Some(runtime) = self.runtime() else {
            return;
        };
        let cluster = Arc::clone(self);
        runtime.spawn(async move {
            // A node that has just started knows nothing yet.
            let answer = cluster.own_answer(&question).await.unwrap_or_default();
            cluster.send(from, &NodeMessage::NodeReport { id, answer });
        });
    }

    pub(super) fn question_answered(&self, from: u32, id: u64, answer: String) {
        if let Some(waiting) = self.exchanges.questions.pending.take(from, id) {
            let _ = waiting.send(answer);
        }
    }

    /// The connection with the node is lost: there will be no answer.
    pub(super) fn lose_questions(&self, node: u32) {
        self.exchanges
            .questions
            .pending
            .take_all(node)
            .for_each(drop);
    }
}
