//! From committed records to what can be searched.
//!
//! Each partition has any number of exporters side by side. One of them fills its [`Store`], a SQLite file that is read by
//! queries. Nothing of it runs on the partition's thread, and nothing that happens here stops the engine.
//!
//! - [`Exporter`] is what takes in records, [`Driver`] the thread that hands them over, one for each exporter; [`Status`] is
//!   what others see of it and tell it.
//! - [`project`] turns records into changes of rows, merged over a short window, so that an instance that begins and ends
//!   within it costs one insert per row.
//! - [`settle`] adds what changes take from what is stored; afterwards they are plain rows.
//! - [`sql`] writes the searches, for all databases.
//! - [`target`] is what a database has to do.
//! - [`sqlite`] keeps the rows, and with them, in the same transaction, the entry up to which they go: nothing is there
//!   twice and nothing is missing, whenever the process ends.
//! - [`postgres`] does so in a database that all partitions share.
//! - [`documents`] does so in OpenSearch or Elasticsearch, without transactions.
//! - [`store`] is the thread between the two, and the door for queries.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod audit;
mod bounded;
mod changes;
mod definitions;
mod documents;
mod driver;
mod elastic;
mod exporter;
mod log;
mod metrics;
mod postgres;
mod project;
mod settle;
mod sql;
mod sqlite;
mod status;
mod store;
mod target;
mod tls;

pub use audit::{AuditConfig, AuditedConfig};
pub use documents::{Documents, DocumentsError, DocumentsSettings};
pub use driver::Driver;
pub use elastic::{BulkSettings, Flavor, IndexSettings, Retention, SearchSettings, check_url};
pub use exporter::{Beginning, Exporter, ExporterConfig, Known, Make, Position};
pub use log::{CommittedLog, LogError, LogProgress};
pub use metrics::{Bulk, ExportMetrics, ExporterMetrics, OfExporter, Sink, Tally};
pub use postgres::{Rdbms, RdbmsError, RdbmsSettings};
pub use status::{Fault, Phase, Status};
pub use store::{
    Config, ID as SECONDARY_STORAGE, Partition, Store, StoreLocation, copied_position, put_copy,
    set_aside, stored_position,
};
pub use tls::{Trust, Verify};
