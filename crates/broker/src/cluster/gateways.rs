//! Gateways: nodes without partitions, data and a vote. They find the cluster by their contact points, hear from every broker how it is and
//! what the cluster knows of itself, and send it what their clients ask for. Nobody counts on them: they come and go as they like.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use skep_cluster::{FIRST_GATEWAY, State, is_gateway};
use skep_transport::{Class, Greeting};

use super::Cluster;
use super::wire::{ClusterMessage, NodeMessage};

/// Gateways that are connected, so that no two have the same number.
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
    /// This node is one.
    pub fn is_gateway(&self) -> bool {
        self.cluster.gateway
    }

    /// Nodes of the cluster that are reached, with this one if it is one of them.
    pub(super) fn there(&self) -> u32 {
        self.reached() + u32::from(!self.is_gateway())
    }

    /// A gateway presents itself to a broker.
    pub(super) fn meets_gateway(&self, other: &Greeting) -> Result<(), String> {
        let own = self.founding.identity().cluster_id;
        let number = other.node - FIRST_GATEWAY;
        if !own.is_empty() && !other.cluster_id.is_empty() && own != other.cluster_id {
            return Err(format!(
                "gateway {number} is of the cluster {}, and node {} of {own}",
                other.cluster_id,
                self.node()
            ));
        }
        if self.visitors.is_another(other) {
            return Err(format!(
                "two gateways have the number {number}: each needs a camunda.cluster.node-id of its own among the gateways"
            ));
        }
        Ok(())
    }

    /// A broker presents itself to a gateway, which belongs to the first cluster that it finds.
    pub(super) fn meets_as_gateway(&self, other: &Greeting) -> Result<(), String> {
        let known = self.founding.identity().cluster_id;
        let wanted = match known.is_empty() {
            true => self.config.cluster_id.clone().unwrap_or_default(),
            false => known,
        };
        if !wanted.is_empty() && !other.cluster_id.is_empty() && wanted != other.cluster_id {
            return Err(format!(
                "node {} is of the cluster {}, and gateway {} of {wanted}",
                other.node,
                other.cluster_id,
                self.node().saturating_sub(FIRST_GATEWAY)
            ));
        }
        if other.formed {
            self.founding.admitted(&other.cluster_id)?;
        }
        Ok(())
    }

    /// A gateway has come: it hears what the cluster knows of itself.
    pub(super) fn tell_gateway(&self, node: u32, state: &State) {
        if state.is_founded() && !self.is_gateway() {
            let state = state.encode();
            let message = NodeMessage::Cluster(ClusterMessage::State { state });
            self.send(node, &message);
        }
    }

    /// What the cluster knows of itself has changed.
    pub(super) fn tell_gateways(&self, state: &State) {
        let Some(transport) = self.transport.get() else {
            return;
        };
        let gateways = transport.peers().filter(|node| is_gateway(*node));
        for node in gateways.filter(|node| self.is_connected(*node, Class::Requests)) {
            self.tell_gateway(node, state);
        }
    }

    /// A broker that can take what an operator asks a gateway.
    pub(super) fn broker_to_ask(&self) -> Option<u32> {
        let state = self.state();
        let mut nodes = state.nodes.keys().copied();
        nodes.find(|node| self.is_gateway() && self.is_connected(*node, Class::Requests))
    }
}
