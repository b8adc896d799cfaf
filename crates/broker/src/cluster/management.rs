//! Operator requests for cluster changes, at any node. The leader of the metadata group plans and begins them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use skep_cluster::{Entry, Planned, Refusal, Request, State, Survivor, is_gateway, node_of};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Cluster;
use super::changes::now;
use super::metadata_group::MetadataEvent;
use super::wire::{ClusterMessage, NodeMessage};
use crate::backup::{Step, StepResult};

/// How long an operator waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for a leader before the majority counts as lost.
const ELECTION: Duration = Duration::from_secs(5);
/// Interval between two checks for progress.
const LOOK: Duration = Duration::from_millis(20);

/// An operator's request to the cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    Change {
        request: Request,
        /// Only report what would be done.
        dry_run: bool,
    },
    Cancel {
        change: u64,
    },
    /// Brokers are lost for good, and a majority with them. Sent to the lowest-numbered remaining node.
    RemoveLost {
        removed: Vec<u32>,
        dry_run: bool,
    },
    /// Report what the node has, if a majority is lost.
    Survives,
    /// Take a backup with this id, or with one derived from the time.
    Backup(Option<u64>),
    /// Do work for a backup that the leader of the metadata group is taking.
    BackupStep(Step),
}

impl Ask {
    /// Whether a single node can do it.
    fn is_for_one(&self, node: u32) -> bool {
        match self {
            Ask::Change { request, .. } => !request.needs_others(node),
            Ask::Cancel { .. } | Ask::Backup(_) => true,
            Ask::RemoveLost { .. } | Ask::Survives | Ask::BackupStep(_) => false,
        }
    }

    /// Brokers that are to be removed as lost, and whether that is only a dry run.
    fn loses(&self) -> Option<(Vec<u32>, bool)> {
        if let Ask::Change {
            request: Request::ForceRemove { brokers },
            dry_run,
        } = self
        {
            Some((brokers.clone(), *dry_run))
        } else {
            None
        }
    }
}

/// The answer to an [`Ask`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Planned(Box<Planned>),
    State(Box<State>),
    Survivor(Box<Survivor>),
    /// The backup with this id has begun.
    Backup(u64),
    BackupStep(StepResult),
}

pub(super) type Outcome = Result<Answer, Refusal>;

#[derive(Default)]
pub(super) struct OperatorRequests {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
    /// Held while deciding how to continue without a majority.
    pub(super) deciding: tokio::sync::Mutex<()>,
}

impl Cluster {
    /// Sends the request to the leader of the metadata group.
    ///
    /// # Errors
    /// The request is refused, or no node was reached.
    pub async fn ask(self: &Arc<Self>, ask: Ask) -> Outcome {
        if !self.has_others() && !ask.is_for_one(self.node()) {
            return Err(Refusal::NotOffered(
                "this node is alone and has no port for other nodes. Start it with the settings of a cluster (camunda.cluster.size and \
                 initial-contact-points) to add others; its data stays"
                    .to_string(),
            ));
        }
        let Some((removed, dry_run)) = ask.loses() else {
            return self.ask_majority(&ask, PATIENCE).await;
        };
        if self.is_gateway() {
            return self.ask_majority(&ask, ELECTION + 2 * PATIENCE).await;
        }
        match self.ask_majority(&ask, ELECTION).await {
            // There is no leader.
            Err(Refusal::Unreachable(_)) => {
                let deadline = Instant::now() + 2 * PATIENCE;
                self.remove_lost(removed, dry_run, deadline).await
            }
            outcome => outcome,
        }
    }

