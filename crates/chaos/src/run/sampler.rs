//! A sample each second, until it is stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Stage, lock};
use crate::drivers::Died;
use crate::probes::{Causes, Clients, Machine, Nodes, Seen, float, own_memory};
use crate::record::Sample;

const STEP: Duration = Duration::from_secs(1);
const MIB: f64 = 1_048_576.0;

/// The task that takes samples.
pub(super) struct Sampler {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Sampler {
    pub(super) fn start(stage: &Arc<Stage>) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let stage = Arc::clone(stage);
        let task = tokio::spawn(async move {
            let mut probes = Probes::new(&stage);
            let mut clock = tokio::time::interval(STEP);
            clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            clock.tick().await;
            loop {
                tokio::select! {
                    _ = clock.tick() => {}
                    _ = stopped.changed() => return,
                }
                // Nodes are asked by blocking calls.
                let stage = Arc::clone(&stage);
                let looked = tokio::task::spawn_blocking(move || {
                    probes.look(&stage);
                    probes
                });
                match looked.await {
                    Ok(back) => probes = back,
                    Err(_) => return,
                }
            }
        });
        Self { stop, task }
    }

    pub(super) async fn end(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

struct Probes {
    clients: Clients,
    nodes: Nodes,
    machine: Machine,
    causes: Causes,
    died: Died,
}

impl Probes {
    fn new(stage: &Stage) -> Self {
        Self {
            clients: Clients::new(Arc::clone(&stage.live)),
            nodes: Nodes::default(),
            machine: Machine::default(),
            causes: Causes::default(),
            died: Died::default(),
        }
    }

    fn look(&mut self, stage: &Stage) {
        let mut values = BTreeMap::new();
        self.clients.look(stage.rate(), &mut values);
        let at = stage.now();
        let (seen, members) = {
            let mut cluster = lock(&stage.cluster);
            let died = cluster.died();
            self.died.nodes += died.nodes;
            self.died.by_sigbus += died.by_sigbus;
            let up = cluster.nodes().iter().filter(|node| node.is_up());
            let seen = up.map(|node| Seen::of(&cluster, node));
            let seen: Vec<Seen> = seen.collect();
            (seen, cluster.members().unwrap_or(1))
        };
        let up = u64::try_from(seen.len()).unwrap_or(u64::MAX);
        values.insert("nodes-up".into(), float(up));
        values.insert("nodes-died".into(), f64::from(self.died.nodes));
        let by_sigbus = f64::from(self.died.by_sigbus);
        values.insert("nodes-died-by-sigbus".into(), by_sigbus);
        if let Some(idle) = self.machine.idle() {
            values.insert("machine.idle".into(), idle);
        }
        if let Some(cores) = self.machine.own_cores() {
            values.insert("tool-cores".into(), cores);
        }
        if let Some(own) = own_memory() {
            values.insert("tool-memory-mib".into(), float(own) / MIB);
        }
        self.nodes.look(&seen, &mut values);
        self.causes.note(at, members, &mut values);
        lock(&stage.record).samples.push(Sample { at, values });
    }
}
