//! Backpressure: the number of client commands that a partition accepts at a time.
//!
//! The limit adapts to the measured time from acceptance to answer. Commands that finish work are never refused: refusing a
//! completion would only bring the job back.

mod algorithms;
mod inbox;
mod tenants;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use skep_protocol::TenantId;
use skep_protocol::command::Class;

pub use algorithms::Limiter;
pub use inbox::{InboxCapacity, InboxPermit, MAX_WAITING, MAX_WAITING_BYTES};
use tenants::OfTenants;
pub use tenants::SoleTenants;
pub use write::{Backlog, ThrottleConfig, WriteConfig, WriteLimit};

/// Keys and defaults of `camunda.processing.flow-control.request`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FlowControlConfig {
    pub enabled: bool,
    /// `skep.tenants.in-flight-share`: the largest part of the limit that one tenant may use; 1: all of it. Does not change after the
    /// start.
    #[serde(skip)]
    pub tenant_share: f64,
    /// Adjust the limit by windows of a hundred answers, not by each answer.
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
            tenant_share: 1.0,
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
    /// Refuses invalid settings, with the reason.
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

/// Maximum number of [`Class::NewMany`] commands under way on a partition.
pub const MAX_NEW_MANY: u32 = 16;
/// Maximum number of [`Class::Evaluating`] commands that wait for a partition. Long ones do not wait for it.
pub const MAX_EVALUATING: u32 = 100;

/// Commands under way that share one limit.
#[derive(Debug)]
struct UnderWay {
    all: AtomicU32,
    of_tenants: OfTenants,
}

impl UnderWay {
    fn new(config: &FlowControlConfig) -> UnderWay {
        UnderWay {
            all: AtomicU32::new(0),
            of_tenants: OfTenants::new(config.tenant_share),
        }
    }
}

/// The request limit of one partition.
#[derive(Debug)]
pub struct RequestLimit {
    limit: AtomicU32,
    inflight: UnderWay,
    new_many: UnderWay,
    evaluating: UnderWay,
    /// Whether a tenant may take only a part of a limit.
    shares: bool,
    pub received: AtomicU64,
    pub dropped: AtomicU64,
    limiter: Mutex<Limiter>,
    /// Tenants' commands that were refused because their tenant had too many; they also count as dropped.
    pub of_tenants_refused: AtomicU64,
}

/// Why a command gets no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPermit {
    /// The maximum number of commands is under way.
    Full,
    /// The tenant has reached its maximum, which is this number.
    TenantIsFull(TenantId, u32),
}

impl RequestLimit {
    pub fn new(config: &FlowControlConfig) -> RequestLimit {
        let limiter = Limiter::new(config);
        RequestLimit {
            limit: AtomicU32::new(limiter.limit()),
            inflight: UnderWay::new(config),
            new_many: UnderWay::new(config),
            evaluating: UnderWay::new(config),
            shares: config.tenant_share < 1.0,
            received: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            limiter: Mutex::new(limiter),
            of_tenants_refused: AtomicU64::new(0),
        }
    }

    /// Takes a place for a command. Those that finish work always get one. `tenant` returns the command's tenant, if known; it is called
    /// only if tenants have shares.
    ///
    /// # Errors
    /// No place is free for it.
    pub fn acquire(
        self: &Arc<Self>,
        class: Class,
        tenant: impl FnOnce() -> Option<TenantId>,
    ) -> Result<Permit, NoPermit> {
        self.received.fetch_add(1, Ordering::Relaxed);
        let most = match class {
            Class::Finishing | Class::Ending => u32::MAX,
            Class::NewMany => MAX_NEW_MANY,
            Class::Evaluating => MAX_EVALUATING,
            Class::New | Class::Polling => self.limit(),
        };
        let mut permit = Permit {
            limit: Arc::clone(self),
            class,
            tenant: None,
        };
        // A place beyond the limit gives itself back.
        let taken = permit.under_way().all.fetch_add(1, Ordering::AcqRel);
        if taken >= most {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            if !permit.is_of_its_own() {
                self.limiter.lock().dropped();
            }
            return Err(NoPermit::Full);
        }
        if self.shares
            && let Some(tenant) = tenant()
        {
            // The limit does not change: a tenant at its share says nothing about how busy the partition is.
            if let Err(most) = permit.under_way().of_tenants.take(&tenant, most) {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                self.of_tenants_refused.fetch_add(1, Ordering::Relaxed);
                return Err(NoPermit::TenantIsFull(tenant, most));
            }
            permit.tenant = Some(tenant);
        }
        Ok(permit)
    }

    /// Counts a command that is refused without asking for a place.
    pub fn refuse(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.dropped.fetch_add(1, Ordering::Relaxed);
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
        self.inflight.all.load(Ordering::Relaxed)
    }
}

/// The place of a command under way. Dropping it gives it back without a measurement: nobody was answered, or the command waits for
/// something that may take days.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<RequestLimit>,
    class: Class,
    /// The tenant whose share it counts towards.
    tenant: Option<TenantId>,
}

impl Permit {
    fn under_way(&self) -> &UnderWay {
        match self.class {
            Class::NewMany => &self.limit.new_many,
            Class::Evaluating => &self.limit.evaluating,
            Class::New | Class::Polling | Class::Finishing | Class::Ending => &self.limit.inflight,
        }
    }

    /// Whether it is outside the request limit, whose commands show by their times how busy the partition is.
    fn is_of_its_own(&self) -> bool {
        matches!(self.class, Class::NewMany | Class::Evaluating)
    }

    /// Gives the place back after an answer that took `time`.
    pub fn answered(self, time: Duration) {
        if self.is_of_its_own() {
            return;
        }
        let mut limiter = self.limit.limiter.lock();
        limiter.answered(time, self.limit.inflight());
        let limit = limiter.limit();
        self.limit.limit.store(limit, Ordering::Relaxed);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let taken = self.under_way().all.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(taken > 0, "a permit is given back once");
        if let Some(tenant) = self.tenant.take() {
            self.under_way().of_tenants.give_back(&tenant);
        }
    }
}
