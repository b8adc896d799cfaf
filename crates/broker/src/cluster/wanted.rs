//! Long polling across nodes: when jobs of a type arrive, each node whose clients wait for that type gets one notification.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use super::Cluster;
use super::wire::NodeMessage;

/// Maximum number of remembered job types. Clients of any further type poll for jobs periodically.
const MAX_TYPES: usize = 10_000;

/// Nodes that wait for jobs of a type. A notification removes its node; a node that still waits registers again.
#[derive(Default)]
pub(super) struct Wanted(Mutex<HashMap<Arc<str>, BTreeSet<u32>>>);

impl Wanted {
    pub(super) fn note(&self, node: u32, job_type: Arc<str>) {
        let mut wanted = self.0.lock();
        if wanted.len() < MAX_TYPES || wanted.contains_key(&job_type) {
            wanted.entry(job_type).or_default().insert(node);
        }
    }
}

impl Cluster {
    /// A client of this node waits for jobs.
    pub fn want(&self, job_type: &Arc<str>) {
        self.broadcast(&NodeMessage::Wanted {
            job_type: job_type.clone(),
        });
    }

    /// Jobs of this type wait here.
    pub fn announce(&self, job_type: &Arc<str>) {
        let nodes = self.peers.wanted.0.lock().remove(job_type);
        let Some(nodes) = nodes else {
            return;
        };
        let message = NodeMessage::Available {
            job_type: job_type.clone(),
        };
        for node in nodes {
            self.send(node, &message);
        }
    }

    /// Another node has jobs of this type.
    pub(super) fn available(&self, job_type: &Arc<str>) {
        if let Some(local) = self.local() {
            local.notifier.announce(job_type, None);
        }
    }
}
