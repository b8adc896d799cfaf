//! How far the rows in a database go, read without changing anything: a restore has to know that before the node starts.

use std::collections::BTreeMap;

use skep_exporting::{Position, TargetError};

use super::connection::{Connection, Failure};
use super::{Rdbms, schema};

/// The rows in a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredRows {
    /// The id of the cluster that they belong to; `None`: there are no tables.
    pub cluster: Option<String>,
    /// By partition: how far they go. All are of one moment.
    pub positions: BTreeMap<u32, Position>,
}

impl Rdbms {
    /// Reads whose rows there are, and how far they go. Blocks.
    ///
    /// # Errors
    /// The database cannot be reached, refuses, or its tables are of a later version of Skep.
    pub fn stored_rows(&self) -> Result<StoredRows, TargetError> {
        let read = || {
            let connection = Connection::open(&self.for_reading, &self.trust, None)?;
            let Some(cluster) = schema::owner(&connection, self)? else {
                return Ok(StoredRows::default());
            };
            Ok(StoredRows {
                cluster: Some(cluster),
                positions: schema::positions(&connection, &self.prefix)?,
            })
        };
        read().map_err(|failure: Failure| failure.of(&self.shown))
    }
}
