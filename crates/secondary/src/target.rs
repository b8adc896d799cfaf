//! The interface that a database implements to serve as secondary storage.

use skep_exporting::TargetError;
use std::time::Duration;

use skep_query::{Answer, Query, QueryError};

use crate::changes::Changes;
use crate::definitions::StoredDefinitions;
use crate::settle::Stored;
use skep_exporting::Position;

/// Writes the rows of one partition. Failure reasons are shown to operators. After a failure `open` is called again.
pub trait Target: Stored + StoredDefinitions + Send + 'static {
    /// Connects if necessary, and returns the position of the stored rows.
    fn open(&mut self) -> Result<Position, TargetError>;

    /// The last record of a window that may be stored in part and must be written again up to this record; 0: there is none.
    fn begun(&self) -> u64 {
        0
    }

    /// Stores settled changes together with the new position `to`. Both are stored or neither is, unless [`begun`](Self::begun)
    /// reports the window afterwards.
    fn write(&mut self, changes: &Changes, to: Position) -> Result<(), TargetError>;

    /// Whether written data takes much space until the next [`sync`](Self::sync).
    fn wants_sync(&self) -> bool {
        false
    }

    /// Makes written data survive a power failure. Returns false if that was not possible now and must be tried again. Servers
    /// do this with every request.
    fn sync(&mut self) -> Result<bool, TargetError> {
        Ok(true)
    }

    /// Deletes up to `limit` process instances that ended before `before` (epoch milliseconds), with all rows that belong to
    /// them, and as many rows of each entity that expires independently. Returns the largest of these counts, or `limit` if
    /// more remains to be done, such as returning space to the disk.
    fn forget(&mut self, before: i64, limit: usize) -> Result<usize, TargetError>;

    /// Maximum duration of a slice of these deletions, during which new rows have to wait.
    fn slice(&self) -> Duration {
        Duration::from_millis(50)
    }

    /// Whether the target is local. A stop then waits until everything is stored.
    fn is_local(&self) -> bool {
        false
    }
}

/// Answers queries, one at a time.
pub trait Source: Send + 'static {
    /// Connects if necessary.
    fn open(&mut self) -> Result<(), QueryError>;

    /// Makes stored rows visible to this query. `elsewhere`: other nodes write some of them.
    fn catch_up(&mut self, _query: &Query, _elsewhere: bool) -> Result<(), QueryError> {
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Answer, QueryError>;

    /// Positions of the partitions, where other nodes write some of the rows.
    fn positions(&mut self) -> Result<Vec<(u32, Position)>, QueryError> {
        Ok(Vec::new())
    }
}

/// The reason why a purge deletes nothing: a later one with this number has been completed.
pub fn purged_since(number: u64) -> String {
    format!("purge {number} was completed meanwhile, and the data there was written after it")
}
