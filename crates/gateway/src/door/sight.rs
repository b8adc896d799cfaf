//! Permissions of callers, as far as the gateway checks them itself: before it searches, and where no engine command is sent.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_identity::{Directory, Grants};
use skep_protocol::origin::Claims;

/// Callers whose permissions are remembered.
const MAX_CALLERS: usize = 1_000;

/// Permissions of callers under one directory. The directory is held, so that another one has another address.
#[derive(Debug, Default)]
pub struct Sights(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    directory: Option<Arc<Directory>>,
    by_name: FxHashMap<Arc<str>, (Claims, Arc<Grants>)>,
}

impl Sights {
    /// The permissions of the caller; `None`: no check applies.
    pub fn of(&self, directory: &Arc<Directory>, claims: &Claims) -> Option<Arc<Grants>> {
        let (Claims::User(principal) | Claims::Client(principal)) = claims else {
            return None;
        };
        let mut known = self.0.lock();
        let is_same = |held: &Arc<Directory>| Arc::ptr_eq(held, directory);
        if !known.directory.as_ref().is_some_and(is_same) || known.by_name.len() >= MAX_CALLERS {
            known.directory = Some(Arc::clone(directory));
            known.by_name.clear();
        }
        if let Some((of, grants)) = known.by_name.get(&principal.id)
            && of == claims
        {
            return Some(Arc::clone(grants));
        }
        let grants = Arc::new(Grants::of(directory, claims)?);
        let entry = (claims.clone(), Arc::clone(&grants));
        known.by_name.insert(principal.id.clone(), entry);
        Some(grants)
    }
}
