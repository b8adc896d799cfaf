//! Permissions of callers, as far as the gateway checks them itself: before it searches, and where no engine command is sent.

use std::sync::Arc;

use parking_lot::Mutex;
use skep_identity::{Directory, Grants, Shared};
use skep_protocol::origin::Claims;

use super::generations::Generations;

/// Callers whose permissions are remembered whoever comes, and as many older ones.
const MAX_CALLERS: usize = 1_000;

/// Permissions of callers under one directory. The directory is held, so that another one has another address.
#[derive(Debug, Default)]
pub struct Sights(Mutex<Known>);

#[derive(Debug)]
struct Known {
    directory: Option<Arc<Directory>>,
    by_name: Generations<Arc<str>, (Claims, Arc<Grants>)>,
    shared: Shared,
}

impl Default for Known {
    fn default() -> Known {
        Known {
            directory: None,
            by_name: Generations::new(MAX_CALLERS),
            shared: Shared::default(),
        }
    }
}

impl Sights {
    /// The permissions of the caller; `None`: no check applies.
    pub fn of(&self, directory: &Arc<Directory>, claims: &Claims) -> Option<Arc<Grants>> {
        let (Claims::User(principal) | Claims::Client(principal)) = claims else {
            return None;
        };
        let mut known = self.0.lock();
        let is_same = |held: &Arc<Directory>| Arc::ptr_eq(held, directory);
        if !known.directory.as_ref().is_some_and(is_same) {
            *known = Known {
                directory: Some(Arc::clone(directory)),
                ..Known::default()
            };
        }
        if let Some((of, grants)) = known.by_name.get(&principal.id)
            && of == claims
        {
            return Some(Arc::clone(grants));
        }
        let grants = Arc::new(Grants::sharing(directory, claims, &mut known.shared)?);
        let entry = (claims.clone(), Arc::clone(&grants));
        known.by_name.add(principal.id.clone(), entry);
        Some(grants)
    }
}

#[cfg(test)]
mod tests {
    use skep_protocol::origin::Principal;

    use super::*;

    fn user(number: usize) -> Claims {
        Claims::User(Arc::new(Principal {
            id: format!("user-{number}").into(),
            ..Principal::default()
        }))
    }

    #[test]
    fn permissions_of_a_thousand_callers_in_turn_are_computed_once() {
        let (sights, directory) = (Sights::default(), Arc::new(Directory::default()));
        let of = |number: usize| sights.of(&directory, &user(number)).unwrap();
        let first: Vec<Arc<Grants>> = (0..MAX_CALLERS).map(of).collect();
        for (number, grants) in first.iter().enumerate() {
            assert!(Arc::ptr_eq(grants, &of(number)), "{number}");
        }
        for number in MAX_CALLERS..5 * MAX_CALLERS {
            of(number);
            if number % 100 == 0 {
                assert!(Arc::ptr_eq(&first[0], &of(0)), "{number}");
            }
            assert!(sights.0.lock().by_name.count() <= 2 * MAX_CALLERS);
        }
        assert!(!Arc::ptr_eq(&first[1], &of(1)), "it has not come again");
    }

    #[test]
    fn another_directory_ends_what_was_known() {
        let (sights, directory) = (Sights::default(), Arc::new(Directory::default()));
        let before = sights.of(&directory, &user(1)).unwrap();
        let another = Arc::new(Directory::default());
        let after = sights.of(&another, &user(1)).unwrap();
        assert!(!Arc::ptr_eq(&before, &after));
        assert!(sights.of(&another, &Claims::Anonymous).is_none());
    }
}
