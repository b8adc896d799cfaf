//! How many long evaluations of each caller wait: one caller must not take all that a node accepts.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_protocol::origin::Claims;

/// Maximum number of waiting evaluations of one caller: half of all. Callers without a name cannot be told apart, and have no limit of
/// their own.
pub const MAX_OF_CALLER: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Caller {
    User(Arc<str>),
    Client(Arc<str>),
}

type Counts = FxHashMap<Caller, usize>;

/// The counts of all callers who have waiting evaluations.
#[derive(Debug, Default)]
pub struct Callers(Arc<Mutex<Counts>>);

/// A waiting evaluation, counted until this is dropped.
#[derive(Debug)]
pub struct Counted(Option<(Caller, Arc<Mutex<Counts>>)>);

impl Callers {
    /// Counts an evaluation. `None`: the caller has the maximum already.
    pub fn count(&self, claims: &Claims) -> Option<Counted> {
        let caller = match claims {
            Claims::User(principal) => Caller::User(principal.id.clone()),
            Claims::Client(principal) => Caller::Client(principal.id.clone()),
            Claims::Anonymous | Claims::Internal => return Some(Counted(None)),
        };
        let mut counts = self.0.lock();
        let count = counts.get(&caller).copied().unwrap_or_default();
        if count >= MAX_OF_CALLER {
            return None;
        }
        counts.insert(caller.clone(), count + 1);
        Some(Counted(Some((caller, Arc::clone(&self.0)))))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let Some((caller, counts)) = self.0.take() else {
            return;
        };
        let mut counts = counts.lock();
        let count = counts.get_mut(&caller);
        debug_assert!(count.is_some(), "a waiting evaluation is counted once");
        let Some(count) = count else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            counts.remove(&caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use skep_protocol::origin::Principal;

    use super::*;

    fn principal(id: &str) -> Arc<Principal> {
        Arc::new(Principal {
            id: id.into(),
            ..Principal::default()
        })
    }

    fn all(callers: &Callers, claims: &Claims) -> Vec<Counted> {
        let tries = (0..100).map_while(|_| callers.count(claims));
        tries.collect()
    }

    #[test]
    fn a_caller_at_the_maximum_leaves_room_for_others() {
        let callers = Callers::default();
        let (anna, ben) = (
            Claims::User(principal("anna")),
            Claims::User(principal("ben")),
        );
        let mut of_anna = all(&callers, &anna);
        assert_eq!(of_anna.len(), MAX_OF_CALLER);
        let namesake = Claims::Client(principal("anna"));
        let others = [all(&callers, &ben), all(&callers, &namesake)];
        assert!(
            others
                .iter()
                .all(|of_other| of_other.len() == MAX_OF_CALLER)
        );
        of_anna.pop();
        assert_eq!(all(&callers, &anna).len(), 1);
        drop((of_anna, others));
        assert!(
            callers.0.lock().is_empty(),
            "callers without evaluations are not listed"
        );
    }

    #[test]
    fn callers_without_a_name_have_no_limit_of_their_own() {
        let callers = Callers::default();
        assert_eq!(all(&callers, &Claims::Anonymous).len(), 100);
    }
}
