//! A node without others: what a cluster of it alone would know of itself, and changes of that. There is nobody to agree with, so that it
//! is a file.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use skep_cluster::{Entry, Layout, Refusal, Request, State};

use crate::cluster::{Answer, Ask, now};
use crate::config::BrokerConfig;
use crate::directory::write_durably;
use crate::hosting::{Hosting, HostingEvent, Steps};

/// Not there before something was changed.
const FILE: &str = "alone";
/// A node that stops waits so long for a step of a change.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Alone {
    file: PathBuf,
    state: Mutex<Arc<State>>,
    /// Wakes who carries changes out.
    steps: Sender<HostingEvent>,
    /// Held while a step is carried out.
    working: Mutex<()>,
    stopped: AtomicBool,
}

impl Alone {
    pub(crate) fn open(
        config: &BrokerConfig,
        steps: Sender<HostingEvent>,
    ) -> Result<Alone, String> {
        let layout = Layout {
            nodes: vec![config.node_id],
            copies: 1,
            partitions: config.partitions,
        };
        let id = config.cluster_id.clone().unwrap_or_default();
        let state = Alone::carry_over(config, State::bootstrapped(id, &layout, 0))?;
        Ok(Alone {
            file: config.directory.join(FILE),
            state: Mutex::new(Arc::new(state)),
            steps,
            working: Mutex::new(()),
            stopped: AtomicBool::new(false),
        })
    }

    /// The state of this node, with what a node that was alone knew. Others found their cluster as it is.
    pub(crate) fn carry_over(config: &BrokerConfig, first: State) -> Result<State, String> {
        let file = config.directory.join(FILE);
        let text = |reason: String| format!("{}: {reason}", file.display());
        let known = match std::fs::read(&file) {
            Ok(bytes) => State::decode(&bytes).map_err(text)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(first),
            Err(error) => return Err(text(error.to_string())),
        };
        if known.nodes.contains_key(&config.node_id) {
            return Ok(State {
                cluster_id: first.cluster_id,
                ..known
            });
        }
        if known.purge.is_some() {
            return Err(text(
                "a purge is under way, and the number of the node is another one (camunda.cluster.node-id): start it with its former \
                 number first"
                    .to_string(),
            ));
        }
        Ok(State {
            cluster_id: first.cluster_id,
            nodes: first.nodes,
            ..known
        })
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.lock().clone()
    }

    /// False if it had no effect.
    fn apply(&self, entry: Entry) -> Result<bool, Refusal> {
        let mut known = self.state.lock();
        let mut state = State::clone(&known);
        if !state.apply(entry) {
            return Ok(false);
        }
        // Nobody else has copies: there are no others that new ones could be mistaken for.
        let replicas = state.nodes.values_mut().flat_map(|it| &mut it.partitions);
        replicas.for_each(|(_, replica)| replica.generation = 0);
        let written = write_durably(&self.file, &state.encode());
        written.map_err(|error| {
            Refusal::Unanswered(format!(
                "{} cannot be written: {error}",
                self.file.display()
            ))
        })?;
        *known = Arc::new(state);
        drop(known);
        let _ = self.steps.try_send(HostingEvent::Look);
        Ok(true)
    }

    /// What an operator asks for.
    ///
    /// # Errors
    /// It is refused.
    pub(crate) fn decide(&self, ask: Ask) -> Result<Answer, Refusal> {
        match ask {
            Ask::Change {
                request: request @ Request::Purge,
                dry_run,
            } => {
                let planned = self.state().plan(&request, now())?;
                let begin = || {
                    self.apply(Entry::Begin {
                        revision: planned.revision,
                        operations: planned.operations.clone(),
                        now: now(),
                    })
                };
                if !dry_run && !begin()? {
                    let text = "another change has begun meanwhile; look at GET /actuator/cluster";
                    return Err(Refusal::Busy(text.to_string()));
                }
                Ok(Answer::Planned(Box::new(planned)))
            }
            Ask::Cancel { change } => {
                if !self.apply(Entry::Cancel { change, now: now() })? {
                    let text = format!("change {change} is not in progress");
                    return Err(Refusal::Unknown(text));
                }
                Ok(Answer::State(Box::new(State::clone(&self.state()))))
            }
            Ask::Change { .. } | Ask::RemoveLost { .. } | Ask::Survives => Err(Refusal::NotOffered(
                "this node is alone, and has no port for others. Start it with the settings of a cluster (camunda.cluster.size and \
                 initial-contact-points) to add others; its data stays"
                    .to_string(),
            )),
        }
    }

    /// No step is carried out from here on.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let _ = self.steps.try_send(HostingEvent::Look);
        drop(self.working.try_lock_for(PATIENCE));
    }
}

/// Nobody is left to answer.
pub(crate) fn stops() -> Refusal {
    Refusal::Unreachable("the node stops".to_string())
}

impl Hosting {
    /// Carries out changes of a node that is alone, until it stops.
    pub(crate) fn run_alone(&self, events: &Receiver<HostingEvent>) {
        let mut steps = Steps::default();
        loop {
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let Some(alone) = shared.alone.get() else {
                return;
            };
            let working = alone.working.lock();
            if alone.stopped.load(Ordering::Acquire) {
                return;
            }
            let is_changing = alone.state().running.is_some();
            if is_changing
                && let Some(entry) = self.step(&shared, &alone.state(), &mut steps)
                && let Err(error) = alone.apply(entry)
            {
                tracing::error!(code = "CLUSTER_STATE", %error, "a step of a change cannot be noted: it is tried again");
            }
            drop(working);
            drop(shared);
            let event = match is_changing {
                true => events.recv_timeout(steps.pause),
                false => events.recv().map_err(RecvTimeoutError::from),
            };
            if matches!(event, Err(RecvTimeoutError::Disconnected)) {
                return;
            }
        }
    }
}
