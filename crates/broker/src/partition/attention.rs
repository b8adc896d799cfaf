//! Whether a partition's thread looks into its inbox.
//!
//! A thread that hangs, as in a read of a disk that does not answer, leaves its node alive. Followers that hibernate rely on the heartbeats
//! of nodes, and would wait for that leader for ever.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum time that counts between two observations. A process that was stopped has observed nothing meanwhile, and its threads looked at
/// nothing.
const LONGEST: Duration = Duration::from_millis(500);

/// An observation of the thread.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// How often it had looked into the inbox.
    looks: u64,
    at: Instant,
    /// For how long that number has stood.
    neglected: Duration,
}

/// The last observation; `None` while the thread sleeps.
#[derive(Debug, Default)]
pub(super) struct Attention(Mutex<Option<Seen>>);

impl Attention {
    /// How long the thread has been awake without a look into its inbox. `looks`: see [`Inbox::looks`](super::Inbox::looks). To be called
    /// regularly.
    pub(super) fn observe(&self, looks: Option<u64>, now: Instant) -> Duration {
        let mut seen = self.0.lock();
        let neglected = match (*seen, looks) {
            (Some(before), Some(looks)) => {
                debug_assert!(looks >= before.looks, "looks are only counted upwards");
                let passed = now.saturating_duration_since(before.at).min(LONGEST);
                if before.looks == looks {
                    before.neglected + passed
                } else {
                    Duration::ZERO
                }
            }
            _ => Duration::ZERO,
        };
        *seen = looks.map(|looks| Seen {
            looks,
            at: now,
            neglected,
        });
        neglected
    }
}

#[cfg(test)]
mod tests {
    use super::{Attention, Duration, Instant, LONGEST};

    const PACE: Duration = Duration::from_millis(250);

    #[test]
    fn time_counts_while_a_thread_is_awake_and_does_not_look() {
        let (attention, mut now) = (Attention::default(), Instant::now());
        let mut observe = |looks| {
            now += PACE;
            attention.observe(looks, now)
        };
        assert_eq!(observe(Some(7)), Duration::ZERO, "it was just seen");
        assert_eq!(observe(Some(7)), PACE);
        assert_eq!(observe(Some(7)), 2 * PACE);
        assert_eq!(observe(Some(8)), Duration::ZERO, "it has looked");
        assert_eq!(observe(Some(8)), PACE);
        assert_eq!(observe(None), Duration::ZERO, "it sleeps");
        assert_eq!(observe(Some(8)), Duration::ZERO, "it was woken just now");
        assert_eq!(observe(Some(8)), PACE);
    }

    #[test]
    fn a_process_that_was_stopped_is_given_time_to_look() {
        let (attention, now) = (Attention::default(), Instant::now());
        attention.observe(Some(7), now);
        let later = now + Duration::from_secs(3600);
        assert_eq!(attention.observe(Some(7), later), LONGEST);
    }
}
