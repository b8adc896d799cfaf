//! Documents: files that processes refer to and do not carry. A variable has the reference; the content lies in a store.
//!
//! [`Stores`] are the stores of one server. A store keeps each document with its [`Metadata`] under an id, which stays taken until
//! the document is deleted or expires. Content is hashed when it arrives, and a reader names the hash that it expects.
//!
//! | What | Bound | At the bound |
//! |---|---|---|
//! | operations on stores at a time | [`Config::at_a_time`] | the next waits at most [`OPERATION_LIMIT`], then is refused |
//! | one operation of a store | [`OPERATION_LIMIT`] | it is given up |
//! | downloads under way | [`MAX_DOWNLOADS`] | the next is refused |
//! | a piece of a download in memory | [`PIECE`] | the next is read when this one was sent |
//! | bytes of the store in memory | [`Memory::max_bytes`](config::Memory) | refused |
//! | what is known of a document | [`metadata::MAX_METADATA`] | refused |

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod config;
mod content;
mod error;
mod local;
mod memory;
pub mod metadata;
#[cfg(feature = "s3")]
mod s3;
mod store;
mod stores;

pub use config::{Config, StoreConfig};
pub use content::Content;
pub use error::DocumentError;
pub use memory::MemoryStore;
pub use metadata::{Given, Metadata, attachment};
pub use store::{Document, Link, Store, StoredDocument};
pub use stores::{Clock, Created, Stores};

use std::time::Duration;

pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Time limit of one operation of a store, sending the content to the client aside.
pub const OPERATION_LIMIT: Duration = Duration::from_secs(30);
/// Maximum number of concurrent downloads; each has a file or a connection open.
pub const MAX_DOWNLOADS: usize = 1024;
/// Bytes of a download held in memory at a time.
pub const PIECE: usize = 64 << 10;
