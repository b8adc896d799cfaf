//! Tenants take turns in polls for the jobs of several.
//!
//! A poll takes the oldest jobs of a tenant, then those of the next one, until it has enough. If each poll began with the same tenant, those
//! behind it would get nothing for as long as it has a backlog.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use skep_protocol::command::ActivateJobs;
use skep_protocol::{TenantFilter, TenantId};

use super::for_caller::caller;
use crate::processing::Context;

/// Maximum number of remembered turns.
const MAX_TURNS: usize = 1_000;

/// Polls that take the jobs of the same tenants. Those of other workers must not move their turn: two of them could pass over a tenant for
/// ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Polls {
    /// Its name; a user and a client of the same name share a turn.
    caller: Option<Arc<str>>,
    job_type: Arc<str>,
    /// Hash of the tenants that they name. A turn is a hint: it does no harm if two lists have the same hash.
    tenants: u64,
}

impl Polls {
    fn of(cx: &Context<'_>, command: &ActivateJobs) -> Polls {
        let mut hasher = FxHasher::default();
        command.tenants.hash(&mut hasher);
        Polls {
            caller: caller(cx),
            job_type: Arc::clone(&command.job_type),
            tenants: hasher.finish(),
        }
    }
}

/// The tenants after which the next polls begin. They are not state: a new leader begins with the first tenant.
#[derive(Debug, Default)]
pub struct Turns(FxHashMap<Polls, TenantId>);

impl Turns {
    fn set(&mut self, of: Polls, after: TenantId) {
        if self.0.len() >= MAX_TURNS && !self.0.contains_key(&of) {
            self.0.clear();
        }
        self.0.insert(of, after);
    }
}

/// The turn of one poll. `None`: it has no tenants to choose between.
pub(super) struct Turn(Option<Polls>);

impl Turn {
    /// Leaves the tenants that have waiting jobs, and puts first the one behind the tenant that the last poll served.
    pub fn begin(cx: &Context<'_>, command: &ActivateJobs, tenants: &mut Vec<TenantId>) -> Turn {
        debug_assert!(
            tenants.is_sorted(),
            "turns go by the order of the tenants' ids"
        );
        if tenants.len() < 2 {
            return Turn(None);
        }
        // Of those that the caller is assigned to, only these are looked at anyway.
        if command.tenants.filter == TenantFilter::Provided {
            let (jobs, job_type) = (&cx.state.jobs, &command.job_type);
            tenants.retain(|tenant| jobs.waiting_of(job_type, tenant) > 0);
        }
        if tenants.len() < 2 {
            return Turn(None);
        }
        let polls = Polls::of(cx, command);
        if let Some(last) = cx.volatile.turns.0.get(&polls) {
            let behind = tenants.partition_point(|tenant| tenant <= last);
            tenants.rotate_left(behind);
        }
        Turn(Some(polls))
    }

    /// Remembers the tenant that the poll served last.
    pub fn end(self, cx: &mut Context<'_>, last: Option<&TenantId>) {
        if let (Turn(Some(polls)), Some(tenant)) = (self, last) {
            cx.volatile.turns.set(polls, tenant.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use skep_protocol::TenantId;

    use super::{MAX_TURNS, Polls, Turns};

    #[test]
    fn a_limited_number_of_turns_is_remembered() {
        let mut turns = Turns::default();
        let of = |n: usize| Polls {
            caller: None,
            job_type: "work".into(),
            tenants: n as u64,
        };
        for n in 0..MAX_TURNS {
            turns.set(of(n), TenantId::new("acme"));
        }
        turns.set(of(0), TenantId::new("globex"));
        assert_eq!(turns.0.get(&of(0)), Some(&TenantId::new("globex")));
        assert_eq!(turns.0.len(), MAX_TURNS);
        turns.set(of(MAX_TURNS), TenantId::new("acme"));
        assert_eq!(turns.0.len(), 1);
    }
}
