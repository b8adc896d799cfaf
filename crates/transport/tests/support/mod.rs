//! A test node, which remembers its events.
#![allow(dead_code)] // Not every test needs all of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use skep_transport::{
    Class, Config, Greeting, Layout, OLDEST_VERSION, Owner, PROTOCOL_VERSION, TlsFiles, Transport,
};

pub const LAYOUT: Layout = Layout {
    size: 3,
    replication_factor: 3,
    partitions: 2,
};

#[derive(Debug, PartialEq, Clone)]
pub enum Seen {
    Message(u32, Class, Bytes),
    Disconnected(u32, Class),
    Lost(u32, Class),
    Gone(u32),
    /// Includes the incarnation of the other node.
    Opened(u32, Class, u64),
    Closed(u32, Class, u64),
}

pub struct Node {
    number: u32,
    pub incarnation: u64,
    cluster_id: String,
    versions: (u32, u32),
    address: Mutex<String>,
    pub seen: Mutex<Vec<Seen>>,
    pub refused: Mutex<Vec<String>>,
    /// Locked by a test that keeps the node from handling messages of this size or more.
    pub slow: Mutex<()>,
    /// How many of these have arrived.
    pub large: AtomicUsize,
}

pub const LARGE: usize = 2 << 20;

impl Owner for Node {
    fn greeting(&self) -> Greeting {
        Greeting {
            version: self.versions.1,
            cluster_id: self.cluster_id.clone(),
            formed: true,
            node: self.number,
            incarnation: self.incarnation,
            address: self.address.lock().clone(),
            layout: LAYOUT,
            members: Vec::new(),
            known: Vec::new(),
            oldest_version: self.versions.0,
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

    fn received(self: &Arc<Self>, from: u32, class: Class, _: u32, message: Bytes) {
        if message.len() >= LARGE {
            self.large.fetch_add(1, Ordering::SeqCst);
            drop(self.slow.lock());
        }
        self.seen.lock().push(Seen::Message(from, class, message));
    }

    fn disconnected(self: &Arc<Self>, node: u32, class: Class) {
        self.seen.lock().push(Seen::Disconnected(node, class));
    }

    fn lost(self: &Arc<Self>, node: u32, class: Class) {
        self.seen.lock().push(Seen::Lost(node, class));
    }

    fn gone(self: &Arc<Self>, node: u32) {
        self.seen.lock().push(Seen::Gone(node));
    }

    fn opened(self: &Arc<Self>, node: u32, class: Class, incarnation: u64) {
        let opened = Seen::Opened(node, class, incarnation);
        self.seen.lock().push(opened);
    }

    fn closed(self: &Arc<Self>, node: u32, class: Class, incarnation: u64) {
        let closed = Seen::Closed(node, class, incarnation);
        self.seen.lock().push(closed);
    }
}

/// Settings of a node's start.
pub struct Start {
    pub number: u32,
    pub cluster: &'static str,
    pub listen: SocketAddr,
    pub contacts: Vec<SocketAddr>,
    pub tls: Option<TlsFiles>,
    /// The oldest and the newest protocol version that it speaks.
    pub versions: (u32, u32),
    /// The number it claims, if not its own.
    pub says: Option<u32>,
    /// `None`: a new one, different from all others.
    pub incarnation: Option<u64>,
}

impl Start {
    pub fn new(number: u32, contacts: &[SocketAddr]) -> Start {
        Start {
            number,
            cluster: "c",
            listen: any(),
            contacts: contacts.to_vec(),
            tls: None,
            versions: (OLDEST_VERSION, PROTOCOL_VERSION),
            says: None,
            incarnation: None,
        }
    }
}

pub fn start(with: Start) -> (Arc<Node>, Transport) {
    static INCARNATIONS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let next = || INCARNATIONS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let node = Arc::new(Node {
        number: with.says.unwrap_or(with.number),
        incarnation: with.incarnation.unwrap_or_else(next),
        cluster_id: with.cluster.to_string(),
        versions: with.versions,
        address: Mutex::default(),
        seen: Mutex::default(),
        refused: Mutex::default(),
        slow: Mutex::default(),
        large: AtomicUsize::default(),
    });
    let config = Config {
        node: with.number,
        size: LAYOUT.size,
        first_gateway: 1000,
        listen: with.listen,
        contact_points: with.contacts.iter().map(ToString::to_string).collect(),
        tls: with.tls,
    };
    let transport = Transport::open(config, node.clone()).unwrap();
    *node.address.lock() = transport.address().to_string();
    (node, transport)
}

pub fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(180),
            "waited for {what} in vain"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn all_connected(transport: &Transport, to: u32) -> bool {
    Class::ALL
        .iter()
        .all(|class| transport.is_connected(to, *class))
}
