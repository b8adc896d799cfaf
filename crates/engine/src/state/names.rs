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
    /// The shared copy of a text that has one of its own.
    pub fn share(&mut self, text: &Arc<str>) -> Arc<str> {
        match self.0.get(&**text) {
            Some(name) => name.clone(),
            None => self.keep(text.clone()),
        }
    }

    /// The shared copy of a text.
    pub fn get(&mut self, text: &str) -> Arc<str> {
        if text.is_empty() {
            return Arc::default();
        }
        if let Some(name) = self.0.get(text) {
            return name.clone();
        }
        self.keep(text.into())
    }

    fn keep(&mut self, name: Arc<str>) -> Arc<str> {
        if name.len() <= MAX_LENGTH {
            if self.0.len() >= MAX_NAMES {
                self.0.clear();
            }
            self.0.insert(name.clone());
        }
        name
    }
}
