//! What both the broker and the gateways measure with: histograms that cost a few nanoseconds to observe, and families of
//! metrics that are declared with one line each.

mod bounds;
mod histogram;
mod measure;

pub use bounds::{Bounds, DEFAULT_BOUNDS, FINE_BOUNDS};
pub use histogram::{Histogram, HistogramFamily};
pub use measure::{Counter, Gauge, Measure, Named, RealGauge};
