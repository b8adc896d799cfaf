//! Admission: a slot for each request that the broker holds, and memory for the bytes of larger bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skep_protocol::Failure;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::Budget;
use crate::config::{GatewayConfig, OverloadPolicy};

/// The gate of one front end.
#[derive(Debug)]
pub struct Gate {
    slots: Arc<Semaphore>,
    pub budget: Budget,
    /// Room of their own: what a slow store holds up is no commands.
    pub documents: Budget,
    waiting: AtomicUsize,
    patience: Duration,
    queue_capacity: usize,
    policy: OverloadPolicy,
}

/// The right to be in the broker's hands; dropping it lets the next request in.
#[derive(Debug)]
pub struct Slot(#[allow(dead_code)] OwnedSemaphorePermit);

impl Gate {
    pub fn new(config: &GatewayConfig) -> Gate {
        Gate {
            slots: Arc::new(Semaphore::new(config.executor.slots())),
            budget: Budget::new(config),
            documents: Budget::new(config),
            waiting: AtomicUsize::new(0),
            patience: config.request_timeout,
            queue_capacity: config.executor.queue_capacity,
            policy: config.executor.policy,
        }
    }

    /// Takes a slot if there is one.
    pub fn enter_at_once(&self) -> Option<Slot> {
        Arc::clone(&self.slots).try_acquire_owned().ok().map(Slot)
    }

    /// Takes a slot, or waits for one, first come, first served, at most the time that an answer may take. `finishing`
    /// requests wait however long the queue is.
    ///
    /// # Errors
    /// `ResourceExhausted` when the queue is full or no slot came in time.
    pub async fn enter(&self, finishing: bool) -> Result<Slot, Failure> {
        if let Some(slot) = self.enter_at_once() {
            return Ok(slot);
        }
        let (_waiting, ahead) = Waiting::enter(&self.waiting);
        if self.policy == OverloadPolicy::Abort && !finishing && ahead >= self.queue_capacity {
            return Err(Failure::ResourceExhausted(format!(
                "The gateway is at its limit of concurrent requests, and {ahead} more are waiting. Nothing was done. Send the \
                 request again later, or raise camunda.api.rest.executor.*"
            )));
        }
        let slot = Arc::clone(&self.slots).acquire_owned();
        // Boxed: the request's future stays small, and mostly there is a slot at once.
        match Box::pin(tokio::time::timeout(self.patience, slot)).await {
            Ok(Ok(permit)) => Ok(Slot(permit)),
            Ok(Err(_)) => Err(Failure::Unavailable("The gateway is stopping.".to_string())),
            Err(_) => Err(Failure::ResourceExhausted(format!(
                "The gateway is at its limit of concurrent requests, and none was answered within {} ms. Nothing was done. Send \
                 the request again later.",
                self.patience.as_millis()
            ))),
        }
    }
}

/// Counts a waiting request, also when its future is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    /// Also tells how many wait already.
    fn enter(count: &'a AtomicUsize) -> (Self, usize) {
        let ahead = count.fetch_add(1, Ordering::Relaxed);
        (Waiting(count), ahead)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls once; the semaphore wakes nobody here, as each test polls again.
    fn waits(future: &mut (impl Future + Unpin)) -> bool {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::Pin::new(future).poll(&mut cx).is_pending()
    }

    fn gate(slots: usize, policy: OverloadPolicy) -> Gate {
        let mut config = GatewayConfig::default();
        config.executor.policy = policy;
        config.executor.queue_capacity = 1;
        Gate {
            slots: Arc::new(Semaphore::new(slots)),
            ..Gate::new(&config)
        }
    }

    #[tokio::test]
    async fn at_the_limit_the_caller_waits_for_the_next_slot() {
        let gate = gate(1, OverloadPolicy::CallerRuns);
        let first = gate.enter(false).await.unwrap();
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(gate.enter(false))).collect();
        for w in &mut waiting {
            assert!(waits(w));
        }
        drop(first);
        for w in waiting {
            drop(w.await.unwrap());
        }
    }

    #[tokio::test]
    async fn abort_refuses_beyond_the_queue_but_never_what_finishes_work() {
        let gate = gate(1, OverloadPolicy::Abort);
        let _first = gate.enter(false).await.unwrap();
        let mut queued = Box::pin(gate.enter(false));
        assert!(waits(&mut queued));
        let refused = gate.enter(false).await;
        assert!(
            matches!(refused, Err(Failure::ResourceExhausted(_))),
            "{refused:?}"
        );
        let mut completion = Box::pin(gate.enter(true));
        assert!(waits(&mut completion));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_slot_without_end() {
        let gate = Gate {
            patience: Duration::ZERO,
            ..gate(1, OverloadPolicy::CallerRuns)
        };
        let _first = gate.enter(false).await.unwrap();
        for finishing in [false, true] {
            let refused = gate.enter(finishing).await;
            assert!(
                matches!(refused, Err(Failure::ResourceExhausted(_))),
                "{refused:?}"
            );
        }
    }
}
