//! Hands leadership to another replica: batches in flight are finished first, and nothing new is started.

use std::time::{Duration, Instant};

/// How long another node may take to take over from a stopping one.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether leadership is being handed over, and to which replica.
#[derive(Debug, Default)]
pub struct HandOver {
    under_way: Option<UnderWay>,
    /// The node is stopping and never takes leadership back.
    stopping: bool,
}

#[derive(Debug)]
struct UnderWay {
    to: u64,
    /// The deadline for taking over.
    until: Instant,
    asked: bool,
}

impl HandOver {
    /// Whether a handover is in progress; nothing new is started then.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether the node is stopping.
    pub fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// The node is stopping: batches in flight are finished, and requests that another node can take are no longer started.
    pub fn stops(&mut self) {
        self.stopping = true;
    }

    /// Starts a handover to this member, unless another one is already in progress.
    pub fn begin(&mut self, to: u64, now: Instant) {
        self.under_way.get_or_insert(UnderWay {
            to,
            until: now + PATIENCE,
            asked: false,
        });
    }

    /// To be called in every turn. `may_ask`: nothing is in flight, or it may stay in flight forever. Returns the replica to hand
    /// leadership to now.
    pub fn go_on(&mut self, may_ask: bool, now: Instant) -> Option<u64> {
        let under_way = self.under_way.as_mut()?;
        let asks = !under_way.asked && may_ask;
        under_way.asked |= asks;
        let (to, until) = (under_way.to, under_way.until);
        debug_assert!(to != 0, "a member has a number");
        // The other replica did not take over: this node continues.
        if now >= until && !self.stopping {
            self.under_way = None;
        }
        asks.then_some(to)
    }

    /// Whether the handover was given up.
    pub fn is_over(&self, now: Instant) -> bool {
        let under_way = self.under_way.as_ref();
        under_way.is_none_or(|under_way| now >= under_way.until)
    }

    /// Another replica leads.
    pub fn end(&mut self) {
        self.under_way = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{HandOver, PATIENCE};
    use std::time::Instant;

    #[test]
    fn a_hand_over_waits_for_what_is_in_flight_and_asks_the_other_node_once() {
        let now = Instant::now();
        let mut hand_over = HandOver::default();
        assert_eq!(hand_over.go_on(true, now), None);
        hand_over.begin(7, now);
        hand_over.begin(8, now);
        assert!(hand_over.is_under_way() && !hand_over.is_over(now));
        assert_eq!(hand_over.go_on(false, now), None);
        assert_eq!(hand_over.go_on(true, now), Some(7));
        assert_eq!(hand_over.go_on(true, now), None);
        hand_over.end();
        assert!(hand_over.is_over(now) && !hand_over.is_under_way());
    }

    #[test]
    fn a_node_that_stops_does_not_take_leadership_back() {
        let now = Instant::now();
        let (mut goes_on, mut stops) = (HandOver::default(), HandOver::default());
        stops.stops();
        for hand_over in [&mut goes_on, &mut stops] {
            hand_over.begin(7, now);
            assert_eq!(hand_over.go_on(true, now + PATIENCE), Some(7));
        }
        assert!(!goes_on.is_under_way());
        assert!(stops.is_under_way() && stops.is_over(now + PATIENCE));
    }
}
