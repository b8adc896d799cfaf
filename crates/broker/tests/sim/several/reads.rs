//! Clients search at any machine, which answers from its own rows once they contain what was committed anywhere, as in
//! `cluster/queries/`. An answer that is not marked as possibly incomplete contains all that any client knew when it asked.

use std::collections::BTreeMap;

use skep_broker::confirmation::{Claim, ReplicaTerm, Round, Verdict};

use super::Mutation;
use super::heartbeats::SILENT;
use super::world::{Happening, MACHINES, ReplicaId, World};

/// Microseconds between two looks at the rows, and for which a search waits for them.
const LOOK: u64 = 5_000;
const PATIENCE: u64 = 400_000;

/// A step of a search, at the machine where it happens.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The client's request arrives.
    Begins {
        search: u64,
    },
    /// A machine asks the leader for its commit index.
    PositionWanted {
        from: u32,
        search: u64,
        asker: Option<ReplicaTerm>,
    },
    PositionIs {
        search: u64,
        entry: Option<u64>,
    },
    /// The leader asks a voter for its term.
    TermWanted {
        from: u32,
        round: u64,
        voter: ReplicaId,
        member: u64,
    },
    TermIs {
        round: u64,
        node: u32,
        term: Option<u64>,
    },
    /// Looks whether the rows are there.
    Looks {
        search: u64,
    },
}

struct Search {
    place: ReplicaId,
    life: u64,
    until: u64,
    /// What clients knew when it was sent.
    least: u64,
    /// The commit index to wait for, and whether it is known.
    position: Option<Option<u64>>,
}

/// A question to voters, and the machine that waits for the position.
struct Asked {
    round: Round,
    place: ReplicaId,
    search: u64,
    waits: u32,
}

#[derive(Default)]
pub struct Reads {
    next: u64,
    searches: BTreeMap<u64, Search>,
    rounds: BTreeMap<u64, Asked>,
    /// By replica: the last entry whose rows are visible.
    rows: BTreeMap<ReplicaId, u64>,
    /// By partition: the last entry that a client knows of, by an answer to a command or by a search.
    known: BTreeMap<u32, u64>,
    /// Searches that were answered as complete.
    pub complete: u64,
}

impl Reads {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Clients know of entries up to this one.
    pub fn knows(&mut self, partition: u32, entry: u64) {
        let known = self.known.entry(partition).or_default();
        *known = entry.max(*known);
    }

    /// Everything was purged, and logs start again. Searches under way are not answered.
    pub fn forget(&mut self) {
        *self = Reads {
            next: self.next,
            complete: self.complete,
            ..Reads::default()
        };
    }
}

impl World {
    /// A client sends a search to a machine.
    pub fn search(&mut self, place: ReplicaId) {
        let life = self.hosts[place.1 as usize].life;
        let least = self
            .clients
            .reads
            .known
            .get(&place.0)
            .copied()
            .unwrap_or_default();
        let search = self.clients.reads.number();
        let until = self.agenda.now + PATIENCE;
        let sent = Search {
            place,
            life,
            until,
            least,
            position: None,
        };
        self.clients.reads.searches.insert(search, sent);
        let delay = self.random.below(3_000);
        self.step_after(delay, place.1, Step::Begins { search });
    }

    fn step_after(&mut self, delay: u64, host: u32, step: Step) {
        self.after(delay, Happening::Search { host, step });
    }

    /// Sends a message of a search, which may be lost.
    fn step_at(&mut self, from: u32, to: u32, step: Step) {
        for delay in self.deliveries(from, to) {
            self.step_after(delay, to, step);
        }
    }

    pub fn search_step(&mut self, host: u32, step: Step) {
        if !self.hosts[host as usize].up {
            return;
        }
        match step {
            Step::Begins { search } => self.search_begins(search),
            Step::PositionWanted {
                from,
                search,
                asker,
            } => {
                if let Some(waiting) = self.clients.reads.searches.get(&search) {
                    let place = (waiting.place.0, host);
                    self.confirm(place, (search, from), asker);
                }
            }
            Step::PositionIs { search, entry } => {
                if let Some(waiting) = self.clients.reads.searches.get_mut(&search) {
                    waiting.position.get_or_insert(entry);
                }
            }
            Step::TermWanted {
                from,
                round,
                voter,
                member,
            } => {
                let is_it = self.replicas[&voter].node.id == member;
                let term = self.published_term(voter).filter(|_| is_it);
                let node = host;
                self.step_at(host, from, Step::TermIs { round, node, term });
            }
            Step::TermIs { round, node, term } => {
                if let Some(asked) = self.clients.reads.rounds.get_mut(&round) {
                    let verdict = asked.round.answer(node, term);
                    self.decided(round, verdict);
                }
            }
            Step::Looks { search } => self.search_looks(search),
        }
    }

