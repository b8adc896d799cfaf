//! Long polling: an activation that finds nothing waits until jobs of its type are announced.
//!
//! An announcement does not say how many jobs there are, so it wakes one poll, the one that has waited longest. A woken poll that finds
//! jobs wakes two others, because there may be more: many jobs are taken in parallel, and few wake few polls. One that finds nothing
//! wakes nobody, and one that ends without having looked, because its client is gone or its request failed, passes its wake on.
//! This holds among polls of the same [`Kind`]; of each kind that may get the job one is woken. Each of many tenants may have a worker that
//! polls for one type, and a job of one tenant does not wake the others.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use skep_protocol::command::ActivateJobs;
use skep_protocol::origin::Claims;
use skep_protocol::{TenantFilter, TenantId, Tenants};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Waiting polls by job type and kind. An entry lives for as long as somebody waits.
#[derive(Debug, Default)]
pub struct JobNotifier {
    waiting: Mutex<HashMap<Arc<str>, HashMap<Kind, Waiting>>>,
}

/// Polls that find the same jobs: if one finds nothing, there is nothing for the others. The claims of a token beside its groups do not
/// count, because each token has others. If they give its poll a right that another poll of the caller lacks, it finds a job by
/// looking again after the probe interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    caller: Caller,
    tenants: Tenants,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Caller {
    Unchecked,
    User(Arc<str>, Option<Vec<Arc<str>>>),
    Client(Arc<str>, Option<Vec<Arc<str>>>),
}

impl Kind {
    fn of(command: &ActivateJobs, claims: &Claims) -> Kind {
        let caller = match claims {
            Claims::Anonymous | Claims::Internal => Caller::Unchecked,
            Claims::User(user) => Caller::User(user.id.clone(), user.groups.clone()),
            Claims::Client(client) => Caller::Client(client.id.clone(), client.groups.clone()),
        };
        Kind {
            caller,
            tenants: command.tenants.clone(),
        }
    }

    /// Whether its polls may get a job of this tenant. Which tenants a caller is assigned to is known where the jobs are.
    fn may_get(&self, tenant: &TenantId) -> bool {
        match self.tenants.filter {
            TenantFilter::Provided => self.tenants.contains(tenant),
            TenantFilter::Assigned => true,
        }
    }
}

/// Polls of one job type and kind.
#[derive(Debug, Default)]
struct Waiting {
    polls: usize,
    /// Wakes in the order in which the polls registered; keeps one wake for the next one if none is registered.
    notify: Arc<Notify>,
}

impl JobNotifier {
    /// Counts a poll as waiting until the returned value is dropped.
    pub fn park(&self, command: &ActivateJobs, claims: &Claims) -> Parked<'_> {
        let kind = Kind::of(command, claims);
        let mut types = self.waiting.lock();
        let kinds = types.entry(Arc::clone(&command.job_type)).or_default();
        let waiting = kinds.entry(kind.clone()).or_default();
        waiting.polls += 1;
        Parked {
            notifier: self,
            job_type: Arc::clone(&command.job_type),
            kind,
            notify: Arc::clone(&waiting.notify),
        }
    }

    /// Jobs of this type wait; `None`: of any tenant.
    pub fn announce(&self, job_type: &str, tenant: Option<&TenantId>) {
        let woken: Vec<Arc<Notify>> = {
            let types = self.waiting.lock();
            let kinds = types.get(job_type).into_iter().flatten();
            kinds
                .filter(|(kind, _)| tenant.is_none_or(|tenant| kind.may_get(tenant)))
                .map(|(_, waiting)| Arc::clone(&waiting.notify))
                .collect()
        };
        for notify in woken {
            notify.notify_one();
        }
    }
}

/// A poll that waits, or looks whether it has to.
#[derive(Debug)]
pub struct Parked<'a> {
    notifier: &'a JobNotifier,
    job_type: Arc<str>,
    kind: Kind,
    notify: Arc<Notify>,
}

impl Parked<'_> {
    pub fn wake(&self) -> Wake<'_> {
        Wake {
            notify: &self.notify,
            is_held: false,
        }
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        let mut guard = self.notifier.waiting.lock();
        let types = &mut *guard;
        let Some(kinds) = types.get_mut(&self.job_type) else {
            return;
        };
        if let Some(waiting) = kinds.get_mut(&self.kind) {
            waiting.polls -= 1;
            if waiting.polls == 0 {
                kinds.remove(&self.kind);
            }
        }
        if kinds.is_empty() {
            types.remove(&self.job_type);
        }
    }
}

