//! The file `installing` in a partition's directory names the checkpoint of a snapshot that replaces the state. The log is replaced after
//! the state, so a crash in between leaves a log that ends before the checkpoint. Without this file, such a log would look as if it had
//! lost its end.

use std::io::{ErrorKind, Result};
use std::path::Path;

use skep_replication::EntryId;

use crate::directory::{parse_two_numbers, read_written, two_numbers, write_durably};

const NAME: &str = "installing";

/// Writes the file before the snapshot takes the place of the state. Returns after fsync.
///
/// # Errors
/// The disk cannot be written.
pub fn mark(directory: &Path, checkpoint: EntryId) -> Result<()> {
    let text = two_numbers([checkpoint.index, checkpoint.term]);
    write_durably(&directory.join(NAME), text.as_bytes())
}

/// The snapshot whose installation was begun, unless the log is known to have caught up with it.
///
/// # Errors
/// The file cannot be read.
pub fn marked(directory: &Path) -> Result<Option<EntryId>> {
    let parsed = |text: &str| {
        let [index, term] = parse_two_numbers(text)?;
        Some(EntryId { index, term })
    };
    let fault = "does not identify its snapshot";
    read_written(&directory.join(NAME), parsed, fault)
}

/// Removes the file: the log reaches beyond the snapshot. A file that stays because of a missing flush is harmless: the next checkpoint is
/// a different one.
pub fn clear(directory: &Path) -> Result<()> {
    match std::fs::remove_file(directory.join(NAME)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryId, NAME, clear, mark, marked};

    #[test]
    fn a_snapshot_is_marked_until_the_log_has_followed_it() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(marked(directory.path()).unwrap(), None);
        let checkpoint = EntryId {
            index: 1200,
            term: 7,
        };
        mark(directory.path(), checkpoint).unwrap();
        assert_eq!(marked(directory.path()).unwrap(), Some(checkpoint));
        clear(directory.path()).unwrap();
        clear(directory.path()).unwrap();
        assert_eq!(marked(directory.path()).unwrap(), None);
        std::fs::write(directory.path().join(NAME), "12").unwrap();
        assert!(marked(directory.path()).is_err());
    }
}
