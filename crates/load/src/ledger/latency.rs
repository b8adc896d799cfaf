//! Latency distributions.

use std::time::Instant;

use hdrhistogram::Histogram;

/// Latencies are kept from 1 µs to 1 h.
const LONGEST: u64 = 3_600_000_000;

/// A latency distribution in microseconds, three significant digits.
#[derive(Debug, Clone)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        // the bounds are constants that the histogram takes
        Self(Histogram::new_with_bounds(1, LONGEST, 3).unwrap_or_else(|_| unreachable!()))
    }
}

impl Latency {
    /// Records a span; 1 µs at least, an hour at most.
    pub(super) fn record(&mut self, from: Instant, to: Instant) {
        let micros = to.saturating_duration_since(from).as_micros();
        let micros = u64::try_from(micros).unwrap_or(LONGEST);
        self.0.saturating_record(micros.clamp(1, LONGEST));
    }

    pub(super) fn reset(&mut self) {
        self.0.reset();
    }

    /// The distribution.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

/// Percentiles of one interval, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntervalLatency {
    /// Median of creation.
    pub create_p50: u64,
    /// 99th percentile of creation.
    pub create_p99: u64,
    /// Median of the whole instance.
    pub instance_p50: u64,
    /// 99th percentile of the whole instance.
    pub instance_p99: u64,
}

impl IntervalLatency {
    pub(super) fn of(create: &Latency, instance: &Latency) -> Self {
        let at = |latency: &Latency, quantile| latency.0.value_at_quantile(quantile);
        Self {
            create_p50: at(create, 0.5),
            create_p99: at(create, 0.99),
            instance_p50: at(instance, 0.5),
            instance_p99: at(instance, 0.99),
        }
    }
}
