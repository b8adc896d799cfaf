//! Backups taken to a directory of the run, and restores from them after all disks are lost.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{PATIENCE, SharedGuard};
use crate::guard::Ticket;
use crate::http;

const BACKUPS: &str = "/actuator/backupRuntime";
/// Interval between two checks of a backup, or of programs that restore one.
const LOOK: Duration = Duration::from_millis(20);

/// The directory of backups below that of the nodes' data, deleted with it.
pub(super) fn directory(data: &Path) -> PathBuf {
    data.join("backups")
}

/// Settings that make nodes take backups to this directory.
pub(super) fn settings(directory: &Path) -> [(String, String); 2] {
    let key = |name: &str| format!("camunda.data.primary-storage.backup.{name}");
    [
        (key("store"), "filesystem".into()),
        (key("filesystem.base-path"), directory.display().to_string()),
    ]
}

/// The place for taking and keeping backups of a cluster.
#[derive(Clone, Debug)]
pub struct Backups {
    pub(super) directory: PathBuf,
    pub(super) management_addresses: Vec<String>,
}

impl Backups {
    /// Takes a backup, and returns the bytes that it added to the directory. Blocks until it is complete.
    ///
    /// # Errors
    /// No node accepts the request, the backup fails, or it is not complete in time.
    pub fn take(&self, limit: Duration) -> io::Result<u64> {
        let end = Instant::now() + limit;
        let before = size(&self.directory)?;
        let id = SystemTime::now().duration_since(UNIX_EPOCH);
        let id = id.map_err(io::Error::other)?.as_millis();
        let body = json!({ "backupId": u64::try_from(id).map_err(io::Error::other)? });
        let first = self.management_addresses.first();
        let address = first.ok_or_else(|| io::Error::other("there are no nodes"))?;
        http::json(address, "POST", BACKUPS, &body.to_string(), PATIENCE)?;
        loop {
            let backup = http::json(address, "GET", &format!("{BACKUPS}/{id}"), "", PATIENCE)?;
            match backup.get("state").and_then(Value::as_str) {
                Some("COMPLETED") => break,
                Some("FAILED" | "INCOMPATIBLE") => {
                    return Err(io::Error::other(format!("the backup failed: {backup}")));
                }
                _ if Instant::now() >= end => {
                    return Err(io::Error::other(format!(
                        "the backup is not complete after {limit:?}: {backup}"
                    )));
                }
                _ => std::thread::sleep(LOOK),
            }
        }
        Ok(size(&self.directory)?.saturating_sub(before))
    }
}

/// Total size of the files below a directory; zero if it does not exist.
fn size(directory: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut sum = 0;
    for entry in entries {
        let entry = entry?;
        sum += match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path())?,
            Ok(found) => found.len(),
            // A file may be renamed in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
    }
    Ok(sum)
}

/// The running programs that restore the nodes' data, one per node.
#[derive(Debug)]
pub struct Restoring {
    pub(super) programs: Vec<(u32, Child, Ticket)>,
    pub(super) guard: SharedGuard,
}

impl Restoring {
    /// Waits until all of them have succeeded. Blocks.
    ///
    /// # Errors
    /// One of them fails, or is not done in time; the guard then ends it with the run.
    pub fn wait(mut self, limit: Duration) -> io::Result<()> {
        let end = Instant::now() + limit;
        for (node, child, ticket) in &mut self.programs {
            let status = loop {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
                if Instant::now() >= end {
                    return Err(io::Error::other(format!(
                        "node {node} is not restored after {limit:?}"
                    )));
                }
                std::thread::sleep(LOOK);
            };
            self.guard.with(|guard| guard.pop(*ticket))?;
            if !status.success() {
                return Err(io::Error::other(format!(
                    "restoring node {node} ended with {status}; node-{node}.log says why"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_directory_is_that_of_all_files_below_it() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(size(&directory.path().join("none")).unwrap(), 0);
        fs::create_dir_all(directory.path().join("a/b")).unwrap();
        fs::write(directory.path().join("x"), [0; 10]).unwrap();
        fs::write(directory.path().join("a/b/y"), [0; 32]).unwrap();
        assert_eq!(size(directory.path()).unwrap(), 42);
    }
}
