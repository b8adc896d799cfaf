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

/// The directory that the node goes by.
#[derive(Debug, Default)]
struct Known {
    current: Arc<Directory>,
    /// Set while that is another node's.
    received: Option<Received>,
}

/// What the replica on this node has, while it may be older than what was received.
#[derive(Debug)]
struct Received {
    own: Arc<Directory>,
    /// It is as new once the replica has applied this entry.
    as_new_at: Option<u64>,
}

#[derive(Debug)]
pub struct DirectoryView {
    known: RwLock<Known>,
    /// Incremented with each change: other nodes ask for anything newer than their version.
    number: AtomicU64,
    confirmed: RwLock<Confirmed>,
}

impl Default for DirectoryView {
    fn default() -> DirectoryView {
        DirectoryView {
            known: RwLock::default(),
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
        Arc::clone(&self.known.read().current)
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

    /// The replica on this node has committed this directory. A replica that catches up commits versions that are older than what another
    /// node has sent meanwhile: they are not shown, as revoked permissions would be back.
    pub fn set(&self, directory: Directory) {
        let directory = Arc::new(directory);
        self.change(|known| match &mut known.received {
            Some(received) => {
                received.own = directory;
                None
            }
            None => Some(directory),
        });
    }

    /// Like [`DirectoryView::set`], by a replica that leads: nobody has a newer one.
    pub fn lead_with(&self, directory: Directory) {
        let directory = Arc::new(directory);
        self.change(|known| {
            known.received = None;
            Some(directory)
        });
    }

    /// Another node has sent the directory to this one, which has no replica, or one that may be behind.
    pub fn receive(&self, directory: Directory) {
        let directory = Arc::new(directory);
        self.change(|known| {
            let before = known.received.take().map(|received| received.own);
            known.received = Some(Received {
                own: before.unwrap_or_else(|| Arc::clone(&known.current)),
                as_new_at: None,
            });
            Some(directory)
        });
    }

    /// Whether the directory is another node's.
    pub fn is_received(&self) -> bool {
        self.known.read().received.is_some()
    }

    /// Whether nobody has said yet when the own replica is as new as what was received.
    pub fn wants_position(&self) -> bool {
        let known = self.known.read();
        let received = known.received.as_ref();
        received.is_some_and(|received| received.as_new_at.is_none())
    }

    /// The replica on this node is as new as the directory of this number once it has applied the entry.
    pub fn is_as_new_at(&self, number: u64, entry: u64) {
        let known = &mut *self.known.write();
        // Another one may have been received since the question.
        if number == self.number()
            && let Some(received) = &mut known.received
        {
            received.as_new_at.get_or_insert(entry);
        }
    }

    /// The replica on this node has published what it has up to this entry. From when it has caught up, the node goes by it.
    pub fn has_applied(&self, entry: u64) {
        let is_as_new = |it: &mut Received| it.as_new_at.is_some_and(|least| entry >= least);
        self.change(|known| Some(known.received.take_if(is_as_new)?.own));
    }

    /// The replica on this node leads: it has published all that was committed.
    pub fn leads(&self) {
        self.change(|known| Some(known.received.take()?.own));
    }

    /// Shows the directory that the change returns. The one before may be large: it is dropped when nobody waits for it.
    fn change(&self, change: impl FnOnce(&mut Known) -> Option<Arc<Directory>>) {
        let mut known = self.known.write();
        let Some(directory) = change(&mut known) else {
            return;
        };
        let before = std::mem::replace(&mut known.current, directory);
        self.number.fetch_add(1, Ordering::AcqRel);
        drop(known);
        drop(before);
    }
}

#[cfg(test)]
mod catching_up_tests;

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
