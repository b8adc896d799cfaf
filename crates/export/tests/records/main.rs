//! What an engine writes is what the store finds.

#[path = "../../../engine/tests/support/mod.rs"]
mod support;

mod audit_log;
mod entities;
mod fuzz;
mod history;
mod job_statistics;
mod property;
mod store;
mod usage;
