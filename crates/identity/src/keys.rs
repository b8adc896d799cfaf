//! A set of mostly consecutive keys: 64 of them share a word, so a hundred thousand memberships need 1,600 nodes for their
//! keys.

use rpds::RedBlackTreeMapSync;
use skep_protocol::Key;

/// Number of keys per word.
const WORD: i64 = 64;

/// A set of keys. Like the maps of a directory, clones share common parts.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Words by key divided by 64.
    words: RedBlackTreeMapSync<i64, u64>,
    count: usize,
}

/// The word that contains a key, and its bit there.
fn place(key: Key) -> (i64, u64) {
    (key.0.div_euclid(WORD), 1 << key.0.rem_euclid(WORD))
}

/// The keys of a word, in ascending order.
fn keys_of((word, bits): (&i64, &u64)) -> impl Iterator<Item = Key> + use<> {
    let (first, bits) = (word * WORD, *bits);
    (0..WORD)
        .filter(move |bit| bits >> bit & 1 == 1)
        .map(move |bit| Key(first + bit))
}

impl Keys {
    pub fn insert(&mut self, key: Key) {
        let (word, bit) = place(key);
        let bits = self.words.get(&word).copied().unwrap_or_default();
        self.count += usize::from(bits & bit == 0);
        self.words.insert_mut(word, bits | bit);
    }

    pub fn remove(&mut self, key: Key) {
        let (word, bit) = place(key);
        let Some(bits) = self.words.get(&word).copied() else {
            return;
        };
        self.count -= usize::from(bits & bit != 0);
        match bits & !bit {
            0 => self.words.remove_mut(&word),
            left => {
                self.words.insert_mut(word, left);
                true
            }
        };
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn last(&self) -> Option<Key> {
        keys_of(self.words.last()?).last()
    }

    /// The keys after this one, in ascending order.
    pub fn behind(&self, key: Key) -> impl Iterator<Item = Key> + '_ {
        let (word, _) = place(key);
        let from = self.words.range(word..);
        from.flat_map(keys_of).filter(move |of| *of > key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_like_a_plain_set(steps in prop::collection::vec((any::<bool>(), -70i64..300), 0..200), behind in -80i64..310) {
            let (mut keys, mut plain) = (Keys::default(), BTreeSet::new());
            for (inserts, key) in steps {
                if inserts {
                    keys.insert(Key(key));
                    plain.insert(Key(key));
                } else {
                    keys.remove(Key(key));
                    plain.remove(&Key(key));
                }
                prop_assert_eq!(keys.len(), plain.len());
                prop_assert_eq!(keys.last(), plain.last().copied());
            }
            let expected: Vec<Key> = plain.into_iter().filter(|key| key.0 > behind).collect();
            prop_assert_eq!(keys.behind(Key(behind)).collect::<Vec<Key>>(), expected);
        }
    }
}