    fn search_begins(&mut self, search: u64) {
        let Some(place) = self.clients.reads.searches.get(&search).map(|it| it.place) else {
            return;
        };
        self.step_after(LOOK, place.1, Step::Looks { search });
        if self.leads(place) {
            return self.confirm(place, (search, place.1), None);
        }
        let asker = self.published_term(place).map(|term| ReplicaTerm {
            member: self.replicas[&place].node.id,
            term,
        });
        let (partition, host) = place;
        match self.leader_of(host, partition).filter(|it| *it != host) {
            Some(leader) => {
                let from = host;
                let wanted = Step::PositionWanted {
                    from,
                    search,
                    asker,
                };
                self.step_at(host, leader, wanted);
            }
            None => self.position_is(host, (search, host), None),
        }
    }

    /// Finds out up to which entry a partition is committed, at the replica that seems to lead.
    fn confirm(
        &mut self,
        place: ReplicaId,
        (search, waits): (u64, u32),
        asker: Option<ReplicaTerm>,
    ) {
        let replica = &self.replicas[&place];
        let running = replica.node.running.as_ref();
        let Some(running) = running.filter(|running| running.core.is_leader()) else {
            return self.position_is(place.1, (search, waits), None);
        };
        let group = running.core.group();
        let claim = Claim {
            term: self.published_term(place).unwrap(),
            committed: group.known_commit(),
        };
        let mut round = Round::begin(claim, replica.node.id, &group.members().voters);
        if self.mutation == Mutation::ReadsBelowWhatWasRead {
            // As long as heartbeats of a majority arrive, it takes itself for the leader.
            let last_seen = &self.hosts[place.1 as usize].last_seen;
            let fresh = last_seen
                .values()
                .filter(|(at, _)| self.agenda.now - at < SILENT);
            let sure = (2 * fresh.count() as u32 + 2 > MACHINES).then_some(claim.committed);
            return self.position_is(place.1, (search, waits), sure);
        }
        let verdict = match asker {
            Some(asker) => round.answer_of(asker),
            None => round.verdict(),
        };
        let (number, voters) = (self.clients.reads.number(), round.asked());
        let asked = Asked {
            round,
            place,
            search,
            waits,
        };
        self.clients.reads.rounds.insert(number, asked);
        if verdict == Verdict::Open {
            for (node, member) in voters {
                let wanted = Step::TermWanted {
                    from: place.1,
                    round: number,
                    voter: (place.0, node),
                    member,
                };
                self.step_at(place.1, node, wanted);
            }
        } else {
            self.tally.add("confirmed by the asker", 1);
        }
        self.decided(number, verdict);
    }

    fn decided(&mut self, round: u64, verdict: Verdict) {
        let entry = match verdict {
            Verdict::Open => return,
            Verdict::Committed(entry) => Some(entry),
            Verdict::Unsure => None,
        };
        if let Some(asked) = self.clients.reads.rounds.remove(&round) {
            self.position_is(asked.place.1, (asked.search, asked.waits), entry);
        }
    }

    fn position_is(&mut self, host: u32, (search, waits): (u64, u32), entry: Option<u64>) {
        let step = Step::PositionIs { search, entry };
        if host == waits {
            self.step_after(0, host, step);
        } else {
            self.step_at(host, waits, step);
        }
    }

    fn search_looks(&mut self, search: u64) {
        let Some(waiting) = self.clients.reads.searches.get(&search) else {
            return;
        };
        let (place, least) = (waiting.place, waiting.least);
        if self.hosts[place.1 as usize].life != waiting.life {
            self.clients.reads.searches.remove(&search);
            return;
        }
        let rows = self
            .clients
            .reads
            .rows
            .get(&place)
            .copied()
            .unwrap_or_default();
        let is_over = match waiting.position {
            Some(Some(entry)) => rows >= entry,
            Some(None) => true,
            None => false,
        };
        if !is_over && self.agenda.now < waiting.until {
            return self.step_after(LOOK, place.1, Step::Looks { search });
        }
        let is_complete = is_over && waiting.position != Some(None);
        self.clients.reads.searches.remove(&search);
        if !is_complete {
            return self.tally.add("marked searches", 1);
        }
        assert!(
            rows >= least,
            "a search at {place:?} shows entries up to {rows} as complete, and clients knew of entry {least} before"
        );
        self.clients.reads.knows(place.0, rows);
        self.clients.reads.complete += 1;
        self.tally.add("searches", 1);
    }

    /// Makes the rows of a machine's committed entries visible.
    pub fn rows_catch_up(&mut self, host: u32) {
        for partition in self.there() {
            if self.random.below(3) > 0 {
                continue;
            }
            if let Some(running) = &self.replicas[&(partition, host)].node.running {
                let applied = running.core.applied();
                let rows = self
                    .clients
                    .reads
                    .rows
                    .entry((partition, host))
                    .or_default();
                *rows = applied.max(*rows);
            }
        }
    }

    /// When all is well, each machine with a working replica answers completely.
    pub fn all_search(&mut self) {
        let mut places = self.places();
        places.retain(|place| !self.is_lost(*place));
        let before = self.clients.reads.complete;
        for place in &places {
            self.search(*place);
        }
        self.run_for(PATIENCE + 100_000);
        let complete = (self.clients.reads.complete - before) as usize;
        assert!(
            complete >= places.len(),
            "{complete} of {} searches are answered as complete when all is well",
            places.len()
        );
    }
}
