//! SESSION: users who have logged in with a browser at an identity provider. Skep's own; it is never exported.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The SHA-256 of the id that the browser shows: the log and the state cannot be used to log in.
pub type SessionId = [u8; 32];

/// As stored. On USED, CLAIMED and ENDED, `sealed` is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionValue {
    pub id: SessionId,
    pub user: Arc<str>,
    /// The user's data from the provider and its refresh token, under a key that is derived from the id that the browser shows.
    pub sealed: Arc<str>,
    /// Epoch milliseconds.
    pub began: i64,
    /// The time of the last noted use; epoch milliseconds.
    pub used: i64,
    /// How often `sealed` was replaced.
    pub revision: u64,
    /// Until then one node has the right to replace `sealed`, and no other may try; epoch milliseconds, 0 if unclaimed.
    pub claimed_until: i64,
}

impl SessionValue {
    /// Bytes of its texts.
    pub fn weight(&self) -> usize {
        self.user.len() + self.sealed.len()
    }
}
