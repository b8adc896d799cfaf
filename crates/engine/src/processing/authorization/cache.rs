//! What callers may do, put together once for each and every state of the directory.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_identity::{Directory, Grants};
use skep_protocol::origin::{Claims, Principal};

/// Callers of whom it is remembered.
const MAX_CALLERS: usize = 1_000;

/// It is no state: a leader that begins puts everything together anew.
#[derive(Debug, Default)]
pub struct GrantsCache {
    /// That of the directory.
    version: u64,
    /// By name, with who exactly that was: two tokens of one client may say different things.
    known: FxHashMap<Arc<str>, (Claims, Arc<Grants>)>,
}

impl GrantsCache {
    /// What a caller may do; `None`: nobody asks.
    pub fn of(&mut self, directory: &Directory, claims: &Claims) -> Option<Arc<Grants>> {
        let principal = match claims {
            Claims::Anonymous | Claims::Internal => return None,
            Claims::User(principal) | Claims::Client(principal) => principal,
        };
        if self.version != directory.version() {
            self.version = directory.version();
            self.known.clear();
        }
        if let Some((known, grants)) = self.known.get(&principal.id)
            && is_same(known, claims)
        {
            return Some(Arc::clone(grants));
        }
        let grants = Arc::new(Grants::of(directory, claims)?);
        if self.known.len() >= MAX_CALLERS {
            self.known.clear();
        }
        let entry = (claims.clone(), Arc::clone(&grants));
        self.known.insert(principal.id.clone(), entry);
        Some(grants)
    }
}

fn is_same(known: &Claims, claims: &Claims) -> bool {
    let same = |a: &Arc<Principal>, b: &Arc<Principal>| Arc::ptr_eq(a, b) || a == b;
    match (known, claims) {
        (Claims::User(a), Claims::User(b)) | (Claims::Client(a), Claims::Client(b)) => same(a, b),
        _ => false,
    }
}
