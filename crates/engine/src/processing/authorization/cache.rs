//! A cache of callers' permissions, built once for each state of the directory.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_identity::{Directory, Grants};
use skep_protocol::origin::{Claims, Principal};

/// Maximum number of cached callers.
const MAX_CALLERS: usize = 1_000;

/// A cache of permissions. It is not state: a new leader builds it again.
#[derive(Debug, Default)]
pub struct GrantsCache {
    /// Version of the directory.
    version: u64,
    /// Permissions by name, with the exact claims: two tokens of one client may have different claims.
    known: FxHashMap<Arc<str>, (Claims, Arc<Grants>)>,
}

impl GrantsCache {
    /// The permissions of a caller. `None`: they are not checked for this caller.
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
