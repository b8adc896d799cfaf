//! An ordered map that stores its entries in leaves of up to 64. Like the other maps of a directory, clones share common
//! parts. An entry costs little more than itself here, whereas a node per entry would cost another 64 bytes.

use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

/// Maximum number of entries in a leaf.
const MOST: usize = 64;

type Leaf<K, V> = Arc<[(K, V)]>;

/// An ordered map: leaves by their first key. No leaf is empty.
#[derive(Clone, Debug)]
pub struct Leaves<K: Ord, V>(RedBlackTreeMapSync<K, Leaf<K, V>>);

impl<K: Ord, V> Default for Leaves<K, V> {
    fn default() -> Leaves<K, V> {
        Leaves(RedBlackTreeMapSync::default())
    }
}

impl<K: Ord + Clone, V: Clone> Leaves<K, V> {
    /// The leaf that contains a key, if any does.
    fn leaf(&self, key: &K) -> Option<(&K, &Leaf<K, V>)> {
        let mut up_to = self.0.range(..=key);
        up_to.next_back().or_else(|| self.0.first())
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        let (_, leaf) = self.leaf(key)?;
        let at = leaf.binary_search_by(|(of, _)| of.cmp(key)).ok()?;
        leaf.get(at).map(|(_, value)| value)
    }

    /// Inserts a value, replacing an earlier one.
    pub fn insert(&mut self, key: K, value: V) {
        let mut entries = match self.leaf(&key) {
            Some((_, leaf)) => leaf.to_vec(),
            None => Vec::new(),
        };
        self.take_leaf(&key);
        match entries.binary_search_by(|(of, _)| of.cmp(&key)) {
            Ok(at) => {
                entries.splice(at..=at, [(key, value)]);
            }
            Err(at) => entries.insert(at, (key, value)),
        }
        if entries.len() > MOST {
            let behind = entries.split_off(MOST / 2);
            self.put_leaf(behind);
        }
        self.put_leaf(entries);
    }

    pub fn remove(&mut self, key: &K) {
        let Some((_, leaf)) = self.leaf(key) else {
            return;
        };
        let left: Vec<(K, V)> = leaf.iter().filter(|(of, _)| of != key).cloned().collect();
        if left.len() < leaf.len() {
            self.take_leaf(key);
            self.put_leaf(left);
        }
    }

    fn take_leaf(&mut self, key: &K) {
        if let Some(first) = self.leaf(key).map(|(first, _)| first.clone()) {
            self.0.remove_mut(&first);
        }
    }

    fn put_leaf(&mut self, entries: Vec<(K, V)>) {
        if let Some((first, _)) = entries.first() {
            self.0.insert_mut(first.clone(), entries.into());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries from this key on, in key order.
    pub fn starting_at(&self, key: K) -> impl Iterator<Item = (&K, &V)> {
        let first = self.leaf(&key).map(|(first, _)| first);
        let tree = &self.0;
        let leaves = first.into_iter().flat_map(move |first| tree.range(first..));
        let entries = leaves.flat_map(move |(_, leaf)| {
            let before = leaf.partition_point(|(of, _)| *of < key);
            leaf.iter().skip(before)
        });
        entries.map(|(key, value)| (key, value))
    }

    /// All entries in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let leaves = self.0.values().flat_map(|leaf| leaf.iter());
        leaves.map(|(key, value)| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_like_a_plain_map(steps in prop::collection::vec((0..4, 0u16..400, any::<u8>()), 0..900)) {
            let (mut leaves, mut plain) = (Leaves::default(), BTreeMap::new());
            for (step, key, value) in steps {
                if step > 0 {
                    leaves.insert(key, value);
                    plain.insert(key, value);
                } else {
                    leaves.remove(&key);
                    plain.remove(&key);
                }
                prop_assert_eq!(leaves.get(&key), plain.get(&key));
                let behind: Vec<(&u16, &u8)> = leaves.starting_at(key).collect();
                prop_assert_eq!(behind, plain.range(key..).collect::<Vec<_>>());
            }
            prop_assert!(leaves.iter().eq(plain.iter()));
            prop_assert_eq!(leaves.is_empty(), plain.is_empty());
            prop_assert!(leaves.0.values().all(|leaf| (1..=MOST).contains(&leaf.len())));
        }
    }
}
