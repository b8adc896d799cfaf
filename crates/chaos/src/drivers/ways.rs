//! Ways through the network that can be slowed or cut: proxies in front of the nodes' ports, or a network of the run's own. Proxies are threads
//! of the run itself and end with it, however it ends, so the guard has nothing to undo.

use std::io;
use std::time::Duration;

use skep_testbed::{Direction, Proxy, Slowness};

use super::Node;
use super::links::{Links, Said};
use super::namespaces::Namespaces;
use crate::plan::Way;

/// All ways of a run; those that its plan does not change are direct connections.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// For each node, the proxy by which workers reach its REST API.
    workers: Vec<Proxy>,
    /// The proxy by which clients reach the REST API of any node.
    service: Option<Proxy>,
    links: Links,
    /// The network of the nodes, if they have one of their own.
    own: Option<Namespaces>,
}

/// Decides which connections get which nodes.
const SEED: u64 = 1;

fn rest_port(node: &Node) -> io::Result<u16> {
    let port = node.rest.rsplit(':').next();
    let port = port.and_then(|port| port.parse().ok());
    port.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// A change to a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its messages arrive later, or bit by bit.
    Slow(Slowness),
    /// Nothing arrives, but connections stay open.
    Cut,
}

/// The directions of messages on a way, from the view of the node at its end.
pub(super) fn said(way: Way) -> &'static [Said] {
    match way {
        Way::ToWorkers => &[],
        Way::Into(_) => &[Said::Into],
        Way::OutOf(_) => &[Said::OutOf],
        Way::Around(_) => &[Said::Into, Said::OutOf],
    }
}

impl Ways {
    pub(super) fn between(links: Links, own: Option<Namespaces>) -> Self {
        Self {
            workers: Vec::new(),
            service: None,
            links,
            own,
        }
    }

    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    /// Puts proxies between workers and these nodes.
    pub(super) fn add_workers(&mut self, nodes: &[Node]) -> io::Result<()> {
        let each = nodes
            .iter()
            .map(|node| Proxy::start(rest_port(node)?, Duration::ZERO));
        self.workers = each.collect::<io::Result<_>>()?;
        Ok(())
    }

    /// Puts a proxy in front of these nodes, which chooses one of them for each connection.
    pub(super) fn add_service(&mut self, nodes: &[Node]) -> io::Result<()> {
        let ports = nodes.iter().map(rest_port);
        let ports = ports.collect::<io::Result<Vec<u16>>>()?;
        self.service = Some(Proxy::start_among(ports, SEED)?);
        Ok(())
    }

    /// The address of this proxy.
    pub(super) fn service_address(&self) -> Option<String> {
        let service = self.service.as_ref();
        service.map(|proxy| format!("127.0.0.1:{}", proxy.port()))
    }

    /// The addresses by which workers reach these nodes.
    pub(super) fn worker_addresses(&self, nodes: &[Node]) -> Vec<String> {
        if self.workers.is_empty() {
            return nodes.iter().map(|node| node.rest.clone()).collect();
        }
        let ways = self.workers.iter();
        ways.map(|way| format!("127.0.0.1:{}", way.port()))
            .collect()
    }

    /// Changes a way. `node` is the node at its end.
    pub(super) fn change(&self, way: Way, node: Option<u32>, change: Change) -> io::Result<()> {
        let none = || io::Error::other(format!("{way}: there is no such way"));
        if way == Way::ToWorkers {
            if self.workers.is_empty() {
                return Err(none());
            }
            for proxy in &self.workers {
                match change {
                    Change::Slow(slowness) => proxy.slow(Direction::Back, slowness),
                    Change::Cut => proxy.hold_way(Direction::Back, true),
                }
            }
            return Ok(());
        }
        let said = said(way);
        if let (Some(own), Some(node), Change::Cut) = (&self.own, node, change) {
            return said.iter().try_for_each(|said| own.cut(node, *said));
        }
        let node = node.filter(|_| !self.links.is_empty()).ok_or_else(none)?;
        for said in said {
            match change {
                Change::Slow(slowness) => self.links.slow(node, *said, slowness),
                Change::Cut => self.links.cut(node, *said),
            }
        }
        Ok(())
    }

    /// Restores all ways to their original state.
    pub(super) fn heal(&self) -> io::Result<()> {
        for way in &self.workers {
            way.slow(Direction::Back, Slowness::default());
            way.hold_way(Direction::Back, false);
        }
        self.links.heal();
        self.own.as_ref().map_or(Ok(()), Namespaces::heal)
    }
}
