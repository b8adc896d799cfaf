//! Browser sessions. Only the first partition has any.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{SessionId, SessionValue};

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

/// Milliseconds without a request after which a session ends.
pub const IDLE: i64 = 30 * 60 * 1000;
/// Milliseconds after which a session ends in any case.
pub const LONGEST: i64 = 12 * 60 * 60 * 1000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Session(pub SessionValue);

impl Session {
    /// End of the session unless it is used before, epoch milliseconds.
    pub fn ends(&self) -> i64 {
        let idle = self.0.used.saturating_add(IDLE);
        idle.min(self.0.began.saturating_add(LONGEST))
    }
}

impl Row for Session {
    const TABLE: u8 = 69;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.0.weight()
    }
}

/// Keys of sessions by when they were last used, as far as it was recorded.
type ByUse = BTreeSet<(i64, Key)>;

/// Sessions by key. A later session has a greater key.
pub struct Sessions {
    pub table: Table<Session>,
    by_id: HashMap<SessionId, Key>,
    by_user: HashMap<Arc<str>, ByUse>,
    by_use: ByUse,
    ends: BTreeSet<(i64, Key)>,
}

impl Sessions {
    pub fn open(tables: &Arc<Tables>) -> Result<Sessions, StoreError> {
        let mut rows = Vec::new();
        let table = Table::open_with(tables, |key, row: Session| rows.push((key, row)))?;
        let mut sessions = Sessions {
            table,
            by_id: HashMap::new(),
            by_user: HashMap::new(),
            by_use: ByUse::new(),
            ends: BTreeSet::new(),
        };
        for (key, row) in &rows {
            sessions.add_to_index(*key, row);
        }
        Ok(sessions)
    }

    /// The session with this id.
    pub fn key_of(&self, id: &SessionId) -> Option<Key> {
        self.by_id.get(id).copied()
    }

    pub fn get(&mut self, key: Key) -> Option<&Session> {
        self.table.get(key)
    }

    /// Sessions of a user, the one that is unused longest first.
    pub fn of_user(&self, user: &str) -> impl ExactSizeIterator<Item = Key> + '_ {
        const NONE: &ByUse = &ByUse::new();
        let of_user = self.by_user.get(user).unwrap_or(NONE);
        of_user.iter().map(|(_, key)| *key)
    }

    /// All sessions, the one that is unused longest first.
    pub fn all(&self) -> impl ExactSizeIterator<Item = Key> + '_ {
        self.by_use.iter().map(|(_, key)| *key)
    }

    /// Sessions that have ended.
    pub fn over(&self, now: i64) -> impl Iterator<Item = Key> + '_ {
        let over = self.ends.range(..=(now, Key(i64::MAX)));
        over.map(|(_, key)| *key)
    }

    pub fn next_due(&self) -> Option<i64> {
        self.ends.first().map(|(due, _)| *due)
    }

    /// Adds or updates a session.
    pub(in crate::appliers) fn set(&mut self, key: Key, session: Session) {
        if let Some(old) = self.table.get(key).cloned() {
            self.take_from_index(key, &old);
        }
        debug_assert!(!key.is_none(), "a row has a key");
        self.add_to_index(key, &session);
        self.table.insert(key, session);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(old) = self.table.get(key).cloned() {
            self.take_from_index(key, &old);
            self.table.remove(key);
        }
    }
}

impl Indexed<Session> for Sessions {
    fn rows(&mut self) -> &mut Table<Session> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Session) {
        self.by_id.insert(row.0.id, key);
        let of_user = self.by_user.entry(row.0.user.clone()).or_default();
        of_user.insert((row.0.used, key));
        self.by_use.insert((row.0.used, key));
        self.ends.insert((row.ends(), key));
    }

    fn take_from_index(&mut self, key: Key, row: &Session) {
        self.by_id.remove(&row.0.id);
        if let Some(of_user) = self.by_user.get_mut(&row.0.user) {
            of_user.remove(&(row.0.used, key));
            if of_user.is_empty() {
                self.by_user.remove(&row.0.user);
            }
        }
        self.by_use.remove(&(row.0.used, key));
        self.ends.remove(&(row.ends(), key));
    }
}
