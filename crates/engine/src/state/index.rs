//! Finds the row of a key. It stores one number per row, and nothing else.
//!
//! The keys are in the cells, so the index does not repeat them: it has 5 bytes for each slot, where a map from key to
//! position has 17. It consists of parts that grow separately. Growing rehashes every key; for a million rows at once that
//! would block a partition for longer than a turn may take, and temporarily need twice the memory.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use skep_protocol::Key;

use super::cells::Cells;

/// Parts of an index.
const PARTS: usize = 32;

pub(super) struct Index([HashTable<u32>; PARTS]);

#[inline]
fn hash(key: Key) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl Index {
    pub fn new() -> Index {
        Index([const { HashTable::new() }; PARTS])
    }

    #[inline]
    fn part(&self, hash: u64) -> Option<&HashTable<u32>> {
        self.0.get(number(hash))
    }

    #[inline]
    fn part_mut(&mut self, hash: u64) -> Option<&mut HashTable<u32>> {
        self.0.get_mut(number(hash))
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(HashTable::len).sum()
    }

    /// The position of the key's cell.
    #[inline]
    pub fn get<V>(&self, key: Key, cells: &Cells<V>) -> Option<u32> {
        let hash = hash(key);
        let has_key = |at: &u32| cells.key(*at) == key;
        self.part(hash)?.find(hash, has_key).copied()
    }

    /// Adds the cell of a new key; the key may be written into the cell afterwards.
    #[inline]
    pub fn add<V>(&mut self, key: Key, at: u32, cells: &Cells<V>) {
        let hash = hash(key);
        if let Some(part) = self.part_mut(hash) {
            part.insert_unique(hash, at, |at| self::hash(cells.key(*at)));
        }
    }

    /// Updates the position of a key whose cell has moved.
    pub fn moved(&mut self, key: Key, from: u32, to: u32) {
        let hash = hash(key);
        let place = self
            .part_mut(hash)
            .and_then(|part| part.find_mut(hash, |at| *at == from));
        if let Some(place) = place {
            *place = to;
        }
    }

    /// Removes the key, whose cell is at this position.
    #[inline]
    pub fn remove(&mut self, key: Key, at: u32) {
        let hash = hash(key);
        if let Some(part) = self.part_mut(hash)
            && let Ok(entry) = part.find_entry(hash, |found| *found == at)
        {
            entry.remove();
        }
    }

    /// Releases memory, if there is much to release.
    pub fn close_up<V>(&mut self, cells: &Cells<V>) {
        for part in &mut self.0 {
            if part.len() < part.capacity() / 4 {
                part.shrink_to_fit(|at| hash(cells.key(*at)));
            }
        }
    }
}

/// The part for a hash. The lowest bits of the hash choose the slot in the part, and the highest ones tell slots apart.
#[inline]
fn number(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(index: &mut Index, cells: &mut Cells<i64>, key: i64) -> u32 {
        let at = cells.take();
        cells.get_mut(at).unwrap().fill(Key(key), key, 0, false);
        index.add(Key(key), at, cells);
        at
    }

    #[test]
    fn keys_are_found_until_they_are_removed() {
        let (mut index, mut cells) = (Index::new(), Cells::new());
        let places: Vec<u32> = (0..10_000)
            .map(|n| put(&mut index, &mut cells, 5 * n))
            .collect();
        for n in (0..10_000).filter(|n| n % 3 > 0) {
            index.remove(Key(5 * n), places[n as usize]);
            cells.remove(places[n as usize]);
        }
        index.close_up(&cells);
        assert_eq!(index.len(), 3334);
        for n in 0..10_000 {
            let found = index.get(Key(5 * n), &cells);
            assert_eq!(found, (n % 3 == 0).then(|| places[n as usize]));
            assert_eq!(index.get(Key(5 * n + 1), &cells), None);
        }
    }

    #[test]
    fn a_cell_that_moved_is_found_at_its_new_place() {
        let (mut index, mut cells) = (Index::new(), Cells::new());
        let places: Vec<u32> = (0..1000).map(|n| put(&mut index, &mut cells, n)).collect();
        for n in (0..1000).filter(|n| n % 2 == 0) {
            index.remove(Key(n), places[n as usize]);
            cells.remove(places[n as usize]);
        }
        cells.close_up(|key, from, to| index.moved(key, from, to));
        for n in (1..1000).step_by(2) {
            let at = index.get(Key(n), &cells).unwrap();
            assert_eq!(cells.get(at).unwrap().row, Some(n));
        }
    }

    #[test]
    fn the_parts_of_rising_keys_are_of_one_size() {
        let (mut index, mut cells) = (Index::new(), Cells::new());
        for n in 0..64_000 {
            put(&mut index, &mut cells, (1 << 51) + 5 * n);
        }
        let sizes = index.0.iter().map(HashTable::len);
        assert!(sizes.clone().min() > Some(1000) && sizes.max() < Some(4000));
    }
}
