//! A history with which a group begins: the log of a backup becomes that of new members.
//!
//! All members of the new group get the same entries, and all of these count as committed. Changes of the members are left out: the
//! group begins with the members of its settings.

use skep_storage::StorageError;
use skep_storage::log::{Entry, EntryId, Frame, Log};

use crate::state::HardState;

/// Writes the history to an empty log, in order.
pub struct History<'l> {
    log: &'l mut Log,
    last: EntryId,
}

impl<'l> History<'l> {
    /// The history begins after the entry `base`, which is in a checkpoint.
    ///
    /// # Errors
    /// The log is not empty, or cannot be written.
    pub fn begin(log: &'l mut Log, base: EntryId) -> Result<History<'l>, StorageError> {
        if log.last().index > 0 {
            return Err(StorageError::Snapshot(
                "the log has entries already".to_string(),
            ));
        }
        if base.index > 0 {
            log.append(&[Frame::Base {
                index: base.index,
                term: base.term,
                reset: true,
            }])?;
        }
        Ok(History { log, last: base })
    }

    /// Appends entries that follow the previous ones.
    ///
    /// # Errors
    /// One of them does not follow, or the log cannot be written.
    pub fn append(&mut self, entries: Vec<Entry>) -> Result<(), StorageError> {
        let mut frames = Vec::with_capacity(entries.len());
        for entry in entries {
            if entry.index != self.last.index + 1 || entry.term < self.last.term {
                return Err(StorageError::Snapshot(format!(
                    "entry {} of term {} cannot follow entry {} of term {}",
                    entry.index, entry.term, self.last.index, self.last.term
                )));
            }
            self.last = EntryId {
                index: entry.index,
                term: entry.term,
            };
            frames.push(Frame::Entry {
                index: entry.index,
                term: entry.term,
                tag: 0,
                payload: entry.content(),
            });
        }
        if frames.is_empty() {
            Ok(())
        } else {
            self.log.append(&frames).map(drop)
        }
    }

    /// Marks everything that was written as committed. Returns the last entry.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn end(self) -> Result<EntryId, StorageError> {
        let state = HardState {
            term: self.last.term,
            vote: 0,
            commit: self.last.index,
            members: None,
        };
        self.log.append(&[Frame::State(state.encode())])?;
        Ok(self.last)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use skep_storage::disk::RealDisk;
    use skep_storage::log::{Entry, EntryId, Log, LogConfig};

    use super::History;
    use crate::{Event, Group, GroupConfig, LogEvidence, Members, Output, RecoveredLog, Role};

    fn entry(index: u64, term: u64, tag: u8) -> Entry {
        Entry {
            index,
            term,
            tag,
            payload: Bytes::from(vec![u8::try_from(index).unwrap(); 3]),
        }
    }

    fn open(directory: &tempfile::TempDir) -> (Log, skep_storage::log::Recovered) {
        Log::open(Arc::new(RealDisk), directory.path(), LogConfig::default()).unwrap()
    }

    #[test]
    fn a_group_continues_after_the_history_with_the_configured_members() {
        let directory = tempfile::tempdir().unwrap();
        let base = EntryId { index: 6, term: 2 };
        let (mut log, _) = open(&directory);
        let mut history = History::begin(&mut log, base).unwrap();
        // The second one changed the members of the original group.
        history
            .append(vec![entry(7, 2, 0), entry(8, 3, 1)])
            .unwrap();
        assert_eq!(history.end().unwrap(), EntryId { index: 8, term: 3 });
        log.close().unwrap();
        drop(log);
        let (log, recovered) = open(&directory);
        let config = GroupConfig::joining(1, 9, Members::bootstrap(vec![9]));
        let found = RecoveredLog {
            log: recovered,
            checkpoint: base,
            source: Box::new(log.reader()),
            evidence: LogEvidence::default(),
        };
        let mut group = Group::open(config, found).unwrap();
        let mut output = Output::default();
        let mut applied = Vec::new();
        for _ in 0..100 {
            group.tick();
            output.clear();
            group.poll(&mut output).unwrap();
            for append in output.appends.drain(..) {
                group.persisted(append.number);
            }
            applied.extend(output.events.iter().filter_map(|event| match event {
                Event::Apply(entry) if entry.index <= 8 => Some((entry.index, entry.payload.len())),
                _ => None,
            }));
        }
        assert!(matches!(group.role(), Role::Leader { .. }));
        assert_eq!(group.members().voters, [9]);
        assert_eq!(applied, [(7, 3), (8, 0)]);
    }

    #[test]
    fn a_gap_and_a_log_that_is_in_use_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (mut log, _) = open(&directory);
        let mut history = History::begin(&mut log, EntryId::default()).unwrap();
        history.append(vec![entry(1, 2, 0)]).unwrap();
        assert!(history.append(vec![entry(3, 2, 0)]).is_err());
        assert!(history.append(vec![entry(2, 1, 0)]).is_err());
        history.end().unwrap();
        assert!(History::begin(&mut log, EntryId::default()).is_err());
    }
}
