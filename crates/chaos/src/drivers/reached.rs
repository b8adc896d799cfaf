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

    /// The nodes that were started, by the number that each has in the cluster. Gateways have none there.
    pub(super) fn by_number(&self) -> BTreeMap<u32, u32> {
        let mut started = self.management_of_started();
        for gateway in self.nodes.iter().filter(|node| node.is_gateway()) {
            started.remove(&gateway.number);
        }
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

    /// The management port of a node.
    pub fn management(&self, node: &Node) -> Rest {
        Rest {
            address: node.management.clone(),
            authorization: None,
            tls: self.tls.clone(),
        }
    }

    /// The management ports of all members.
    pub fn management_of_members(&self) -> Vec<Rest> {
        let members = self.nodes.iter().take(self.members().unwrap_or(usize::MAX));
        members.map(|node| self.management(node)).collect()
    }

    /// The REST API of a node, for requests of the run itself.
    pub(super) fn rest(&self, node: &Node) -> Rest {
        Rest {
            address: node.rest.clone(),
            authorization: self.authorization(),
            tls: self.tls.clone(),
        }
    }

    /// The REST APIs of all nodes.
    pub fn rests(&self) -> Vec<Rest> {
        self.nodes.iter().map(|node| self.rest(node)).collect()
    }

    /// The REST APIs of all nodes that are no gateways: those by whose answers leaders are judged.
    pub fn rests_of_brokers(&self) -> Vec<Rest> {
        let brokers = self.nodes.iter().filter(|node| !node.is_gateway());
        brokers.map(|node| self.rest(node)).collect()
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use skep_client::Authorization;

    use super::*;
    use crate::drivers::Others;

    /// An API that lets in who has this header, once.
    fn requires(header: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..count]);
            let status = if request.contains(header) { 200 } else { 401 };
            write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}"
            )
            .unwrap();
        });
        address
    }

    #[test]
    fn a_cluster_of_others_gets_the_credentials_of_the_caller() {
        let header = "authorization: Basic ZGVtbzpodXNo\r\n";
        let asked = |authorization: Option<Authorization>| {
            let others = Others::at("127.0.0.1", None, None).unwrap();
            let cluster = Cluster::of_others(&others).unwrap();
            let mut cluster = cluster.logged_in(authorization);
            for node in &mut cluster.nodes {
                node.rest = requires(header);
            }
            cluster.topology().map_err(|why| why.kind())
        };
        assert_eq!(asked(None), Err(std::io::ErrorKind::PermissionDenied));
        let demo = Authorization::basic("demo", "hush").unwrap();
        assert!(asked(Some(demo)).is_ok());
    }
}
