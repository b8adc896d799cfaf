//! Ways through the network that can become long: proxies before ports of nodes. They are threads of the run itself and end with it,
//! however it ends, so there is nothing of them that the guard would have to undo.

use std::io;
use std::time::Duration;

use skep_testbed::{Direction, Proxy};

use super::Node;
use crate::plan::Way;

/// All ways of a run; those that its plan does not change are direct.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// For each node, the one on which workers reach its REST API.
    workers: Vec<Proxy>,
}

impl Ways {
    pub(super) fn of_workers(nodes: &[Node]) -> io::Result<Self> {
        let each = nodes.iter().map(|node| {
            let port = node.rest.rsplit(':').next();
            let port = port.and_then(|port| port.parse().ok());
            Proxy::start(port.ok_or(io::ErrorKind::InvalidInput)?, Duration::ZERO)
        });
        Ok(Self {
            workers: each.collect::<io::Result<_>>()?,
        })
    }

    /// Where workers reach these nodes.
    pub(super) fn worker_addresses(&self, nodes: &[Node]) -> Vec<String> {
        if self.workers.is_empty() {
            return nodes.iter().map(|node| node.rest.clone()).collect();
        }
        let ways = self.workers.iter();
        ways.map(|way| format!("127.0.0.1:{}", way.port()))
            .collect()
    }

    /// What is said on this way arrives so much later.
    pub(super) fn slow(&self, way: Way, delay: Duration) -> io::Result<()> {
        let ways = match way {
            Way::ToWorkers => &self.workers,
        };
        if ways.is_empty() {
            return Err(io::Error::other(format!("{way}: there is no such way")));
        }
        for way in ways {
            way.delay(Direction::Back, delay);
        }
        Ok(())
    }

    /// All ways are as they were in the beginning.
    pub(super) fn heal(&self) {
        for way in &self.workers {
            way.delay(Direction::Back, Duration::ZERO);
        }
    }
}
