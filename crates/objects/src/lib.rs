//! Object stores: a bucket of S3 or of a service with its API, a bucket of Google's, a container of Azure's, or a directory.
//!
//! [`s3_builder`] joins the settings of a bucket with those of its environment and with our own HTTP client. [`Objects`] is a store of
//! whole objects below one prefix, for backups and leases.
//!
//! | What | Bound | At the bound |
//! |---|---|---|
//! | a connection | 5 s until it is there | tried again |
//! | an answer | 10 s, and a second more for each 64 KiB of the request | tried again |
//! | an operation with its retries | [`RETRY_FOR`], or the caller's limit | an error |
//! | names in one list | [`MAX_LISTED`] | an error |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod azure;
mod conditions;
mod errors;
mod gcs;
mod http;
mod s3;
mod store;

pub use azure::{Azure, BadConnectionString};
pub use conditions::{Condition, NotWritten};
pub use errors::one_line;
pub use gcs::Gcs;
pub use http::HyperConnector;
pub use s3::{S3, s3_builder};
pub use store::{Listed, Location, MAX_LISTED, ObjectError, Objects};

use std::time::Duration;

/// A request that fails is tried again within this time.
pub const RETRY_FOR: Duration = Duration::from_secs(10);
