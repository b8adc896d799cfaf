//! A cache of callers' permissions, built once for each state of the directory.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_identity::{Directory, Grants, Shared};
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
    shared: Shared,
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
            self.shared = Shared::default();
        }
        if let Some((known, grants)) = self.known.get(&principal.id)
            && is_same(known, claims)
        {
            return Some(Arc::clone(grants));
        }
        let grants = Arc::new(Grants::sharing(directory, claims, &mut self.shared)?);
        if self.known.len() >= MAX_CALLERS && !self.known.contains_key(&principal.id) {
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

#[cfg(test)]
mod tests {
    use skep_identity::Entry;
    use skep_protocol::Key;
    use skep_protocol::value::{PasswordHash, UserValue};

    use super::*;

    /// Of a command of its own: nothing is shared with those of another one.
    fn anna(token: &str) -> Claims {
        Claims::User(Arc::new(Principal {
            id: "anna".into(),
            groups: None,
            token: token.into(),
        }))
    }

    #[test]
    fn permissions_are_computed_once_for_equal_claims() {
        let (mut cache, directory) = (GrantsCache::default(), Directory::default());
        let mut of = |claims: &Claims| cache.of(&directory, claims).unwrap();
        let first = of(&anna("{}"));
        for _ in 0..3 {
            assert!(Arc::ptr_eq(&first, &of(&anna("{}"))));
        }
        let other = of(&anna(r#"{"department":"sales"}"#));
        assert!(!Arc::ptr_eq(&first, &other));
        let Claims::User(principal) = anna("{}") else {
            unreachable!("it is a user")
        };
        let client = of(&Claims::Client(principal));
        assert!(!Arc::ptr_eq(&first, &client) && !Arc::ptr_eq(&other, &client));
    }

    #[test]
    fn other_claims_of_a_known_caller_drop_nobody_else() {
        let (mut cache, directory) = (GrantsCache::default(), Directory::default());
        let first = cache.of(&directory, &anna("{}")).unwrap();
        for number in 2..=MAX_CALLERS {
            let principal = Principal {
                id: format!("user-{number}").into(),
                ..Principal::default()
            };
            cache.of(&directory, &Claims::Client(principal.into()));
        }
        assert_eq!(cache.known.len(), MAX_CALLERS);
        let principal = Principal {
            id: "user-2".into(),
            token: r#"{"department":"sales"}"#.into(),
            ..Principal::default()
        };
        cache.of(&directory, &Claims::Client(principal.into()));
        let again = cache.of(&directory, &anna("{}")).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
    }

    #[test]
    fn a_change_of_the_directory_ends_what_was_known() {
        let (mut cache, mut directory) = (GrantsCache::default(), Directory::default());
        let before = cache.of(&directory, &anna("{}")).unwrap();
        let bert = UserValue {
            user_key: Key::new(1, 1),
            username: "bert".into(),
            name: "".into(),
            email: "".into(),
            password: PasswordHash::default(),
        };
        directory.add(Key::new(1, 1), &Entry::User(bert));
        let after = cache.of(&directory, &anna("{}")).unwrap();
        assert!(!Arc::ptr_eq(&before, &after));
    }

    #[test]
    fn callers_whose_permissions_are_not_checked_are_not_looked_up_and_others_are_limited() {
        let (mut cache, directory) = (GrantsCache::default(), Directory::default());
        for claims in [Claims::Anonymous, Claims::Internal] {
            assert!(cache.of(&directory, &claims).is_none());
        }
        assert!(cache.known.is_empty());
        for number in 0..2 * MAX_CALLERS {
            let principal = Principal {
                id: format!("user-{number}").into(),
                ..Principal::default()
            };
            cache.of(&directory, &Claims::User(principal.into()));
            assert!(cache.known.len() <= MAX_CALLERS);
        }
    }
}
