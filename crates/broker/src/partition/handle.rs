//! The handle to a partition for the rest of its node: its inbox, its published status, and whether it has stopped.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_exporting::LogProgress;
use skep_replication::Members;
use skep_service::PartitionRole;
use skep_storage::StorageError;

use super::attention::Attention;
use super::exporter_board::ExporterBoard;
use super::inbox::Inbox;
use super::message::Report;
use super::secondary::{Secondary, SecondaryCell};
use crate::config::BrokerConfig;
use crate::flow_control::{RequestLimit, WriteLimit};
use crate::metrics::PartitionMetrics;
use crate::partition::core::CoreError;
use crate::partition::status::PartitionStatus;
use crate::started::NotStarted;

#[derive(Debug)]
pub struct PartitionHandle {
    pub inbox: Inbox,
    pub status: Arc<PartitionStatus>,
    pub metrics: Arc<PartitionMetrics>,
    /// Where the partition's history can be searched.
    pub secondary: Arc<SecondaryCell>,
    /// The exporters of its records.
    pub exporters: Arc<ExporterBoard>,
    /// The commit index of the log, as far as it is known here.
    pub progress: Arc<LogProgress>,
    pub(super) thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    pub(super) attention: Attention,
}

impl PartitionHandle {
    /// A partition that could not start: it accepts nothing and says why.
    pub fn failed(
        config: &BrokerConfig,
        (partition, member): (u32, u64),
        metrics: Arc<PartitionMetrics>,
        reason: String,
    ) -> Arc<PartitionHandle> {
        let limit = RequestLimit::new(&config.flow_control);
        let writes = WriteLimit::new(&config.write_limit);
        let status = Arc::new(PartitionStatus::new(partition, limit, writes));
        status.is_member(member, &Members::default());
        status.fail(reason);
        Arc::new(PartitionHandle {
            inbox: Inbox::closed(),
            status,
            metrics,
            secondary: Arc::new(SecondaryCell::new(Secondary::Broken(
                "the partition cannot start".to_string(),
            ))),
            exporters: Arc::default(),
            progress: Arc::default(),
            thread: Mutex::new(None),
            attention: Attention::default(),
        })
    }

    /// Whether commands for the partition are accepted here.
    pub fn leads(&self) -> bool {
        self.status.role() == PartitionRole::Leader
    }

    /// Notes whether the thread hangs although the replica leads: it has not looked into its inbox for this long. Returns whether that was
    /// different before. To be called regularly.
    pub fn observe(&self, patience: Duration) -> bool {
        let neglected = self.attention.observe(self.inbox.looks(), Instant::now());
        let hangs = neglected >= patience
            && self.status.has_begun_to_lead()
            && self.status.failure().is_none();
        self.status.leadership.set_hangs(hangs)
    }

    /// Bytes of the embedded store, including its write-ahead file; `None`: there is no store.
    pub fn stored_bytes(&self) -> Option<u64> {
        let store = self.secondary.get().opened()?;
        store.room().map(|(file, log)| file + log)
    }

    /// Ends the thread after a last checkpoint, and then the store that is filled from its log.
    pub fn stop(&self) {
        self.inbox.send(Report::Stop);
        self.wait_for_threads();
        if let Secondary::Open(store) = self.secondary.get() {
            store.stop();
        }
    }

    /// Ends the thread and the store without a checkpoint: the local data is no longer needed.
    pub fn abandon(&self) {
        self.status.abandoned.store(true, Ordering::Release);
        self.inbox.send(Report::Wake);
        self.wait_for_threads();
        if let Secondary::Open(store) = self.secondary.get() {
            store.abandon();
            store.stop();
        }
    }

    /// Waits for the partition's thread, which was told to end, and those of its exporters.
    fn wait_for_threads(&self) {
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
        self.exporters.stop();
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("partition {partition} cannot start: {source}")]
    Storage {
        partition: u32,
        source: StorageError,
    },
    #[error("partition {partition} cannot start: {source}")]
    Core { partition: u32, source: CoreError },
    #[error("partition {partition} cannot start: {source}")]
    Replica { partition: u32, source: NotStarted },
    #[error("partition {partition} cannot start: {source}")]
    Io {
        partition: u32,
        source: std::io::Error,
    },
}
