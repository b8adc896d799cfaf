//! The file `restored-rows` in a partition's directory, written by a restore whose rows are in a database or search
//! server: how far they went then.
//!
//! The state of a restored partition may say that the rows go further: it was in the log when they were dumped. Until the rows have
//! reached the end of the restored log, each copy keeps its log from the restored rows on, because it may be the one that goes on with them.

use std::io::Result;
use std::path::Path;

use crate::directory::{parse_two_numbers, read_written, two_numbers, write_durably};

const NAME: &str = "restored-rows";

/// Entries of the partition's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoredRows {
    /// Up to here there were rows.
    pub entry: u64,
    /// The end of the restored log.
    pub end: u64,
}

impl RestoredRows {
    /// # Errors
    /// The disk cannot be written.
    pub fn write(self, directory: &Path) -> Result<()> {
        let text = two_numbers([self.entry, self.end]);
        write_durably(&directory.join(NAME), text.as_bytes())
    }

    /// `None`: the partition was not restored with rows outside of the backup.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(directory: &Path) -> Result<Option<RestoredRows>> {
        let parsed = |text: &str| {
            let [entry, end] = parse_two_numbers(text)?;
            Some(RestoredRows { entry, end })
        };
        let fault = "does not say how far rows went";
        read_written(&directory.join(NAME), parsed, fault)
    }

    /// The entry up to which the log is no longer needed for the rows, given the one that the state says.
    pub fn needed(self, of_state: u64) -> u64 {
        if of_state > self.end {
            of_state
        } else {
            of_state.min(self.entry)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NAME, RestoredRows};

    #[test]
    fn the_log_is_kept_from_the_restored_rows_on_until_they_have_all_of_it() {
        let rows = RestoredRows { entry: 30, end: 80 };
        assert_eq!(rows.needed(0), 0);
        assert_eq!(
            rows.needed(50),
            30,
            "the state knows of rows before the dump"
        );
        assert_eq!(rows.needed(80), 30);
        assert_eq!(rows.needed(81), 81);
    }

    #[test]
    fn the_file_says_what_was_written_and_damage_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(RestoredRows::read(directory.path()).unwrap(), None);
        let rows = RestoredRows { entry: 30, end: 80 };
        rows.write(directory.path()).unwrap();
        let read = RestoredRows::read(directory.path()).unwrap();
        assert_eq!(read, Some(rows));
        std::fs::write(directory.path().join(NAME), "30").unwrap();
        assert!(RestoredRows::read(directory.path()).is_err());
    }
}
