//! Metrics of broker, gateways and server: histograms that cost a few nanoseconds to observe, and one way to declare metrics
//! ([`metrics!`], [`labels!`]): a line for each.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod bounds;
mod declare;
mod histogram;
mod label_values;
mod measure;

pub use bounds::{Bounds, DEFAULT_BOUNDS, FINE_BOUNDS};
pub use declare::{Declared, Kind, Metric, label_name};
pub use histogram::Histogram;
pub use label_values::{LabelValues, MAX_LABEL_BYTES, MAX_LABEL_VALUES, OTHER, fits_label};
pub use measure::{
    Computed, Counter, Family, Gauge, Labels, Measure, RealCounter, RealGauge, Series, Unlabelled,
};
pub use prometheus_client::registry::Registry;
