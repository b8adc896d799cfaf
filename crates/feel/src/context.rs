//! Context of an evaluation besides its variables.

use crate::temporal::Zone;

/// Clock, zone, limits and random seed of an evaluation.
#[derive(Clone, Debug)]
pub struct EvalContext {
    /// The current time, in milliseconds since 1970.
    pub now_millis: i64,
    /// The zone of `now()` and `today()`.
    pub zone: Zone,
    /// Bounds of the evaluation.
    pub limits: Limits,
    /// Feeds `random number()` and `uuid()`: equal seeds give equal results.
    pub seed: u64,
}

impl Default for EvalContext {
    /// 1970 in UTC, default limits, seed 0.
    fn default() -> EvalContext {
        EvalContext {
            now_millis: 0,
            zone: Zone::UTC,
            limits: Limits::default(),
            seed: 0,
        }
    }
}

/// Limits of one evaluation. Exceeding one ends it with null and the warning `LIMIT_EXCEEDED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Work, in steps of about [`Limits::STEP_NANOS`]: every operation has a price that stands for its time.
    pub max_steps: u64,
    /// Bytes of the values that an evaluation holds at one time. Values that a loop or a function made and did not hand on
    /// are free again.
    pub max_memory: u64,
    /// Nested operations, function calls, lists and contexts.
    pub max_depth: u32,
}

impl Limits {
    /// Time of one step on a core of the machine that prices were measured on, in nanoseconds. No clock is read: the same
    /// evaluation takes the same steps everywhere.
    pub const STEP_NANOS: u64 = 20;

    /// The default limits with as many steps as take about so many milliseconds.
    pub fn with_millis(millis: u64) -> Limits {
        Limits {
            max_steps: millis.saturating_mul(1_000_000 / Limits::STEP_NANOS),
            ..Limits::default()
        }
    }
}

impl Default for Limits {
    /// 5 million steps (about 100 ms), 32 MiB, 400 levels.
    fn default() -> Limits {
        Limits {
            max_steps: 5_000_000,
            max_memory: 32 << 20,
            max_depth: 400,
        }
    }
}
