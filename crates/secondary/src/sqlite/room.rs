//! Room that the file does not need any more goes back to the disk: a few pages at a time, as deletions do.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::schema::PAGE_BYTES;

/// Pages that stay for what is written next: the file of a store that is in use does not shrink and grow by turns.
const KEPT: i64 = (2 << 20) / PAGE_BYTES;
/// And this part of all.
const KEPT_PART: i64 = 8;

/// A file of an earlier version gives nothing back until it is made anew, which is done at a start when it holds at most so much.
const MADE_ANEW: i64 = (256 << 20) / PAGE_BYTES;

/// The write-ahead file is moved into the file when it has so many bytes.
pub const LOG_BYTES: u64 = 64 << 20;
/// Where readers keep it from being used again, they are waited for from here on, each time for a moment.
const MOST_LOG_BYTES: u64 = 2 * LOG_BYTES;
const MOMENT: Duration = Duration::from_millis(200);

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

/// How many pages hold nothing and need not stay.
fn spare(connection: &Connection) -> rusqlite::Result<i64> {
    let free = number(connection, "freelist_count")?;
    // Most of the time nothing was deleted.
    if free <= KEPT {
        return Ok(0);
    }
    let all = number(connection, "page_count")?;
    Ok(free - KEPT.max(all / KEPT_PART))
}

/// Gives up to so many pages back; whether there are more.
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
    // The file itself gets shorter when the write-ahead file is moved into it.
    wait_for_readers(connection, "TRUNCATE")?;
    Ok(false)
}

/// A file of an earlier version learns to give room back.
pub fn make_anew(connection: &Connection) -> rusqlite::Result<()> {
    let used = number(connection, "page_count")? - number(connection, "freelist_count")?;
    if number(connection, "auto_vacuum")? != 0 || used > MADE_ANEW {
        return Ok(());
    }
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.execute_batch("VACUUM")?;
    wait_for_readers(connection, "TRUNCATE").map(drop)
}

/// Moves the write-ahead file of so many bytes into the file. Whether all of it was moved.
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

/// Bytes of a file, and of the write-ahead file beside it.
pub fn taken(file: &Path) -> (u64, u64) {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    (length(file), length(Path::new(&log)))
}
