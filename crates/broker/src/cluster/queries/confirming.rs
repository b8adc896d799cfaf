//! Confirms that a replica of this node leads its partition, by the terms of the other voters; see [`crate::confirmation`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_transport::Class;

use super::positions::PositionKnown;
use crate::cluster::Cluster;
use crate::cluster::wire::{ConfirmationMessage, NodeMessage};
use crate::confirmation::{Claim, ReplicaTerm, Round, Verdict};

/// A node that is there answers at once: it only reads a number.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);
/// The first version of the protocol whose nodes can be asked for a term.
const TELLS_TERMS: u32 = 5;

/// The question under way for a partition, and those who wait for it or for the next one.
#[derive(Default)]
struct Confirming {
    round: Option<(u64, Instant, Round)>,
    known: Vec<PositionKnown>,
    /// They came after the question was asked.
    waiting: Vec<PositionKnown>,
}

/// Questions to voters, by partition: one at a time, for all who have come before it.
#[derive(Default)]
pub(in crate::cluster) struct Confirmations {
    next: AtomicU64,
    partitions: Mutex<HashMap<u32, Confirming>>,
}

impl Confirmations {
    /// Begins the question for those who wait, unless one is under way. Returns its number and the voters to be asked.
    fn begin(
        &self,
        partition: u32,
        known: Vec<PositionKnown>,
        round: Round,
    ) -> Option<(u64, Vec<(u32, u64)>)> {
        let mut partitions = self.partitions.lock();
        let confirming = partitions.entry(partition).or_default();
        if confirming.round.is_some() {
            confirming.waiting.extend(known);
            return None;
        }
        let (id, asked) = (self.next.fetch_add(1, Ordering::Relaxed), round.asked());
        confirming.round = Some((id, Instant::now(), round));
        confirming.known = known;
        Some((id, asked))
    }
}

impl Cluster {
    pub(in crate::cluster) fn confirmation_message(
        self: &Arc<Self>,
        from: u32,
        message: ConfirmationMessage,
    ) {
        match message {
            ConfirmationMessage::PositionInTerm {
                id,
                partition,
                asker,
            } => self.send_position_to((from, Some(asker)), id, partition),
            ConfirmationMessage::TermWanted {
                id,
                partition,
                member,
            } => self.send_term(from, id, partition, member),
            ConfirmationMessage::TermIs {
                id,
                partition,
                term,
            } => self.term_is(from, id, partition, term),
        }
    }

    /// The question that would confirm the local replica, if it considers itself the leader.
    fn claim(&self, partition: u32) -> Option<Round> {
        let handle = self.local()?.partition(partition)?;
        let status = &handle.status;
        let term = status.leadership.leads_in()?;
        // Followers, whose rows clients have seen, may be ahead of this replica's disk.
        let known = status.leadership.known_commit();
        let committed = status.applied.load(Ordering::Acquire).max(known);
        let claim = Claim { term, committed };
        let round = Round::begin(claim, status.member(), &status.members().voters);
        // Its own answer as a voter.
        (status.term() <= term).then_some(round)
    }

    /// Finds out up to which entry the partition is committed, if this node leads it. `asker`: the replica of the node that asks.
    pub(super) fn confirm(
        self: &Arc<Self>,
        partition: u32,
        asker: Option<ReplicaTerm>,
        known: PositionKnown,
    ) {
        let Some(mut round) = self.claim(partition) else {
            return known(None);
        };
        let verdict = match asker {
            Some(asker) => round.answer_of(asker),
            None => round.verdict(),
        };
        match verdict {
            Verdict::Committed(entry) => known(Some(entry)),
            Verdict::Unsure => known(None),
            // Others have asked too, so the question is asked without regard to who this one came from.
            Verdict::Open => self.ask_voters(partition, vec![known]),
        }
    }

