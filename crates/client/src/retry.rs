//! Pauses between attempts: exponential, capped, jittered so that many clients spread out.

use std::{
    collections::hash_map::RandomState,
    future::Future,
    hash::{BuildHasher as _, Hasher as _},
    time::Duration,
};

use crate::Error;

/// How often and how long to try again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The pause after the first failure (20 ms), doubled after each further one.
    pub initial: Duration,
    /// The longest pause (2 s).
    pub max: Duration,
    /// Attempts in all (10); at least one is made.
    pub max_attempts: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(20),
            max: Duration::from_secs(2),
            max_attempts: 10,
        }
    }
}

impl RetryPolicy {
    /// Runs `operation` until it succeeds, fails for good, or the attempts are used up.
    ///
    /// # Errors
    /// The last error; errors for which [`Error::is_retryable`] is false end it at once.
    pub async fn run<T, F, O>(&self, mut operation: O) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
        O: FnMut() -> F,
    {
        let mut backoff = Backoff::new(self.clone());
        loop {
            match operation().await {
                Err(error)
                    if error.is_retryable() && backoff.attempts() + 1 < self.max_attempts =>
                {
                    tokio::time::sleep(backoff.next_pause()).await;
                }
                result => return result,
            }
        }
    }
}

/// The state of one series of attempts.
#[derive(Debug, Clone)]
pub struct Backoff {
    policy: RetryPolicy,
    attempts: u32,
    random: u64,
}

impl Backoff {
    /// A new series.
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            attempts: 0,
            // each RandomState has its own random keys: enough to keep clients apart
            random: RandomState::new().build_hasher().finish() | 1,
        }
    }

    /// Failures since the start or the last [`reset`](Self::reset).
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Forgets earlier failures.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// Counts a failure and says how long to pause: between half and the whole of the doubled pause.
    pub fn next_pause(&mut self) -> Duration {
        let doubled = self
            .policy
            .initial
            .saturating_mul(1_u32.checked_shl(self.attempts.min(31)).unwrap_or(u32::MAX));
        let whole = doubled.min(self.policy.max);
        self.attempts = self.attempts.saturating_add(1);
        // xorshift64 (Marsaglia, 2003)
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let half = whole / 2;
        let share = u32::try_from(self.random >> 40).unwrap_or(0); // 24 bits
        half + half.mul_f64(f64::from(share) / f64::from(1_u32 << 24))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Code, Problem};

    fn refusal(code: Code) -> Error {
        Error::Refused(Problem {
            code,
            detail: String::new(),
        })
    }

    #[test]
    fn pauses_double_up_to_the_cap_and_are_jittered() {
        let policy = RetryPolicy {
            initial: Duration::from_millis(100),
            max: Duration::from_millis(800),
            max_attempts: 100,
        };
        let mut backoff = Backoff::new(policy.clone());
        for whole in [100, 200, 400, 800, 800, 800] {
            let pause = backoff.next_pause();
            let whole = Duration::from_millis(whole);
            assert!(
                pause >= whole / 2 && pause <= whole,
                "{pause:?} of {whole:?}"
            );
        }
        let mut first: Vec<_> = (0..8)
            .map(|_| Backoff::new(policy.clone()).next_pause())
            .collect();
        first.dedup();
        assert!(first.len() > 1, "eight clients pause equally long");
        for _ in 0..100 {
            assert!(backoff.next_pause() <= Duration::from_millis(800));
        }
        backoff.reset();
        assert!(backoff.next_pause() <= Duration::from_millis(100));
    }

    #[tokio::test(start_paused = true)]
    async fn only_backpressure_and_missing_leaders_are_tried_again() {
        let policy = RetryPolicy {
            max_attempts: 4,
            ..RetryPolicy::default()
        };
        let calls = Cell::new(0);
        let attempt = |code| {
            calls.set(calls.get() + 1);
            async move { Err::<(), _>(refusal(code)) }
        };
        assert!(
            policy
                .run(|| attempt(Code::ResourceExhausted))
                .await
                .is_err()
        );
        assert_eq!(calls.take(), 4);
        assert!(policy.run(|| attempt(Code::Unavailable)).await.is_err());
        assert_eq!(calls.take(), 4);
        assert!(policy.run(|| attempt(Code::InvalidArgument)).await.is_err());
        assert_eq!(calls.take(), 1);
        assert!(
            policy
                .run(|| attempt(Code::DeadlineExceeded))
                .await
                .is_err()
        );
        assert_eq!(
            calls.take(),
            1,
            "an ambiguous outcome is the caller's to judge"
        );
    }
}
