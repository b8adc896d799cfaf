//! Gateways: nodes without partitions, data or a vote. They find the cluster by their contact points, receive every broker's status and the
//! cluster's state, and forward their clients' requests. The cluster does not rely on them: they may come and go at any time.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use skep_cluster::{FIRST_GATEWAY, State, is_gateway};
use skep_transport::{Class, Greeting};

use super::Cluster;
use super::bootstrap::id_and_epoch;
use super::wire::{ClusterMessage, NodeMessage};

/// The connected gateways, so that no two use the same number.
#[derive(Default)]
pub(super) struct Visitors(Mutex<BTreeMap<u32, Visitor>>);

struct Visitor {
    incarnation: u64,
    connections: usize,
}

impl Visitors {
    pub(super) fn opened(&self, node: u32, incarnation: u64) {
        let mut visitors = self.0.lock();
        let visitor = visitors.entry(node).or_insert(Visitor {
            incarnation,
            connections: 0,
        });
        if visitor.incarnation == incarnation {
            visitor.connections += 1;
        }
    }

    pub(super) fn closed(&self, node: u32, incarnation: u64) {
        let mut visitors = self.0.lock();
        if let Some(visitor) = visitors.get_mut(&node)
            && visitor.incarnation == incarnation
        {
            visitor.connections -= 1;
            if visitor.connections == 0 {
                visitors.remove(&node);
            }
        }
    }

    fn is_another(&self, other: &Greeting) -> bool {
        let visitors = self.0.lock();
        let known = visitors.get(&other.node);
        known.is_some_and(|known| known.incarnation != other.incarnation)
    }
}

impl Cluster {
    /// Whether this node is a gateway.
    pub fn is_gateway(&self) -> bool {
        self.config.is_gateway()
    }

    /// The number of reachable cluster nodes, including this one unless it is a gateway.
    pub(super) fn there(&self) -> u32 {
        self.reached() + u32::from(!self.is_gateway())
    }

    /// A gateway presents itself to a local.
    pub(super) fn meets_gateway(&self, other: &Greeting) -> Result<(), String> {
        let own = self.bootstrap.identity().cluster_id;
        let number = other.node - FIRST_GATEWAY;
        // A gateway has no state from an earlier epoch.
        let (theirs, _) = id_and_epoch(&other.cluster_id);
        if !own.is_empty() && !theirs.is_empty() && own != theirs {
            return Err(format!(
                "gateway {number} belongs to the cluster {theirs}, but node {} to {own}",
                self.node()
            ));
        }
        if self.peers.visitors.is_another(other) {
            return Err(format!(
                "two gateways have the number {number}: each needs a camunda.cluster.node-id of its own among the gateways"
            ));
        }
        Ok(())
    }

    /// A broker presents itself to a gateway, which joins the first cluster that it finds.
    pub(super) fn meets_as_gateway(&self, other: &Greeting) -> Result<(), String> {
        let wanted = self.wanted_cluster();
        let (theirs, epoch) = id_and_epoch(&other.cluster_id);
        if !wanted.is_empty() && !theirs.is_empty() && wanted != theirs {
            return Err(format!(
                "node {} belongs to the cluster {theirs}, but gateway {} to {wanted}",
                other.node,
                self.node().saturating_sub(FIRST_GATEWAY)
            ));
        }
        if epoch < self.bootstrap.identity().epoch {
            return Err(format!(
                "node {} has not taken part in the recovery of the cluster {theirs}",
                other.node
            ));
        }
        if other.formed {
            self.bootstrap.admitted(theirs, epoch)?;
        }
        Ok(())
    }

    /// The cluster that this gateway belongs to, or should belong to. Empty: any.
    fn wanted_cluster(&self) -> String {
        let known = self.bootstrap.identity().cluster_id;
        if known.is_empty() {
            self.config.cluster_id.clone().unwrap_or_default()
        } else {
            known
        }
    }

    /// A broker sends the cluster's state, once. A gateway may receive it before the greeting which says that there is a cluster.
    pub(super) fn receive_state(&self, from: u32, state: &State) {
        if !self.believes(from, state) {
            self.disbelieves(from);
            return;
        }
        if self.is_gateway() {
            let wanted = self.wanted_cluster();
            if wanted.is_empty() || wanted == state.cluster_id {
                // A gateway stores nothing, so this cannot fail.
                let _ = self.bootstrap.admitted(&state.cluster_id, state.epoch);
            }
        }
        if state.cluster_id == self.bootstrap.identity().cluster_id {
            self.state_is(state);
        }
    }

    /// Whether a state that another node sends counts. A broker knows the state by its own member of the metadata group, unless it was removed
    /// and hears nothing of the group any more; that is all that others can tell it.
    fn believes(&self, from: u32, state: &State) -> bool {
        if self.is_gateway() {
            return true;
        }
        !self.hears_another_leader(from) && !state.nodes.contains_key(&self.node())
    }

    /// Sends the cluster's state to a gateway that has connected.
    pub(super) fn send_state_to(&self, node: u32, state: &State) {
        if state.is_bootstrapped() && !self.is_gateway() {
            let state = state.encode();
            let message = NodeMessage::Cluster(ClusterMessage::State { state });
            self.send(node, &message);
        }
    }

