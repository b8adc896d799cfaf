//! Remembers panics in the engine, and the instances that were banned because of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use skep_engine::Ban;

use super::environment::Environment;
use crate::partition::core::PartitionCore;
use crate::partition::status::MAX_LISTED_BANS;

/// Panics within [`WINDOW`] that a partition survives and that no ban keeps from coming again. More are no accident: it would
/// do nothing but rebuild its state.
pub const MAX_PANICS: usize = 10;
pub const WINDOW: Duration = Duration::from_secs(600);

/// When the engine panicked lately.
#[derive(Debug, Default)]
pub struct Panics {
    recent: VecDeque<Instant>,
    /// The state has to be rebuilt because of this.
    rebuild: Option<Panic>,
    /// The revision of the banned instances that the status shows.
    shown_bans: Option<u64>,
}

#[derive(Debug)]
pub struct Panic {
    pub text: String,
    /// The instance to ban once the state is rebuilt.
    pub ban: Option<Ban>,
}

impl Panics {
    /// False if there were too many.
    pub fn count(&mut self, now: Instant) -> bool {
        let recent = |then: &Instant| now.saturating_duration_since(*then) < WINDOW;
        self.recent.retain(recent);
        self.recent.push_back(now);
        self.recent.len() <= MAX_PANICS
    }

    /// The state is to be rebuilt.
    pub fn happened(&mut self, panic: Panic) {
        self.rebuild = Some(panic);
    }

    /// Why the state is to be rebuilt, once.
    pub fn take_rebuild(&mut self) -> Option<Panic> {
        self.rebuild.take()
    }

    /// Another node leads, with a state of its own.
    pub fn forget(&mut self) {
        self.recent.clear();
        self.rebuild = None;
    }

    /// The state is another one: its bans are to be shown.
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
