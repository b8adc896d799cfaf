//! Invariant checks. The oracle observes all nodes and panics at the first violation.

use std::collections::BTreeMap;

use skep_storage::log::Frame;

use crate::hash;

/// An entry on a disk: its term, and a checksum over the whole log up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub term: u64,
    pub chain: u64,
}

/// Durable state of one node, accumulated from its completed flushes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durable {
    pub base: (u64, u64),
    pub entries: BTreeMap<u64, Stored>,
}

impl Durable {
    pub fn last(&self) -> u64 {
        self.entries
            .last_key_value()
            .map_or(self.base.0, |(index, _)| *index)
    }

    /// Whether the entry is here, or was here when it was compacted.
    fn holds(&self, index: u64, term: u64) -> bool {
        index <= self.base.0
            || self
                .entries
                .get(&index)
                .is_some_and(|entry| entry.term == term)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CommittedEntry {
    term: u64,
    content: u64,
}

#[derive(Debug, Default)]
pub struct Oracle {
    nodes: BTreeMap<u64, Durable>,
    /// By term: the leader, and the commit index when it was first seen.
    leaders: BTreeMap<u64, (u64, u64)>,
    /// By index and term: the checksum over the log up to there. It must be equal on all nodes, or logs do not match.
    chains: BTreeMap<(u64, u64), u64>,
    committed: BTreeMap<u64, CommittedEntry>,
    /// By index: the digest of the state after applying it.
    states: BTreeMap<u64, u64>,
    /// By index: the digest of the users and permissions after applying it.
    directories: BTreeMap<u64, u64>,
    /// Commands that were acknowledged to clients: number and index.
    pub acknowledged: BTreeMap<u64, u64>,
    terms: BTreeMap<u64, u64>,
    positions: BTreeMap<u64, u64>,
    /// By the index of the entry that defined them: the voters.
    voters: BTreeMap<u64, Vec<u64>>,
}

impl Oracle {
    /// A group with these initial voters.
    pub fn new(voters: impl IntoIterator<Item = u64>) -> Self {
        let mut oracle = Self::default();
        oracle.voters_are(0, voters.into_iter().collect());
        oracle.chains.insert((0, 0), 0);
        oracle
    }

    /// Records that an entry has changed the voters, as reported by a node.
    pub fn voters_are(&mut self, index: u64, voters: Vec<u64>) {
        let known = self.voters.entry(index).or_insert_with(|| voters.clone());
        assert_eq!(*known, voters, "entry {index} has made others voters");
    }

    /// Records that the node and its disk are permanently lost.
    pub fn is_gone(&mut self, node: u64) {
        self.nodes.remove(&node);
        self.terms.remove(&node);
        self.positions.remove(&node);
    }

    /// Whether enough voters have the entry on disk. A preceding entry that changes the voters may not have been applied where
    /// this one was decided.
    fn is_held(&self, index: u64, term: u64) -> bool {
        let holds = |node: &&u64| {
            let durable = self.nodes.get(*node);
            durable.is_some_and(|durable| durable.holds(index, term))
        };
        let mut decided = self.voters.range(..index).rev().take(2);
        decided.any(|(_, voters)| voters.iter().filter(holds).count() * 2 > voters.len())
    }

    /// The checksum over the log up to an entry that some node stored.
    pub fn chain(&self, (index, term): (u64, u64)) -> u64 {
        self.chains[&(index, term)]
    }

    /// Checks election safety, and that terms only grow.
    pub fn saw_term(&mut self, node: u64, term: u64, leads: bool) {
        let before = self.terms.insert(node, term).unwrap_or(0);
        assert!(
            term >= before,
            "node {node} went back from term {before} to {term}"
        );
        if leads {
            let committed = self.commit_index();
            let leader = self.leaders.entry(term).or_insert((node, committed));
            assert_eq!(leader.0, node, "two leaders in term {term}");
        }
    }

    /// Checks leader completeness: a new leader has every entry on disk that was committed when it was elected. If it was
    /// paused in between, there may be a newer leader with more entries.
    pub fn leads(&mut self, node: u64, term: u64) {
        self.saw_term(node, term, true);
        let (_, committed) = self.leaders[&term];
        let durable = self.nodes.entry(node).or_default();
        for (index, entry) in self.committed.range(..=committed) {
            assert!(
                durable.holds(*index, entry.term),
                "node {node} leads term {term} without committed entry {index} of term {}",
                entry.term
            );
        }
    }

    /// Records a completed flush of a node. Checks log matching: an entry with the same index and term follows the same log
    /// everywhere.
    pub fn flushed(&mut self, node: u64, frames: &[Frame]) {
        let durable = self.nodes.entry(node).or_default();
        for frame in frames {
            match frame {
                Frame::Entry {
                    index,
                    term,
                    payload,
                    ..
                } => {
                    durable.entries.split_off(index);
                    assert_eq!(durable.last() + 1, *index, "node {node} left a gap");
                    let before = match durable.entries.get(&(index - 1)) {
                        Some(entry) => entry.chain,
                        None => self.chains[&durable.base],
                    };
                    let chain = hash(&[before, *index, *term], payload);
                    let known = *self.chains.entry((*index, *term)).or_insert(chain);
                    assert_eq!(
                        known, chain,
                        "logs differ before entry {index} of term {term} on node {node}"
                    );
                    durable
                        .entries
                        .insert(*index, Stored { term: *term, chain });
                }
                Frame::Base { index, term, reset } => {
                    durable.base = (*index, *term);
                    durable.entries = if *reset {
                        BTreeMap::new()
                    } else {
                        durable.entries.split_off(&(index + 1))
                    };
                }
                Frame::State(_) | Frame::Mark => {}
            }
        }
    }

    /// Records what a node found when it reopened its log. Nothing that was flushed may be missing.
    pub fn reopened(&mut self, node: u64, found: Durable) {
        for (index, entry) in &found.entries {
            let chain = *self
                .chains
                .entry((*index, entry.term))
                .or_insert(entry.chain);
            assert_eq!(
                chain, entry.chain,
                "logs differ before entry {index} on node {node} after a restart"
            );
        }
        let known = self.nodes.insert(node, found.clone()).unwrap_or_default();
        // A term that was not durable may be lost, because nobody was told of it.
        self.terms.remove(&node);
        for (index, entry) in &known.entries {
            // Later frames may have replaced or compacted it. Frames of an unconfirmed append may count.
            let replaced = found
                .entries
                .get(index)
                .is_some_and(|now| now.term > entry.term);
            let cut_by_replacement = found
                .entries
                .values()
                .next_back()
                .is_some_and(|last| last.term > entry.term);
            assert!(
                found.holds(*index, entry.term) || replaced || cut_by_replacement,
                "node {node} lost entry {index} of term {} that was flushed",
                entry.term
            );
        }
    }

    /// Records that a node learned that an entry is committed. Committed entries never change, and positions only grow.
    pub fn committed(&mut self, node: u64, index: u64, term: u64, payload: &[u8]) {
        let position = self.positions.insert(node, index).unwrap_or(0);
        assert_eq!(
            index,
            position + 1,
            "node {node} was handed entry {index} after {position}"
        );
        let entry = CommittedEntry {
            term,
            content: hash(&[], payload),
        };
        // Checked at once, because the nodes that decided may be gone later.
        assert!(
            self.committed.contains_key(&index) || self.is_held(index, term),
            "entry {index} counts as committed on node {node} but is not durable on a majority of {:?}",
            self.voters
        );
        let known = *self.committed.entry(index).or_insert(entry);
        assert_eq!(
            known, entry,
            "committed entry {index} changed on node {node}"
        );
    }

    /// Records that a node starts at a position after a restart, a snapshot or a loss of leadership.
    pub fn moved_to(&mut self, node: u64, index: u64) {
        self.positions.insert(node, index);
    }

    /// Records the state of a node at a position. Equal positions must have equal states.
    pub fn state_at(&mut self, node: u64, index: u64, digest: u64) {
        let known = *self.states.entry(index).or_insert(digest);
        assert_eq!(
            known, digest,
            "node {node} has another state after entry {index} than others"
        );
    }

    /// Records the users and permissions that a node has, or goes by, as those of a position. Equal positions must have equal ones.
    pub fn directory_at(&mut self, node: u64, index: u64, digest: u64) {
        let known = *self.directories.entry(index).or_insert(digest);
        assert_eq!(
            known, digest,
            "node {node} has other users and permissions after entry {index} than others"
        );
    }

    /// Records that a client was told that its command is done, in this entry.
    pub fn acknowledge(&mut self, number: u64, index: u64, term: u64) {
        let committed = self.committed.get(&index);
        assert!(
            committed.is_some_and(|entry| entry.term == term),
            "command {number} was acknowledged but entry {index} of term {term} is not committed"
        );
        let before = self.acknowledged.insert(number, index);
        assert_eq!(before, None, "command {number} was acknowledged twice");
    }

    /// The last entry on the node's disk, if all of them are committed.
    pub fn last_committed_on(&self, node: u64) -> Option<u64> {
        let durable = self.nodes.get(&node)?;
        let is_committed = |(index, entry): (&u64, &Stored)| {
            let committed = self.committed.get(index);
            committed.is_some_and(|committed| committed.term == entry.term)
        };
        let all = durable.entries.iter().all(is_committed);
        all.then(|| durable.last())
    }

    /// The group continues from the log of this node alone, as another member: what others had after it is lost, whoever led them. Returns
    /// the last committed entry that is left.
    pub fn continues_from(&mut self, node: u64) -> u64 {
        let durable = self.nodes.get(&node).cloned().unwrap_or_default();
        let mut committed = self.committed.iter();
        let lost = committed.find(|(index, entry)| !durable.holds(**index, entry.term));
        let kept = lost.map_or_else(|| self.commit_index(), |(index, _)| index - 1);
        self.committed.split_off(&(kept + 1));
        self.states.split_off(&(kept + 1));
        self.directories.split_off(&(kept + 1));
        self.acknowledged.retain(|_, at| *at <= kept);
        self.chains
            .retain(|(index, term), _| durable.holds(*index, *term));
        self.leaders.clear();
        kept
    }

    pub fn commit_index(&self) -> u64 {
        self.committed
            .last_key_value()
            .map_or(0, |(index, _)| *index)
    }
}
