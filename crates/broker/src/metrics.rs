//! Metrics of partitions, under the names of the reference (docs/metrics.md has them all).

pub mod backups;
mod batch_operations;
pub mod changes;
mod distributions;
mod families;
pub mod nodes;
mod refresh;
mod starts;
mod tally;
mod totals;
mod work;

pub use families::{BrokerMetrics, PartitionMetrics};
pub use totals::Totals;
pub use work::{Context, WorkCounter};

use std::time::Duration;

use skep_service::Timings;
use skep_storage::log::AppendTimes;

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl PartitionMetrics {
    /// A batch was committed.
    pub fn released(&self, timings: &Timings, commands: usize) {
        self.append.observe(timings.append);
        self.commit
            .observe(timings.append + timings.fsync + timings.commit);
        self.batch_commands.observe(commands as u64);
        self.committed_entries.inc();
    }

    /// The log writer has written and flushed.
    pub fn appended(&self, times: &AppendTimes) {
        self.journal_append.observe(nanos(times.write));
        self.flush.observe(nanos(times.sync));
        self.appended_bytes.inc_by(times.bytes as u64);
    }
}
