//! The directory of identity as this node knows it: committed by its own replica of partition 1, or, on a node without one,
//! received from another node ([`crate::cluster`]). Gateways read it without asking another node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use skep_identity::Directory;

use crate::clock::real_time;

/// The partition that decides about identity, and the only one that knows passwords.
pub const HOME: u32 = 1;

/// More than any node publishes.
const CHANGES_PER_MILLISECOND: u64 = 1 << 16;

/// When the directory was surely current. The order is that of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Confirmed {
    /// Not since this process started.
    #[default]
    Never,
    At(Instant),
}

#[derive(Debug)]
pub struct DirectoryView {
    current: RwLock<Arc<Directory>>,
    /// Incremented with each change: other nodes ask for anything newer than their version.
    number: AtomicU64,
    confirmed: RwLock<Confirmed>,
}

impl Default for DirectoryView {
    fn default() -> DirectoryView {
        DirectoryView {
            current: RwLock::default(),
            number: AtomicU64::new(first_number()),
            confirmed: RwLock::default(),
        }
    }
}

/// The numbers of a view begin with its time. If they began with 0, a node that missed a change could meet the number that it knows once
/// the other node has restarted, and would take what it has for current.
fn first_number() -> u64 {
    let millis = u64::try_from(real_time()).unwrap_or_default();
    millis << CHANGES_PER_MILLISECOND.ilog2()
}

impl DirectoryView {
    pub fn get(&self) -> Arc<Directory> {
        Arc::clone(&self.current.read())
    }

    /// The number of the current directory, which no other version of it has on this node, also after a restart. See [`DirectoryView`].
    pub fn number(&self) -> u64 {
        self.number.load(Ordering::Acquire)
    }

    /// Changes from before this moment are in the directory, or on their way to it.
    pub fn confirm(&self, then: Instant) {
        debug_assert!(then <= Instant::now(), "nobody was heard in the future");
        let mut confirmed = self.confirmed.write();
        // A new leader may have been heard before the last one.
        *confirmed = (*confirmed).max(Confirmed::At(then));
    }

    /// [`Duration::MAX`]: it was never confirmed.
    pub fn age(&self) -> Duration {
        match *self.confirmed.read() {
            Confirmed::Never => Duration::MAX,
            Confirmed::At(then) => then.elapsed(),
        }
    }

    /// The replica on this node has committed this directory, or another node has sent it to one without a replica.
    pub fn set(&self, directory: Directory) {
        let mut current = self.current.write();
        *current = Arc::new(directory);
        self.number.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_after_a_restart_has_none_of_the_numbers_before_it() {
        let before = DirectoryView::default();
        let mut numbers = vec![before.number()];
        for _ in 0..100 {
            before.set(Directory::default());
            numbers.push(before.number());
        }
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        // No process starts within a millisecond.
        std::thread::sleep(Duration::from_millis(2));
        let after = DirectoryView::default();
        for _ in 0..100 {
            assert!(!numbers.contains(&after.number()), "{numbers:?}");
            after.set(Directory::default());
        }
    }
}
