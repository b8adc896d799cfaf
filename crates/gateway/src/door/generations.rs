//! A map of limited size that forgets what has not come for longest, without a list of who came when.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// What was found or added lately, and what was before that: who comes again and again is never forgotten, however many others come.
#[derive(Debug)]
pub struct Generations<K, T> {
    /// Entries that are kept whatever comes; up to as many older ones stay until there are more.
    most: usize,
    young: FxHashMap<K, T>,
    old: FxHashMap<K, T>,
}

impl<K: Hash + Eq, T> Generations<K, T> {
    pub fn new(most: usize) -> Generations<K, T> {
        Generations {
            most,
            young: FxHashMap::default(),
            old: FxHashMap::default(),
        }
    }

    pub fn get<Q>(&mut self, key: &Q) -> Option<&mut T>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if !self.young.contains_key(key) {
            let (key, what) = self.old.remove_entry(key)?;
            self.add(key, what);
        }
        self.young.get_mut(key)
    }

    /// Adds or replaces an entry.
    pub fn add(&mut self, key: K, what: T) {
        self.make_room(&key);
        self.young.insert(key, what);
    }

    /// The entry, which is made if there is none.
    pub fn entry(&mut self, key: K, new: impl FnOnce() -> T) -> &mut T {
        let old = self.old.remove(&key);
        self.make_room(&key);
        let made = || old.unwrap_or_else(new);
        self.young.entry(key).or_insert_with(made)
    }

    pub fn remove<Q>(&mut self, key: &Q) -> Option<T>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let old = self.old.remove(key);
        self.young.remove(key).or(old)
    }

    fn make_room(&mut self, key: &K) {
        if self.young.len() >= self.most && !self.young.contains_key(key) {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

#[cfg(test)]
impl<K, T> Generations<K, T> {
    pub fn count(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether it is there. Unlike [`Generations::get`], the question does not keep it.
    pub fn has<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q> + Hash + Eq,
        Q: Hash + Eq + ?Sized,
    {
        self.young.contains_key(key) || self.old.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 100;

    #[test]
    fn who_comes_again_and_again_stays_and_the_others_are_limited() {
        let mut all = Generations::new(MOST);
        for number in 0..10 * MOST {
            all.add(number + 2, 0);
            *all.entry(0, || 0) += 1;
            all.entry(1, || 0);
            if number % (MOST / 2) == 0 {
                assert_eq!(all.get(&1), Some(&mut 0), "{number}");
            }
            assert!(all.count() <= 2 * MOST, "{number}");
        }
        assert_eq!(all.get(&0), Some(&mut (10 * MOST)));
        assert!(!all.has(&2), "it has not come again");
    }

    #[test]
    fn an_entry_is_replaced_and_removed_in_both_generations() {
        for others in [0, MOST] {
            let mut all = Generations::new(MOST);
            all.add(0, 'a');
            for number in 0..others {
                all.add(number + 1, 'x');
            }
            all.add(0, 'b');
            assert_eq!(all.get(&0), Some(&mut 'b'), "{others}");
            assert_eq!(all.remove(&0), Some('b'), "{others}");
            assert_eq!(all.get(&0), None, "{others}");
            assert_eq!(all.remove(&0), None, "{others}");
        }
    }

    #[test]
    fn an_entry_that_is_there_makes_no_room() {
        let mut all = Generations::new(MOST);
        for number in 0..MOST {
            all.add(number, 'a');
        }
        for number in 0..MOST {
            all.add(number, 'b');
            all.entry(number, || 'c');
        }
        assert_eq!(all.count(), MOST);
    }
}
