//! How far the rows go that all partitions keep in one place: a restore has to know that before the node starts.

use std::collections::BTreeMap;

use skep_exporting::Position;

/// The rows in a database or a search server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRows {
    /// Its address, for messages.
    pub place: String,
    /// The id of the cluster that they belong to; `None`: there are none.
    pub cluster: Option<String>,
    /// By partition: how far they go.
    pub positions: BTreeMap<u32, Position>,
    /// A partition with rows of a later window, which was not written to its end.
    pub half: Option<u32>,
}

impl StoredRows {
    pub(crate) fn none(place: &str) -> StoredRows {
        StoredRows {
            place: place.to_string(),
            cluster: None,
            positions: BTreeMap::new(),
            half: None,
        }
    }
}
