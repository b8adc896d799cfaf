//! Links between nodes: messages from one to another go through a proxy, which identifies the connecting node in the machine's table of
//! sockets. So each node has one address for all others, as without proxies, and each direction of each link can be cut separately.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use skep_testbed::{Direction, Link, Proxy, Slowness};

use super::Node;

/// How long a connection may be unattributed: a node is known a moment after its start.
const UNKNOWN: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// Processes of nodes, by their numbers.
type Processes = Arc<Mutex<BTreeMap<u32, i32>>>;

/// All links between nodes.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By target node.
    proxies: Vec<Proxy>,
    /// By connecting node and target node.
    links: BTreeMap<(u32, u32), Arc<Link>>,
    processes: Processes,
}

/// The direction of messages, from a node's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// To the node.
    Into,
    /// From the node.
    OutOf,
}

impl Links {
    /// Links to the internal ports of nodes, in the order of their numbers.
    pub(super) fn to(ports: &[u16]) -> io::Result<Self> {
        let numbers = 0..u32::try_from(ports.len()).map_err(io::Error::other)?;
        let pairs = numbers
            .clone()
            .flat_map(|from| numbers.clone().map(move |to| (from, to)));
        let links = pairs.map(|pair| (pair, Arc::default()));
        let links: BTreeMap<(u32, u32), Arc<Link>> = links.collect();
        let processes = Processes::default();
        let proxies = numbers.zip(ports).map(|(to, port)| {
            let (links, processes) = (links.clone(), processes.clone());
            Proxy::start_for(*port, move |near| {
                let from = who_connected(near, &processes)?;
                links.get(&(from, to)).cloned()
            })
        });
        Ok(Self {
            proxies: proxies.collect::<io::Result<_>>()?,
            links,
            processes,
        })
    }

    /// The ports by which others reach each node.
    pub(super) fn ports(&self) -> impl Iterator<Item = u16> {
        self.proxies.iter().map(Proxy::port)
    }

    /// Notes the nodes' processes, as nodes may have started since the last call.
    pub(super) fn note(&self, nodes: &[Node]) {
        let pids = nodes
            .iter()
            .filter_map(|node| Some((node.number, node.process()?.pid)));
        *self
            .processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = pids.collect();
    }

    /// All links with messages to or from this node, each with the direction of these messages.
    fn of(&self, node: u32, said: Said) -> impl Iterator<Item = (&Link, Direction)> {
        self.links.iter().filter_map(move |((from, to), link)| {
            let forth = match said {
                Said::Into => *to == node,
                Said::OutOf => *from == node,
            };
            let back = match said {
                Said::Into => *from == node,
                Said::OutOf => *to == node,
            };
            match (forth, back) {
                // Only a connection of a node to itself has it at both ends.
                (true, true) | (false, false) => None,
                (true, false) => Some((link.as_ref(), Direction::Forth)),
                (false, true) => Some((link.as_ref(), Direction::Back)),
            }
        })
    }

    /// Cuts the links: these messages no longer arrive.
    pub(super) fn cut(&self, node: u32, said: Said) {
        for (link, direction) in self.of(node, said) {
            link.hold(direction, true);
        }
    }

    /// Slows the links: these messages arrive later, or bit by bit.
    pub(super) fn slow(&self, node: u32, said: Said, slowness: Slowness) {
        for (link, direction) in self.of(node, said) {
            link.slow(direction, slowness);
        }
    }

    /// Restores all links to their original state.
    pub(super) fn heal(&self) {
        for link in self.links.values() {
            for direction in [Direction::Forth, Direction::Back] {
                link.hold(direction, false);
                link.slow(direction, Slowness::default());
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.proxies.is_empty()
    }
}

/// The number of the node whose socket has this address.
fn who_connected(near: SocketAddr, processes: &Processes) -> Option<u32> {
    let end = Instant::now() + UNKNOWN;
    loop {
        let known = processes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.clone();
        let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
        // A peer that has closed its connection no longer has an entry.
        let inode = inode_of(&table, near.port())?;
        let mut nodes = known.iter();
        if let Some((number, _)) = nodes.find(|(_, pid)| has_socket(**pid, &inode)) {
            return Some(*number);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The inode of the socket with this local port, in a table of `/proc/net/tcp`.
fn inode_of(table: &str, port: u16) -> Option<String> {
    let own = format!(":{port:04X}");
    let mut lines = table.lines().skip(1).map(str::split_whitespace);
    lines.find_map(|mut fields| {
        let local = fields.nth(1)?;
        // An ended connection no longer has an inode.
        let inode = fields.nth(7).filter(|inode| *inode != "0")?;
        local.ends_with(&own).then(|| inode.to_string())
    })
}

fn has_socket(pid: i32, inode: &str) -> bool {
    let wanted = format!("socket:[{inode}]");
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
    open.is_ok_and(|mut open| {
        open.any(|entry| {
            let target = entry.and_then(|entry| std::fs::read_link(entry.path()));
            target.is_ok_and(|target| target == Path::new(&wanted))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_belongs_to_the_node_of_its_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let processes = Processes::default();
        let address = near.local_addr().unwrap();
        assert_eq!(who_connected(address, &processes), None, "of no node");
        processes.lock().unwrap().extend([(0, 1), (2, own)]);
        assert_eq!(who_connected(address, &processes), Some(2));
        drop((near, listener));
        assert_eq!(who_connected(address, &processes), None, "it is closed");
    }

    #[test]
    fn traffic_to_and_from_a_node_uses_opposite_directions_of_its_links() {
        let links = Links::to(&[1, 1, 1]).unwrap();
        let held = |links: &Links| {
            let each = links.links.iter().flat_map(|((from, to), link)| {
                let both = [Direction::Forth, Direction::Back];
                both.map(|direction| match direction {
                    Direction::Forth => (*from, *to, link.is_held(direction)),
                    Direction::Back => (*to, *from, link.is_held(direction)),
                })
            });
            let held = each.filter(|(_, _, held)| *held);
            let pairs = held.map(|(from, to, _)| (from, to));
            pairs.collect::<std::collections::BTreeSet<_>>()
        };
        links.cut(1, Said::OutOf);
        assert_eq!(held(&links), [(1, 0), (1, 2)].into());
        links.cut(1, Said::Into);
        let around = [(0, 1), (1, 0), (1, 2), (2, 1)];
        assert_eq!(held(&links), around.into());
        links.heal();
        assert!(held(&links).is_empty());
    }
}
