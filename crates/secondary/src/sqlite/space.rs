//! Returns unused space of the file to the disk, a few pages at a time, like deletions.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::schema::PAGE_BYTES;

/// Free pages kept for later writes, so that the file of a store in use does not shrink and grow in turns.
const KEPT: i64 = (2 << 20) / PAGE_BYTES;
/// Of all pages, one in this many is kept if that is more.
const KEPT_PART: i64 = 8;

/// A file of an earlier version cannot shrink until it is rebuilt. That happens at a start, if it has at most this many pages
/// in use.
const MAX_REBUILT: i64 = (256 << 20) / PAGE_BYTES;

/// Size of the write-ahead log from which it is checkpointed.
pub const LOG_BYTES: u64 = 64 << 20;
/// Size from which a checkpoint waits for readers that prevent reuse of the log, each time for a moment.
const MOST_LOG_BYTES: u64 = 2 * LOG_BYTES;
const MOMENT: Duration = Duration::from_millis(200);

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

/// Number of free pages that need not be kept.
fn spare(connection: &Connection) -> rusqlite::Result<i64> {
    let free = number(connection, "freelist_count")?;
    // Usually nothing was deleted.
    if free <= KEPT {
        return Ok(0);
    }
    let all = number(connection, "page_count")?;
    Ok(free - KEPT.max(all / KEPT_PART))
}

/// Returns up to `most` pages to the disk. Returns whether there are more.
pub fn give_back(connection: &Connection, most: usize) -> rusqlite::Result<bool> {
    let spare = spare(connection)?;
    if spare <= 0 || number(connection, "auto_vacuum")? == 0 {
        return Ok(false);
    }
    let pages = spare.min(i64::try_from(most).unwrap_or(i64::MAX));
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut steps = vacuum.query([])?;
    while steps.next()?.is_some() {}
    drop(steps);
    drop(vacuum);
    if spare > pages {
        return Ok(true);
    }
    // The file itself shrinks when the write-ahead log is checkpointed.
    wait_for_readers(connection, "TRUNCATE")?;
    Ok(false)
}

/// Rebuilds a file of an earlier version, so that it can shrink.
pub fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    let used = number(connection, "page_count")? - number(connection, "freelist_count")?;
    if number(connection, "auto_vacuum")? != 0 || used > MAX_REBUILT {
        return Ok(());
    }
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.execute_batch("VACUUM")?;
    wait_for_readers(connection, "TRUNCATE").map(drop)
}

/// Checkpoints a write-ahead log of this size. Returns whether all of it was moved.
pub fn move_log(connection: &Connection, bytes: u64) -> rusqlite::Result<bool> {
    let done = checkpoint(connection, "PASSIVE")?;
    if bytes > MOST_LOG_BYTES {
        wait_for_readers(connection, "RESTART")
    } else {
        Ok(done)
    }
}

fn wait_for_readers(connection: &Connection, how: &str) -> rusqlite::Result<bool> {
    connection.busy_timeout(MOMENT)?;
    let done = checkpoint(connection, how);
    connection.busy_timeout(super::BUSY_TIMEOUT)?;
    done
}

fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<bool> {
    let sql = format!("PRAGMA wal_checkpoint({how})");
    connection.query_row(&sql, [], |row| {
        let (busy, log, moved): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(busy == 0 && log == moved)
    })
}

/// Bytes of a file and of its write-ahead log.
pub fn taken(file: &Path) -> (u64, u64) {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    (length(file), length(Path::new(&log)))
}