    fn ask_voters(self: &Arc<Self>, partition: u32, known: Vec<PositionKnown>) {
        let Some(round) = self.claim(partition) else {
            return known.into_iter().for_each(|known| known(None));
        };
        // The voters may be others by now.
        let decided = match round.verdict() {
            Verdict::Open => None,
            Verdict::Committed(entry) => Some(Some(entry)),
            Verdict::Unsure => Some(None),
        };
        if let Some(entry) = decided {
            return known.into_iter().for_each(|known| known(entry));
        }
        let confirmations = &self.exchanges.confirmations;
        let Some((id, asked)) = confirmations.begin(partition, known, round) else {
            return;
        };
        for (node, member) in asked {
            let question = ConfirmationMessage::TermWanted {
                id,
                partition,
                member,
            };
            if !self.send(node, &NodeMessage::Confirmation(question)) {
                self.term_is(node, id, partition, self.trusted(node));
            }
        }
    }

    /// The term assumed of a node that cannot be asked because its version does not know the question: no later one while it is heard.
    fn trusted(&self, node: u32) -> Option<u64> {
        let transport = self.transport.as_ref()?;
        let spoken = transport.version(node, Class::Requests)?;
        (spoken < TELLS_TERMS && self.is_alive(node)).then_some(0)
    }

    /// Answers with the term of the local replica, if it is that voter.
    fn send_term(&self, from: u32, id: u64, partition: u32, member: u64) {
        let handle = self.local().and_then(|local| local.partition(partition));
        let own = handle.and_then(|handle| handle.status.replica_term());
        let term = own.filter(|own| own.member == member).map(|own| own.term);
        let answer = ConfirmationMessage::TermIs {
            id,
            partition,
            term,
        };
        self.send(from, &NodeMessage::Confirmation(answer));
    }

    /// A voter has answered, or never will.
    fn term_is(self: &Arc<Self>, node: u32, id: u64, partition: u32, term: Option<u64>) {
        self.end_if_decided(id, partition, |round| round.answer(node, term));
    }

    /// Ends the question if it is decided, and begins the next one for those who have come since.
    fn end_if_decided(
        self: &Arc<Self>,
        id: u64,
        partition: u32,
        verdict: impl FnOnce(&mut Round) -> Verdict,
    ) {
        let confirmations = &self.exchanges.confirmations;
        let mut partitions = confirmations.partitions.lock();
        let Some(confirming) = partitions.get_mut(&partition) else {
            return;
        };
        let verdict = match &mut confirming.round {
            Some((asked, _, round)) if *asked == id => verdict(round),
            _ => return,
        };
        let entry = match verdict {
            Verdict::Open => return,
            Verdict::Committed(entry) => Some(entry),
            Verdict::Unsure => None,
        };
        let Confirming { known, waiting, .. } = std::mem::take(confirming);
        drop(partitions);
        known.into_iter().for_each(|known| known(entry));
        if !waiting.is_empty() {
            self.ask_voters(partition, waiting);
        }
    }

    /// Gives up questions to a node whose connection is lost.
    pub(in crate::cluster) fn lose_terms(self: &Arc<Self>, node: u32) {
        for (partition, id) in self.questions_older_than(Duration::ZERO) {
            self.term_is(node, id, partition, None);
        }
    }

    /// Gives up questions to nodes that are connected but do not answer.
    pub(in crate::cluster) fn forget_terms(self: &Arc<Self>) {
        for (partition, id) in self.questions_older_than(PATIENCE) {
            self.end_if_decided(id, partition, |_| Verdict::Unsure);
        }
    }

    /// Partitions and numbers of the questions that have been under way for so long.
    fn questions_older_than(&self, time: Duration) -> Vec<(u32, u64)> {
        let partitions = self.exchanges.confirmations.partitions.lock();
        let rounds = partitions.iter().filter_map(|(partition, confirming)| {
            let (id, since, _) = confirming.round.as_ref()?;
            (since.elapsed() >= time).then_some((*partition, *id))
        });
        rounds.collect()
    }
}
