//! Nodes on one machine that find each other, exchange messages, refuse strangers, and reconnect.

mod support;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::process::{Resource, getrlimit, setrlimit};
use skep_transport::{Class, SendError};
use socket2::{Domain, Socket, Type};
use support::{LARGE, Node, Seen, Start, all_connected, start, wait_for};

/// More than a stop needs.
fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
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
    let (zero, to_zero) = start(Start::new(0, &[]));
    let contact = [to_zero.address()];
    let (_one, of_one) = start(Start::new(1, &contact));
    let (_two, of_two) = start(Start::new(2, &contact));
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

/// Decoding takes its time, and votes arrive on the thread that reads all connections.
#[test]
fn a_large_message_that_is_handled_slowly_holds_up_only_those_of_its_class() {
    let (zero, of_zero) = start(Start::new(0, &[]));
    let (_one, of_one) = start(Start::new(1, &[of_zero.address()]));
    wait_for("the connections", || all_connected(&of_one, 0));
    let slow = zero.slow.lock();
    let (large, next) = (Bytes::from(vec![7; LARGE]), Bytes::from("next"));
    for message in [&large, &next] {
        of_one.send(0, Class::Requests, message.clone()).unwrap();
    }
    wait_for("the large message", || {
        zero.large.load(Ordering::SeqCst) == 1
    });
    for _ in 0..10 {
        of_one
            .send(0, Class::Consensus, Bytes::from("vote"))
            .unwrap();
    }
    wait_for("the votes", || {
        messages(&zero, 1, Class::Consensus).len() == 10
    });
    assert!(messages(&zero, 1, Class::Requests).is_empty());
    drop(slow);
    wait_for("the others in their order", || {
        messages(&zero, 1, Class::Requests) == [large.clone(), next.clone()]
    });
}

/// As when it waits for a disk that does not answer.
#[test]
fn a_stop_does_not_wait_for_a_message_whose_owner_hangs() {
    let (zero, of_zero) = start(Start::new(0, &[]));
    let (_one, of_one) = start(Start::new(1, &[of_zero.address()]));
    wait_for("the connections", || all_connected(&of_one, 0));
    let hangs = zero.slow.lock();
    let large = Bytes::from(vec![7; LARGE]);
    of_one.send(0, Class::Requests, large).unwrap();
    wait_for("the large message", || {
        zero.large.load(Ordering::SeqCst) == 1
    });
    assert!(!of_zero.stop(Instant::now() + Duration::from_millis(20)));
    wait_for("the end of the connections", || {
        !of_one.is_connected(0, Class::Consensus)
    });
    drop(hangs);
    assert!(of_zero.stop(soon()) && of_zero.stop(Instant::now()));
}

#[test]
fn a_node_that_comes_back_is_connected_again_and_nothing_waits_for_one_that_is_gone() {
    let (zero, of_zero) = start(Start::new(0, &[]));
    let (_, of_one) = start(Start::new(1, &[of_zero.address()]));
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    let address = of_one.address();
    assert!(of_one.stop(soon()));
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
    wait_for("the node to be given up", || {
        let seen = zero.seen.lock();
        seen.contains(&Seen::Lost(1, Class::Consensus)) && seen.contains(&Seen::Gone(1))
    });
    let nobody = of_zero.send(1, Class::Consensus, Bytes::new());
    assert_eq!(nobody, Err(SendError::Down));
    let (one, of_one) = start(Start {
        listen: address,
        ..Start::new(1, &[of_zero.address()])
    });
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
    let (zero, of_zero) = start(Start::new(0, &[]));
    let (_stranger, of_stranger) = start(Start {
        cluster: "another",
        ..Start::new(1, &[of_zero.address()])
    });
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
    let (_zero, of_zero) = start(Start::new(0, &[]));
    let mut http = std::net::TcpStream::connect(of_zero.address()).unwrap();
    http.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = http.read_to_end(&mut answer);
    assert!(answer.is_empty());
    let (_one, of_one) = start(Start::new(1, &[of_zero.address()]));
    wait_for("the connections", || all_connected(&of_one, 0));
}

/// Maximum number of connections without a greeting, as in `accept.rs`.
const PLACES: usize = 512;

