//! The handle to a partition for the rest of its node: its inbox, its published status, and whether it has stopped.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

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
use crate::ending::{LIMIT, Running, Wait};
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
    pub(super) thread: Running,
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
        let handle = PartitionHandle::of(config, partition, member, metrics);
        handle.status.fail(reason);
        Arc::new(handle)
    }

    /// A partition that nothing drives.
    fn of(
        config: &BrokerConfig,
        partition: u32,
        member: u64,
        metrics: Arc<PartitionMetrics>,
    ) -> PartitionHandle {
        let limit = RequestLimit::new(&config.flow_control);
        let writes = WriteLimit::new(&config.write_limit);
        let status = Arc::new(PartitionStatus::new(partition, limit, writes));
        status.is_member(member, &Members::default());
        PartitionHandle {
            inbox: Inbox::closed(),
            status,
            metrics,
            secondary: Arc::new(SecondaryCell::new(Secondary::Broken(
                "the partition cannot start".to_string(),
            ))),
            exporters: Arc::default(),
            progress: Arc::default(),
            thread: Running::new(None),
            attention: Attention::default(),
        }
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

    /// Ends the thread after a last checkpoint, and then the store that is filled from its log. Waits for at most [`LIMIT`], see
    /// [`PartitionHandle::stop_until`].
    pub fn stop(&self) -> bool {
        self.stop_until(Instant::now() + LIMIT)
    }

    /// Ends the thread after a last checkpoint. False: a thread still runs at the deadline, and may still write into the partition's
    /// directory, which must stay where it is and must not be opened until a later call returns true.
    pub fn stop_until(&self, deadline: Instant) -> bool {
        self.inbox.send(Report::Stop);
        self.has_ended_at(deadline)
    }

    /// Ends the thread and the store without a checkpoint: the local data is no longer needed. False as for
    /// [`PartitionHandle::stop_until`].
    pub fn abandon(&self) -> bool {
        self.status.abandoned.store(true, Ordering::Release);
        self.inbox.send(Report::Wake);
        self.has_ended_at(Instant::now() + LIMIT)
    }

    /// Whether the thread was told to end.
    pub fn is_ending(&self) -> bool {
        self.thread.is_ending()
    }

    /// Waits for the threads, which were told to end.
    fn has_ended_at(&self, deadline: Instant) -> bool {
        let partition = self.status.partition;
        let name = format!("ends-{partition}");
        let ended = (self.thread).wait_until(deadline, &name, |thread| self.all_threads(thread));
        let Err(overdue) = ended else {
            return true;
        };
        if overdue.is_first {
            tracing::error!(
                code = "PARTITION_HANGS",
                partition,
                thread = overdue.thread,
                "a thread of the partition does not end: its disk may not answer. Its directory is neither moved nor opened until the thread \
                 has ended, and the data directory stays locked until this process has"
            );
        }
        self.status.fail(format!(
            "{} does not end: its disk may not answer",
            overdue.thread
        ));
        false
    }

    /// The partition's thread, and then those of its exporters and of its store.
    fn all_threads(&self, thread: Option<std::thread::JoinHandle<()>>) -> Vec<Wait> {
        let (status, secondary) = (self.status.clone(), self.secondary.clone());
        let exporters = self.exporters.clone();
        let thread_ends = move || {
            if let Some(thread) = thread {
                let _ = thread.join();
            }
        };
        let store_ends = move || {
            if let Secondary::Open(store) = secondary.get() {
                if status.abandoned.load(Ordering::Acquire) {
                    store.abandon();
                }
                store.stop();
            }
        };
        vec![
            ("the partition's thread", Box::new(thread_ends)),
            ("an exporter", Box::new(move || exporters.stop())),
            ("the search store", Box::new(store_ends)),
        ]
    }

    /// A partition with this thread, which heeds no messages.
    #[cfg(test)]
    pub(crate) fn with_thread(
        config: &BrokerConfig,
        partition: u32,
        member: u64,
        thread: std::thread::JoinHandle<()>,
    ) -> Arc<PartitionHandle> {
        let metrics = crate::metrics::BrokerMetrics::default().partition(partition);
        Arc::new(PartitionHandle {
            thread: Running::new(Some(thread)),
            ..PartitionHandle::of(config, partition, member, Arc::new(metrics))
        })
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
