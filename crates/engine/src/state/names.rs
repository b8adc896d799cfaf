//! Texts that come again and again: job types, workers, names of variables. Rows share one copy of each.

use std::sync::Arc;

use rustc_hash::FxHashSet;

/// Texts kept at most; beyond that the collection starts anew.
const MAX_NAMES: usize = 4096;
/// Longer texts (bytes) are not kept.
const MAX_LENGTH: usize = 128;

#[derive(Debug, Default)]
pub struct Names(FxHashSet<Arc<str>>);

impl Names {
    /// The shared copy of a text.
    pub fn get(&mut self, text: &str) -> Arc<str> {
        if text.is_empty() {
            return Arc::default();
        }
        if let Some(name) = self.0.get(text) {
            return name.clone();
        }
        let name: Arc<str> = text.into();
        if text.len() <= MAX_LENGTH {
            if self.0.len() >= MAX_NAMES {
                self.0.clear();
            }
            self.0.insert(name.clone());
        }
        name
    }
}
