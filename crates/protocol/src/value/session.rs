//! SESSION: who has logged in with a browser at an identity provider. Skep's own; it is never exported.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The SHA-256 of what the browser shows: the log and the state cannot be used to log in.
pub type SessionId = [u8; 32];

/// As it is stored. Of USED, CLAIMED and ENDED, `sealed` is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionValue {
    pub id: SessionId,
    pub user: Arc<str>,
    /// What the provider said of the user, and its refresh token, under a key that is derived from what the browser shows.
    pub sealed: Arc<str>,
    /// Epoch milliseconds.
    pub began: i64,
    /// When it was used last, as far as that was noted; epoch milliseconds.
    pub used: i64,
    /// How often `sealed` was replaced.
    pub revision: u64,
    /// Until then some node is about to replace `sealed`, and no other one may try; epoch milliseconds, 0 for nobody.
    pub claimed_until: i64,
}

impl SessionValue {
    /// Bytes of its texts.
    pub fn weight(&self) -> usize {
        self.user.len() + self.sealed.len()
    }
}
