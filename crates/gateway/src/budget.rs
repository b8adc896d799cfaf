//! The memory budget of request bodies: received bytes count, announced ones do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skep_protocol::Failure;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::config::GatewayConfig;

/// Bodies up to this size need no budget: they fit into the buffers that a connection has anyway.
pub const FREE_BODY_BYTES: usize = 16 << 10;

/// The budget is counted in units of this many bytes.
const UNIT: usize = 1 << 10;

/// The bytes of larger bodies that one front end holds.
///
/// A body takes from the budget as it arrives. If the budget is used up, it is not read further and waits. If partly
/// received bodies held the whole budget and waited for each other, none would finish; so one of them at a time may exceed
/// the budget to its end. The total is thus at most the budget plus the largest request.
#[derive(Debug)]
pub struct Budget {
    capacity: Arc<Semaphore>,
    beyond: Arc<Semaphore>,
    bytes: usize,
    waiting: AtomicUsize,
    crowded: Notify,
}

/// A body's part of the budget, given back when it is dropped. Belongs to the body or to the request decoded from it.
#[derive(Debug, Default)]
pub struct Share {
    capacity: Option<OwnedSemaphorePermit>,
    beyond: Option<OwnedSemaphorePermit>,
}

impl Share {
    fn units(&self) -> usize {
        self.capacity
            .as_ref()
            .map_or(0, |capacity| capacity.num_permits())
    }

    fn add(&mut self, capacity: OwnedSemaphorePermit) {
        match &mut self.capacity {
            Some(mine) => mine.merge(capacity),
            None => self.capacity = Some(capacity),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.capacity.is_none() && self.beyond.is_none()
    }

    /// Returns the part that a body of this size does not need.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.units().saturating_sub(units(bytes));
        if let Some(capacity) = &mut self.capacity {
            drop(capacity.split(surplus));
        }
    }
}

fn units(bytes: usize) -> usize {
    if bytes <= FREE_BODY_BYTES {
        0
    } else {
        bytes.div_ceil(UNIT)
    }
}

impl Budget {
    pub fn new(config: &GatewayConfig) -> Budget {
        let units = config.max_buffered_bytes.div_ceil(UNIT);
        let units = units.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        Budget {
            capacity: Arc::new(Semaphore::new(units)),
            beyond: Arc::new(Semaphore::new(1)),
            bytes: units * UNIT,
            waiting: AtomicUsize::new(0),
            crowded: Notify::new(),
        }
    }

    /// Grows the share to this many bytes if the budget allows it at once.
    pub fn try_grow(&self, share: &mut Share, bytes: usize) -> bool {
        let missing = units(bytes).saturating_sub(share.units());
        if missing == 0 || share.beyond.is_some() {
            return true;
        }
        let Ok(missing) = u32::try_from(missing) else {
            return false;
        };
        match Arc::clone(&self.capacity).try_acquire_many_owned(missing) {
            Ok(capacity) => {
                share.add(capacity);
                true
            }
            Err(_) => false,
        }
    }

    /// Waits for budget, first come, first served, at most `patience`.
    ///
    /// # Errors
    /// `ResourceExhausted` if there was none for that long.
    pub async fn grow(
        &self,
        share: &mut Share,
        bytes: usize,
        patience: Duration,
    ) -> Result<(), Failure> {
        if self.try_grow(share, bytes) {
            return Ok(());
        }
        let missing = units(bytes).saturating_sub(share.units());
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        let _waiting = Waiting::enter(&self.waiting);
        self.crowded.notify_waiters();
        let found = async {
            tokio::select! {
                biased;
                capacity = Arc::clone(&self.capacity).acquire_many_owned(missing) => capacity.map(|capacity| share.add(capacity)),
                beyond = Arc::clone(&self.beyond).acquire_owned() => beyond.map(|beyond| share.beyond = Some(beyond)),
            }
        };
        match tokio::time::timeout(patience, found).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Failure::Unavailable("The gateway is stopping.".to_string())),
            Err(_) => Err(self.no_room(patience)),
        }
    }

    fn no_room(&self, patience: Duration) -> Failure {
        Failure::ResourceExhausted(format!(
            "The gateway already holds the {} bytes of request bodies that it may hold, and no room became free within {} s. \
             Nothing was done. Send the request again later, or raise skep.api.max-buffered-size.",
            self.bytes,
            patience.as_secs()
        ))
    }

    /// Resolves when another body waits for budget.
    pub async fn crowded(&self) {
        loop {
            let mut crowded = std::pin::pin!(self.crowded.notified());
            // Registered before the check, so that no arrival is missed.
            crowded.as_mut().enable();
            if self.waiting.load(Ordering::SeqCst) > 0 {
                return;
            }
            crowded.await;
        }
    }
}

/// Counts waiting bodies, correctly even if a waiting future is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const LONG: Duration = Duration::from_secs(3600);

    fn budget(bytes: usize) -> Budget {
        Budget::new(&GatewayConfig {
            max_buffered_bytes: bytes,
            ..GatewayConfig::default()
        })
    }

    #[tokio::test]
    async fn small_bodies_need_no_room_and_larger_ones_all_of_theirs() {
        let budget = budget(MIB);
        let mut share = Share::default();
        assert!(budget.try_grow(&mut share, FREE_BODY_BYTES));
        assert_eq!(share.units(), 0);
        assert!(budget.try_grow(&mut share, FREE_BODY_BYTES + 1));
        assert_eq!(share.units(), 17);
        assert!(budget.try_grow(&mut share, MIB));
        assert!(!budget.try_grow(&mut Share::default(), FREE_BODY_BYTES + 1));
        share.shrink_to(MIB / 2);
        assert!(budget.try_grow(&mut Share::default(), MIB / 2));
    }

    #[tokio::test]
    async fn one_at_a_time_may_go_beyond_and_the_next_waits_for_it() {
        let budget = budget(MIB);
        let mut all = Share::default();
        budget.grow(&mut all, MIB, LONG).await.unwrap();
        let mut beyond = Share::default();
        budget.grow(&mut beyond, MIB, LONG).await.unwrap();
        budget.grow(&mut beyond, 4 * MIB, LONG).await.unwrap();
        let mut none = Share::default();
        let refused = budget.grow(&mut none, MIB, Duration::ZERO).await;
        assert!(matches!(refused, Err(Failure::ResourceExhausted(_))));
        let mut next = Share::default();
        let waits = budget.grow(&mut next, MIB, LONG);
        let ends = async {
            budget.crowded().await;
            drop(beyond);
        };
        assert_eq!(tokio::join!(waits, ends).0, Ok(()));
    }
}
