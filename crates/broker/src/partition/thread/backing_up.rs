//! A partition's contribution to a backup: its base, and the cut at which it pauses.

use std::time::Instant;

use skep_backup::Cut;
use skep_storage::kv::KvView;
use skep_storage::log::{EntryId, LogReader};

use super::Partition;
use crate::partition::checkpoint::CheckpointMeta;
use crate::partition::core::CoreError;
use crate::partition::parts::log_pins::LogPin;

/// The base of a backup: a checkpoint, and the entries after it, which stay in the log meanwhile.
pub struct Base {
    pub checkpoint: Box<dyn KvView>,
    pub checkpoint_index: u64,
    /// The entry before the first one that the backup needs.
    pub log_from: EntryId,
    pub log: LogReader,
    pub pin: LogPin,
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base")
            .field("checkpoint_index", &self.checkpoint_index)
            .field("log_from", &self.log_from)
            .finish_non_exhaustive()
    }
}

impl Partition {
    /// The base of a backup. `Err`: there is none at the moment, for this reason.
    pub(super) fn base(&mut self) -> Result<Base, String> {
        // The contents of a checkpoint that is not stored yet may never be stored.
        let view = if self.checkpointer.is_idle() {
            self.checkpointer.view()
        } else {
            None
        };
        let view = view.ok_or("a checkpoint is being stored")?;
        let meta = CheckpointMeta::read(view.meta()).map_err(|error| error.to_string())?;
        let group = self.core.group();
        let needed = self.exporters.compactable(meta.index, false);
        let index = needed.max(group.base().index);
        let term = group.term_at(index);
        let term = term.ok_or_else(|| format!("the log has no entry {index}"))?;
        debug_assert!(index <= meta.index, "the log has what the checkpoint lacks");
        let pin = self.checkpointer.pins().pin(index, Instant::now());
        Ok(Base {
            checkpoint: view,
            checkpoint_index: meta.index,
            log_from: EntryId { index, term },
            log: self.log.reader().clone(),
            pin,
        })
    }

    /// Keeps the entries after this one until the pin is dropped or, unless `required`, the disk is nearly full.
    pub(super) fn keep_log(&mut self, behind: u64, required: bool) -> (LogReader, LogPin) {
        let pins = self.checkpointer.pins();
        let pin = pins.hold(behind, required, Instant::now());
        (self.log.reader().clone(), pin)
    }

    /// Pauses evaluation. Returns where the log is cut. `Err`: it cannot be cut here, or not now.
    pub(super) fn stand_still(&mut self) -> Result<Result<Cut, String>, CoreError> {
        if !self.can_evaluate() || self.replica.hand_over.is_under_way() {
            return Ok(Err("this node does not lead it".to_string()));
        }
        self.propose()?;
        if self.core.is_stale() || self.core.engine().batch_len() > 0 {
            return Ok(Err("its log accepts no entries at the moment".to_string()));
        }
        let group = self.core.group();
        let index = group.last_index();
        let Some(term) = group.term_at(index) else {
            return Ok(Err(format!("its log has no entry {index}")));
        };
        debug_assert!(
            index >= self.core.applied(),
            "nothing is applied behind the log"
        );
        let engine = self.core.engine();
        let cut = Cut {
            index,
            term,
            position: engine.next_position().saturating_sub(1),
            last_key: engine.state.next_key().counter().saturating_sub(1),
        };
        self.standstill
            .begin(self.core.group().term(), Instant::now());
        Ok(Ok(cut))
    }

    /// Whether evaluation is paused. Reads the clock only if a pause has begun, as this is called for each command.
    pub(super) fn stands_still(&self) -> bool {
        self.standstill.has_begun() && self.standstill.left(Instant::now()).is_some()
    }

    /// Resumes work. True if nothing was evaluated during the pause.
    pub(super) fn goes_on(&mut self) -> bool {
        let term = self.core.group().term();
        let stood = self.standstill.end(term, Instant::now());
        stood && self.can_evaluate()
    }
}
