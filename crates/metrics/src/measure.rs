//! Kinds of metrics with one way to make, label and register them.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::bounds::Bounds;
use crate::histogram::{Histogram, HistogramFamily};

pub type Counter = prometheus_client::metrics::counter::Counter<u64, AtomicU64>;
pub type Gauge = prometheus_client::metrics::gauge::Gauge;
pub type RealGauge = prometheus_client::metrics::gauge::Gauge<f64, AtomicU64>;

/// Name and help text of a metric. A counter's `_total` is added by the text format.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub name: &'static str,
    pub help: &'static str,
    /// Only histograms have them.
    pub bounds: Bounds,
}

/// A kind of metric whose series differ by labels `L`.
pub trait Measure<L>: Clone + Sized {
    type Family: Clone + Debug;

    fn family(named: Named) -> Self::Family;
    /// The series with these labels; keep it where it is used often.
    fn of(family: &Self::Family, labels: L) -> Self;
    fn register(family: &Self::Family, named: Named, registry: &mut Registry);
}

/// What every label set must be.
pub trait Labels: Clone + Debug + Hash + Eq + EncodeLabelSet + Send + Sync + 'static {}

impl<L: Clone + Debug + Hash + Eq + EncodeLabelSet + Send + Sync + 'static> Labels for L {}

impl<L: Labels> Measure<L> for Histogram {
    type Family = HistogramFamily<L>;

    fn family(named: Named) -> HistogramFamily<L> {
        HistogramFamily::new(named.name, named.help, named.bounds)
    }

    fn of(family: &HistogramFamily<L>, labels: L) -> Histogram {
        family.get(labels)
    }

    fn register(family: &HistogramFamily<L>, _: Named, registry: &mut Registry) {
        family.register(registry);
    }
}

macro_rules! plain {
    ($($metric:ty),+) => {$(
        impl<L: Labels> Measure<L> for $metric {
            type Family = Family<L, $metric>;

            fn family(_: Named) -> Family<L, $metric> {
                Family::default()
            }

            fn of(family: &Family<L, $metric>, labels: L) -> $metric {
                family.get_or_create_owned(&labels)
            }

            fn register(family: &Family<L, $metric>, named: Named, registry: &mut Registry) {
                registry.register(named.name, named.help, family.clone());
            }
        }
    )+};
}

plain!(Counter, Gauge, RealGauge);
