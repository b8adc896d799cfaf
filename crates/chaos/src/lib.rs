//! Chaos experiments behind `skep chaos`: a cluster is broken on purpose, and a hypothesis is judged by stated limits.
//!
//! * [`plan`]: the steps and the criteria, as plain data. [`experiments`] contains the built-in ones.
//! * [`mod@run`] carries out a plan, step by step by the clock; [`probes`] sample each second. Their samples form the [`record`].
//! * [`mod@bench`] runs two builds in turn and judges the ratio of their figures.
//! * [`judge`] compares the record with the plan's criteria; [`report`] shows both.
//!
//! It works from outside: it knows client, load and management port, nothing of broker or engine. Everything it starts or breaks is undone
//! by a [`guard`] process, even when the run itself is killed.
//!
//! # Limits
//! One sample per second is kept. Keys are remembered up to [`skep_load::ledger::MAX_OPEN`]; beyond that the ledger is void, and everything
//! that depends on it is NOT RUN.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod bench;
pub mod drivers;
pub mod experiments;
pub mod guard;
mod http;
pub mod judge;
pub mod plan;
pub mod probes;
mod program;
pub mod record;
pub mod report;
pub mod run;

pub use guard::Guard;
pub use plan::Plan;
pub use report::Report;
pub use run::{Options, run};