    async fn ask_majority(self: &Arc<Self>, ask: &Ask, patience: Duration) -> Outcome {
        let deadline = Instant::now() + patience;
        loop {
            let outcome = match self.metadata_leader() {
                Some((leader, own)) if leader == own => self.decide(ask.clone()).await,
                Some((leader, _)) => self.ask_leader(node_of(leader), ask, deadline).await,
                None if self.is_gateway() => {
                    self.ask_leader(self.broker_to_ask(), ask, deadline).await
                }
                None => Err(self.nobody_leads()),
            };
            // Leaders change: the node that was asked may no longer lead, and has done nothing then.
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
        match node {
            Some(node) => self.ask_node_for(node, ask, deadline).await,
            None => Err(Refusal::Unreachable(
                "the node that leads the cluster's own state cannot be reached. Nothing was done"
                    .to_string(),
            )),
        }
    }

    pub(super) async fn ask_node_for(&self, node: u32, ask: &Ask, deadline: Instant) -> Outcome {
        let unreachable = || {
            Refusal::Unreachable(format!(
                "node {node}, which has to decide, cannot be reached. Nothing was done"
            ))
        };
        let id = self
            .exchanges
            .operator_requests
            .next
            .fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.exchanges
            .operator_requests
            .pending
            .lock()
            .insert(id, answer);
        let ask = serde_json::to_vec(ask).unwrap_or_default();
        if !self.send(node, &NodeMessage::Cluster(ClusterMessage::Ask { id, ask })) {
            self.exchanges.operator_requests.pending.lock().remove(&id);
            return Err(unreachable());
        }
        let outcome = tokio::time::timeout_at(deadline, answered).await;
        self.exchanges.operator_requests.pending.lock().remove(&id);
        match outcome {
            Ok(Ok(outcome)) => outcome,
            _ => Err(Refusal::Unanswered(format!(
                "node {node}, which has to decide, has not answered in time. Whether the change has begun can be seen with \
                 GET /actuator/cluster"
            ))),
        }
    }

    /// Another node forwards a request of one of its operators.
    pub(super) fn operator_asked(self: &Arc<Self>, from: u32, id: u64, ask: &[u8]) {
        let (Ok(ask), Some(runtime)) = (serde_json::from_slice(ask), self.runtime()) else {
            return;
        };
        let cluster = self.clone();
        runtime.spawn(async move {
            let outcome = cluster.asked_by(from, ask).await;
            let outcome = serde_json::to_vec(&outcome).unwrap_or_default();
            cluster.send(
                from,
                &NodeMessage::Cluster(ClusterMessage::Outcome { id, outcome }),
            );
        });
    }

    async fn asked_by(self: &Arc<Self>, from: u32, ask: Ask) -> Outcome {
        let leads = self
            .metadata_leader()
            .is_some_and(|(leader, own)| leader == own);
        match (leads, ask) {
            (_, Ask::Survives) => Ok(Answer::Survivor(Box::new(self.survives().await))),
            (_, Ask::BackupStep(step)) => self.backup_step(step).await,
            (true, ask) => self.decide(ask).await,
            // A gateway does not know who leads.
            (false, ask) if is_gateway(from) => self.ask(ask).await,
            (false, Ask::RemoveLost { removed, dry_run }) => {
                self.decide_without_majority(removed, dry_run).await
            }
            (false, _) => Err(self.nobody_leads()),
        }
    }

    pub(super) fn operator_answered(&self, id: u64, outcome: &[u8]) {
        let waiting = self.exchanges.operator_requests.pending.lock().remove(&id);
        if let (Some(waiting), Ok(outcome)) = (waiting, serde_json::from_slice(outcome)) {
            let _ = waiting.send(outcome);
        }
    }

    /// Decides as the leader.
    async fn decide(self: &Arc<Self>, ask: Ask) -> Outcome {
        let state = self.state();
        match ask {
            Ask::Survives => Ok(Answer::Survivor(Box::new(self.survives().await))),
            Ask::Backup(id) => self.begin_backup(id).await,
            Ask::BackupStep(step) => self.backup_step(step).await,
            // A leader was found in the meantime.
            Ask::RemoveLost { removed, dry_run }
            | Ask::Change {
                request: Request::ForceRemove { brokers: removed },
                dry_run,
            } if state.running.is_none() && state.splits_from(&removed) => {
                self.decide_for_partitions(removed, dry_run).await
            }
            Ask::RemoveLost { removed, dry_run } => {
                let request = Request::ForceRemove { brokers: removed };
                self.change(state, request, dry_run).await
            }
            Ask::Change { request, dry_run } => self.change(state, request, dry_run).await,
            Ask::Cancel { change } => {
                if state.next_operation().map(|(running, _)| running) != Some(change) {
                    return Err(Refusal::Unknown(format!(
                        "change {change} is not in progress"
                    )));
                }
                self.notify_metadata_group(MetadataEvent::Propose(Entry::Cancel {
                    change,
                    now: now(),
                }));
                let over = |state: &State| state.running.as_ref().is_none_or(|r| r.id != change);
                self.came_about(state.revision, over).await?;
                Ok(Answer::State(Box::new(State::clone(&self.state()))))
            }
        }
    }

    async fn change(&self, state: Arc<State>, request: Request, dry_run: bool) -> Outcome {
        let planned = state.plan(&request, now())?;
        self.know_operations(&planned.operations)?;
        if !dry_run {
            self.notify_metadata_group(MetadataEvent::Propose(Entry::Begin {
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

    /// Waits until the proposed change is agreed on.
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
