//! Probes that sample each second: the clients' own ledger, the nodes' metrics, `/proc`.

mod availability;
mod causes;
mod clients;
mod commits;
mod exports;
mod leases;
mod machine;
mod metric;
mod nodes;
mod searches;
mod shares;
mod sizes;

pub use causes::Causes;
pub use clients::Clients;
pub use machine::{Calibration, Machine, calibrate, own_memory};
pub use nodes::{Nodes, Seen};
pub use searches::{Reader, Searches};
pub use shares::SHARES_OVER_S;

/// Counts are far below 2^53.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
