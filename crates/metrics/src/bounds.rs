//! The buckets of histograms.

/// Upper bounds of buckets, rising, in a unit of whole numbers.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub(crate) limits: &'static [u64],
    /// An observation of this size is exposed as 1.
    pub(crate) one: f64,
    /// Whether the histogram has a gauge `NAME_max` beside it, as for time spans.
    pub(crate) with_max: bool,
}

impl Bounds {
    /// Time spans: observed in nanoseconds, exposed in seconds.
    pub const fn nanoseconds(limits: &'static [u64]) -> Bounds {
        Bounds {
            limits,
            one: 1e9,
            with_max: true,
        }
    }

    /// Time spans: observed in milliseconds, exposed in seconds.
    pub const fn milliseconds(limits: &'static [u64]) -> Bounds {
        Bounds {
            limits,
            one: 1e3,
            with_max: true,
        }
    }

    /// The unit of time spans, in nanoseconds.
    pub(crate) fn nanos(&self) -> u128 {
        debug_assert!(self.with_max, "the bounds are those of time spans");
        (1e9 / self.one) as u128
    }

    /// Amounts, exposed as they are observed.
    pub const fn amounts(limits: &'static [u64]) -> Bounds {
        Bounds::scaled(limits, 1.0)
    }

    /// Amounts that are exposed in a unit which is `one` of the observed units.
    pub const fn scaled(limits: &'static [u64], one: f64) -> Bounds {
        Bounds {
            limits,
            one,
            with_max: false,
        }
    }
}

const fn us(n: u64) -> u64 {
    n * 1_000
}

const fn ms(n: u64) -> u64 {
    n * 1_000_000
}

/// The default buckets of the reference: 5 ms to 10 s.
pub const DEFAULT_BOUNDS: Bounds = Bounds::nanoseconds(&[
    ms(5),
    ms(10),
    ms(25),
    ms(50),
    ms(75),
    ms(100),
    ms(250),
    ms(500),
    ms(750),
    ms(1000),
    ms(2500),
    ms(5000),
    ms(7500),
    ms(10_000),
]);

/// The default buckets with finer ones at the lower end, as most things here take microseconds.
pub const FINE_BOUNDS: Bounds = Bounds::nanoseconds(&[
    us(1),
    us(5),
    us(10),
    us(25),
    us(50),
    us(100),
    us(250),
    us(500),
    ms(1),
    us(2500),
    ms(5),
    ms(10),
    ms(25),
    ms(50),
    ms(75),
    ms(100),
    ms(250),
    ms(500),
    ms(750),
    ms(1000),
    ms(2000),
    ms(2500),
    ms(5000),
    ms(7500),
    ms(10_000),
]);
