//! The calls of the transport, which holds its owner: messages that arrive, and connections that come and go.

use std::sync::Arc;

use bytes::Bytes;
use skep_cluster::is_gateway;
use skep_transport::{Class, Greeting, OLDEST_VERSION, Owner, PROTOCOL_VERSION};

use crate::cluster::Cluster;

/// Kinds of bulk messages; the first byte tells which.
#[repr(u8)]
pub(in crate::cluster) enum Bulk {
    /// Parts of a replica's snapshot.
    Replica = 0,
    /// A message between nodes.
    Node = 1,
}

pub(in crate::cluster) fn in_bulk(kind: Bulk, message: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(message.len() + 1);
    bytes.push(kind as u8);
    bytes.extend_from_slice(message);
    bytes.into()
}

/// The transport holds its owner; these are the calls that it makes.
impl Owner for Cluster {
    fn greeting(&self) -> Greeting {
        let identity = self.bootstrap.identity();
        let advertised = self.config.cluster.as_ref();
        let advertised = advertised.map(|cluster| cluster.advertised.clone());
        Greeting {
            version: PROTOCOL_VERSION,
            cluster_id: identity.presented(),
            formed: identity.formed,
            node: self.node(),
            incarnation: self.incarnation,
            address: advertised.unwrap_or_default(),
            layout: self.config.layout(),
            members: self.bootstrap.members(),
            known: Vec::new(),
            oldest_version: OLDEST_VERSION,
        }
    }

    fn meets(&self, other: &Greeting) -> Result<(), String> {
        if is_gateway(other.node) {
            self.meets_gateway(other)
        } else if self.is_gateway() {
            self.meets_as_gateway(other)
        } else {
            self.bootstrap.meets(other, self.majority())
        }
    }

    fn moves(&self, node: u32) -> bool {
        // With leased node numbers, the owner of a number may be on any machine.
        is_gateway(node) || self.config.lease.is_some()
    }

    fn expects(&self, node: u32) -> bool {
        let state = self.state();
        if state.is_bootstrapped() {
            state.nodes.contains_key(&node)
        } else {
            node < self.config.layout().size
        }
    }

    fn is_settled(&self) -> bool {
        self.bootstrap.identity().formed
    }

    fn received(self: &Arc<Self>, from: u32, class: Class, version: u32, message: Bytes) {
        match class {
            Class::Consensus if message.is_empty() => self.note_contact(from),
            Class::Consensus => self.replica_message(from, message),
            Class::Requests => self.received_by_node(from, version, &message),
            Class::Bulk => match message.first() {
                Some(0) => self.replica_message(from, message.slice(1..)),
                _ => {
                    let message = message.get(1..).unwrap_or_default();
                    self.received_by_node(from, version, message);
                }
            },
        }
    }

    fn connected(self: &Arc<Self>, node: u32, class: Class) {
        if class == Class::Requests {
            tracing::info!(node, "connected with another node");
            self.introduce_to(node);
        }
    }

    fn disconnected(self: &Arc<Self>, node: u32, class: Class) {
        if class == Class::Requests {
            self.loses_requests(node);
        }
        self.note_disconnect(node);
    }

    fn lost(self: &Arc<Self>, node: u32, class: Class) {
        if class == Class::Requests {
            tracing::warn!(
                code = "NODE_LOST",
                node,
                "the connection to another node is lost"
            );
        }
    }

    fn gone(self: &Arc<Self>, node: u32) {
        self.is_gone(node);
    }

    fn opened(self: &Arc<Self>, node: u32, class: Class, incarnation: u64) {
        if is_gateway(node) {
            self.peers.visitors.opened(node, incarnation);
        }
        // The node has forgotten what it was sent over the other direction when this one broke.
        if class == Class::Requests && self.is_connected(node, class) {
            self.introduce_to(node);
        }
    }

    fn closed(self: &Arc<Self>, node: u32, class: Class, incarnation: u64) {
        if is_gateway(node) {
            self.peers.visitors.closed(node, incarnation);
        }
        if class == Class::Requests {
            self.loses_requests(node);
        }
        self.note_disconnect(node);
    }
}