/// A connection from one of the addresses of this machine.
fn silent(from: u8, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from = SocketAddr::from(([127, 0, 0, from], 0));
    socket.bind(&from.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

fn open_ones(connections: &[TcpStream]) -> usize {
    let is_open = |it: &&TcpStream| {
        let nothing = it.peek(&mut [0]);
        nothing.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    connections.iter().filter(is_open).count()
}

/// Both ends of more connections than there are places.
fn may_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = 4096;
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        setrlimit(Resource::Nofile, limit).unwrap();
    }
}

/// Two addresses take all places, and say nothing.
#[test]
fn a_node_gets_in_beside_silent_connections_that_take_all_places() {
    may_open_files();
    let (_zero, of_zero) = start(Start::new(0, &[]));
    let to = of_zero.address();
    let began = Instant::now();
    loop {
        let connections = (0..PLACES + 50).map(|n| silent(2 + (n % 2) as u8, to));
        let connections: Vec<TcpStream> = connections.collect();
        let (_one, of_one) = start(Start::new(1, &[to]));
        wait_for("the node to get in", || all_connected(&of_one, 0));
        wait_for("others to give way", || open_ones(&connections) <= PLACES);
        // Those that do not give way end by themselves after a while: the node has not waited for that.
        let open = open_ones(&connections);
        if open > PLACES / 2 {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "it got in when only {open} of the others were left"
        );
        assert!(of_one.stop(soon()));
    }
}

/// A proxy for a node. Counts the open connections.
fn way(door: TcpListener, to: SocketAddr) -> Arc<AtomicUsize> {
    let open = Arc::new(AtomicUsize::new(0));
    let counted = open.clone();
    std::thread::spawn(move || {
        for here in door.incoming().flatten() {
            let Ok(there) = TcpStream::connect(to) else {
                continue;
            };
            counted.fetch_add(1, Ordering::Relaxed);
            for (mut from, mut to, counted) in [
                (here.try_clone().unwrap(), there.try_clone().unwrap(), None),
                (there, here, Some(counted.clone())),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                    counted.map(|open| open.fetch_sub(1, Ordering::Relaxed));
                });
            }
        }
    });
    open
}

#[test]
fn a_contact_point_takes_precedence_over_announced_addresses() {
    let door = TcpListener::bind(support::any()).unwrap();
    let (zero, of_zero) = start(Start::new(0, &[door.local_addr().unwrap()]));
    // Node 1 announces its own address before the contact point leads anywhere.
    let (one, of_one) = start(Start::new(1, &[of_zero.address()]));
    wait_for("the connections", || {
        all_connected(&of_zero, 1) && all_connected(&of_one, 0)
    });
    let open = way(door, of_one.address());
    wait_for("the connections to come by the contact point", || {
        open.load(Ordering::Relaxed) >= Class::ALL.len() && all_connected(&of_zero, 1)
    });
    wait_for("a message", || {
        let _ = of_zero.send(1, Class::Requests, Bytes::from_static(b"here"));
        messages(&one, 0, Class::Requests).contains(&Bytes::from_static(b"here"))
    });
    // It has moved, but was never lost.
    let seen = zero.seen.lock();
    assert!(seen.contains(&Seen::Disconnected(1, Class::Requests)));
    assert!(!seen.iter().any(|seen| matches!(seen, Seen::Lost(..))));
}

/// Events of an earlier process's connections precede those of the next process.
#[test]
fn a_node_has_one_connection_of_each_class() {
    let (zero, of_zero) = start(Start::new(0, &[]));
    let contact = [of_zero.address()];
    let (first, of_first) = start(Start::new(1, &contact));
    wait_for("its connections", || opened(&zero, 1, first.incarnation));
    assert!(of_first.stop(soon()));
    let (second, _of_second) = start(Start::new(1, &contact));
    wait_for("its new connections", || {
        opened(&zero, 1, second.incarnation)
    });
    for class in Class::ALL {
        let mut open = None;
        for seen in zero.seen.lock().iter() {
            match seen {
                Seen::Opened(1, of, it) if *of == class => assert_eq!(open.replace(*it), None),
                Seen::Closed(1, of, it) if *of == class => assert_eq!(open.take(), Some(*it)),
                _ => {}
            }
        }
    }
}

/// Whether all connections of this process of a node are open.
fn opened(by: &Node, node: u32, incarnation: u64) -> bool {
    let is_it =
        |seen: &&Seen| matches!(seen, Seen::Opened(of, _, it) if (*of, *it) == (node, incarnation));
    by.seen.lock().iter().filter(is_it).count() >= Class::ALL.len()
}

/// For example a copied disk, a cloned virtual machine, or a pod that keeps running unseen.
#[test]
fn of_two_processes_with_one_number_one_is_the_node() {
    let (zero, of_zero) = start(Start::new(0, &[]));
    let contact = [of_zero.address()];
    let (first, of_first) = start(Start::new(1, &contact));
    wait_for("its connections", || {
        opened(&zero, 1, first.incarnation) && all_connected(&of_first, 0)
    });
    // While the first is running, a second process with its number is not admitted; a third node is.
    let (second, of_second) = start(Start::new(1, &contact));
    let (_two, of_two) = start(Start::new(2, &contact));
    wait_for("a third node", || all_connected(&of_two, 0));
    assert!(!opened(&zero, 1, second.incarnation) && !all_connected(&of_second, 0));
    assert!(all_connected(&of_first, 0));
    assert!(of_first.stop(soon()));
    wait_for("the connections of the second", || {
        opened(&zero, 1, second.incarnation)
    });
    // The first process was cut off and returns: its place stays taken, even after the second has ended.
    assert!(of_second.stop(soon()));
    zero.seen.lock().clear();
    let (_again, of_again) = start(Start {
        incarnation: Some(first.incarnation),
        ..Start::new(1, &contact)
    });
    let (third, _of_third) = start(Start::new(1, &contact));
    wait_for("the connections of a third", || {
        opened(&zero, 1, third.incarnation)
    });
    assert!(!opened(&zero, 1, first.incarnation) && !all_connected(&of_again, 0));
}
