//! What a database has to do to be secondary storage.

use skep_exporting::TargetError;
use std::time::Duration;

use skep_query::{Answer, Query, QueryError};

use crate::changes::Changes;
use crate::definitions::StoredDefinitions;
use crate::settle::Stored;
use skep_exporting::Position;

/// Writes the rows of one partition. The reasons of failures are shown to operators; after one of them `open` is called again.
pub trait Target: Stored + StoredDefinitions + Send + 'static {
    /// Connects, if that is needed, and tells up to where the rows go.
    fn open(&mut self) -> Result<Position, TargetError>;

    /// The last record of a window that may be there in part, with which it is to be written once more; 0: none is.
    fn begun(&self) -> u64 {
        0
    }

    /// Stores changes, which are settled, and that the rows go up to `to`: both or nothing, unless [`begun`](Self::begun) tells
    /// afterwards what was begun.
    fn write(&mut self, changes: &Changes, to: Position) -> Result<(), TargetError>;

    /// What was written takes much room until the next [`sync`](Self::sync).
    fn wants_sync(&self) -> bool {
        false
    }

    /// Makes what was written survive a power cut. False: it could not, and is to be tried again.
    /// Servers do so with each request.
    fn sync(&mut self) -> Result<bool, TargetError> {
        Ok(true)
    }

    /// Deletes up to `limit` process instances that ended before `before` (epoch milliseconds), with all that belongs to
    /// them, and as many of what leaves by itself. How many of one kind it were; `limit` where there is more to do, such as giving
    /// room back.
    fn forget(&mut self, before: i64, limit: usize) -> Result<usize, TargetError>;

    /// How long a slice of these deletions may take: new rows wait for it.
    fn slice(&self) -> Duration {
        Duration::from_millis(50)
    }

    /// It is at hand: who stops waits until everything is stored.
    fn is_local(&self) -> bool {
        false
    }
}

/// Answers queries, one at a time.
pub trait Source: Send + 'static {
    /// Connects, if that is needed.
    fn open(&mut self) -> Result<(), QueryError>;

    /// What is stored is to be seen by this query. `elsewhere`: other nodes write some of it.
    fn catch_up(&mut self, _query: &Query, _elsewhere: bool) -> Result<(), QueryError> {
        Ok(())
    }

    fn answer(&mut self, query: &Query) -> Result<Answer, QueryError>;

    /// Up to where the rows of the partitions go, where other nodes write some of them.
    fn positions(&mut self) -> Result<Vec<(u32, Position)>, QueryError> {
        Ok(Vec::new())
    }
}

/// Why a purge deletes nothing: a later one, of this number, is done.
pub fn purged_since(number: u64) -> String {
    format!("purge {number} was done since, and what is there was written after it")
}
