//! Real servers, proxies and ports for tests and `skep chaos`.
//!
//! If a server cannot be started, the test reports `NOT RUN` with the reason; with `CI=true` that is a failure (`.ci/test`).

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod azurite;
mod guarded;
pub mod issuer;
mod ports;
mod postgres;
mod proxy;
mod s3;
mod search_server;

use std::io::Write;

pub use azurite::Azurite;
pub use ports::{free_port, free_ports};
pub use postgres::{Postgres, shared_postgres};
pub use proxy::{Direction, Link, Proxy, Slowness};
pub use s3::S3Server;
pub use search_server::{Product, SearchServer, shared_search_server};

/// Reports that a test does not run here. Bypasses the capture of the test harness, so that the summary finds it.
fn not_run(kind: &str, why: &str) {
    let line = format!("NOT RUN ({kind}): {why}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
