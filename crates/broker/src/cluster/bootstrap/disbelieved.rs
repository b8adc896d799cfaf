//! States of the cluster that do not count, as the node that sends them leads nothing: the log names it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::cluster::Cluster;

/// At most one line about a node in this time: whoever reaches the port could fill the disk with them otherwise.
const PACE: Duration = Duration::from_secs(60);

/// When each node was last named. There are no more than possible numbers of nodes.
#[derive(Default)]
pub(in crate::cluster) struct Disbelieved(Mutex<BTreeMap<u32, Instant>>);

impl Disbelieved {
    fn is_due(&self, node: u32, now: Instant) -> bool {
        let mut named = self.0.lock();
        let before = named.get(&node);
        let is_due = before.is_none_or(|before| now.duration_since(*before) >= PACE);
        if is_due {
            named.insert(node, now);
        }
        is_due
    }
}

impl Cluster {
    /// The node has sent a state of the cluster that does not count.
    pub(in crate::cluster) fn disbelieves(&self, node: u32) {
        if self.peers.disbelieved.is_due(node, Instant::now()) {
            tracing::warn!(
                code = "NODE_REFUSED",
                node,
                "a node sends a state of the cluster that is not the one which this node has from its group: it is ignored"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Disbelieved, Instant, PACE};

    #[test]
    fn a_node_is_named_once_in_a_while() {
        let (disbelieved, now) = (Disbelieved::default(), Instant::now());
        assert!(disbelieved.is_due(7, now));
        assert!(!disbelieved.is_due(7, now));
        assert!(disbelieved.is_due(8, now), "another one");
        assert!(!disbelieved.is_due(7, now + PACE / 2));
        assert!(disbelieved.is_due(7, now + PACE));
        assert!(!disbelieved.is_due(7, now + PACE));
    }
}
