use crate::temporal::Zone;

/// What an evaluation knows of the world, and what it may use.
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

/// Bounds of one evaluation. What goes beyond ends it with null and the warning `LIMIT_EXCEEDED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations, function calls and list items worked on, all together.
    pub max_steps: u64,
    /// Values a list or context may hold, counting those inside; 32 bytes of text count as one.
    pub max_values: u64,
    /// Nested operations and function calls.
    pub max_depth: u32,
}

impl Default for Limits {
    /// 5 million steps, 2 million values, 400 levels.
    fn default() -> Limits {
        Limits {
            max_steps: 5_000_000,
            max_values: 2_000_000,
            max_depth: 400,
        }
    }
}
