//! How far the rows in a search server go, read without changing anything.

use std::sync::Arc;

use skep_exporting::TargetError;

use super::server::{Failure, Server};
use super::{Documents, MAX_ANSWER, TIME_LIMIT, schema};
use crate::stored_rows::StoredRows;

impl Documents {
    /// Reads whose rows there are, and how far they go. Blocks.
    ///
    /// # Errors
    /// The server cannot be reached, refuses, or its indices are of a later version of Skep.
    pub(crate) fn stored_rows(self: &Arc<Self>) -> Result<StoredRows, TargetError> {
        let server = Server::new(self.clone(), None, TIME_LIMIT, MAX_ANSWER);
        let read = || {
            let none = StoredRows::none(&self.shown);
            let Some(cluster) = schema::owner(&server)? else {
                return Ok(none);
            };
            let progress = schema::progress(&server)?;
            let half = progress.iter().find(|(_, progress)| progress.begun > 0);
            Ok(StoredRows {
                cluster: Some(cluster),
                half: half.map(|(partition, _)| *partition),
                positions: (progress.iter())
                    .map(|(partition, progress)| (*partition, progress.position))
                    .collect(),
                ..none
            })
        };
        read().map_err(|failure: Failure| failure.of(&self.shown))
    }
}
