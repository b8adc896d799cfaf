//! One process that takes a number, keeps it and gives it back.

mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::record::{Record, Tag};
#[cfg(test)]
use super::simulation::Mutation;

pub use self::steps::{Answer, Do, Ended, Free, Now, Own, Terms};

/// Delay before something that is not ready yet is checked again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The object last found at a number, and since when it has been unchanged.
#[derive(Debug)]
struct Seen {
    found: Option<(Tag, Record)>,
    since: Duration,
    /// When it was last read.
    looked: Duration,
}

/// A number that can be taken.
#[derive(Clone, Debug)]
struct Candidate {
    node: u32,
    /// The object that the claim overwrites.
    over: Option<(Tag, Record)>,
    joins: bool,
    /// The directory whose lock is held.
    locked: Option<String>,
}

impl Candidate {
    /// Whether the directory has the number's data, the number has none, or its data is elsewhere anyway.
    fn is_about(&self, directory: &String) -> bool {
        let before = self.over.as_ref().map(|(_, record)| record);
        let data = before.and_then(|record| record.directory.as_ref());
        self.joins || data.is_none_or(|data| data == directory)
    }
}

/// A number that this process has in the store.
#[derive(Debug)]
struct Held {
    node: u32,
    tag: Option<Tag>,
    record: Record,
    joins: bool,
    locked: Option<String>,
    acts: bool,
    /// When the last write that arrived was sent.
    confirmed: Duration,
    /// The last write, and when it was sent.
    sent: (Record, Duration),
    /// Whether it is unknown if the write arrived.
    doubt: bool,
    /// When to write, or to read in case of doubt.
    due: Duration,
    /// When to try the lock again.
    lock_due: Duration,
}

#[derive(Debug)]
enum Phase {
    /// These objects have yet to be read.
    Reads(Vec<u32>),
    /// All are read; these directories could not be locked.
    Chooses {
        busy: Vec<u32>,
    },
    Locks {
        candidate: Candidate,
        busy: Vec<u32>,
    },
    Claims(Candidate),
    /// The claim was sent; whether it arrived has yet to be read.
    Claimed {
        candidate: Candidate,
        record: Record,
        sent: Duration,
        read_at: Option<Duration>,
    },
    LetsGo(u32),
    Rests(Duration),
    Holds(Box<Held>),
    Ends(Ended),
}

/// A process that takes, keeps and gives back a number.
#[derive(Debug)]
pub struct Claimant {
    terms: Terms,
    size: u32,
    own: Own,
    seen: BTreeMap<u32, Seen>,
    phase: Phase,
    /// Set if the number is to be given back: the numbers whose local directories have data.
    leaves: Option<BTreeSet<u32>>,
    /// Whether the node belongs to a cluster, with the directory that it has locked.
    joined: bool,
    #[cfg(test)]
    pub(super) mutation: Option<Mutation>,
}

impl Claimant {
    /// A process that looks for a number below `size`.
    pub fn new(terms: Terms, size: u32, own: Own) -> Claimant {
        Claimant {
            terms,
            size,
            own,
            seen: BTreeMap::new(),
            phase: Phase::Reads((0..size).rev().collect()),
            leaves: None,
            joined: false,
            #[cfg(test)]
            mutation: None,
        }
    }

