//! What operators ask for: changes of the cluster, at any node. The leader of the cluster's own group plans and begins them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use skep_cluster::{Entry, Planned, Refusal, Request, State, is_gateway, node_of};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Cluster;
use super::changes::now;
use super::own_group::Told;
use super::wire::{ClusterMessage, NodeMessage};

/// So long an operator waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks whether something has come about.
const LOOK: Duration = Duration::from_millis(20);

/// What an operator wants of the cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    Change {
        request: Request,
        /// Only tell what would be done.
        dry_run: bool,
    },
    Cancel {
        change: u64,
    },
}

/// What it gets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Planned(Box<Planned>),
    State(Box<State>),
}

type Outcome = Result<Answer, Refusal>;

#[derive(Default)]
pub(super) struct Asked {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
}

impl Cluster {
    /// Asks whoever leads the cluster's own group.
    ///
    /// # Errors
    /// It is refused, or nobody was reached.
    pub async fn ask(self: &Arc<Self>, ask: Ask) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let outcome = match self.own_leader() {
                Some((leader, own)) if leader == own => self.decide(ask.clone()).await,
                Some((leader, _)) => self.ask_leader(node_of(leader), &ask, deadline).await,
                None if self.is_gateway() => {
                    self.ask_leader(self.broker_to_ask(), &ask, deadline).await
                }
                None => Err(self.nobody_leads()),
            };
            // Leaders change: who was asked may not lead any more, and has done nothing then.
            let again = matches!(outcome, Err(Refusal::Unreachable(_)));
            if !again || Instant::now() + LOOK >= deadline {
                return outcome;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn nobody_leads(&self) -> Refusal {
        let (reached, size) = (self.there(), self.size());
        Refusal::Unreachable(format!(
            "the cluster's own state has no leader at the moment: {reached} of {size} nodes can be reached from node {}, and a majority \
             has to agree. Nothing was done",
            self.node()
        ))
    }

    async fn ask_leader(&self, node: Option<u32>, ask: &Ask, deadline: Instant) -> Outcome {
        let unreachable = || {
            let text =
                "the node that leads the cluster's own state cannot be reached. Nothing was done";
            Refusal::Unreachable(text.to_string())
        };
        let node = node.ok_or_else(unreachable)?;
        let id = self.asked.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.asked.pending.lock().insert(id, answer);
        let ask = serde_json::to_vec(ask).unwrap_or_default();
        if !self.send(node, &NodeMessage::Cluster(ClusterMessage::Ask { id, ask })) {
            self.asked.pending.lock().remove(&id);
            return Err(unreachable());
        }
        let outcome = tokio::time::timeout_at(deadline, answered).await;
        self.asked.pending.lock().remove(&id);
        match outcome {
            Ok(Ok(outcome)) => outcome,
            _ => Err(Refusal::Unanswered(format!(
                "node {node}, which leads the cluster's own state, has not answered in time. Whether the change has begun can be \
                 seen with GET /actuator/cluster"
            ))),
        }
    }

    /// Another node asks, for one of its operators.
    pub(super) fn operator_asked(self: &Arc<Self>, from: u32, id: u64, ask: &[u8]) {
        let (Ok(ask), Some(runtime)) = (serde_json::from_slice(ask), self.runtime()) else {
            return;
        };
        let cluster = self.clone();
        runtime.spawn(async move {
            let leads = cluster
                .own_leader()
                .is_some_and(|(leader, own)| leader == own);
            let outcome = match leads {
                true => cluster.decide(ask).await,
                // It does not know who leads.
                false if is_gateway(from) => cluster.ask(ask).await,
                false => Err(cluster.nobody_leads()),
            };
            let outcome = serde_json::to_vec(&outcome).unwrap_or_default();
            cluster.send(
                from,
                &NodeMessage::Cluster(ClusterMessage::Told { id, outcome }),
            );
        });
    }

    pub(super) fn operator_told(&self, id: u64, outcome: &[u8]) {
        let waiting = self.asked.pending.lock().remove(&id);
        if let (Some(waiting), Ok(outcome)) = (waiting, serde_json::from_slice(outcome)) {
            let _ = waiting.send(outcome);
        }
    }

    /// As the leader.
    async fn decide(&self, ask: Ask) -> Outcome {
        let state = self.state();
        match ask {
            Ask::Change { request, dry_run } => {
                let planned = state.plan(&request, now())?;
                if !dry_run {
                    self.own_group_told(Told::Propose(Entry::Begin {
                        revision: planned.revision,
                        operations: planned.operations.clone(),
                        now: now(),
                    }));
                    self.came_about(planned.revision, |state| {
                        state.change(planned.change).is_some()
                    })
                    .await?;
                }
                Ok(Answer::Planned(Box::new(planned)))
            }
            Ask::Cancel { change } => {
                if state.next_operation().map(|(running, _)| running) != Some(change) {
                    return Err(Refusal::Unknown(format!(
                        "change {change} is not in progress"
                    )));
                }
                self.own_group_told(Told::Propose(Entry::Cancel { change, now: now() }));
                let over = |state: &State| state.running.as_ref().is_none_or(|r| r.id != change);
                self.came_about(state.revision, over).await?;
                Ok(Answer::State(Box::new(State::clone(&self.state()))))
            }
        }
    }

    /// Waits until what was proposed is agreed on.
    async fn came_about(&self, revision: u64, so: impl Fn(&State) -> bool) -> Result<(), Refusal> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let state = self.state();
            if so(&state) {
                return Ok(());
            }
            if state.revision != revision && state.running.is_some() {
                let text = "another change has begun meanwhile; look at GET /actuator/cluster";
                return Err(Refusal::Busy(text.to_string()));
            }
            if Instant::now() >= deadline {
                let text = "no majority has agreed in time. Whether the change begins can be seen with GET /actuator/cluster";
                return Err(Refusal::Unanswered(text.to_string()));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
