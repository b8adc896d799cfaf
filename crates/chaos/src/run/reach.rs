//! How the clients of a run reach its nodes: which of them, over which interface, and how workers get their jobs.

use std::io;

use skep_load::args::{HttpArg, JobsArg};
use skep_load::{Clients, Wire};

use crate::drivers::{Cluster, Node};
use crate::plan::{self, Delivery, Through};

/// Connections to the address of a service, behind which a node gets a share of the connections and not of the requests.
const CONNECTIONS_TO_SERVICE: u32 = 16;

/// Applies to clients that start from now on.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    pub(super) through: Through,
    pub(super) delivery: Delivery,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            through: Through::All,
            delivery: Delivery::Push,
        }
    }
}

impl Reach {
    /// Starters, and workers that come with them.
    pub(super) fn clients(&self, wire: plan::Wire, cluster: &Cluster) -> io::Result<Clients> {
        let (wire, address): (Wire, fn(&Node) -> &String) = match wire {
            plan::Wire::Http1 => (Wire::Rest(HttpArg::One), |node| &node.rest),
            plan::Wire::Http2 => (Wire::Rest(HttpArg::Two), |node| &node.rest),
            plan::Wire::Grpc => (Wire::Grpc, |node| &node.grpc),
        };
        if let (Through::Service, Wire::Grpc) = (&self.through, wire) {
            return Err(io::Error::other("a service of gRPC is not built"));
        }
        let addresses = cluster.nodes().iter().map(|node| address(node).clone());
        self.over(wire, addresses.collect(), cluster)
    }

    /// Workers, which reach the nodes over ways of their own.
    pub(super) fn workers(&self, cluster: &Cluster) -> io::Result<Clients> {
        let wire = Wire::Rest(HttpArg::Two);
        self.over(wire, cluster.worker_addresses(), cluster)
    }

    /// `addresses` are those of all nodes, in their order.
    fn over(&self, wire: Wire, addresses: Vec<String>, cluster: &Cluster) -> io::Result<Clients> {
        let all = addresses.len();
        let (addresses, connections): (Vec<String>, u32) = match &self.through {
            Through::All => (addresses, 1),
            Through::Nodes(numbers) => {
                let nodes = cluster.nodes().iter().zip(addresses);
                let some = nodes.filter(|(node, _)| numbers.contains(&node.number));
                (some.map(|(_, address)| address).collect(), 1)
            }
            Through::Who(who) => {
                return Err(io::Error::other(format!("{who} has not been found")));
            }
            Through::Service => {
                let address = cluster.service_address();
                let address = address.ok_or_else(|| io::Error::other("there is no service"))?;
                (vec![address], CONNECTIONS_TO_SERVICE)
            }
        };
        // As many workers in all, however many nodes are used.
        let workers = all.div_ceil(addresses.len().max(1));
        Ok(Clients {
            wire,
            addresses: addresses.join(","),
            connections,
            workers: u32::try_from(workers).unwrap_or(u32::MAX),
            jobs: match self.delivery {
                Delivery::Push => JobsArg::Push,
                Delivery::Poll => JobsArg::Poll,
            },
        })
    }
}