    #[cfg(test)]
    fn is_mutated(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Updates the directories on this machine while the process has no number yet: a disk may have been attached.
    pub fn finds(&mut self, here: BTreeMap<u32, String>) {
        self.own.here = here;
    }

    /// The node belongs to a cluster with the data in its directory.
    pub fn joined(&mut self) {
        self.joined = true;
    }

    /// The process stops acting and gives back its number. `with_data` has the numbers whose local directories have what a node needs to
    /// start again.
    pub fn leave(&mut self, with_data: BTreeSet<u32>) {
        self.leaves = Some(with_data);
        if let Phase::Holds(held) = &mut self.phase {
            held.due = held.due.min(held.sent.1);
        }
    }

    /// The number, as far as the store has confirmed it.
    pub fn node(&self) -> Option<u32> {
        match &self.phase {
            Phase::Holds(held) => Some(held.node),
            _ => None,
        }
    }

    /// The version under which the process has the number.
    pub fn version(&self) -> Option<u64> {
        match &self.phase {
            Phase::Holds(held) => Some(held.record.version),
            _ => None,
        }
    }

    /// How long ago the last write that arrived was sent: the lease is at most this old.
    pub fn age(&self, clock: Duration) -> Option<Duration> {
        match &self.phase {
            Phase::Holds(held) => Some(clock.saturating_sub(held.confirmed)),
            _ => None,
        }
    }

    /// Whether the number is this process's in the store, but another process on this machine holds the lock of its directory.
    pub fn waits_for_lock(&self) -> bool {
        matches!(&self.phase, Phase::Holds(held) if held.locked.is_none())
    }

    /// The availability of each number that was read.
    pub fn numbers(&self, clock: Duration) -> Vec<(u32, Free)> {
        let numbers = self.seen.iter();
        let numbers = numbers.map(|(node, seen)| (*node, self.free(*node, seen, clock)));
        numbers.collect()
    }

    fn free(&self, node: u32, seen: &Seen, clock: Duration) -> Free {
        let Some((_, record)) = &seen.found else {
            return Free::Yes;
        };
        if !self.is_unused(seen, clock) {
            return Free::OwnedBy(record.task.clone());
        }
        match &record.directory {
            Some(id) if self.own.here.get(&node) != Some(id) && !self.own.replaces => {
                Free::ElsewhereWith(record.task.clone())
            }
            _ => Free::Yes,
        }
    }

    /// Whether nobody has the number, or its owner has not renewed the lease.
    fn is_unused(&self, seen: &Seen, clock: Duration) -> bool {
        let Some((_, record)) = &seen.found else {
            return true;
        };
        let unchanged = clock.saturating_sub(seen.since);
        record.released
            || record.instance == self.own.instance
            || unchanged >= self.terms.taken_after()
    }

    /// The next action.
    pub fn next(&mut self, now: Now) -> Do {
        loop {
            let leaves = self.leaves.is_some();
            match &mut self.phase {
                Phase::Reads(_) | Phase::Chooses { .. } | Phase::Rests(_) if leaves => {
                    self.phase = Phase::Ends(Ended::Released);
                }
                Phase::Reads(left) => match left.last() {
                    Some(node) => return Do::Read { node: *node },
                    None => self.phase = Phase::Chooses { busy: Vec::new() },
                },
                Phase::Chooses { busy } => {
                    let busy = std::mem::take(busy);
                    self.phase = self.choose(busy, now);
                }
                Phase::Locks { candidate, .. } => {
                    let found = candidate.over.as_ref();
                    let (node, has) = (candidate.node, found.map(|(_, record)| record));
                    let create =
                        candidate.joins || has.is_none_or(|record| record.directory.is_none());
                    return Do::Lock { node, create };
                }
                Phase::Claims(candidate) => {
                    let candidate = candidate.clone();
                    return self.claim(candidate, now);
                }
                Phase::Claimed {
                    candidate, read_at, ..
                } => match read_at {
                    Some(at) if *at > now.clock => return Do::Wait(*at - now.clock),
                    _ => {
                        return Do::Read {
                            node: candidate.node,
                        };
                    }
                },
                Phase::LetsGo(node) => return Do::Unlock { node: *node },
                Phase::Rests(until) if *until > now.clock => return Do::Wait(*until - now.clock),
                Phase::Rests(_) => self.phase = Phase::Reads((0..self.size).rev().collect()),
                Phase::Holds(_) => return self.hold(now),
                Phase::Ends(ended) => return Do::Stop(ended.clone()),
            }
        }
    }

    /// The best available number: one whose data is here, then one without data, then one whose data is elsewhere.
    fn choose(&self, busy: Vec<u32>, now: Now) -> Phase {
        let ways = [Claimant::goes_on_with, Claimant::begins, Claimant::replaces];
        for way in ways {
            for (node, seen) in &self.seen {
                if let Some(candidate) = way(self, *node, seen, now, &busy) {
                    let locks = candidate.locked.is_none() && !busy.contains(node);
                    return if locks {
                        Phase::Locks { candidate, busy }
                    } else {
                        Phase::Claims(candidate)
                    };
                }
            }
        }
        Phase::Rests(now.clock + LOOK_AGAIN)
    }

    fn candidate(node: u32, seen: &Seen, joins: bool) -> Candidate {
        Candidate {
            node,
            over: seen.found.clone(),
            joins,
            locked: None,
        }
    }

    /// The number's data is here. Whoever can lock it knows that nobody uses it, however young the lease is; otherwise the lease must have
    /// expired, and the lock is waited for.
    fn goes_on_with(&self, node: u32, seen: &Seen, now: Now, busy: &[u32]) -> Option<Candidate> {
        let (_, record) = seen.found.as_ref()?;
        let directory = record.directory.as_ref()?;
        let is_here = self.own.here.get(&node) == Some(directory);
        #[cfg(test)]
        let is_here = is_here || self.is_mutated(Mutation::FoundsElsewhere);
        let is_unused = !record.released && self.is_unused(seen, now.clock);
        #[cfg(test)]
        let is_unused = match self.mutation {
            Some(Mutation::TrustsWrittenTime) => {
                let taken_after = i64::try_from(self.terms.taken_after().as_millis());
                now.wall - record.renewed_at >= taken_after.unwrap_or(i64::MAX)
            }
            Some(Mutation::TakesAtOnce) => true,
            _ => is_unused,
        };
        let is_locked = busy.contains(&node);
        // The lock says nothing about a process that uses another directory.
        let can = if record.joining {
            !is_locked && self.is_unused(seen, now.clock)
        } else {
            !is_locked || is_unused
        };
        (is_here && can).then(|| Claimant::candidate(node, seen, false))
    }

    /// Nobody has data of this number.
    fn begins(&self, node: u32, seen: &Seen, now: Now, busy: &[u32]) -> Option<Candidate> {
        let none = match &seen.found {
            None => true,
            Some((_, record)) => record.directory.is_none() && self.is_unused(seen, now.clock),
        };
        (none && !busy.contains(&node)).then(|| Claimant::candidate(node, seen, false))
    }

    /// The number's data is elsewhere, and its process does not renew the lease.
    fn replaces(&self, node: u32, seen: &Seen, now: Now, busy: &[u32]) -> Option<Candidate> {
        let (_, record) = seen.found.as_ref()?;
        let elsewhere = record.directory.is_some()
            && self.own.here.get(&node) != record.directory.as_ref()
            && self.is_unused(seen, now.clock);
        let can = self.own.replaces && elsewhere && !busy.contains(&node);
        can.then(|| Claimant::candidate(node, seen, true))
    }

    fn claim(&mut self, candidate: Candidate, now: Now) -> Do {
        let before = candidate.over.as_ref().map(|(_, record)| record);
        let directory = before.and_then(|record| record.directory.clone());
        let record = Record {
            version: before.map_or(0, |record| record.version) + 1,
            renewed_at: now.wall,
            joining: candidate.joins,
            directory: if candidate.joins {
                directory
            } else {
                candidate.locked.clone().or(directory)
            },
            ..Record::first(&self.own.instance, &self.own.task)
        };
        let (node, over) = (candidate.node, candidate.over.as_ref());
        let over = over.map(|(tag, _)| tag.clone());
        self.phase = Phase::Claimed {
            candidate,
            record: record.clone(),
            sent: now.clock,
            read_at: None,
        };
        Do::Write { node, over, record }
    }

    /// Takes the outcome of an action.
    pub fn answered(&mut self, now: Now, answer: Answer) {
        match std::mem::replace(&mut self.phase, Phase::Ends(Ended::Released)) {
            Phase::Reads(mut left) => {
                if let Some(node) = left.pop() {
                    self.saw(node, answer, now);
                }
                self.phase = Phase::Reads(left);
            }
            Phase::Locks {
                mut candidate,
                mut busy,
            } => match answer {
                Answer::Locked(Some(directory)) => {
                    let node = candidate.node;
                    self.own.here.insert(node, directory.clone());
                    // Somebody may have put another directory in its place.
                    let is_about = candidate.is_about(&directory);
                    #[cfg(test)]
                    let is_about = is_about || self.is_mutated(Mutation::FoundsElsewhere);
                    self.phase = if is_about {
                        candidate.locked = Some(directory);
                        Phase::Claims(candidate)
                    } else {
                        Phase::LetsGo(node)
                    };
                }
                _ => {
                    busy.push(candidate.node);
                    self.phase = Phase::Chooses { busy };
                }
            },
            Phase::Claimed {
                candidate,
                record,
                sent,
                read_at,
            } => self.claim_answered(candidate, (record, sent), (answer, read_at), now),
            Phase::LetsGo(_) => self.phase = Phase::Reads((0..self.size).rev().collect()),
            Phase::Holds(held) => self.held_answered(held, answer, now),
            waiting @ (Phase::Chooses { .. } | Phase::Claims(_) | Phase::Rests(_)) => {
                self.phase = waiting;
            }
            Phase::Ends(ended) => self.phase = Phase::Ends(ended),
        }
    }

    fn saw(&mut self, node: u32, answer: Answer, now: Now) {
        let Answer::Read(found) = answer else {
            // Nothing is known of it now. Earlier observations say nothing about the time since.
            self.seen.remove(&node);
            return;
        };
        let tag = |found: &Option<(Tag, Record)>| found.as_ref().map(|(tag, _)| tag.clone());
        // A process that did not read for long may have been cut off together with the store, in which nobody could write.
        let gap = self.terms.renew_every();
        let known = self.seen.get(&node);
        let known = known.filter(|seen| {
            tag(&seen.found) == tag(&found) && now.clock.saturating_sub(seen.looked) <= gap
        });
        let since = known.map_or(now.clock, |seen| seen.since);
        let looked = now.clock;
        self.seen.insert(
            node,
            Seen {
                found,
                since,
                looked,
            },
        );
    }

    fn claim_answered(
        &mut self,
        candidate: Candidate,
        (record, sent): (Record, Duration),
        (answer, _): (Answer, Option<Duration>),
        now: Now,
    ) {
        #[cfg(test)]
        let answer = match answer {
            Answer::Unknown if self.is_mutated(Mutation::BelievesLostAnswers) => {
                Answer::Written(Tag(String::new()))
            }
            answer => answer,
        };
        let tag = match answer {
            Answer::Written(tag) => tag,
            Answer::Read(Some((tag, found))) if found == record => tag,
            Answer::Read(_) => {
                self.lets_go(&candidate);
                return;
            }
            // Another process was faster, or this write arrived twice. Reading decides.
            Answer::Refused => {
                self.phase = Phase::Claimed {
                    candidate,
                    record,
                    sent,
                    read_at: None,
                };
                return;
            }
            Answer::Unknown | Answer::Locked(_) | Answer::Done => {
                self.phase = Phase::Claimed {
                    candidate,
                    record,
                    sent,
                    read_at: Some(now.clock + LOOK_AGAIN),
                };
                return;
            }
        };
        self.phase = Phase::Holds(Box::new(Held {
            node: candidate.node,
            tag: Some(tag),
            record: record.clone(),
            joins: candidate.joins,
            locked: candidate.locked,
            acts: false,
            confirmed: self.counted_from(sent, now),
            sent: (record, sent),
            doubt: false,
            due: sent + self.terms.renew_every(),
            lock_due: now.clock,
        }));
    }

    /// When a lease starts to count.
    fn counted_from(&self, sent: Duration, now: Now) -> Duration {
        let _ = now;
        #[cfg(test)]
        if self.is_mutated(Mutation::CountsFromTheAnswer) {
            return now.clock;
        }
        sent
    }

    fn lets_go(&mut self, candidate: &Candidate) {
        self.phase = if candidate.locked.is_some() {
            Phase::LetsGo(candidate.node)
        } else {
            Phase::Reads((0..self.size).rev().collect())
        };
    }

    /// The next action of a process that has a number in the store.
    fn hold(&mut self, now: Now) -> Do {
        let Phase::Holds(held) = &mut self.phase else {
            return Do::Wait(LOOK_AGAIN);
        };
        let node = held.node;
        #[cfg(test)]
        let acts_at_once = self.mutation == Some(Mutation::ActsBeforeTheLock);
        #[cfg(not(test))]
        let acts_at_once = false;
        let may_act = held.locked.is_some() || acts_at_once;
        if self.leaves.is_none() && !held.acts && may_act {
            held.acts = true;
            let joins = held.joins;
            return Do::Act { node, joins };
        }
        if self.leaves.is_none() && held.locked.is_none() && held.lock_due <= now.clock {
            held.lock_due = now.clock + LOOK_AGAIN;
            let create = false;
            return Do::Lock { node, create };
        }
        let waits_for_lock = self.leaves.is_none() && held.locked.is_none();
        let next = if waits_for_lock {
            held.due.min(held.lock_due)
        } else {
            held.due
        };
        if next > now.clock {
            return Do::Wait(next - now.clock);
        }
        if held.doubt {
            return Do::Read { node };
        }
        let mut record = held.record.clone();
        record.renewals = held.sent.0.renewals + 1;
        record.renewed_at = now.wall;
        if held.joins && self.joined {
            record.directory = held.locked.clone();
            record.joining = false;
        }
        if let Some(with_data) = &self.leaves {
            record.released = true;
            if with_data.contains(&node) {
                record.directory = held.locked.clone().or(record.directory);
            } else if !held.joins && held.locked.is_some() {
                record.directory = None;
            }
        }
        held.sent = (record.clone(), now.clock);
        held.due = now.clock + self.terms.renew_every();
        let over = held.tag.clone();
        Do::Write { node, over, record }
    }

    fn held_answered(&mut self, mut held: Box<Held>, answer: Answer, now: Now) {
        #[cfg(test)]
        if answer == Answer::Refused && self.is_mutated(Mutation::TakesRefusalForLoss) {
            let (node, by) = (held.node, held.record);
            self.phase = Phase::Ends(Ended::Lost { node, by });
            return;
        }
        match answer {
            Answer::Written(tag) => {
                held.confirmed = self.counted_from(held.sent.1, now);
                held.tag = Some(tag);
                held.record = held.sent.0.clone();
            }
            Answer::Refused => {
                held.doubt = true;
                held.due = now.clock;
            }
            Answer::Unknown => {
                held.due = now.clock
                    + if held.doubt {
                        LOOK_AGAIN
                    } else {
                        Duration::ZERO
                    };
                held.doubt = true;
            }
            Answer::Read(found) => match self.is_still(&mut held, found, now) {
                Ok(()) => {}
                Err(by) => return self.loses(&held, by),
            },
            Answer::Locked(directory) => {
                // A directory that was swapped is not the one that the lease is about.
                held.locked = directory.filter(|id| Some(id) == held.record.directory.as_ref());
            }
            Answer::Done => {}
        }
        let released = held.record.released && !held.doubt;
        self.phase = if released {
            Phase::Ends(Ended::Released)
        } else {
            Phase::Holds(held)
        };
    }

    /// Evaluates the object after a write whose outcome was in doubt. `Err`: another process has the number.
    fn is_still(
        &self,
        held: &mut Held,
        found: Option<(Tag, Record)>,
        now: Now,
    ) -> Result<(), Record> {
        held.doubt = false;
        held.due = now.clock;
        match found {
            Some((tag, record)) if record.instance == self.own.instance => {
                if record == held.sent.0 {
                    held.confirmed = held.sent.1;
                    held.due = (held.sent.1 + self.terms.renew_every()).max(now.clock);
                } else {
                    // The write may still be on its way: its condition no longer holds once the next one has arrived.
                    held.due = now.clock + LOOK_AGAIN;
                }
                held.tag = Some(tag);
                held.record = record;
                if self.leaves.is_some() {
                    held.due = now.clock;
                }
                Ok(())
            }
            #[cfg(test)]
            Some((tag, _)) if self.is_mutated(Mutation::KeepsALostNumber) => {
                held.tag = Some(tag);
                Ok(())
            }
            Some((_, record)) => Err(record),
            // Somebody has emptied the bucket.
            None => {
                held.tag = None;
                Ok(())
            }
        }
    }

    fn loses(&mut self, held: &Held, by: Record) {
        let node = held.node;
        self.phase = if held.acts {
            Phase::Ends(Ended::Lost { node, by })
        } else if held.locked.is_some() {
            Phase::LetsGo(node)
        } else {
            Phase::Reads((0..self.size).rev().collect())
        };
    }
}
