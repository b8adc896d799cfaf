//! Records which workers poll for jobs, so that people can see whether there is a worker at all. Streams need no record: they are open.
//!
//! A node records the polls of its own clients, and those of gateways, which keep nothing.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use skep_cluster::{FIRST_GATEWAY, is_gateway};
use skep_identity::{Directory, Grants};
use skep_protocol::command::ActivateJobs;
use skep_protocol::origin::Claims;
use skep_protocol::{TenantFilter, TenantId};
use skep_service::work::{Asker, Way, shared_noted};

/// Maximum number of job types with recorded workers.
const MAX_TYPES: usize = 1_000;
/// Maximum number of workers per job type.
const MAX_WORKERS: usize = 50;
/// Maximum number of tenants per worker.
const MAX_TENANTS: usize = 100;
/// Milliseconds after which a worker that no longer polls is forgotten.
const KEPT: i64 = 24 * 60 * 60 * 1_000;

#[derive(Default)]
pub struct Workers {
    by_type: Mutex<HashMap<Arc<str>, Vec<Known>>>,
}

struct Known {
    asker: Asker,
    /// Its poll waits until then.
    until: i64,
}

impl Workers {
    /// A worker has polled at this node, and waits until then for an answer.
    pub fn asked(&self, asker: Asker, until: i64) {
        let mut by_type = self.by_type.lock();
        if !by_type.contains_key(&asker.job_type) && by_type.len() >= MAX_TYPES {
            make_room(&mut by_type, asker.seen);
        }
        debug_assert!(by_type.len() <= MAX_TYPES);
        let all = by_type.entry(Arc::clone(&asker.job_type)).or_default();
        let is_same =
            |it: &&mut Known| it.asker.worker == asker.worker && it.asker.node == asker.node;
        if let Some(same) = all.iter_mut().find(is_same) {
            // Another poll of the same name may wait longer.
            let until = same.until.max(until);
            *same = Known { asker, until };
        } else if all.len() < MAX_WORKERS {
            all.push(Known { asker, until });
        } else if let Some(oldest) = all.iter_mut().min_by_key(|it| it.asker.seen) {
            *oldest = Known { asker, until };
        }
        debug_assert!(all.len() <= MAX_WORKERS);
    }

    /// Workers that have polled within the last day.
    pub fn all(&self, now: i64) -> Vec<Asker> {
        let by_type = self.by_type.lock();
        let known = by_type.values().flatten();
        let kept = known.filter(|it| it.asker.seen >= now - KEPT);
        let each = kept.map(|it| Asker {
            seen: it.asker.seen.max(it.until.min(now)),
            ..it.asker.clone()
        });
        each.collect()
    }
}

/// Removes outdated workers, or the job type whose last poll is the longest ago.
fn make_room(by_type: &mut HashMap<Arc<str>, Vec<Known>>, now: i64) {
    let seen = |all: &[Known]| all.iter().map(|it| it.asker.seen).max();
    by_type.retain(|_, askers| seen(askers) >= Some(now - KEPT));
    if by_type.len() >= MAX_TYPES {
        let longest_ago = by_type
            .iter()
            .max_by_key(|(_, askers)| Reverse(seen(askers)));
        if let Some(job_type) = longest_ago.map(|(job_type, _)| Arc::clone(job_type)) {
            by_type.remove(&job_type);
        }
    }
}

/// The node where a client polls, and the time: epoch milliseconds.
#[derive(Clone, Copy)]
pub struct Noted {
    pub node: u32,
    pub now: i64,
}

/// A poll that was received at this node.
pub fn poll(
    command: &ActivateJobs,
    (claims, directory): (&Claims, &Directory),
    noted: Noted,
) -> Asker {
    let node = if is_gateway(noted.node) {
        format!("gateway {}", noted.node - FIRST_GATEWAY)
    } else {
        noted.node.to_string()
    };
    Asker {
        job_type: shared_noted(&command.job_type),
        worker: shared_noted(&command.worker),
        node: node.into(),
        way: Way::Poll,
        tenants: tenants(command, claims, directory),
        seen: noted.now,
    }
}

/// An open stream. One may name any tenants, and gets no jobs of those that its caller is not assigned to, where tenants are checked:
/// their members must not take it for a worker of theirs. A poll that names them is refused.
pub fn stream(
    spec: &ActivateJobs,
    (claims, directory): (&Claims, &Directory),
    checks_tenants: bool,
    noted: Noted,
) -> Asker {
    let mut asker = poll(spec, (claims, directory), noted);
    asker.way = Way::Stream;
    if checks_tenants
        && spec.tenants.filter == TenantFilter::Provided
        && let Some(grants) = Grants::of(directory, claims)
    {
        let named = spec.tenants.iter();
        let given = named.filter(|tenant| grants.tenants().contains(tenant));
        asker.tenants = Some(given.take(MAX_TENANTS).collect());
    }
    asker
}

