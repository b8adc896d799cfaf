//! What a claimant is given and what it wants done: its terms and clocks, actions, their outcomes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::record::{Record, Tag};

/// The intervals of a lease; all derive from its duration.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub duration: Duration,
}

impl Terms {
    /// Interval between two renewals, from sending one to sending the next.
    pub fn renew_every(self) -> Duration {
        self.duration / 3
    }

    /// A lease that has not changed for this long, by the observer's clock, may be taken: a fifth more than its duration, for clocks that
    /// run at different speeds.
    pub fn taken_after(self) -> Duration {
        self.duration + self.duration / 5
    }
}

/// The process and what it finds on its machine.
#[derive(Clone, Debug)]
pub struct Own {
    /// Different for each process.
    pub instance: String,
    /// A name for people to read.
    pub task: String,
    /// Numbers whose directories are on this machine, with the directories' ids.
    pub here: BTreeMap<u32, String>,
    /// Whether it may take a number whose data is elsewhere, as a new member (`skep.cluster.replace-lost-nodes`).
    pub replaces: bool,
}

/// The clocks of the process.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Monotonic: never set, and counted from an arbitrary moment.
    pub clock: Duration,
    /// Milliseconds since 1970, for people to read.
    pub wall: i64,
}

/// The next action. Each is answered before [`Claimant::next`](super::Claimant::next) is called again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Do {
    /// Read the object of the number.
    Read {
        node: u32,
    },
    /// Write the object if it has this tag; without a tag, if there is no object. Only once, whatever the outcome.
    Write {
        node: u32,
        over: Option<Tag>,
        record: Record,
    },
    /// Lock the number's directory on this machine, without waiting. If it is missing, it is created if `create`.
    Lock {
        node: u32,
        create: bool,
    },
    /// Release the lock.
    Unlock {
        node: u32,
    },
    /// The number may be used from now on.
    Act {
        node: u32,
        /// The process was or will be added to the cluster: it must not found one, since the number's data is elsewhere.
        joins: bool,
    },
    Wait(Duration),
    Stop(Ended),
}

/// Outcome of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The object with its tag; `None`: there is no object.
    Read(Option<(Tag, Record)>),
    Written(Tag),
    /// The object had changed when the store checked the condition.
    Refused,
    /// It may have been done, may be done later, or not at all.
    Unknown,
    /// The directory's id, if this process holds its lock now.
    Locked(Option<String>),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Another process has the number.
    Lost { node: u32, by: Record },
    /// The number was given back, or there was none.
    Released,
}

/// Whether a number is free, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Free {
    /// Nothing.
    Yes,
    /// This task renews the lease, or did so a moment ago.
    OwnedBy(String),
    /// Its data is in a directory that is not here; this task had it last.
    ElsewhereWith(String),
}
