//! Counts wrong guesses: after too many of them, a caller is turned away without a look at the password.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Wrong passwords for one name from one address that are allowed at any pace.
const FREE: u32 = 10;

/// After those, one attempt per this time.
const PAUSE: Duration = Duration::from_secs(5);

/// Wrong passwords from one address, over all names, in [`WINDOW`].
const MAX_OF_ADDRESS: u32 = 100;
const WINDOW: Duration = Duration::from_secs(60);

/// Names and addresses that are remembered. One beyond makes room by forgetting those whose time is over, then all.
const MAX_REMEMBERED: usize = 10_000;

#[derive(Debug, Default)]
pub struct Guesses {
    by_name: Mutex<FxHashMap<(Box<str>, IpAddr), Wrong>>,
    by_address: Mutex<FxHashMap<IpAddr, Wrong>>,
}

#[derive(Clone, Copy, Debug)]
struct Wrong {
    count: u32,
    last: Instant,
    since: Instant,
}

impl Guesses {
    /// Whether a password may be tried.
    pub fn may_try(&self, name: &str, peer: IpAddr) -> bool {
        let now = Instant::now();
        let of_name = self.by_name.lock().get(&(name.into(), peer)).copied();
        let of_address = self.by_address.lock().get(&peer).copied();
        let too_soon = of_name.is_some_and(|w| w.count >= FREE && now - w.last < PAUSE);
        let too_many =
            of_address.is_some_and(|w| w.count >= MAX_OF_ADDRESS && now - w.since < WINDOW);
        !too_soon && !too_many
    }

    pub fn was_right(&self, name: &str, peer: IpAddr) {
        self.by_name.lock().remove(&(name.into(), peer));
    }

    pub fn was_wrong(&self, name: &str, peer: IpAddr) {
        let now = Instant::now();
        // A name could have any length; an impossible one is not worth its bytes.
        if name.len() <= 256 {
            count(&mut self.by_name.lock(), (name.into(), peer), now);
        }
        count(&mut self.by_address.lock(), peer, now);
    }
}

fn count<K: std::hash::Hash + Eq>(wrong: &mut FxHashMap<K, Wrong>, key: K, now: Instant) {
    if wrong.len() >= MAX_REMEMBERED {
        wrong.retain(|_, w| now - w.last < WINDOW);
        if wrong.len() >= MAX_REMEMBERED {
            wrong.clear();
        }
    }
    let fresh = Wrong {
        count: 0,
        last: now,
        since: now,
    };
    let entry = wrong.entry(key).or_insert(fresh);
    if now - entry.since >= WINDOW && now - entry.last >= PAUSE {
        *entry = fresh;
    }
    entry.count = entry.count.saturating_add(1);
    entry.last = now;
}
