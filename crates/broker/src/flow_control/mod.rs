//! Back-pressure: the number of client commands that a partition accepts at a time.
//!
//! The limit adapts to the measured time from acceptance to answer. Commands that finish work are never refused: refusing a
//! completion would only bring the job back.

mod algorithms;
mod inbox;
mod write;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use algorithms::Limiter;
pub use inbox::{InboxCapacity, MAX_WAITING, MAX_WAITING_BYTES, Permit};
pub use write::{Backlog, ThrottleConfig, WriteConfig, WriteLimit};

/// Keys and defaults of `camunda.processing.flow-control.request`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FlowControlConfig {
    pub enabled: bool,
    /// Judge by windows of a hundred answers, not by each answer.
    pub windowed: bool,
    pub algorithm: Algorithm,
    pub aimd: Aimd,
    pub fixed: Fixed,
    pub vegas: Vegas,
    pub gradient: Gradient,
    pub gradient2: Gradient2,
    pub legacy_vegas: LegacyVegas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Algorithm {
    Aimd,
    Fixed,
    Vegas,
    Gradient,
    Gradient2,
    LegacyVegas,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Aimd {
    /// Milliseconds; a slower answer makes the limit shrink.
    pub request_timeout: u64,
    pub initial_limit: u32,
    pub min_limit: u32,
    pub max_limit: u32,
    pub backoff_ratio: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Fixed {
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Vegas {
    pub alpha: u32,
    pub beta: u32,
    pub initial_limit: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gradient {
    pub min_limit: u32,
    pub initial_limit: u32,
    pub rtt_tolerance: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gradient2 {
    pub min_limit: u32,
    pub initial_limit: u32,
    pub rtt_tolerance: f64,
    pub long_window: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LegacyVegas {
    pub initial_limit: u32,
    pub max_concurrency: u32,
    pub alpha_limit: f64,
    pub beta_limit: f64,
}

impl Default for FlowControlConfig {
    fn default() -> Self {
        FlowControlConfig {
            enabled: true,
            windowed: true,
            algorithm: Algorithm::Aimd,
            aimd: Aimd::default(),
            fixed: Fixed::default(),
            vegas: Vegas::default(),
            gradient: Gradient::default(),
            gradient2: Gradient2::default(),
            legacy_vegas: LegacyVegas::default(),
        }
    }
}

impl Default for Aimd {
    fn default() -> Self {
        Aimd {
            request_timeout: 200,
            initial_limit: 100,
            min_limit: 1,
            max_limit: 1000,
            backoff_ratio: 0.9,
        }
    }
}

impl Default for Fixed {
    fn default() -> Self {
        Fixed { limit: 20 }
    }
}

impl Default for Vegas {
    fn default() -> Self {
        Vegas {
            alpha: 3,
            beta: 6,
            initial_limit: 20,
        }
    }
}

impl Default for Gradient {
    fn default() -> Self {
        Gradient {
            min_limit: 10,
            initial_limit: 20,
            rtt_tolerance: 2.0,
        }
    }
}

impl Default for Gradient2 {
    fn default() -> Self {
        Gradient2 {
            min_limit: 10,
            initial_limit: 20,
            rtt_tolerance: 2.0,
            long_window: 600,
        }
    }
}

impl Default for LegacyVegas {
    fn default() -> Self {
        LegacyVegas {
            initial_limit: 1024,
            max_concurrency: 32_768,
            alpha_limit: 0.7,
            beta_limit: 0.95,
        }
    }
}

impl FlowControlConfig {
    /// Refuses settings that make no sense, with the reason.
    pub fn check(&self) -> Result<(), String> {
        if !(0.5..1.0).contains(&self.aimd.backoff_ratio) {
            return Err(format!(
                "aimd.backoff-ratio must be at least 0.5 and less than 1, but is {}",
                self.aimd.backoff_ratio
            ));
        }
        if self.aimd.min_limit < 1 || self.aimd.min_limit > self.aimd.max_limit {
            return Err(format!(
                "aimd.min-limit must lie between 1 and aimd.max-limit ({}), but is {}",
                self.aimd.max_limit, self.aimd.min_limit
            ));
        }
        if self.fixed.limit < 1 {
            return Err("fixed.limit must be at least 1".to_string());
        }
        Ok(())
    }
}

/// The request limit of one partition. Taken by the router, given back by the partition with each answer.
#[derive(Debug)]
pub struct RequestLimit {
    limit: AtomicU32,
    inflight: AtomicU32,
    pub received: AtomicU64,
    pub dropped: AtomicU64,
    limiter: Mutex<Limiter>,
}

impl RequestLimit {
    pub fn new(config: &FlowControlConfig) -> RequestLimit {
        let limiter = Limiter::new(config);
        RequestLimit {
            limit: AtomicU32::new(limiter.limit()),
            inflight: AtomicU32::new(0),
            received: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            limiter: Mutex::new(limiter),
        }
    }

    /// Takes one place. `finishing` commands always get one.
    pub fn acquire(&self, finishing: bool) -> bool {
        self.received.fetch_add(1, Ordering::Relaxed);
        let before = self.inflight.fetch_add(1, Ordering::AcqRel);
        if !finishing && before >= self.limit.load(Ordering::Relaxed) {
            let taken = self.inflight.fetch_sub(1, Ordering::AcqRel);
            debug_assert!(taken > 0, "a place is given back once");
            self.dropped.fetch_add(1, Ordering::Relaxed);
            self.limiter.lock().dropped();
            return false;
        }
        true
    }

    /// Counts a command that is refused without asking for a place.
    pub fn refuse(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives the place back without judging: the command waits for something that may take days.
    pub fn release(&self) {
        let inflight = self.inflight.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(inflight > 0, "a place is given back once");
    }

    /// Gives the place back after an answer that took `time`.
    pub fn answered(&self, time: Duration) {
        let inflight = self.inflight.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(inflight > 0, "a place is given back once");
        let mut limiter = self.limiter.lock();
        limiter.answered(time, inflight);
        self.limit.store(limiter.limit(), Ordering::Relaxed);
    }

    pub fn reconfigure(&self, config: &FlowControlConfig) {
        let mut limiter = self.limiter.lock();
        *limiter = Limiter::new(config);
        self.limit.store(limiter.limit(), Ordering::Relaxed);
    }

    pub fn config(&self) -> FlowControlConfig {
        self.limiter.lock().config().clone()
    }

    pub fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    pub fn inflight(&self) -> u32 {
        self.inflight.load(Ordering::Relaxed)
    }
}
