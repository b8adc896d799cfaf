//! A latency histogram that costs a few nanoseconds to observe: no lock, two atomic additions.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

/// Upper bounds of the buckets, in nanoseconds, rising.
pub type Bounds = &'static [u64];

const fn us(n: u64) -> u64 {
    n * 1_000
}

const fn ms(n: u64) -> u64 {
    n * 1_000_000
}

/// The default buckets of the reference: 5 ms to 10 s.
pub const DEFAULT_BOUNDS: Bounds = &[
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
];

/// Served requests: finer at the lower end, as a request here takes microseconds.
pub const REQUEST_BOUNDS: Bounds = &[
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
    ms(2500),
    ms(5000),
    ms(7500),
    ms(10_000),
];

/// Stages of a request.
pub const STAGE_BOUNDS: Bounds = &[
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
    ms(100),
    ms(250),
    ms(500),
    ms(1000),
    ms(2500),
    ms(5000),
    ms(10_000),
];

/// A histogram of durations, exposed in seconds. Clones share their counts.
#[derive(Clone, Debug)]
pub struct Timer(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    bounds: Bounds,
    /// One per bound and one for what is above the last.
    buckets: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
    /// The longest observation of this minute and of the one before.
    max_ns: [AtomicU64; 2],
}

impl Timer {
    pub fn new(bounds: Bounds) -> Timer {
        Timer(Arc::new(Counts {
            bounds,
            buckets: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
            max_ns: [AtomicU64::new(0), AtomicU64::new(0)],
        }))
    }

    pub fn observe(&self, ns: u64) {
        let counts = &*self.0;
        let bucket = counts.bounds.partition_point(|bound| *bound < ns);
        if let Some(bucket) = counts.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
            counts.sum_ns.fetch_add(ns, Ordering::Relaxed);
            let [max, _] = &counts.max_ns;
            if ns > max.load(Ordering::Relaxed) {
                max.fetch_max(ns, Ordering::Relaxed);
            }
        }
    }

    /// Observations so far.
    pub fn count(&self) -> u64 {
        self.0
            .buckets
            .iter()
            .map(|b| b.load(Ordering::Relaxed))
            .sum()
    }

    /// Sum of the observations in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.0.sum_ns.load(Ordering::Relaxed)
    }
}

impl TypedMetric for Timer {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Timer {
    fn encode(&self, mut encoder: MetricEncoder) -> Result<(), fmt::Error> {
        let counts = &*self.0;
        let bounds = counts.bounds.iter().map(|ns| *ns as f64 / 1e9);
        let buckets: Vec<(f64, u64)> = bounds
            .chain([f64::INFINITY])
            .zip(counts.buckets.iter().map(|b| b.load(Ordering::Relaxed)))
            .collect();
        let count = buckets.iter().map(|(_, n)| n).sum();
        let sum = self.sum_ns() as f64 / 1e9;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl Timer {
    fn max_ns(&self) -> u64 {
        let [now, before] = &self.0.max_ns;
        now.load(Ordering::Relaxed)
            .max(before.load(Ordering::Relaxed))
    }

    fn next_minute(&self) {
        let [now, before] = &self.0.max_ns;
        before.store(now.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Timers of one name by their labels, with the gauge `NAME_max` beside the histogram: the longest observation of the last
/// minute or two (a minute ends when somebody asks after it).
#[derive(Clone, Debug)]
pub struct TimerFamily<L> {
    name: &'static str,
    help: &'static str,
    bounds: Bounds,
    series: Arc<RwLock<Series<L>>>,
}

#[derive(Debug)]
struct Series<L> {
    timers: HashMap<L, Timer>,
    minute: Instant,
}

const MINUTE: Duration = Duration::from_secs(60);

impl<L: Clone + Eq + Hash + EncodeLabelSet + fmt::Debug + Send + Sync + 'static> TimerFamily<L> {
    pub fn new(name: &'static str, help: &'static str, bounds: Bounds) -> TimerFamily<L> {
        let series = Series {
            timers: HashMap::new(),
            minute: Instant::now(),
        };
        TimerFamily {
            name,
            help,
            bounds,
            series: Arc::new(RwLock::new(series)),
        }
    }

    /// The timer of these labels; keep it where it is used often.
    pub fn get(&self, labels: L) -> Timer {
        if let Some(timer) = self.series.read().timers.get(&labels) {
            return timer.clone();
        }
        let mut series = self.series.write();
        let timer = series.timers.entry(labels);
        timer.or_insert_with(|| Timer::new(self.bounds)).clone()
    }

    pub fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }
}

impl<L: Clone + Eq + Hash + EncodeLabelSet + fmt::Debug + Send + Sync + 'static> Collector
    for TimerFamily<L>
{
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let mut series = self.series.write();
        let name = self.name;
        let mut histogram =
            encoder.encode_descriptor(name, self.help, None, MetricType::Histogram)?;
        for (labels, timer) in &series.timers {
            timer.encode(histogram.encode_family(labels)?)?;
        }
        let name = format!("{name}_max");
        let help = "The longest of the last minute or two";
        let mut gauge = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
        for (labels, timer) in &series.timers {
            let seconds = timer.max_ns() as f64 / 1e9;
            ConstGauge::new(seconds).encode(gauge.encode_family(labels)?)?;
        }
        if series.minute.elapsed() >= MINUTE {
            series.minute = Instant::now();
            series.timers.values().for_each(Timer::next_minute);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::registry::Registry;

    #[test]
    fn a_timer_is_exposed_as_a_histogram_in_seconds() {
        const BOUNDS: Bounds = &[us(1), ms(1)];
        let timer = Timer::new(BOUNDS);
        for ns in [us(1), us(2), ms(2)] {
            timer.observe(ns);
        }
        let mut registry = Registry::default();
        registry.register("t_seconds", "T", timer.clone());
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "t_seconds_bucket{le=\"0.000001\"} 1",
            "t_seconds_bucket{le=\"0.001\"} 2",
            "t_seconds_bucket{le=\"+Inf\"} 3",
            "t_seconds_count 3",
            "t_seconds_sum 0.002003",
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
        assert_eq!((timer.count(), timer.sum_ns()), (3, 2_003_000));
    }

    #[test]
    fn a_family_tells_the_longest_of_this_minute_and_the_one_before() {
        let family = TimerFamily::new("f_seconds", "F", DEFAULT_BOUNDS);
        let timer = family.get([("l", "x")]);
        timer.observe(ms(3));
        timer.observe(ms(2));
        let told = || {
            let mut registry = Registry::default();
            family.register(&mut registry);
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            text
        };
        assert!(told().contains("f_seconds_count{l=\"x\"} 2"), "{}", told());
        assert!(
            told().contains("f_seconds_max{l=\"x\"} 0.003"),
            "{}",
            told()
        );
        timer.next_minute();
        timer.observe(ms(1));
        assert!(
            told().contains("f_seconds_max{l=\"x\"} 0.003"),
            "{}",
            told()
        );
        timer.next_minute();
        assert!(
            told().contains("f_seconds_max{l=\"x\"} 0.001"),
            "{}",
            told()
        );
    }
}
