//! Storage of one partition: an append-only log, a key-value store for checkpoints, and a watch on disk space.
//!
//! This crate moves bytes and does not know what they mean. Four modules:
//!
//! - [`log`]: a segmented, checksummed log of frames with a writer thread (group commit) and readers for other threads.
//! - [`kv`]: a small key-value interface with one implementation on disk (fjall) and one in memory.
//! - [`disk`]: the narrow view of a file system through which the log writes, so that tests can break it.
//! - [`space`]: free disk space and the two watermarks below which work is refused.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod disk;
mod error;
pub mod kv;
pub mod log;
pub mod space;

pub use error::StorageError;