fn tenants(
    command: &ActivateJobs,
    claims: &Claims,
    directory: &Directory,
) -> Option<Vec<TenantId>> {
    let named = &command.tenants;
    match named.filter {
        TenantFilter::Provided => Some(named.iter().take(MAX_TENANTS).collect()),
        TenantFilter::Assigned => {
            let grants = Grants::of(directory, claims)?;
            Some(grants.tenants().iter().take(MAX_TENANTS).cloned().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use skep_identity::{Directory, Entry, Parent};
    use skep_protocol::command::ActivateJobs;
    use skep_protocol::origin::{Claims, Principal};
    use skep_protocol::value::{EntityType, Member, ParentType};
    use skep_protocol::{Key, TenantFilter, TenantId, Tenants};
    use skep_service::work::{Asker, Way};

    use super::{KEPT, MAX_TYPES, MAX_WORKERS, Noted, Workers, poll, stream};

    fn asker(job_type: &str, worker: &str, seen: i64) -> Asker {
        Asker {
            job_type: job_type.into(),
            worker: worker.into(),
            node: "0".into(),
            way: Way::Poll,
            tenants: None,
            seen,
        }
    }

    #[test]
    fn a_worker_is_listed_for_a_day_after_its_last_request() {
        let workers = Workers::default();
        workers.asked(asker("pay", "a", 1), 1);
        workers.asked(asker("pay", "a", 5), 5);
        workers.asked(asker("pay", "b", 3), 3);
        let mut seen: Vec<i64> = workers.all(10).iter().map(|it| it.seen).collect();
        seen.sort_unstable();
        assert_eq!(seen, [3, 5]);
        assert_eq!(workers.all(KEPT + 4), [asker("pay", "a", 5)]);
        // The same name at another node is another client.
        let other = Asker {
            node: "1".into(),
            ..asker("pay", "a", 6)
        };
        workers.asked(other, 6);
        assert_eq!(workers.all(10).len(), 3);
    }

    #[test]
    fn the_type_and_worker_not_asked_for_the_longest_make_room() {
        let workers = Workers::default();
        for n in 0..MAX_TYPES as i64 {
            workers.asked(asker(&format!("type-{n}"), "w", n), n);
        }
        for n in 0..MAX_WORKERS as i64 {
            workers.asked(asker("type-999", &format!("{n}"), 2_000 + n), 0);
        }
        workers.asked(asker("more", "w", 3_000), 0);
        let all = workers.all(3_000);
        assert_eq!(all.len(), MAX_TYPES - 1 + MAX_WORKERS);
        let has = |job_type: &str, worker: &str| {
            all.iter()
                .any(|it| (&*it.job_type, &*it.worker) == (job_type, worker))
        };
        assert!(has("more", "w") && !has("type-0", "w") && has("type-1", "w"));
        assert!(!has("type-999", "w") && has("type-999", "0"));
    }

    #[test]
    fn of_a_long_name_only_the_beginning_is_kept() {
        let command = ActivateJobs {
            job_type: "ä".repeat(1_000).into(),
            worker: format!("w{}", "ä".repeat(1_000)).into(),
            ..ActivateJobs::default()
        };
        let directory = Directory::default();
        let noted = Noted { node: 0, now: 1 };
        let asker = poll(&command, (&Claims::Anonymous, &directory), noted);
        let workers = Workers::default();
        workers.asked(asker, 1);
        let kept = &workers.all(1)[0];
        assert_eq!(*kept.job_type, "ä".repeat(128));
        assert_eq!(*kept.worker, format!("w{}", "ä".repeat(127)));
    }

    #[test]
    fn a_stream_is_a_worker_of_those_tenants_whose_jobs_it_gets() {
        let mut directory = Directory::default();
        let acme = Parent::new(ParentType::Tenant, "acme");
        let anna = Member::new(EntityType::User, "anna");
        directory.add(Key(1), &Entry::membership(&acme, anna));
        let by = |name: &str| {
            let principal = Principal {
                id: name.into(),
                ..Principal::default()
            };
            Claims::User(principal.into())
        };
        let named = ["acme", "globex"].map(TenantId::new);
        let of = |claims: &Claims, filter: TenantFilter, checks: bool| {
            let spec = ActivateJobs {
                tenants: Tenants::chosen(filter, ["acme", "globex"]),
                ..ActivateJobs::default()
            };
            let noted = Noted { node: 0, now: 1 };
            let asker = stream(&spec, (claims, &directory), checks, noted);
            assert_eq!(asker.way, Way::Stream);
            asker.tenants
        };
        let (provided, assigned) = (TenantFilter::Provided, TenantFilter::Assigned);
        let only_acme = Some(vec![TenantId::new("acme")]);
        assert_eq!(of(&by("anna"), provided, true), only_acme);
        assert_eq!(of(&by("anna"), assigned, true), only_acme);
        assert_eq!(of(&by("stranger"), provided, true), Some(Vec::new()));
        // Without checks, and without logins, it gets what it names.
        assert_eq!(of(&by("stranger"), provided, false), Some(named.to_vec()));
        assert_eq!(of(&Claims::Anonymous, provided, true), Some(named.to_vec()));
    }

    #[test]
    fn a_waiting_worker_counts_as_seen_until_its_request_ends() {
        let workers = Workers::default();
        workers.asked(asker("pay", "a", 100), 5_000);
        workers.asked(asker("pay", "a", 200), 300);
        let seen = |now: i64| workers.all(now)[0].seen;
        assert_eq!([seen(250), seen(4_000), seen(9_000)], [250, 4_000, 5_000]);
    }
}
