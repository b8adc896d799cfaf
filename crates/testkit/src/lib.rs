//! Shared by the tests of several crates. Only tests depend on it.
//!
//! - [`rig`] runs engines of one or several partitions in one process, with a network and a clock controlled by the test.
//! - [`stores`] contain the output of a rig's engines, one for each back end of secondary storage.
//! - [`story`] runs a random process, and [`one_task`] a simple one.
//! - [`committed_log`] is an in-memory log for exporters to read.
//! - [`sandbox`] gives a test its own file systems, which fill up, fail and lose power.
//! - [`certificates`] creates files for servers and clients with TLS.
//! - [`scenario`] reads the recorded scenarios of the reference engine.
//! - [`golden_file`] reads and writes expected bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(clippy::disallowed_methods)] // Tests read and write files of their own.

pub mod certificates;
pub mod committed_log;
pub mod golden_file;
pub mod one_task;
pub mod rig;
pub mod sandbox;
pub mod scenario;
pub mod stores;
pub mod story;
