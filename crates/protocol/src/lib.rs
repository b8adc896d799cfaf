//! The data that crates exchange: records (the log), commands and answers (the edge), keys and encodings.
//!
//! - [`record`], [`value`], [`intent`]: the events, rejections and command headers that make up the log, with their on-disk
//!   encoding (version byte per value type; golden files in the tests).
//! - [`Routing`]: which partition has a key.
//! - [`command`], [`response`], [`failure`]: one client request on its way in and its answer on the way out. They live in
//!   memory only.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod batch;
pub mod command;
pub mod continuation;
pub mod document;
pub mod element_type;
mod encoder;
pub mod failure;
pub mod fields;
pub mod findings;
pub mod header_view;
pub mod intent;
pub mod json;
pub mod key;
pub mod names;
pub mod origin;
pub mod permission;
pub mod record;
pub mod response;
mod routing;
pub mod tags;
pub mod tenant;
pub mod user_task;
pub mod value;
mod varint;

pub use command::Command;
pub use document::Document;
pub use failure::{Failure, Rejection, RejectionType};
pub use intent::ValueType;
pub use key::Key;
pub use response::{ActivatedJob, Response};
pub use routing::{Routing, shard_of};
pub use tenant::{DEFAULT_TENANT, TenantFilter, TenantId, Tenants, UNKNOWN_TENANT};
