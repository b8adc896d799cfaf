//! Whether a leader still leads: a majority of its voters must know of no later term.
//!
//! A leader that was paused, or whose messages do not arrive, may have been replaced, and commands of its successor may be acknowledged. That
//! heartbeats of a majority arrive proves nothing: they may be old, and followers elect another leader when *they* do not hear this one. So
//! the voters are asked for their terms. Another leader needs the votes of a majority, and a voter publishes the later term before its vote
//! leaves: had there been such a leader when the question was asked, one of any majority would name its term.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skep_cluster::node_of;

/// What a replica that considers itself the leader says: it leads in this term and has committed up to this entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub term: u64,
    pub committed: u64,
}

/// A replica, and the term that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaTerm {
    pub member: u64,
    pub term: u64,
}

/// The result of a question to the voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Open,
    /// When the question was asked, everything acknowledged was committed up to this entry.
    Committed(u64),
    /// There may be another leader.
    Unsure,
}

/// One question to the voters of a partition.
#[derive(Debug)]
pub struct Round {
    claim: Claim,
    /// How many voters have to confirm the term yet.
    lacking: usize,
    /// Voters that have not answered, by their nodes.
    asked: BTreeMap<u32, u64>,
}

impl Round {
    /// Begins with the claim of a leader, which confirms itself if it is one of the voters.
    pub fn begin(claim: Claim, own: u64, voters: &[u64]) -> Round {
        let (itself, others): (Vec<u64>, Vec<u64>) = voters.iter().partition(|it| **it == own);
        let asked = others.iter().filter_map(|it| Some((node_of(*it)?, *it)));
        Round {
            claim,
            lacking: (voters.len() / 2 + 1).saturating_sub(itself.len()),
            asked: asked.collect(),
        }
    }

    /// The voters to be asked, with their nodes.
    pub fn asked(&self) -> Vec<(u32, u64)> {
        self.asked
            .iter()
            .map(|(node, voter)| (*node, *voter))
            .collect()
    }

    pub fn verdict(&self) -> Verdict {
        if self.lacking == 0 {
            Verdict::Committed(self.claim.committed)
        } else if self.asked.len() < self.lacking {
            Verdict::Unsure
        } else {
            Verdict::Open
        }
    }

    /// A replica that asks is in this term; it may not be a voter.
    pub fn answer_of(&mut self, replica: ReplicaTerm) -> Verdict {
        let node = node_of(replica.member).unwrap_or(u32::MAX);
        match self.asked.get(&node) {
            Some(voter) if *voter == replica.member => self.answer(node, Some(replica.term)),
            _ => self.verdict(),
        }
    }

    /// A voter is in this term; `None`: it does not answer.
    pub fn answer(&mut self, node: u32, term: Option<u64>) -> Verdict {
        if self.asked.remove(&node).is_none() {
            return self.verdict();
        }
        if term.is_some_and(|term| term > self.claim.term) {
            // Whatever others say: there is, or will be, another leader.
            self.asked.clear();
            self.lacking = self.lacking.max(1);
        } else if term.is_some() {
            self.lacking = self.lacking.saturating_sub(1);
        }
        self.verdict()
    }
}

#[cfg(test)]
mod tests {
    use skep_cluster::member;

    use super::{Claim, ReplicaTerm, Round, Verdict};

    const CLAIM: Claim = Claim {
        term: 7,
        committed: 40,
    };

    fn voters(count: u32) -> Vec<u64> {
        (0..count).map(|node| member(node, 0)).collect()
    }

    fn round(count: u32) -> Round {
        Round::begin(CLAIM, member(0, 0), &voters(count))
    }

    #[test]
    fn a_leader_alone_confirms_itself() {
        assert_eq!(round(1).verdict(), Verdict::Committed(40));
    }

    #[test]
    fn a_majority_that_knows_no_later_term_confirms_a_leader() {
        let mut round = round(5);
        assert_eq!(round.verdict(), Verdict::Open);
        assert_eq!(round.answer(1, Some(7)), Verdict::Open);
        assert_eq!(round.answer(1, Some(7)), Verdict::Open, "it has answered");
        assert_eq!(round.answer(2, None), Verdict::Open);
        // It has not heard of this term yet.
        assert_eq!(round.answer(3, Some(6)), Verdict::Committed(40));
    }

    #[test]
    fn a_leader_that_votes_no_more_needs_a_majority_of_the_others() {
        let mut round = Round::begin(CLAIM, member(3, 0), &voters(3));
        assert_eq!(round.answer(0, Some(7)), Verdict::Open);
        assert_eq!(round.answer(1, Some(7)), Verdict::Committed(40));
    }

    #[test]
    fn the_replica_that_asks_counts_if_it_is_a_voter() {
        let with = |member| round(3).answer_of(ReplicaTerm { member, term: 7 });
        assert_eq!(with(member(1, 0)), Verdict::Committed(40));
        assert_eq!(
            with(member(1, 1)),
            Verdict::Open,
            "another copy was the voter"
        );
        assert_eq!(with(member(4, 0)), Verdict::Open);
    }

    #[test]
    fn a_later_term_or_too_few_answers_leave_it_open_who_leads() {
        let mut refuted = round(3);
        assert_eq!(refuted.answer(2, Some(8)), Verdict::Unsure);
        assert_eq!(refuted.answer(1, Some(7)), Verdict::Unsure);
        let mut alone = round(3);
        assert_eq!(alone.answer(1, None), Verdict::Open);
        assert_eq!(alone.answer(2, None), Verdict::Unsure);
    }
}
