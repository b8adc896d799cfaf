//! Exports committed records from the engine.
//!
//! Each partition can have any number of exporters. None of their work runs on the partition's thread, and no failure here
//! stops the engine. Secondary storage is one of them, in its own crate.
//!
//! - [`Exporter`] takes in records; [`Driver`] is the thread that hands them over, one for each exporter.
//! - [`Status`] shows an exporter to others and carries their wishes to it.
//! - [`CommittedLog`] is the part of the log that exporters read.
//! - [`elastic`] exports records to Elasticsearch and OpenSearch; [`search_client`] speaks HTTP with such servers.
//! - [`TargetError`] sorts failures by who can do something about them.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod commit_times;
mod driver;
mod elastic;
mod exporter;
mod log;
mod metrics;
pub mod search_client;
mod shown;
mod status;
mod target_error;
mod tls;

pub use driver::Driver;
pub use elastic::{BulkSettings, Flavor, IndexSettings, PatternError, Retention, SearchSettings};
pub use exporter::{Beginning, Exporter, ExporterConfig, Known, Make, Position};
pub use log::{CommittedLog, LogError, LogProgress};
pub use metrics::{Bulk, ExportMetrics, ExporterMetrics, OfExporter, Sink, Tally};
pub use shown::without_password;
pub use status::{Fault, Phase, Status};
pub use target_error::TargetError;
pub use tls::{Trust, TrustError, Verify};
