//! A durable count of each replica's starts, to detect a lost or restored directory.
//!
//! The directory `replicas` in the data directory has a file per replica with its member and its number of starts; the replica's own
//! directory holds the same number. A replica whose directory is missing, or has a lower number, does not start: a member that has
//! forgotten entries it acknowledged must not vote.

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use skep_cluster::node_of;
use skep_replication::Remedy;
use skep_storage::disk::create_dir_durably;
use skep_storage::log::Log;

use crate::directory::{read_written, write_durably};

const MARKS: &str = "replicas";
/// File in the replica's own directory.
const STARTS: &str = "starts";

/// A replica of this node, and where its files are.
pub(crate) struct Started<'a> {
    /// The node's data directory.
    pub(crate) root: &'a Path,
    /// The name of the file in `replicas`.
    pub(crate) name: String,
    pub(crate) directory: &'a Path,
    /// Members are numbered upwards: a replica that is added again is another member.
    pub(crate) member: u64,
    pub(crate) remedy: Remedy,
}

/// Why a replica must not start.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    #[error("{0}")]
    Io(#[from] Error),
    #[error(
        "the log in {directory} is missing, although this node's replica there has taken part in its group: entries that it acknowledged \
         are lost here. {remedy}"
    )]
    Gone { directory: PathBuf, remedy: Remedy },
    #[error(
        "{directory} is an older copy: it was started {found} times, but the replica {known} times. Entries that the replica \
         acknowledged since are missing. {remedy}"
    )]
    Older {
        directory: PathBuf,
        found: u64,
        known: u64,
        remedy: Remedy,
    },
}

/// This node's record of a replica that was started here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    member: u64,
    starts: u64,
}

impl Mark {
    /// Whether the mark belongs to this member, or to a later one. A single node may later become one of several, as its first member
    /// there.
    fn is_of(&self, member: u64) -> bool {
        self.member >= member || node_of(self.member).is_none()
    }
}

impl Started<'_> {
    /// Checks that the replica's files are the ones it had when it ended. Returns how often it was started.
    ///
    /// # Errors
    /// They are not, or cannot be read.
    pub(crate) fn check(&self) -> std::result::Result<u64, NotStarted> {
        let known = read(&mark(self.root, &self.name), parse)?;
        let Some(known) = known.filter(|known| known.is_of(self.member)) else {
            return Ok(0);
        };
        let directory = self.directory.to_path_buf();
        if !Log::is_there(&self.directory.join("log"))? {
            return Err(NotStarted::Gone {
                directory,
                remedy: self.remedy,
            });
        }
        let found = read(&self.directory.join(STARTS), parse_number)?.unwrap_or_default();
        if found < known.starts {
            return Err(NotStarted::Older {
                directory,
                found,
                known: known.starts,
                remedy: self.remedy,
            });
        }
        Ok(found)
    }

    /// The replica's log is ready: from here on it may vote and acknowledge. Returns after fsync.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub(crate) fn begins(&self, starts: u64) -> Result<()> {
        match self.count(starts + 1) {
            // A start must not depend on free space. The replica is recorded here; the only thing that goes undetected is a copy of its
            // directory made since the last start that had space.
            Err(error) if error.kind() == ErrorKind::StorageFull && starts > 0 => {
                tracing::warn!(
                    replica = self.name,
                    directory = %self.directory.display(),
                    "the disk is full: this start is not counted"
                );
                Ok(())
            }
            counted => counted,
        }
    }

    fn count(&self, starts: u64) -> Result<()> {
        // The replica's own file first: a crash in between leaves it ahead, and does not make it look like an older copy.
        write_durably(
            &self.directory.join(STARTS),
            format!("{starts}\n").as_bytes(),
        )?;
        create_dir_durably(&self.root.join(MARKS))?;
        let text = format!("member {}\nstarts {starts}\n", self.member);
        write_durably(&mark(self.root, &self.name), text.as_bytes())
    }
}

/// Whether this member, or a later one, was started here.
///
/// # Errors
/// The mark cannot be read.
pub(crate) fn was_started(root: &Path, name: &str, member: u64) -> Result<bool> {
    let known = read(&mark(root, name), parse)?;
    Ok(known.is_some_and(|known| known.is_of(member)))
}

/// The replica was given up. Called before its files are removed.
///
/// # Errors
/// The disk cannot be written.
pub(crate) fn forget(root: &Path, name: &str) -> Result<()> {
    match std::fs::remove_file(mark(root, name)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => std::fs::File::open(root.join(MARKS))?.sync_all(),
    }
}

/// The replica was given up, and its files are removed. After a crash in between it counts as one that was never started here.
///
/// # Errors
/// The disk cannot be written, or there is no such directory.
pub(crate) fn give_up(root: &Path, name: &str, directory: &Path) -> Result<()> {
    forget(root, name)?;
    std::fs::remove_dir_all(directory)
}

fn mark(root: &Path, name: &str) -> PathBuf {
    root.join(MARKS).join(name)
}

fn read<T>(path: &Path, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    let fault = "does not record how often the replica was started";
    read_written(path, parse, fault)
}

fn parse(text: &str) -> Option<Mark> {
    let mut lines = text.lines();
    let mut number = |name: &str| lines.next()?.strip_prefix(name)?.trim().parse().ok();
    Some(Mark {
        member: number("member")?,
        starts: number("starts")?,
    })
}

fn parse_number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests;
