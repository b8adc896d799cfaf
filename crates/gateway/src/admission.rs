//! Admission: a slot for each request that the broker holds, and memory for the bytes of larger bodies.

mod lane;
mod pace;
mod shares;

use std::time::{Duration, Instant};

use skep_metrics::Gauge;
use skep_protocol::Failure;
use skep_protocol::command::Class;
use skep_service::Timings;

use crate::budget::Budget;
use crate::config::{GatewayConfig, OverloadPolicy};

use lane::Lane;
pub use lane::Slot;
use pace::{Pace, Waited};
pub use shares::Sender;
use shares::{Counted, Shares};

/// Requests of one client in progress at a front end: evaluations, commands that may start very many process instances, and costly
/// searches. Each is about half of what a partition or a store accepts to wait, so one client cannot take it all.
const EVALUATIONS: usize = 64;
const NEW_MANY: usize = 8;
const COSTLY_SEARCHES: usize = 16;

/// Minimum number of slots for new work, per thread: enough to keep a partition busy.
const LEAST_PER_THREAD: usize = 16;

/// The gate of one front end.
#[derive(Debug)]
pub struct Gate {
    /// Commands that bring new work into the system.
    new: Lane,
    pace: Pace,
    /// Reports the number of slots for new work.
    slots: Gauge,
    /// Commands that advance work already in the system. They do not wait behind new work; otherwise a flood of creations
    /// would keep workers from what was accepted before.
    under_way: Lane,
    /// Queries, and commands that may take long. The partitions limit how much work they bring in, and they say nothing about the rest.
    long: Lane,
    /// Of one client, by kind.
    evaluations: Shares,
    new_many: Shares,
    costly_searches: Shares,
    pub budget: Budget,
    /// A separate budget: a slow document store must not hold up commands.
    pub documents: Budget,
    patience: Duration,
    queue_capacity: usize,
    policy: OverloadPolicy,
}

/// Purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Command(Class),
    Question,
    /// A search that may take as long as many others.
    CostlySearch,
}

impl Purpose {
    /// Whether it finishes work, so that it is never refused for lack of room.
    pub fn is_finishing(self) -> bool {
        matches!(self, Purpose::Command(class) if class.is_finishing())
    }
}

impl Gate {
    pub fn new(config: &GatewayConfig, gauge: Gauge) -> Gate {
        let slots = config.executor.slots();
        gauge.set(number(slots));
        Gate {
            new: Lane::new(slots),
            pace: Pace::new(LEAST_PER_THREAD * config.worker_threads.max(1), slots),
            slots: gauge,
            under_way: Lane::new(slots),
            long: Lane::new(slots),
            evaluations: Shares::new(EVALUATIONS),
            new_many: Shares::new(NEW_MANY),
            costly_searches: Shares::new(COSTLY_SEARCHES),
            budget: Budget::new(config),
            documents: Budget::new(config),
            patience: config.request_timeout,
            queue_capacity: config.executor.queue_capacity,
            policy: config.executor.policy,
        }
    }

    fn lane(&self, purpose: Purpose) -> &Lane {
        match purpose {
            Purpose::Command(Class::New) => &self.new,
            Purpose::Command(Class::Polling | Class::Finishing | Class::Ending) => &self.under_way,
            Purpose::Command(Class::NewMany | Class::Evaluating)
            | Purpose::Question
            | Purpose::CostlySearch => &self.long,
        }
    }

    /// What limits how many of these requests one client has in progress.
    fn shares(&self, purpose: Purpose) -> Option<&Shares> {
        match purpose {
            Purpose::Command(Class::Evaluating) => Some(&self.evaluations),
            Purpose::Command(Class::NewMany) => Some(&self.new_many),
            Purpose::CostlySearch => Some(&self.costly_searches),
            Purpose::Command(_) | Purpose::Question => None,
        }
    }

    fn note(&self, purpose: Purpose) {
        if purpose.is_finishing() {
            self.pace.finishes();
        }
    }

    /// Takes a slot if there is one, and the client has no share to keep to.
    pub fn enter_at_once(&self, purpose: Purpose) -> Option<Slot> {
        if self.shares(purpose).is_some() {
            return None;
        }
        self.note(purpose);
        self.lane(purpose).enter_at_once()
    }

    /// Takes a slot, or waits for one in order of arrival, at most as long as an answer may take. Commands that finish work
    /// wait however long the queue is. Where clients have a share, a request first waits for earlier ones of its client, without
    /// a slot.
    ///
    /// # Errors
    /// `ResourceExhausted` when the queue is full or no slot came in time.
    pub async fn enter(&self, purpose: Purpose, sender: Sender<'_>) -> Result<Slot, Failure> {
        let Some(shares) = self.shares(purpose) else {
            return self.slot(purpose).await;
        };
        // Boxed: the request's future stays small, and few requests have a share.
        Box::pin(async {
            let counted = self.turn(shares, sender).await?;
            let mut slot = self.slot(purpose).await?;
            slot.counted = Some(Box::new(counted));
            Ok(slot)
        })
        .await
    }

