//! Nodes on one machine that find each other, talk, refuse strangers, and meet again.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use skep_transport::{
    Class, Config, Greeting, Layout, Owner, PROTOCOL_VERSION, SendError, Transport,
};

const LAYOUT: Layout = Layout {
    size: 3,
    replication_factor: 3,
    partitions: 2,
};

#[derive(Debug, PartialEq, Clone)]
enum Seen {
    Message(u32, Class, Bytes),
    Disconnected(u32, Class),
}

struct Node {
    number: u32,
    incarnation: u64,
    cluster_id: String,
    version: u32,
    address: Mutex<String>,
    seen: Mutex<Vec<Seen>>,
    refused: Mutex<Vec<String>>,
}

impl Owner for Node {
    fn greeting(&self) -> Greeting {
        Greeting {
            version: self.version,
            cluster_id: self.cluster_id.clone(),
            formed: true,
            node: self.number,
            incarnation: self.incarnation,
            address: self.address.lock().clone(),
            layout: LAYOUT,
            members: Vec::new(),
            known: Vec::new(),
        }
    }

    fn meets(&self, other: &Greeting) -> Result<(), String> {
        if other.cluster_id == self.cluster_id {
            return Ok(());
        }
        let reason = format!("node {} is of another cluster", other.node);
        self.refused.lock().push(reason.clone());
        Err(reason)
    }

    fn expects(&self, _: u32) -> bool {
        true
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn received(self: &Arc<Self>, from: u32, class: Class, message: Bytes) {
        self.seen.lock().push(Seen::Message(from, class, message));
    }

    fn connected(self: &Arc<Self>, _: u32, _: Class) {}

    fn disconnected(self: &Arc<Self>, node: u32, class: Class) {
        self.seen.lock().push(Seen::Disconnected(node, class));
    }

    fn opened(self: &Arc<Self>, _: u32, _: Class, _: u64) {}

    fn closed(self: &Arc<Self>, _: u32, _: Class, _: u64) {}
}

fn start(
    number: u32,
    cluster: &str,
    listen: SocketAddr,
    contacts: &[SocketAddr],
) -> (Arc<Node>, Transport<Node>) {
    static INCARNATIONS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let node = Arc::new(Node {
        number,
        incarnation: INCARNATIONS.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
        cluster_id: cluster.to_string(),
        version: PROTOCOL_VERSION,
        address: Mutex::default(),
        seen: Mutex::default(),
        refused: Mutex::default(),
    });
    let config = Config {
        node: number,
        size: LAYOUT.size,
        listen,
        contact_points: contacts.iter().map(ToString::to_string).collect(),
    };
    let transport = Transport::open(config, node.clone()).unwrap();
    *node.address.lock() = transport.address().to_string();
    (node, transport)
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "waited for {what} in vain"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all_connected(transport: &Transport<Node>, to: u32) -> bool {
    Class::ALL
        .iter()
        .all(|class| transport.is_connected(to, *class))
}

fn messages(node: &Node, from: u32, class: Class) -> Vec<Bytes> {
    let seen = node.seen.lock();
    let of = |seen: &Seen| match seen {
        Seen::Message(node, of, message) if (*node, *of) == (from, class) => Some(message.clone()),
        _ => None,
    };
    seen.iter().filter_map(of).collect()
}

#[test]
fn three_nodes_find_each_other_by_one_contact_point_and_keep_the_order_of_messages() {
    let (zero, to_zero) = start(0, "c", any(), &[]);
    let contact = [to_zero.address()];
    let (_one, of_one) = start(1, "c", any(), &contact);
    let (_two, of_two) = start(2, "c", any(), &contact);
    wait_for("all connections", || {
        all_connected(&to_zero, 1) && all_connected(&of_one, 2) && all_connected(&of_two, 0)
    });
    let large = Bytes::from(vec![7; 300_000]);
    for n in 0..1000u32 {
        let message = if n == 500 {
            large.clone()
        } else {
            n.to_le_bytes().to_vec().into()
        };
        of_one.send(0, Class::Requests, message).unwrap();
    }
    of_two.send(0, Class::Bulk, large.clone()).unwrap();
    wait_for("the messages", || {
        messages(&zero, 1, Class::Requests).len() == 1000
    });
    for (n, message) in messages(&zero, 1, Class::Requests).iter().enumerate() {
        match n {
            500 => assert_eq!(message, &large),
            _ => assert_eq!(message.as_ref(), (n as u32).to_le_bytes()),
        }
    }
    wait_for("the snapshot", || {
        messages(&zero, 2, Class::Bulk) == [large.clone()]
    });
    assert!(messages(&zero, 2, Class::Requests).is_empty());
}

#[test]
fn a_node_that_comes_back_is_connected_again_and_nothing_waits_for_one_that_is_gone() {
    let (zero, of_zero) = start(0, "c", any(), &[]);
    let (_, of_one) = start(1, "c", any(), &[of_zero.address()]);
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    let address = of_one.address();
    of_one.stop();
    drop(of_one);
    wait_for("the loss to be noticed", || {
        Class::ALL
            .iter()
            .all(|class| !of_zero.is_connected(1, *class))
    });
    assert!(
        zero.seen
            .lock()
            .contains(&Seen::Disconnected(1, Class::Consensus))
    );
    let nobody = of_zero.send(1, Class::Consensus, Bytes::new());
    assert_eq!(nobody, Err(SendError::Down));
    let (one, of_one) = start(1, "c", address, &[of_zero.address()]);
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    of_zero
        .send(1, Class::Consensus, Bytes::from_static(b"again"))
        .unwrap();
    wait_for("the message", || {
        messages(&one, 0, Class::Consensus) == ["again"]
    });
}

#[test]
fn a_node_of_another_cluster_is_refused_by_both() {
    let (zero, of_zero) = start(0, "c", any(), &[]);
    let (_stranger, of_stranger) = start(1, "another", any(), &[of_zero.address()]);
    wait_for("the refusal", || !zero.refused.lock().is_empty());
    assert!(!all_connected(&of_zero, 1) && !all_connected(&of_stranger, 0));
    assert_eq!(
        of_stranger.send(0, Class::Requests, Bytes::new()),
        Err(SendError::Down)
    );
}

#[test]
fn something_that_is_no_node_costs_nothing() {
    use std::io::{Read, Write};
    let (_zero, of_zero) = start(0, "c", any(), &[]);
    let mut http = std::net::TcpStream::connect(of_zero.address()).unwrap();
    http.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = http.read_to_end(&mut answer);
    assert!(answer.is_empty());
    let (_one, of_one) = start(1, "c", any(), &[of_zero.address()]);
    wait_for("the connections", || all_connected(&of_one, 0));
}
