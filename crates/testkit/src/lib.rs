//! Shared by the tests of several crates. Only tests depend on it.
//!
//! - [`rig`] runs engines of one or several partitions in one process, with a network and a clock that the test moves.
//! - [`stores`] are filled with what a rig's engines wrote, one for each back end of secondary storage.
//! - [`story`] is what happens to a random process, and [`one_task`] what happens to a plain one.
//! - [`committed_log`] is a log in memory that exporters read.
//! - [`sandbox`] gives a test file systems of its own, which fill up, fail and lose power.
//! - [`certificates`] are what servers and clients of TLS need.
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
