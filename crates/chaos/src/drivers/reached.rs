//! Where the nodes of a cluster are reached.

use std::collections::BTreeMap;

use super::{Cluster, Node, owners};
use crate::http::Rest;

impl Cluster {
    /// Management ports of the nodes that were started.
    pub fn management_of_started(&self) -> BTreeMap<u32, String> {
        let up = self.nodes.iter().filter(|node| node.is_up());
        up.map(|node| (node.number, node.management.clone()))
            .collect()
    }

    /// The nodes that were started, by the number that each has in the cluster.
    pub(super) fn by_number(&self) -> BTreeMap<u32, u32> {
        let started = self.management_of_started();
        if self.leases.is_none() {
            return started.into_keys().map(|node| (node, node)).collect();
        }
        let owners = owners(&started).into_iter();
        let each = owners.filter_map(|(number, owners)| Some((number, *owners.first()?)));
        each.collect()
    }

    /// Addresses of the management ports of all nodes.
    pub fn management_addresses(&self) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes.map(|node| node.management.clone()).collect()
    }

    /// Addresses of the management ports of all members.
    pub fn management_of_members(&self) -> Vec<String> {
        let members = self.members().unwrap_or(usize::MAX);
        let mut addresses = self.management_addresses();
        addresses.truncate(members);
        addresses
    }

    /// The REST API of a node, for requests of the run itself.
    pub(super) fn rest(&self, node: &Node) -> Rest {
        Rest {
            address: node.rest.clone(),
            authorization: self.authorization(),
        }
    }

    /// The REST APIs of all nodes.
    pub fn rests(&self) -> Vec<Rest> {
        self.nodes.iter().map(|node| self.rest(node)).collect()
    }

    /// Addresses of the REST API of all nodes that were started.
    pub fn rest_addresses(&self) -> Vec<String> {
        let up = self.nodes.iter().filter(|node| node.is_up());
        up.map(|node| node.rest.clone()).collect()
    }

    /// The addresses by which workers reach the REST API of all nodes.
    pub fn worker_addresses(&self) -> Vec<String> {
        self.ways.worker_addresses(&self.nodes)
    }

    /// The address by which clients reach the REST API of any node.
    pub fn service_address(&self) -> Option<String> {
        self.ways.service_address()
    }
}
