//! Remembers panics in the engine, and the instances that were banned because of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use skep_engine::Ban;

use super::environment::Environment;
use crate::partition::core::PartitionCore;
use crate::partition::status::MAX_LISTED_BANS;

/// Maximum number of panics within [`WINDOW`] that a partition survives although no ban prevents their recurrence. More are no accident:
/// the partition would do nothing but rebuild its state.
pub const MAX_PANICS: usize = 10;
pub const WINDOW: Duration = Duration::from_secs(600);

/// Recent panics of the engine.
#[derive(Debug, Default)]
pub struct Panics {
    recent: VecDeque<Instant>,
    /// The panic because of which the state has to be rebuilt.
    rebuild: Option<Panic>,
    /// The revision of the banned instances shown in the status.
    shown_bans: Option<u64>,
}

#[derive(Debug)]
pub struct Panic {
    pub text: String,
    /// The instance to ban once the state is rebuilt.
    pub ban: Option<Ban>,
}

impl Panics {
    /// Counts a panic. False if there were too many.
    pub fn count(&mut self, now: Instant) -> bool {
        let recent = |then: &Instant| now.saturating_duration_since(*then) < WINDOW;
        self.recent.retain(recent);
        self.recent.push_back(now);
        self.recent.len() <= MAX_PANICS
    }

    /// Requests a rebuild of the state.
    pub fn happened(&mut self, panic: Panic) {
        self.rebuild = Some(panic);
    }

    /// Returns once why the state has to be rebuilt.
    pub fn take_rebuild(&mut self) -> Option<Panic> {
        self.rebuild.take()
    }

    /// Another node leads, with its own state.
    pub fn forget(&mut self) {
        self.recent.clear();
        self.rebuild = None;
    }

    /// The state was replaced: its bans need to be published.
    pub fn state_is_new(&mut self) {
        self.shown_bans = None;
    }

    /// Shows the banned instances in the status, if they changed.
    pub fn publish_bans(&mut self, core: &mut PartitionCore, env: &Environment) {
        let banned = &mut core.engine_mut().state.banned;
        if self.shown_bans.replace(banned.revision()) != Some(banned.revision()) {
            let listed = banned.list(MAX_LISTED_BANS);
            env.status.set_banned(banned.len(), listed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PANICS, Panics, WINDOW};
    use std::time::Instant;

    #[test]
    fn more_panics_than_accidents_explain_stop_the_partition() {
        let begin = Instant::now();
        let mut panics = Panics::default();
        for _ in 0..MAX_PANICS {
            assert!(panics.count(begin));
        }
        assert!(!panics.count(begin));
        assert!(panics.count(begin + WINDOW), "those before are long ago");
    }
}
