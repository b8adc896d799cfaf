//! From committed records to what can be searched.
//!
//! Each partition has a [`Store`]: a SQLite file of its own, filled by a thread of its own from the committed log, and read by
//! others. Nothing of it runs on the partition's thread, and nothing that happens here stops the engine.
//!
//! - [`project`] turns records into changes of rows, merged over a short window, so that an instance that begins and ends
//!   within it costs one insert per row.
//! - [`settle`] adds what changes take from what is stored; afterwards they are plain rows.
//! - [`sql`] writes the searches, for all databases.
//! - [`sqlite`] keeps the rows, and with them, in the same transaction, the entry up to which they go: nothing is there
//!   twice and nothing is missing, whenever the process ends.
//! - [`store`] is the thread between the two, and the door for queries.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod changes;
mod definitions;
mod log;
mod project;
mod settle;
mod sql;
mod sqlite;
mod store;

pub use log::{CommittedLog, LogError, LogProgress};
pub use store::{Config, Status, Store};
