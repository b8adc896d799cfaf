//! Evidence about the log from durable data beside it. A torn write at the end of a log looks the same as a lost end; data built from
//! committed entries tells the two apart.

use skep_storage::log::{EntryId, Recovered};

use crate::error::{GroupError, Remedy};

/// Durable facts about a member's log that are stored outside of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogEvidence {
    /// The last entry in a store that is filled from the log. Only committed entries that are durable here may get there.
    pub exported: u64,
    /// The checkpoint of a snapshot that is being installed. The log may not have been replaced yet.
    pub installing: Option<EntryId>,
}

impl LogEvidence {
    /// Refuses a log that lacks entries which were durable, or those after the checkpoint.
    pub(crate) fn check(
        &self,
        group: u32,
        log: &Recovered,
        checkpoint: EntryId,
        remedy: Remedy,
    ) -> Result<(), GroupError> {
        let (base, last) = (log.base.index, log.last.index);
        if checkpoint.index < base {
            return Err(GroupError::CheckpointBehindLog {
                group,
                base,
                checkpoint: checkpoint.index,
                remedy,
            });
        }
        let installs = self.installing == Some(checkpoint);
        if checkpoint.index > last && !installs {
            return Err(GroupError::LogBehindCheckpoint {
                group,
                last,
                checkpoint: checkpoint.index,
                remedy,
            });
        }
        let end = if installs {
            last.max(checkpoint.index)
        } else {
            last
        };
        if self.exported > end {
            return Err(GroupError::LogBehindExport {
                group,
                last,
                exported: self.exported,
                remedy,
            });
        }
        Ok(())
    }
}