/// The wake that a poll has got and not used, if it has. It passes to the next poll when this is dropped.
#[derive(Debug)]
pub struct Wake<'a> {
    notify: &'a Notify,
    is_held: bool,
}

impl<'a> Wake<'a> {
    /// Ready when this poll is woken, once it is [registered](Wake::register). A wake that nobody asked it for passes to the next poll
    /// when it is dropped.
    pub fn listen(&self) -> Notified<'a> {
        self.notify.notified()
    }

    /// Puts the poll behind those that wait already. To be called before it looks for jobs, so that none are missed that are announced
    /// meanwhile.
    pub fn register(&mut self, mut next: Pin<&mut Notified<'a>>) {
        // A wake that was kept is for the look that follows.
        while next.as_mut().enable() {
            self.is_held = true;
            next.set(self.notify.notified());
        }
    }

    /// The poll was woken.
    pub fn came(&mut self) {
        self.is_held = true;
    }

    /// The poll has looked.
    pub fn looked(&mut self, found_jobs: bool) {
        if !found_jobs {
            self.is_held = false;
        } else if self.is_held {
            // One of two; the other follows when this is dropped.
            self.notify.notify_one();
        }
    }
}

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        if self.is_held {
            self.notify.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use skep_protocol::origin::Principal;
    use skep_random::Random;
    use tokio::task::{JoinHandle, yield_now};

    use super::*;

    /// Jobs of one type, and those who wait for them.
    #[derive(Default)]
    struct World {
        notifier: JobNotifier,
        jobs: AtomicUsize,
        found: AtomicUsize,
        looks: AtomicUsize,
    }

    fn command() -> ActivateJobs {
        ActivateJobs {
            job_type: "work".into(),
            max_jobs: 1,
            ..ActivateJobs::default()
        }
    }

    impl World {
        /// A poll as the broker does it, for one job. Looking takes a while.
        async fn poll(self: Arc<Self>, claims: Claims) {
            let parked = self.notifier.park(&command(), &claims);
            let mut wake = parked.wake();
            loop {
                let mut next = std::pin::pin!(wake.listen());
                wake.register(next.as_mut());
                yield_now().await;
                self.looks.fetch_add(1, Ordering::Relaxed);
                let left = self.jobs.load(Ordering::Relaxed);
                self.jobs.store(left.saturating_sub(1), Ordering::Relaxed);
                wake.looked(left > 0);
                if left > 0 {
                    self.found.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                next.await;
                wake.came();
                // Its client may be gone before it looks.
                yield_now().await;
            }
        }

        fn park(self: &Arc<Self>, claims: &Claims) -> JoinHandle<()> {
            tokio::spawn(Arc::clone(self).poll(claims.clone()))
        }

        fn create(&self, jobs: usize) {
            self.jobs.fetch_add(jobs, Ordering::Relaxed);
            self.notifier.announce("work", Some(&TenantId::default()));
        }
    }

    /// Lets all tasks run until each of them waits; each wake takes a few turns.
    async fn settle() {
        for _ in 0..500 {
            yield_now().await;
        }
    }

    fn user(id: &str) -> Claims {
        let principal = Principal {
            id: id.into(),
            ..Principal::default()
        };
        Claims::User(principal.into())
    }

    #[tokio::test]
    async fn a_job_wakes_few_of_many_polls_and_many_jobs_wake_all_of_them() {
        let world = Arc::new(World::default());
        let polls: Vec<_> = (0..100).map(|_| world.park(&Claims::Anonymous)).collect();
        let other = world.park(&user("anna"));
        settle().await;
        assert_eq!(world.looks.swap(0, Ordering::Relaxed), 101);
        world.create(1);
        settle().await;
        assert_eq!(world.found.load(Ordering::Relaxed), 1);
        // Two of each kind at most may look for more.
        let looks = world.looks.load(Ordering::Relaxed);
        assert!((2..=4).contains(&looks), "{looks}");
        world.create(100);
        settle().await;
        assert_eq!(world.found.load(Ordering::Relaxed), 101);
        for poll in polls {
            poll.await.unwrap();
        }
        other.await.unwrap();
        assert!(world.notifier.waiting.lock().is_empty());
    }

    #[tokio::test]
    async fn the_poll_that_has_waited_longest_is_woken_and_a_wake_of_nobody_is_kept() {
        let world = Arc::new(World::default());
        let first = world.park(&Claims::Anonymous);
        settle().await;
        let second = world.park(&Claims::Anonymous);
        settle().await;
        world.create(1);
        settle().await;
        assert!(first.is_finished() && !second.is_finished());
        // One that is parked and not registered yet.
        let command = command();
        let parked = world.notifier.park(&command, &user("anna"));
        world.notifier.announce("work", Some(&TenantId::default()));
        let mut wake = parked.wake();
        let mut next = std::pin::pin!(wake.listen());
        wake.register(next.as_mut());
        assert!(wake.is_held);
    }

    fn of_tenants(filter: TenantFilter, ids: &[&str]) -> ActivateJobs {
        ActivateJobs {
            tenants: Tenants::chosen(filter, ids.iter().copied()),
            ..command()
        }
    }

    #[test]
    fn a_job_wakes_the_polls_that_may_get_jobs_of_its_tenant_and_no_others() {
        let (provided, assigned) = (TenantFilter::Provided, TenantFilter::Assigned);
        let commands = [
            command(),
            of_tenants(provided, &["acme"]),
            of_tenants(provided, &["globex"]),
            of_tenants(provided, &["globex", "acme"]),
            of_tenants(assigned, &[]),
        ];
        let notifier = JobNotifier::default();
        let parked = commands.each_ref();
        let parked = parked.map(|it| notifier.park(it, &user("anna")));
        let woken = |tenant: Option<&str>| {
            let tenant = tenant.map(TenantId::new);
            notifier.announce("work", tenant.as_ref());
            parked.each_ref().map(|parked| {
                let mut wake = parked.wake();
                let mut next = std::pin::pin!(wake.listen());
                wake.register(next.as_mut());
                // The wake is used up.
                std::mem::take(&mut wake.is_held)
            })
        };
        assert_eq!(woken(Some("acme")), [false, true, false, true, true]);
        assert_eq!(woken(Some("globex")), [false, false, true, true, true]);
        assert_eq!(woken(Some("<default>")), [true, false, false, false, true]);
        assert_eq!(woken(Some("initech")), [false, false, false, false, true]);
        assert_eq!(woken(None), [true; 5], "a node that tells no tenant");
    }

    #[test]
    fn a_poll_that_names_its_tenants_in_another_order_is_woken_in_turn() {
        let notifier = JobNotifier::default();
        let (one, other) = (["acme", "globex"], ["globex", "acme"]);
        let commands = [one, other].map(|ids| of_tenants(TenantFilter::Provided, &ids));
        let parked = commands.each_ref();
        let parked = parked.map(|it| notifier.park(it, &user("anna")));
        assert_eq!(parked[0].kind, parked[1].kind);
        assert!(Arc::ptr_eq(&parked[0].notify, &parked[1].notify));
    }

    /// However clients come and vanish, no job stays while somebody waits, and the polls that look are bounded by what has happened.
    #[tokio::test]
    async fn every_job_reaches_a_poll_although_woken_clients_vanish() {
        for seed in 0..100 {
            let mut random = Random(seed);
            let world = Arc::new(World::default());
            let callers = [Claims::Anonymous, Claims::Internal];
            let mut polls = Vec::new();
            let (mut parked, mut announced, mut gone) = (0, 0, 0);
            for _ in 0..100 {
                match random.below(4) {
                    0 | 1 => {
                        polls.push(world.park(random.pick(&callers)));
                        parked += 1;
                    }
                    2 => {
                        world.create(1 + random.index(3));
                        announced += 1;
                    }
                    _ if polls.is_empty() => {}
                    _ => {
                        polls.swap_remove(random.index(polls.len())).abort();
                        gone += 1;
                    }
                }
                for _ in 0..random.below(4) {
                    yield_now().await;
                }
            }
            settle().await;
            let waiting = polls.iter().filter(|poll| !poll.is_finished()).count();
            let left = world.jobs.load(Ordering::Relaxed);
            assert!(left == 0 || waiting == 0, "{seed}: {left} for {waiting}");
            let found = world.found.load(Ordering::Relaxed);
            let looks = world.looks.load(Ordering::Relaxed);
            let most = parked + announced + 2 * found + gone;
            assert!(looks <= most, "{seed}: {looks} of {most}");
            for poll in polls {
                poll.abort();
            }
            settle().await;
            assert!(world.notifier.waiting.lock().is_empty());
        }
    }
}