    /// Sends the changed cluster state to all gateways.
    pub(super) fn send_state_to_gateways(&self, state: &State) {
        let gateways = self.peers().filter(|node| is_gateway(*node));
        for node in gateways.filter(|node| self.is_connected(*node, Class::Requests)) {
            self.send_state_to(node, state);
        }
    }

    /// A broker that can take an operator's request made at a gateway.
    pub(super) fn broker_to_ask(&self) -> Option<u32> {
        let state = self.state();
        let mut nodes = state.nodes.keys().copied();
        nodes.find(|node| self.is_gateway() && self.is_connected(*node, Class::Requests))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use skep_cluster::Layout;
    use skep_transport::Owner;
    use skep_transport::PROTOCOL_VERSION;

    use super::{Class, Cluster, ClusterMessage, FIRST_GATEWAY, NodeMessage, State};
    use crate::cluster::bootstrap::{Bootstrap, Identity};
    use crate::config::{BrokerConfig, ClusterConfig};
    use crate::ending::LIMIT;
    use crate::hosting::alone_tests;
    use crate::local::Local;
    use crate::metrics::BrokerMetrics;
    use crate::preparation::Preparation;

    /// A gateway that has found no broker yet.
    fn gateway(wanted: Option<&str>) -> Arc<Cluster> {
        let cluster = ClusterConfig {
            gateway: true,
            size: 3,
            replication_factor: 3,
            listen: "127.0.0.1:0".parse().unwrap(),
            advertised: "127.0.0.1:1".to_string(),
            contact_points: Vec::new(),
            election_timeout: Duration::from_secs(1),
            rebalance_pace: crate::config::REBALANCE_PACE,
            tls: None,
        };
        let config = BrokerConfig {
            node_id: FIRST_GATEWAY,
            cluster_id: wanted.map(str::to_string),
            cluster: Some(cluster),
            ..BrokerConfig::default()
        };
        let bootstrap = Bootstrap::new(
            config.node_id,
            config.layout(),
            config.cluster_id.clone(),
            Identity::default(),
            Box::new(|_| Ok(())),
        );
        let metrics = BrokerMetrics::default();
        let local = Arc::new(Local::new(Preparation::start().unwrap()));
        let (hosting, _) = crossbeam_channel::bounded(1);
        Cluster::open(config, bootstrap, &metrics, local, hosting).unwrap()
    }

    fn learns_of(gateway: &Arc<Cluster>, cluster: &str) {
        let layout = Layout {
            nodes: vec![0, 1, 2],
            copies: 3,
            partitions: 3,
        };
        let state = State::bootstrapped(cluster.to_string(), &layout, 0).encode();
        let message = NodeMessage::Cluster(ClusterMessage::State { state });
        gateway.received(0, Class::Requests, PROTOCOL_VERSION, message.encode());
    }

    #[test]
    fn a_gateway_that_learns_of_a_cluster_before_a_greeting_belongs_to_it() {
        let gateway = gateway(None);
        learns_of(&gateway, "a");
        assert_eq!(gateway.state().cluster_id, "a");
        assert_eq!(gateway.bootstrap().wait().unwrap(), "a");
        learns_of(&gateway, "another");
        assert_eq!(gateway.state().cluster_id, "a");
        assert!(gateway.stop(Instant::now() + LIMIT));
    }

    fn eventually(what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_broker_learns_from_others_only_that_it_was_removed_and_keeps_its_copies() {
        let directory = tempfile::tempdir().unwrap();
        let open = || alone_tests::open(directory.path(), 1);
        let broker = open().unwrap();
        let cluster = &broker.shared().cluster;
        eventually("it leads", || cluster.metadata_leader().is_some());
        let known = cluster.state();
        let mut removed = State::clone(&known);
        removed.revision += 1000;
        removed.nodes.clear();
        let mut without_copies = State::clone(&known);
        without_copies.revision += 1000;
        for node in without_copies.nodes.values_mut() {
            node.partitions.clear();
        }
        cluster.receive_state(7, &removed);
        assert_eq!(cluster.state().revision, known.revision, "it has a leader");
        let mut another_member = State::clone(&known);
        for node in another_member.nodes.values_mut() {
            node.generation += 1;
        }
        let own = another_member.member(cluster.node()).unwrap();
        assert!(!cluster.can_be_admitted(7, own, &another_member));
        assert!(cluster.stop_metadata_group(Instant::now() + LIMIT));
        assert!(cluster.can_be_admitted(7, own, &another_member));
        cluster.receive_state(7, &without_copies);
        assert_eq!(cluster.state().revision, known.revision, "it is a member");
        cluster.receive_state(7, &removed);
        assert_eq!(cluster.state().revision, removed.revision);
        let kept = directory.path().join("partitions/1.given-up/log");
        eventually("its copy is put aside", || kept.exists());
        broker.stop();
        drop(broker);
        // Its own files do not say that it was removed: it must not vote as if it had acknowledged nothing.
        assert!(open().is_err(), "an empty copy has started");
        assert!(kept.exists());
    }

    #[test]
    fn a_gateway_ignores_clusters_that_it_is_not_configured_for() {
        let gateway = gateway(Some("b"));
        learns_of(&gateway, "a");
        assert!(gateway.bootstrap().identity().cluster_id.is_empty());
        learns_of(&gateway, "b");
        assert_eq!(gateway.bootstrap().identity().cluster_id, "b");
        assert!(gateway.stop(Instant::now() + LIMIT));
    }
}
