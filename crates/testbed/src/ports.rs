//! Ports for servers that start soon, or restart.
//!
//! The kernel gives any port of its range to an outgoing connection, even one that was free when a test looked: a JVM that took ten seconds
//! to start has lost its port that way. So these ports lie below that range, where none is given away.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The first port to try; common servers are below it.
const FIRST: u32 = 10_000;
/// Default beginning of the kernel's range for outgoing connections.
const OUTGOING: u32 = 32_768;

/// Distinct ports that nobody listens on.
///
/// # Errors
/// There are not that many.
pub fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let end = first_outgoing();
    let mut held = Vec::new();
    for _ in FIRST..end {
        if held.len() == count {
            break;
        }
        let port = FIRST + next() % (end - FIRST);
        let port = u16::try_from(port).map_err(io::Error::other)?;
        // Hold all of them until all are known.
        held.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
    }
    if held.len() < count {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    held.iter().map(|it| Ok(it.local_addr()?.port())).collect()
}

/// A port that nobody listens on.
///
/// # Errors
/// There is none.
pub fn free_port() -> io::Result<u16> {
    free_ports(1)?
        .pop()
        .ok_or_else(|| io::ErrorKind::AddrInUse.into())
}

/// The next number to try: concurrent programs begin far apart.
fn next() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let begin = now.map_or(0, |now| now.subsec_nanos()) ^ std::process::id().wrapping_mul(7919);
    let _ = NEXT.compare_exchange(0, begin.max(1), Ordering::Relaxed, Ordering::Relaxed);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn first_outgoing() -> u32 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let first = range
        .ok()
        .and_then(|range| range.split_whitespace().next()?.parse().ok());
    first.filter(|first| *first > FIRST).unwrap_or(OUTGOING)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ports_differ_and_no_outgoing_connection_gets_them() {
        let ports = free_ports(100).unwrap();
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 100);
        assert!(ports.iter().all(|port| u32::from(*port) < first_outgoing()));
    }

    #[test]
    fn a_port_that_is_taken_is_not_given() {
        // The next candidates, some of which other programs may use.
        let next = free_port().unwrap() + 1;
        let taken: Vec<TcpListener> = (next..next + 10)
            .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
            .collect();
        let given = free_ports(20).unwrap();
        for taken in taken {
            let port = taken.local_addr().unwrap().port();
            assert!(!given.contains(&port), "{port} is taken");
        }
    }
}
