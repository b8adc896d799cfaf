//! Kinds of metrics, and families of them by labels.

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, LabelSetEncoder,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family as PlainFamily;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::declare::{Declared, Kind, Metric};
use crate::histogram::{Histogram, HistogramFamily};

pub type Counter = prometheus_client::metrics::counter::Counter<u64, AtomicU64>;
pub type RealCounter = prometheus_client::metrics::counter::Counter<f64, AtomicU64>;
pub type Gauge = prometheus_client::metrics::gauge::Gauge;
pub type RealGauge = prometheus_client::metrics::gauge::Gauge<f64, AtomicU64>;

/// Requirements on a label set; [`labels!`](crate::labels) declares them.
pub trait Labels: Clone + Debug + Hash + Eq + EncodeLabelSet + Send + Sync + 'static {
    /// The names of the labels, in their order.
    const NAMES: &'static [&'static str];
}

/// No labels: for a [`Computed`] gauge of one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unlabelled;

impl EncodeLabelSet for Unlabelled {
    fn encode(&self, _: &mut LabelSetEncoder<'_>) -> Result<(), fmt::Error> {
        Ok(())
    }
}

impl Labels for Unlabelled {
    const NAMES: &'static [&'static str] = &[];
}

/// A kind of metric whose series differ by labels.
pub trait Measure: Clone + Sized {
    const KIND: Kind;
    type Family<L: Labels>: Clone + Debug;

    fn family<L: Labels>(declared: &Declared) -> Self::Family<L>;
    fn one<L: Labels>(family: &Self::Family<L>, labels: L) -> Self;
    fn register<L: Labels>(family: &Self::Family<L>, declared: &Declared, registry: &mut Registry);
}

/// Metrics of one name by their labels.
pub struct Family<L: Labels, M: Measure>(M::Family<L>);

impl<L: Labels, M: Measure> Family<L, M> {
    /// The series with these labels; keep it for frequent use.
    pub fn of(&self, labels: L) -> M {
        M::one(&self.0, labels)
    }
}

impl<L: Labels, M: Measure> Clone for Family<L, M> {
    fn clone(&self) -> Self {
        Family(self.0.clone())
    }
}

impl<L: Labels, M: Measure> Debug for Family<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<L: Labels, M: Measure> Metric for Family<L, M> {
    const KIND: Kind = M::KIND;
    const LABELS: &'static [&'static str] = L::NAMES;

    fn declared(declared: &Declared) -> Self {
        Family(M::family(declared))
    }

    fn register(&self, declared: &Declared, registry: &mut Registry) {
        M::register(&self.0, declared, registry);
    }
}

/// A metric with a series for each set of labels.
pub trait Series {
    type Labels;
    type One: Clone + Debug;

    fn one(&self, labels: Self::Labels) -> Self::One;
}

impl<L: Labels, M: Measure + Debug> Series for Family<L, M> {
    type Labels = L;
    type One = M;

    fn one(&self, labels: L) -> M {
        self.of(labels)
    }
}

impl Measure for Histogram {
    const KIND: Kind = Kind::Histogram;
    type Family<L: Labels> = HistogramFamily<L>;

    fn family<L: Labels>(declared: &Declared) -> HistogramFamily<L> {
        HistogramFamily::new(declared.name, declared.help, declared.bounds)
    }

    fn one<L: Labels>(family: &HistogramFamily<L>, labels: L) -> Histogram {
        family.get(labels)
    }

    fn register<L: Labels>(family: &HistogramFamily<L>, _: &Declared, registry: &mut Registry) {
        registry.register_collector(Box::new(family.clone()));
    }
}

macro_rules! plain {
    ($($metric:ty => $kind:ident),+) => {$(
        impl Measure for $metric {
            const KIND: Kind = Kind::$kind;
            type Family<L: Labels> = PlainFamily<L, $metric>;

            fn family<L: Labels>(_: &Declared) -> PlainFamily<L, $metric> {
                PlainFamily::default()
            }

            fn one<L: Labels>(family: &PlainFamily<L, $metric>, labels: L) -> $metric {
                family.get_or_create_owned(&labels)
            }

            fn register<L: Labels>(
                family: &PlainFamily<L, $metric>,
                declared: &Declared,
                registry: &mut Registry,
            ) {
                registry.register(declared.name, declared.help, family.clone());
            }
        }

        impl Metric for $metric {
            const KIND: Kind = Kind::$kind;
            const LABELS: &'static [&'static str] = &[];

            fn declared(_: &Declared) -> Self {
                Self::default()
            }

            fn register(&self, declared: &Declared, registry: &mut Registry) {
                registry.register(declared.name, declared.help, self.clone());
            }
        }
    )+};
}

plain!(Counter => Counter, RealCounter => Counter, Gauge => Gauge, RealGauge => Gauge);

type Read<L> = dyn Fn() -> Vec<(L, i64)> + Send + Sync;

/// A gauge whose series are computed when it is scraped; series that no longer exist disappear.
pub struct Computed<L>(Arc<OnceLock<Box<Read<L>>>>);

impl<L> Computed<L> {
    /// Sets the source of the values. Only the first call has an effect; before it there are no series.
    pub fn read_from(&self, read: impl Fn() -> Vec<(L, i64)> + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(read));
    }
}

impl<L> Clone for Computed<L> {
    fn clone(&self) -> Self {
        Computed(self.0.clone())
    }
}

impl<L> Debug for Computed<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computed")
    }
}

impl<L: Labels> Metric for Computed<L> {
    const KIND: Kind = Kind::Gauge;
    const LABELS: &'static [&'static str] = L::NAMES;

    fn declared(_: &Declared) -> Self {
        Computed(Arc::default())
    }

    fn register(&self, declared: &Declared, registry: &mut Registry) {
        registry.register_collector(Box::new(Scraped {
            declared: *declared,
            gauge: self.clone(),
        }));
    }
}

#[derive(Debug)]
struct Scraped<L> {
    declared: Declared,
    gauge: Computed<L>,
}

impl<L: Labels> Collector for Scraped<L> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(read) = self.gauge.0.get() else {
            return Ok(());
        };
        let Declared { name, help, .. } = self.declared;
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in read() {
            // Otherwise an empty pair of brackets would follow the name of a metric without labels.
            if L::NAMES.is_empty() {
                return ConstGauge::new(value).encode(metric);
            }
            ConstGauge::new(value).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
