//! Texts that come again and again: job types, workers, names of variables. Rows share one copy of each.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Texts kept at most; beyond that the collection starts anew.
const MAX_NAMES: usize = 4096;
/// Longer texts (bytes) are not kept.
const MAX_LENGTH: usize = 128;

#[derive(Debug, Default)]
pub struct Names(HashTable<Arc<str>>);

fn hash(text: &[u8]) -> u64 {
    FxBuildHasher.hash_one(text)
}

impl Names {
    /// The shared copy of a text that has one of its own.
    pub fn share(&mut self, text: &Arc<str>) -> Arc<str> {
        match self.find(text.as_bytes()) {
            Some(name) => name,
            None => self.keep(text.clone()),
        }
    }

    /// The shared copy of a text.
    pub fn get(&mut self, text: &str) -> Arc<str> {
        match self.find(text.as_bytes()) {
            Some(name) => name,
            None => self.keep(text.into()),
        }
    }

    /// The shared copy of the text with these bytes, which need not be one, if there is a copy.
    #[inline]
    pub fn find(&self, text: &[u8]) -> Option<Arc<str>> {
        if text.is_empty() {
            return Some(Arc::default());
        }
        let found = self.0.find(hash(text), |name| name.as_bytes() == text);
        found.cloned()
    }

    fn keep(&mut self, name: Arc<str>) -> Arc<str> {
        if name.len() <= MAX_LENGTH {
            if self.0.len() >= MAX_NAMES {
                self.0.clear();
            }
            let (hash, kept) = (hash(name.as_bytes()), name.clone());
            self.0
                .insert_unique(hash, kept, |name| self::hash(name.as_bytes()));
        }
        name
    }
}
