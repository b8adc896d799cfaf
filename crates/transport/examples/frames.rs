//! The cost of a message between two nodes: `cargo run --release -p skep-transport --example frames`.
//!
//! The figure includes both ends and the kernel: CPU time of this process per message.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use skep_transport::{Class, Config, Greeting, Layout, Owner, PROTOCOL_VERSION, Transport};

struct Node {
    number: u32,
    received: AtomicU64,
}

impl Owner for Node {
    fn greeting(&self) -> Greeting {
        Greeting {
            version: PROTOCOL_VERSION,
            cluster_id: "c".to_string(),
            formed: true,
            node: self.number,
            incarnation: u64::from(self.number),
            address: String::new(),
            layout: Layout {
                size: 2,
                replication_factor: 2,
                partitions: 1,
            },
            members: Vec::new(),
            known: Vec::new(),
            oldest_version: 1,
        }
    }

    fn meets(&self, _: &Greeting) -> Result<(), String> {
        Ok(())
    }

    fn expects(&self, _: u32) -> bool {
        true
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn received(self: &Arc<Self>, _: u32, _: Class, _: u32, _: Bytes) {
        self.received.fetch_add(1, Ordering::Relaxed);
    }
}

fn start(number: u32, contacts: &[SocketAddr]) -> (Arc<Node>, Transport) {
    let node = Arc::new(Node {
        number,
        received: AtomicU64::new(0),
    });
    let config = Config {
        node: number,
        size: 2,
        first_gateway: u32::MAX,
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        contact_points: contacts.iter().map(ToString::to_string).collect(),
        tls: None,
    };
    let transport = Transport::open(config, node.clone()).expect("a port");
    (node, transport)
}

/// Microseconds of CPU time of this process, its kernel time included.
fn cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |n: usize| {
        fields
            .get(n)
            .and_then(|f| f.parse::<u64>().ok())
            .unwrap_or(0)
    };
    (ticks(12) + ticks(13)) * 10_000
}

fn main() {
    let (one, of_one) = start(1, &[]);
    let (_zero, of_zero) = start(0, &[of_one.address()]);
    while !of_zero.is_connected(1, Class::Requests) {
        std::thread::sleep(Duration::from_millis(5));
    }
    for (bytes, burst, messages) in [
        (300, 1, 200_000u64),
        (300, 32, 2_000_000),
        (16_384, 1, 100_000),
    ] {
        let message = Bytes::from(vec![7; bytes]);
        let (before, seen) = (cpu(), one.received.load(Ordering::Relaxed));
        let mut sent = 0;
        while sent < messages {
            for _ in 0..burst {
                sent += u64::from(of_zero.send(1, Class::Requests, message.clone()).is_ok());
            }
            // Each burst is separate, like arriving commands.
            while one.received.load(Ordering::Relaxed) - seen < sent {
                std::thread::sleep(Duration::from_micros(20));
            }
        }
        let per_message = (cpu() - before) as f64 / messages as f64;
        println!("{bytes} bytes, {burst} at a time: {per_message:.2} us of CPU per message");
    }
}
