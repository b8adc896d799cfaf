//! Interned texts that occur again and again: job types, workers, names of variables. Rows share one copy of each.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Maximum number of kept texts; beyond that the collection starts over.
const MAX_NAMES: usize = 4096;
/// Longer texts (bytes) are not kept.
const MAX_LENGTH: usize = 128;

/// Number of names that are found without a hash.
const RECENT: usize = 32;

#[derive(Debug, Default)]
pub struct Names {
    all: HashTable<Arc<str>>,
    /// Recently requested texts, by [`place`].
    recent: [Arc<str>; RECENT],
}

/// The slot of a text. Cheaper than a hash, and distinct for the few names in use at a time.
#[inline]
fn place(text: &[u8]) -> usize {
    let (first, last) = (text.first(), text.last());
    let ends = [first, last].map(|byte| usize::from(byte.copied().unwrap_or_default()));
    (text.len() + 3 * ends[0] + 7 * ends[1]) % RECENT
}

fn hash(text: &[u8]) -> u64 {
    FxBuildHasher.hash_one(text)
}

impl Names {
    /// The shared copy of a text; if there is none, this one becomes it.
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

    /// The shared copy of the text with these bytes, if there is one. The bytes need not be valid text.
    #[inline]
    pub fn find(&mut self, text: &[u8]) -> Option<Arc<str>> {
        let recent = self.recent.get_mut(place(text))?;
        if recent.as_bytes() != text {
            *recent = match text {
                [] => Arc::default(),
                _ => {
                    let is_it = |name: &Arc<str>| name.as_bytes() == text;
                    self.all.find(hash(text), is_it)?.clone()
                }
            };
        }
        Some(recent.clone())
    }

    fn keep(&mut self, name: Arc<str>) -> Arc<str> {
        if name.len() <= MAX_LENGTH {
            if self.all.len() >= MAX_NAMES {
                self.all.clear();
            }
            let (hash, kept) = (hash(name.as_bytes()), name.clone());
            self.all
                .insert_unique(hash, kept, |name| self::hash(name.as_bytes()));
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_one_copy() {
        let mut names = Names::default();
        let text = |n: usize| format!("{}-{}", "n".repeat(n % 5), n % 100);
        let copies: Vec<Arc<str>> = (0..100).map(|n| names.get(&text(n))).collect();
        for n in (0..100).chain((0..100).rev()) {
            let copy = &copies[n];
            assert!(Arc::ptr_eq(&names.get(&text(n)), copy));
            assert!(Arc::ptr_eq(&names.find(text(n).as_bytes()).unwrap(), copy));
            assert!(Arc::ptr_eq(&names.share(&text(n).into()), copy));
        }
        assert_eq!(names.find(b"n-"), None);
        assert_eq!(names.find(&[0xff]), None);
        assert_eq!(names.find(&[]), Some(Arc::default()));
    }

    #[test]
    fn the_number_and_the_length_of_shared_names_are_limited() {
        let mut names = Names::default();
        let long = "x".repeat(MAX_LENGTH + 1);
        assert_eq!(&*names.get(&long), long);
        assert_eq!(names.find(long.as_bytes()), None);
        for n in 0..2 * MAX_NAMES {
            assert_eq!(*names.get(&n.to_string()), *n.to_string());
            assert!(names.all.len() <= MAX_NAMES);
        }
    }
}
