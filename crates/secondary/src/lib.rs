//! Secondary storage: committed records become rows that can be searched.
//!
//! Each partition fills its [`Store`] with an exporter of its own; without other settings that is a SQLite file, which queries
//! read.
//!
//! - [`project`] turns records into changes of rows, merged over a short window, so that an instance that begins and ends
//!   within it costs one insert per row.
//! - [`settle`] adds the values that depend on stored rows; afterwards changes are plain rows.
//! - [`target`] is the interface of a database.
//! - [`sqlite`] keeps the rows, and with them, in the same transaction, the entry up to which they go: no row is there twice and
//!   none is missing, whenever the process ends.
//! - [`postgres`] does so in a database that all partitions share.
//! - [`documents`] does so in OpenSearch or Elasticsearch, without transactions.
//! - [`sql`] writes the searches, for both SQL databases.
//! - [`store`] joins the exporter that writes and the threads that answer queries.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod audit;
mod bounded;
mod changes;
mod definitions;
mod documents;
mod postgres;
mod project;
mod settle;
mod sql;
mod sqlite;
mod store;
mod stored_rows;
mod target;

pub use audit::{AuditConfig, AuditedConfig};
pub use documents::{Documents, DocumentsError, DocumentsSettings, Snapshot};
pub use postgres::{Rdbms, RdbmsError, RdbmsSettings};
pub use store::{
    Config, ID as SECONDARY_STORAGE, Partition, Store, StoreLocation, copied_position, put_copy,
    set_aside, stored_position,
};
pub use stored_rows::StoredRows;
