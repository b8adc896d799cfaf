//! A histogram that costs a few nanoseconds to observe: no lock, two atomic additions.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};

use crate::bounds::Bounds;
use crate::measure::Labels;

/// Counts observations by size. Clones share their counts.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    bounds: Bounds,
    /// One per bound and one for values above the last.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    /// The longest observation of this minute and of the one before.
    max: [AtomicU64; 2],
}

impl Histogram {
    pub fn new(bounds: Bounds) -> Histogram {
        Histogram(Arc::new(Counts {
            bounds,
            buckets: (0..=bounds.limits.len())
                .map(|_| AtomicU64::new(0))
                .collect(),
            sum: AtomicU64::new(0),
            max: [AtomicU64::new(0), AtomicU64::new(0)],
        }))
    }

    /// Observes a time span, in the unit of the bounds.
    pub fn observe_time(&self, time: Duration) {
        let units = time.as_nanos() / self.0.bounds.nanos();
        self.observe(u64::try_from(units).unwrap_or(u64::MAX));
    }

    /// In the unit of the bounds: nanoseconds, unless they say another one.
    pub fn observe(&self, value: u64) {
        self.observe_many(value, 1);
    }

    /// Observes this many values of the same size.
    pub fn observe_many(&self, value: u64, times: u64) {
        let counts = &*self.0;
        let bucket = counts.bounds.limits.partition_point(|bound| *bound < value);
        if let Some(bucket) = counts.buckets.get(bucket) {
            bucket.fetch_add(times, Ordering::Relaxed);
            let sum = value.wrapping_mul(times);
            counts.sum.fetch_add(sum, Ordering::Relaxed);
            let [max, _] = &counts.max;
            if value > max.load(Ordering::Relaxed) {
                max.fetch_max(value, Ordering::Relaxed);
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

    /// Sum of the observations.
    pub fn sum(&self) -> u64 {
        self.0.sum.load(Ordering::Relaxed)
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder) -> Result<(), fmt::Error> {
        let counts = &*self.0;
        let Bounds { limits, one, .. } = counts.bounds;
        let bounds = limits.iter().map(|limit| *limit as f64 / one);
        let buckets: Vec<(f64, u64)> = bounds
            .chain([f64::INFINITY])
            .zip(counts.buckets.iter().map(|b| b.load(Ordering::Relaxed)))
            .collect();
        let count = buckets.iter().map(|(_, n)| n).sum();
        let sum = self.sum() as f64 / one;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl Histogram {
    fn max(&self) -> u64 {
        let [now, before] = &self.0.max;
        now.load(Ordering::Relaxed)
            .max(before.load(Ordering::Relaxed))
    }

    fn next_minute(&self) {
        let [now, before] = &self.0.max;
        before.store(now.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Histograms of one name by their labels. Those of time spans have the gauge `NAME_max` beside them: the longest observation
/// of the last minute or two (a minute ends when the gauge is read).
#[derive(Clone, Debug)]
pub struct HistogramFamily<L> {
    name: &'static str,
    help: &'static str,
    bounds: Bounds,
    series: Arc<RwLock<Series<L>>>,
}

#[derive(Debug)]
struct Series<L> {
    histograms: HashMap<L, Histogram>,
    minute: Instant,
}

const MINUTE: Duration = Duration::from_secs(60);

impl<L: Labels> HistogramFamily<L> {
    pub fn new(name: &'static str, help: &'static str, bounds: Bounds) -> HistogramFamily<L> {
        let series = Series {
            histograms: HashMap::new(),
            minute: Instant::now(),
        };
        HistogramFamily {
            name,
            help,
            bounds,
            series: Arc::new(RwLock::new(series)),
        }
    }

    /// The histogram of these labels; keep it for frequent use.
    pub fn get(&self, labels: L) -> Histogram {
        if let Some(histogram) = self.series.read().histograms.get(&labels) {
            return histogram.clone();
        }
        let mut series = self.series.write();
        let histogram = series.histograms.entry(labels);
        histogram
            .or_insert_with(|| Histogram::new(self.bounds))
            .clone()
    }
}

impl<L: Labels> Collector for HistogramFamily<L> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let mut series = self.series.write();
        let name = self.name;
        let mut exposed =
            encoder.encode_descriptor(name, self.help, None, MetricType::Histogram)?;
        for (labels, histogram) in &series.histograms {
            histogram.encode(exposed.encode_family(labels)?)?;
        }
        if !self.bounds.with_max {
            return Ok(());
        }
        let name = format!("{name}_max");
        let help = "The longest of the last minute or two";
        let mut gauge = encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
        for (labels, histogram) in &series.histograms {
            let seconds = histogram.max() as f64 / self.bounds.one;
            ConstGauge::new(seconds).encode(gauge.encode_family(labels)?)?;
        }
        if series.minute.elapsed() >= MINUTE {
            series.minute = Instant::now();
            series.histograms.values().for_each(Histogram::next_minute);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::bounds::DEFAULT_BOUNDS;

    const MS: u64 = 1_000_000;

    crate::labels! {
        struct OfL { l: &'static str }
    }

    fn exposed(register: impl Fn(&mut Registry)) -> String {
        let mut registry = Registry::default();
        register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    fn has(text: &str, lines: &[&str]) {
        for line in lines {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
    }

    #[test]
    fn time_spans_are_exposed_in_seconds() {
        let histogram = Histogram::new(Bounds::nanoseconds(&[1000, MS]));
        for ns in [1000, 2000, 2 * MS] {
            histogram.observe(ns);
        }
        let text = exposed(|registry| registry.register("t_seconds", "T", histogram.clone()));
        has(
            &text,
            &[
                "t_seconds_bucket{le=\"0.000001\"} 1",
                "t_seconds_bucket{le=\"0.001\"} 2",
                "t_seconds_bucket{le=\"+Inf\"} 3",
                "t_seconds_count 3",
                "t_seconds_sum 0.002003",
            ],
        );
        assert_eq!((histogram.count(), histogram.sum()), (3, 2_003_000));
    }

    #[test]
    fn a_time_span_is_observed_in_the_unit_of_the_bounds() {
        for bounds in [
            Bounds::nanoseconds(&[1000, 3000 * MS]),
            Bounds::milliseconds(&[1, 3000]),
        ] {
            let histogram = Histogram::new(bounds);
            histogram.observe_time(Duration::from_millis(2500));
            let text = exposed(|registry| registry.register("t_seconds", "T", histogram.clone()));
            has(
                &text,
                &["t_seconds_bucket{le=\"3.0\"} 1", "t_seconds_sum 2.5"],
            );
        }
    }

    #[test]
    fn amounts_are_exposed_as_they_are_and_have_no_maximum() {
        let family = HistogramFamily::new("b", "B", Bounds::amounts(&[1, 10]));
        family.get(OfL { l: "x" }).observe(7);
        let text = exposed(|registry| registry.register_collector(Box::new(family.clone())));
        has(
            &text,
            &["b_bucket{le=\"10.0\",l=\"x\"} 1", "b_sum{l=\"x\"} 7.0"],
        );
        assert!(!text.contains("b_max"), "{text}");
    }

    #[test]
    fn a_family_exposes_the_maximum_of_the_last_two_minutes() {
        let family = HistogramFamily::new("f_seconds", "F", DEFAULT_BOUNDS);
        let histogram = family.get(OfL { l: "x" });
        histogram.observe(3 * MS);
        histogram.observe(2 * MS);
        let shown = || exposed(|registry| registry.register_collector(Box::new(family.clone())));
        has(
            &shown(),
            &["f_seconds_count{l=\"x\"} 2", "f_seconds_max{l=\"x\"} 0.003"],
        );
        histogram.next_minute();
        histogram.observe(MS);
        has(&shown(), &["f_seconds_max{l=\"x\"} 0.003"]);
        histogram.next_minute();
        has(&shown(), &["f_seconds_max{l=\"x\"} 0.001"]);
    }
}
