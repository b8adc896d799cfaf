//! What both the broker and the gateways measure with: histograms that cost a few nanoseconds to observe, and families of
//! metrics that are declared with one line each.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod bounds;
mod histogram;
mod label_values;
mod measure;

pub use bounds::{Bounds, DEFAULT_BOUNDS, FINE_BOUNDS};
pub use histogram::{Histogram, HistogramFamily};
pub use label_values::{LabelValues, MAX_LABEL_BYTES, MAX_LABEL_VALUES, OTHER, fits_label};
pub use measure::{Counter, Gauge, Measure, Named, RealGauge};
