//! Sends the last checkpoint to a replica that lacks entries which the log no longer has.

use crossbeam_channel::{Receiver, TryRecvError};
use skep_replication::{EntryId, Group, SnapshotPoll, SnapshotSource};

use super::checkpointer::Checkpointer;
use super::environment::Environment;
use super::exporters::Exporters;
use crate::partition::checkpoint::CheckpointMeta;
use crate::partition::snapshot_reader::{Chunk, read_ahead};

/// The data that the sender reads.
pub struct SnapshotSender<'a> {
    pub checkpointer: &'a Checkpointer,
    pub exporters: &'a Exporters,
    pub env: &'a Environment,
}

impl SnapshotSender<'_> {
    /// Offers a snapshot to a replica that needs one. If there is none at the moment, the replica asks again.
    pub fn offer(&self, to: u64, group: &mut Group) {
        let partition = self.env.partition();
        // While a checkpoint is being stored, there is none to offer.
        let view = self.checkpointer.view();
        let meta = view.as_ref().map(|view| CheckpointMeta::read(view.meta()));
        let (Some(view), Some(Ok(meta))) = (view, meta) else {
            group.refuse_snapshot(to);
            return;
        };
        let Some(id) = self.log_begin(meta, group) else {
            group.refuse_snapshot(to);
            return;
        };
        match read_ahead(view, self.env.inbox.clone(), &*self.env.background) {
            Ok(chunks) => {
                tracing::info!(
                    partition,
                    to = to.saturating_sub(1),
                    index = meta.index,
                    log_from = id.index + 1,
                    "a snapshot is sent to a replica"
                );
                group.offer_snapshot(to, id, Box::new(Chunks(chunks)));
            }
            Err(error) => {
                tracing::error!(code = "CHECKPOINT_FAILED", partition, %error, "a snapshot cannot be sent");
                group.refuse_snapshot(to);
            }
        }
    }

    /// The entry after which the log begins for a replica that gets the checkpoint. An exporter may be further behind: the next leader
    /// continues from its position, and must have the entries.
    fn log_begin(&self, meta: CheckpointMeta, group: &Group) -> Option<EntryId> {
        let base = group.base().index;
        // The contents of a checkpoint that is not stored yet may never be stored.
        if meta.index == 0 || meta.index < base || !self.checkpointer.is_idle() {
            return None;
        }
        let index = self.exporters.needed_elsewhere(meta.index).max(base);
        let term = group.term_at(index)?;
        Some(EntryId { index, term })
    }
}

struct Chunks(Receiver<Chunk>);

impl SnapshotSource for Chunks {
    fn poll_chunk(&mut self) -> SnapshotPoll {
        match self.0.try_recv() {
            Ok(Ok(part)) => SnapshotPoll::Chunk(part),
            Ok(Err(())) => SnapshotPoll::Failed,
            Err(TryRecvError::Empty) => SnapshotPoll::Pending,
            Err(TryRecvError::Disconnected) => SnapshotPoll::End,
        }
    }
}
