//! Who may come in: a slot for each request in the broker's hands, and a budget for the bytes of larger bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skep_protocol::Failure;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::{GatewayConfig, OverloadPolicy};

/// Bodies up to this size need no budget: they fit in what a connection holds anyway.
pub const FREE_BODY_BYTES: usize = 16 << 10;

/// The budget counts in units of this many bytes.
const UNIT: usize = 1 << 10;

/// The gate of one front end.
#[derive(Debug)]
pub struct Gate {
    slots: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    byte_units: usize,
    waiting: AtomicUsize,
    queue_capacity: usize,
    policy: OverloadPolicy,
}

/// The right to be in the broker's hands; dropping it lets the next request in.
#[derive(Debug)]
pub struct Slot(#[allow(dead_code)] OwnedSemaphorePermit);

/// Bytes of the budget, held as long as the body (or what was decoded from it) lives in the gateway.
#[derive(Debug)]
pub struct Bytes(#[allow(dead_code)] OwnedSemaphorePermit);

impl Bytes {
    /// Gives back what a body of unknown length did not need.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.0.num_permits().saturating_sub(bytes.div_ceil(UNIT));
        drop(self.0.split(surplus));
    }
}

impl Gate {
    pub fn new(config: &GatewayConfig) -> Gate {
        let largest = config.max_message_size.max(config.multipart.max_size);
        let byte_units = config.max_buffered_bytes.max(largest).div_ceil(UNIT);
        let byte_units = byte_units
            .min(u32::MAX as usize)
            .min(Semaphore::MAX_PERMITS);
        Gate {
            slots: Arc::new(Semaphore::new(config.executor.slots())),
            bytes: Arc::new(Semaphore::new(byte_units)),
            byte_units,
            waiting: AtomicUsize::new(0),
            queue_capacity: config.executor.queue_capacity,
            policy: config.executor.policy,
        }
    }

    /// Takes a slot, or waits for one, first come, first served. `finishing` requests are never refused.
    pub async fn enter(&self, finishing: bool) -> Result<Slot, Failure> {
        if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(Slot(permit));
        }
        let (_waiting, ahead) = Waiting::enter(&self.waiting);
        if self.policy == OverloadPolicy::Abort && !finishing && ahead >= self.queue_capacity {
            return Err(Failure::ResourceExhausted(format!(
                "The gateway works on as many requests as it is configured to and {ahead} more wait; nothing was done. \
                 Send the request again later, or raise camunda.api.rest.executor.*"
            )));
        }
        acquire(&self.slots, 1).await.map(Slot)
    }

    /// Takes the budget for a body, or waits for it. `None` for a body that needs none.
    pub async fn reserve(&self, bytes: usize) -> Result<Option<Bytes>, Failure> {
        if bytes <= FREE_BODY_BYTES {
            return Ok(None);
        }
        let units = bytes.div_ceil(UNIT).min(self.byte_units) as u32;
        acquire(&self.bytes, units).await.map(|p| Some(Bytes(p)))
    }
}

async fn acquire(semaphore: &Arc<Semaphore>, n: u32) -> Result<OwnedSemaphorePermit, Failure> {
    let acquired = Arc::clone(semaphore).acquire_many_owned(n).await;
    acquired.map_err(|_| Failure::Unavailable("The gateway is stopping.".to_string()))
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
    async fn large_bodies_share_a_budget_and_small_ones_need_none() {
        let gate = Gate::new(&GatewayConfig {
            max_buffered_bytes: 10 << 20,
            ..GatewayConfig::default()
        });
        let mut all = gate.reserve(10 << 20).await.unwrap().unwrap();
        assert!(gate.reserve(FREE_BODY_BYTES).await.unwrap().is_none());
        let mut next = Box::pin(gate.reserve(1 << 20));
        assert!(waits(&mut next));
        all.shrink_to(9 << 20);
        assert!(next.await.unwrap().is_some());
    }
}
