//! How far the rows in a database go, read without changing anything.

use skep_exporting::TargetError;

use super::connection::{Connection, Failure};
use super::{Rdbms, schema};
use crate::stored_rows::StoredRows;

impl Rdbms {
    /// Reads whose rows there are, and how far they go. The positions are of one moment. Blocks.
    ///
    /// # Errors
    /// The database cannot be reached, refuses, or its tables are of a later version of Skep.
    pub(crate) fn stored_rows(&self) -> Result<StoredRows, TargetError> {
        let read = || {
            let connection = Connection::open(&self.for_reading, &self.trust, None)?;
            let none = StoredRows::none(&self.shown);
            let Some(cluster) = schema::owner(&connection, self)? else {
                return Ok(none);
            };
            Ok(StoredRows {
                cluster: Some(cluster),
                positions: schema::positions(&connection, &self.prefix)?,
                ..none
            })
        };
        read().map_err(|failure: Failure| failure.of(&self.shown))
    }
}
