//! Searches for waiting jobs that the streams of a type may have.
//!
//! A turn examines a limited number of jobs. If each search ended there, a stream would never get a job that waits behind so many others
//! that its client may not take. So a search goes once around all waiting jobs of its type, in several turns.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use skep_protocol::{Key, TenantId};

/// Maximum number of job types for which a place is remembered.
const MAX_ROUNDS: usize = 1_000;

/// A search for jobs of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The last job that was examined. `None`: the search begins at the oldest one.
    pub after: Option<(TenantId, Key)>,
    /// The number of jobs that are still to be examined. 0: the search is over, and the next one begins at this place.
    pub left: usize,
}

/// The searches by job type. They are not state: a new leader begins at the oldest jobs.
#[derive(Debug, Default)]
pub struct Rounds {
    rounds: BTreeMap<Arc<str>, Round>,
    /// How many of them are not over: asked for before each turn of the partition.
    pending: usize,
    /// The job type that had the last turn.
    last: Arc<str>,
}

impl Rounds {
    pub fn take(&mut self, job_type: &str) -> Option<Round> {
        let round = self.rounds.remove(job_type)?;
        self.pending -= usize::from(round.left > 0);
        Some(round)
    }

    /// Remembers a search that was taken, unless nothing is known of it.
    pub fn put(&mut self, job_type: &str, round: Round) {
        if round == Round::default() {
            return;
        }
        debug_assert!(!self.rounds.contains_key(job_type), "it was taken");
        if self.rounds.len() >= MAX_ROUNDS {
            // The others begin at the oldest jobs again.
            self.rounds.retain(|_, round| round.left > 0);
        }
        if self.rounds.len() < MAX_ROUNDS {
            self.pending += usize::from(round.left > 0);
            self.rounds.insert(job_type.into(), round);
        }
    }

    pub fn has_pending(&self) -> bool {
        self.pending > 0
    }

    /// Takes the next search that is not over. Job types take turns.
    pub fn take_pending(&mut self) -> Option<(Arc<str>, Round)> {
        let behind = (Bound::Excluded(Arc::clone(&self.last)), Bound::Unbounded);
        let behind = self.rounds.range(behind);
        let mut rounds = behind.chain(&self.rounds);
        let (next, _) = rounds.find(|(_, round)| round.left > 0)?;
        let next = Arc::clone(next);
        self.last = Arc::clone(&next);
        let round = self.take(&next)?;
        Some((next, round))
    }
}

/// A part of the waiting jobs: those of a tenant after a key, up to another.
#[derive(Debug, PartialEq, Eq)]
pub struct Stretch {
    pub tenant: TenantId,
    pub after: Option<Key>,
    pub upto: Option<Key>,
}

/// All waiting jobs of these tenants, beginning after a place.
pub fn stretches(mut tenants: Vec<TenantId>, place: Option<&(TenantId, Key)>) -> Vec<Stretch> {
    let begin = place.and_then(|(tenant, key)| {
        let begin = tenants.iter().position(|it| it == tenant)?;
        Some((begin, *key))
    });
    if let Some((begin, _)) = begin {
        tenants.rotate_left(begin);
    }
    let after = begin.map(|(_, key)| key);
    let first = tenants.first().cloned();
    let mut stretches: Vec<Stretch> = tenants
        .into_iter()
        .map(|tenant| Stretch {
            tenant,
            after: None,
            upto: None,
        })
        .collect();
    if let Some(stretch) = stretches.first_mut() {
        stretch.after = after;
    }
    if let (Some(tenant), Some(_)) = (first, after) {
        stretches.push(Stretch {
            tenant,
            after: None,
            upto: after,
        });
    }
    stretches
}

#[cfg(test)]
mod tests {
    use skep_protocol::{Key, TenantId};

    use super::{MAX_ROUNDS, Round, Rounds, stretches};

    fn shown(place: Option<(&str, i64)>) -> Vec<(String, Option<i64>, Option<i64>)> {
        let tenants = ["a", "b", "c"].map(TenantId::new).to_vec();
        let place = place.map(|(tenant, key)| (TenantId::new(tenant), Key(key)));
        let key = |key: Option<Key>| key.map(|key| key.0);
        stretches(tenants, place.as_ref())
            .into_iter()
            .map(|it| (it.tenant.to_string(), key(it.after), key(it.upto)))
            .collect()
    }

    #[test]
    fn a_search_goes_once_around_from_where_the_last_one_stopped() {
        let of = |tenant: &str, after, upto| (tenant.to_string(), after, upto);
        let all = ["a", "b", "c"].map(|tenant| of(tenant, None, None));
        assert_eq!(shown(None), all);
        assert_eq!(shown(Some(("gone", 7))), all);
        let around = [
            of("b", Some(7), None),
            of("c", None, None),
            of("a", None, None),
            of("b", None, Some(7)),
        ];
        assert_eq!(shown(Some(("b", 7))), around);
    }

    #[test]
    fn a_limited_number_of_places_is_remembered() {
        let mut rounds = Rounds::default();
        let place = |left| Round {
            after: Some((TenantId::default(), Key(1))),
            left,
        };
        rounds.put("pending", place(3));
        for n in 0..2 * MAX_ROUNDS {
            rounds.put(&format!("type-{n}"), place(0));
            assert!(rounds.rounds.len() <= MAX_ROUNDS);
        }
        assert_eq!(rounds.take_pending(), Some(("pending".into(), place(3))));
        assert!(!rounds.has_pending());
    }

    #[test]
    fn job_types_take_turns() {
        let mut rounds = Rounds::default();
        let round = || Round {
            after: None,
            left: 9,
        };
        for job_type in ["a", "b", "c"] {
            rounds.put(job_type, round());
        }
        let turns = (0..4).map(|_| {
            let (job_type, round) = rounds.take_pending().unwrap();
            rounds.put(&job_type, round);
            job_type.to_string()
        });
        assert_eq!(turns.collect::<Vec<_>>(), ["a", "b", "c", "a"]);
    }
}