    async fn turn(&self, shares: &Shares, sender: Sender<'_>) -> Result<Counted, Failure> {
        let turn = shares.count(sender).turn();
        let turn = tokio::time::timeout(self.patience, turn).await;
        turn.map_err(|_| {
            Failure::ResourceExhausted(format!(
                "{} requests of this kind, the maximum of one client, are in progress, and none was answered within {} ms. Nothing \
                 was done. Send fewer requests at a time.",
                shares.size,
                self.patience.as_millis()
            ))
        })
    }

    async fn slot(&self, purpose: Purpose) -> Result<Slot, Failure> {
        self.note(purpose);
        let lane = self.lane(purpose);
        if let Some(slot) = lane.enter_at_once() {
            return Ok(slot);
        }
        let (_waiting, ahead) = lane.queue();
        let is_full = ahead >= self.queue_capacity && !purpose.is_finishing();
        if self.policy == OverloadPolicy::Abort && is_full {
            return Err(Failure::ResourceExhausted(format!(
                "The gateway is at its limit of concurrent requests, and {ahead} more are waiting. Nothing was done. Send the \
                 request again later, or raise camunda.api.rest.executor.*"
            )));
        }
        // Boxed: the request's future stays small, and mostly there is a slot at once.
        match Box::pin(tokio::time::timeout(self.patience, lane.enter())).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) => Err(Failure::Unavailable("The gateway is stopping.".to_string())),
            Err(_) => Err(Failure::ResourceExhausted(format!(
                "The gateway is at its limit of concurrent requests, and none was answered within {} ms. Nothing was done. Send \
                 the request again later.",
                self.patience.as_millis()
            ))),
        }
    }

    /// Adjusts the slots for new work after a command was answered, by how long it waited for its turns and how many jobs
    /// wait for a worker.
    pub fn answered(&self, timings: &Timings, now: Instant, waiting_jobs: impl FnOnce() -> usize) {
        // While the maximum number of batches is on the way to the disk and to other nodes, commands wait in the inbox for
        // that. More concurrent commands help then.
        let log = timings.fsync.saturating_add(timings.commit);
        let turns = timings.inbox_wait.saturating_add(timings.wake);
        let waited = Waited {
            all: turns.saturating_add(log),
            for_others: turns.saturating_sub(log.saturating_mul(2)),
        };
        if let Some(window) = self.pace.waited(waited, now) {
            let lane = &self.new;
            let slots = lane.slots();
            let size = self.pace.next(window, slots, waiting_jobs());
            if size != slots.all {
                lane.resize(size);
                self.slots.set(number(size));
            }
        }
    }
}

