//! How many long evaluations of each caller wait: one caller must not take all that a node accepts.

use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_protocol::command::Peer;
use skep_protocol::origin::Claims;

/// Maximum number of waiting evaluations of one caller: half of all.
pub const MAX_OF_CALLER: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Caller {
    User(Arc<str>),
    Client(Arc<str>),
    /// Callers without a name. Connections cost nothing, so all of an address are one.
    Address(IpAddr),
    /// The same, of another node: which address they have is only known there.
    Node(u32),
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
    pub fn count(&self, claims: &Claims, peer: Peer) -> Option<Counted> {
        let caller = match claims {
            Claims::User(principal) => Caller::User(principal.id.clone()),
            Claims::Client(principal) => Caller::Client(principal.id.clone()),
            Claims::Anonymous => match peer {
                Peer::Address(address) => Caller::Address(address),
                Peer::Node(node) => Caller::Node(node),
                Peer::Unknown => return Some(Counted(None)),
            },
            Claims::Internal => return Some(Counted(None)),
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
        all_from(callers, claims, Peer::Unknown)
    }

    fn all_from(callers: &Callers, claims: &Claims, peer: Peer) -> Vec<Counted> {
        let tries = (0..100).map_while(|_| callers.count(claims, peer));
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
    fn callers_without_a_name_have_a_limit_per_address_and_those_of_another_node_together() {
        let callers = Callers::default();
        let address = |last: u8| Peer::Address(IpAddr::from([10, 0, 0, last]));
        let peers = [address(1), address(2), Peer::Node(1), Peer::Node(2)];
        let of_all = peers.map(|peer| all_from(&callers, &Claims::Anonymous, peer));
        assert!(of_all.iter().all(|of_one| of_one.len() == MAX_OF_CALLER));
        let anna = Claims::User(principal("anna"));
        let of_anna = all_from(&callers, &anna, address(1));
        assert_eq!(of_anna.len(), MAX_OF_CALLER, "a name is not an address");
        drop((of_all, of_anna));
        assert!(callers.0.lock().is_empty());
    }

    #[test]
    fn the_work_of_the_node_itself_has_no_limit() {
        let callers = Callers::default();
        for claims in [Claims::Internal, Claims::Anonymous] {
            assert_eq!(all(&callers, &claims).len(), 100);
        }
    }
}
