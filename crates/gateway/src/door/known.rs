//! The sessions that a node knows, as the first partition last returned them, and who asks for each.
//!
//! A page sends many requests at a time. One of them asks the first partition, and the others wait for its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_protocol::Failure;
use skep_protocol::origin::Claims;
use skep_protocol::value::SessionId;

use super::generations::Generations;

/// Sessions that a node remembers whatever comes, and as many older ones.
const MAX_KNOWN: usize = 10_000;

/// See the [module](self).
pub(super) struct Known(Mutex<Generations<SessionId, Arc<Slot>>>);

impl Default for Known {
    fn default() -> Known {
        Known(Mutex::new(Generations::new(MAX_KNOWN)))
    }
}

impl Known {
    pub fn slot(&self, id: &SessionId) -> Arc<Slot> {
        Arc::clone(self.0.lock().entry(*id, Arc::default))
    }

    /// The session has ended.
    pub fn forget(&self, id: &SessionId) {
        let slot = self.0.lock().remove(id);
        if let Some(slot) = slot {
            slot.state.lock().is_over = true;
        }
    }
}

/// A session.
#[derive(Default)]
pub(super) struct Slot {
    /// Held by the request that asks.
    pub asking: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    confirmed: Option<Confirmed>,
    failed: Option<(Instant, Failure)>,
    is_over: bool,
}

struct Confirmed {
    claims: Claims,
    at: Instant,
    until: Instant,
}

/// What another request has learned.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    Owner(Claims),
    Failed(Failure),
    Over,
}

impl Slot {
    /// The owner, if the session was confirmed lately.
    pub fn owner(&self) -> Option<Claims> {
        self.state.lock().owner()
    }

    /// The owner, if the session was confirmed within this time.
    pub fn owner_within(&self, age: Duration) -> Option<Claims> {
        let state = self.state.lock();
        let confirmed = state.confirmed.as_ref().filter(|_| !state.is_over);
        let confirmed = confirmed.filter(|it| it.at.elapsed() < age);
        confirmed.map(|it| it.claims.clone())
    }

    /// What was learned since then. `None`: nothing.
    pub fn told(&self, since: Instant) -> Option<Told> {
        let state = self.state.lock();
        if state.is_over {
            return Some(Told::Over);
        }
        if let Some(owner) = state.owner() {
            return Some(Told::Owner(owner));
        }
        let failed = state.failed.as_ref().filter(|(at, _)| *at >= since);
        failed.map(|(_, failure)| Told::Failed(failure.clone()))
    }

    pub fn confirm(&self, claims: Claims, at: Instant, until: Instant) {
        let mut state = self.state.lock();
        state.failed = None;
        state.confirmed = Some(Confirmed { claims, at, until });
    }

    /// The first partition did not answer.
    pub fn fail(&self, failure: Failure) {
        self.state.lock().failed = Some((Instant::now(), failure));
    }
}

impl State {
    fn owner(&self) -> Option<Claims> {
        let confirmed = self.confirmed.as_ref().filter(|_| !self.is_over);
        let confirmed = confirmed.filter(|it| Instant::now() < it.until);
        confirmed.map(|it| it.claims.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_to_those_who_waited_and_an_end_to_all() {
        let (known, id) = (Known::default(), [7; 32]);
        let slot = known.slot(&id);
        let began = Instant::now();
        assert_eq!(slot.told(began), None);
        let failure = Failure::Unavailable("no leader".to_string());
        slot.fail(failure.clone());
        assert_eq!(slot.told(began), Some(Told::Failed(failure)));
        let later = Instant::now() + Duration::from_secs(1);
        assert_eq!(slot.told(later), None, "it asks anew");
        slot.confirm(Claims::Anonymous, began, later);
        assert_eq!(slot.owner(), Some(Claims::Anonymous));
        assert_eq!(slot.told(began), Some(Told::Owner(Claims::Anonymous)));
        slot.confirm(Claims::Anonymous, began, began);
        assert_eq!((slot.owner(), slot.told(began)), (None, None));
        let hour = Duration::from_secs(3600);
        assert_eq!(slot.owner_within(hour), Some(Claims::Anonymous));
        assert_eq!(slot.owner_within(Duration::ZERO), None);
        known.forget(&id);
        assert_eq!(slot.told(began), Some(Told::Over));
        assert_eq!(slot.owner_within(hour), None);
        assert_eq!(known.slot(&id).told(began), None);
    }

    #[test]
    fn a_session_in_use_is_known_however_many_others_come() {
        let known = Known::default();
        let id = |number: u64| {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&number.to_le_bytes());
            id
        };
        let mine = known.slot(&id(0));
        for number in 1..=3 * MAX_KNOWN as u64 {
            known.slot(&id(number));
            if number % 1_000 == 0 {
                assert!(Arc::ptr_eq(&mine, &known.slot(&id(0))), "{number}");
            }
            assert!(known.0.lock().count() <= 2 * MAX_KNOWN);
        }
    }
}