fn number(slots: usize) -> i64 {
    i64::try_from(slots).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use skep_protocol::origin::Claims;

    use super::*;

    /// Polls once; no wake-up is needed, as each test polls again.
    fn waits(future: &mut (impl Future + Unpin)) -> bool {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        // Many polls between two awaits of a test would use up the task's budget.
        let mut future = tokio::task::unconstrained(future);
        std::pin::Pin::new(&mut future).poll(&mut cx).is_pending()
    }

    const SENDER: Sender<'static> = Sender {
        claims: &Claims::Anonymous,
        peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    const NEW: Purpose = Purpose::Command(Class::New);
    const POLLING: Purpose = Purpose::Command(Class::Polling);
    const FINISHING: Purpose = Purpose::Command(Class::Finishing);

    fn gate(slots: usize, policy: OverloadPolicy) -> Gate {
        let mut config = GatewayConfig::default();
        config.executor.policy = policy;
        config.executor.queue_capacity = 1;
        Gate {
            new: Lane::new(slots),
            under_way: Lane::new(slots),
            long: Lane::new(slots),
            ..Gate::new(&config, Gauge::default())
        }
    }

    #[tokio::test]
    async fn at_the_limit_the_caller_waits_for_the_next_slot() {
        let gate = gate(1, OverloadPolicy::CallerRuns);
        let first = gate.enter(NEW, SENDER).await.unwrap();
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(gate.enter(NEW, SENDER))).collect();
        for w in &mut waiting {
            assert!(waits(w));
        }
        drop(first);
        for w in waiting {
            drop(w.await.unwrap());
        }
    }

    #[tokio::test]
    async fn abort_refuses_beyond_the_queue_but_never_finishing_commands() {
        let gate = gate(1, OverloadPolicy::Abort);
        let _first = gate.enter(NEW, SENDER).await.unwrap();
        let mut queued = Box::pin(gate.enter(NEW, SENDER));
        assert!(waits(&mut queued));
        let refused = gate.enter(NEW, SENDER).await;
        assert!(
            matches!(refused, Err(Failure::ResourceExhausted(_))),
            "{refused:?}"
        );
        let _completion = gate.enter(FINISHING, SENDER).await.unwrap();
        let mut completions = [(); 3].map(|()| Box::pin(gate.enter(FINISHING, SENDER)));
        assert!(completions.iter_mut().all(waits));
        let poll = gate.enter(POLLING, SENDER).await;
        assert!(
            matches!(poll, Err(Failure::ResourceExhausted(_))),
            "{poll:?}"
        );
    }

    #[tokio::test]
    async fn new_work_continuing_work_and_slow_work_do_not_wait_for_each_other() {
        let gate = gate(1, OverloadPolicy::CallerRuns);
        let [many, evaluating, ending] =
            [Class::NewMany, Class::Evaluating, Class::Ending].map(Purpose::Command);
        let lanes: [&[Purpose]; 3] = [
            &[NEW],
            &[POLLING, FINISHING, ending],
            &[Purpose::Question, Purpose::CostlySearch, many, evaluating],
        ];
        let slot = |purpose: Purpose| gate.lane(purpose).enter_at_once();
        let taken = lanes.map(|lane| slot(lane[0]).unwrap());
        for purpose in lanes.into_iter().flatten() {
            assert!(slot(*purpose).is_none(), "{purpose:?}");
        }
        drop(taken);
        assert!(lanes.iter().all(|lane| slot(lane[0]).is_some()));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_slot_without_end() {
        let gate = Gate {
            patience: Duration::ZERO,
            ..gate(1, OverloadPolicy::CallerRuns)
        };
        let _taken = [NEW, FINISHING].map(|purpose| gate.enter_at_once(purpose).unwrap());
        for purpose in [NEW, FINISHING] {
            let refused = gate.enter(purpose, SENDER).await;
            assert!(
                matches!(refused, Err(Failure::ResourceExhausted(_))),
                "{refused:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_client_at_its_share_waits_without_a_slot_and_others_go_on() {
        let other = Sender {
            peer: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
            ..SENDER
        };
        for (purpose, share) in [
            (Purpose::Command(Class::Evaluating), EVALUATIONS),
            (Purpose::Command(Class::NewMany), NEW_MANY),
            (Purpose::CostlySearch, COSTLY_SEARCHES),
        ] {
            let gate = gate(share + 2, OverloadPolicy::CallerRuns);
            assert!(gate.enter_at_once(purpose).is_none(), "{purpose:?}");
            let mut begun = Vec::new();
            for _ in 0..share {
                begun.push(gate.enter(purpose, SENDER).await.unwrap());
            }
            let mut waiting: Vec<_> = (0..20)
                .map(|_| Box::pin(gate.enter(purpose, SENDER)))
                .collect();
            assert!(waiting.iter_mut().all(waits), "{purpose:?}");
            let _other = gate.enter(purpose, other).await.unwrap();
            assert_eq!(gate.long.slots().taken, share + 1, "{purpose:?}");
            begun.pop();
            begun.push(waiting.remove(0).await.unwrap());
            assert!(waiting.iter_mut().all(waits), "{purpose:?}");
        }
    }

    #[tokio::test]
    async fn nobody_waits_for_a_share_without_end() {
        let gate = Gate {
            patience: Duration::ZERO,
            evaluations: Shares::new(1),
            ..gate(9, OverloadPolicy::CallerRuns)
        };
        let evaluating = Purpose::Command(Class::Evaluating);
        let _first = gate.enter(evaluating, SENDER).await.unwrap();
        let refused = gate.enter(evaluating, SENDER).await.unwrap_err();
        assert!(
            refused.to_string().contains("1 requests of this kind"),
            "{refused}"
        );
    }

    #[tokio::test]
    async fn answers_that_waited_long_leave_new_work_fewer_slots() {
        let gate = Gate::new(&GatewayConfig::default(), Gauge::default());
        let most = gate.new.slots().all;
        assert_eq!(gate.slots.get(), i64::try_from(most).unwrap());
        let late = Timings {
            inbox_wait: 6_000_000,
            wake: 6_000_000,
            ..Timings::default()
        };
        let because_of_the_disk = Timings {
            fsync: 4_000_000,
            ..late
        };
        let because_of_others = Timings {
            commit: 4_000_000,
            ..late
        };
        let mut now = Instant::now();
        // The second of two windows contains only these answers.
        let mut answered = |timings: &Timings| {
            for _ in 0..2 {
                now += Duration::from_secs(1);
                for _ in 0..100 {
                    gate.answered(timings, now, || 0);
                }
            }
        };
        answered(&because_of_the_disk);
        answered(&because_of_others);
        assert_eq!(gate.new.slots().all, most);
        answered(&late);
        assert!(gate.new.slots().all < most);
        assert_eq!(
            gate.slots.get(),
            i64::try_from(gate.new.slots().all).unwrap()
        );
        assert_eq!(
            (gate.under_way.slots().all, gate.long.slots().all),
            (most, most)
        );
    }
}
