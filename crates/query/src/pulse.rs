//! The pulse: a version number for the rows of each entity. Pages poll it and repeat only searches of entities whose version
//! has changed.
//!
//! After each commit, a store counts the changes of each entity's rows, starting from a random number drawn when the store is
//! opened. A version is the hash of the counts of all stores in the cluster. Any of these stores may answer a search. A change
//! committed by one of them changes the version, however far behind the others are, so results found under the newest version
//! are as current as the store that answered. Versions have no other meaning. In particular, they cannot be compared by order
//! or counted.

use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::entities::ALL;
use crate::entity::Entity;

/// Number of entities with a version.
pub const KINDS: usize = ALL.len();

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| ALL.iter().map(|it| name(it)).collect());

/// A random number that was not used before.
pub fn drawn() -> u64 {
    RandomState::new().hash_one(0)
}

/// The contribution of one store to the pulse. Nodes exchange it as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorePulse {
    pub partition: u32,
    /// Random number drawn when the store was opened.
    pub start: u64,
    /// Whether this node writes the store's rows. False if another node does so, into a database that both share.
    pub fills: bool,
    /// How many milliseconds the newest row lags behind acknowledged changes; 0 if none are missing.
    pub behind_ms: u64,
    /// Counts per entity, in the order of [`ALL`]. A node of another version may have more or fewer.
    pub counts: Vec<u64>,
}

/// Versions of all entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulse {
    versions: [u64; KINDS],
    /// How many milliseconds of acknowledged history searches lack, in whole seconds, so that it is 0 while the stores keep up.
    pub behind_ms: u64,
}

impl Pulse {
    /// The pulse if stores cannot be reached. Each call returns new versions, so that nobody concludes that nothing has
    /// changed.
    pub fn unknown() -> Pulse {
        let start = drawn();
        Pulse {
            versions: std::array::from_fn(|kind| hash_of(&(start, kind))),
            behind_ms: 0,
        }
    }

    /// The pulse of these stores and the nodes they are on, in any order.
    pub fn of(stores: &mut [(u32, StorePulse)]) -> Pulse {
        stores.sort_unstable_by_key(|(node, store)| (store.partition, *node));
        let version = |kind: usize| {
            let mut hasher = DefaultHasher::new();
            kind.hash(&mut hasher);
            for (node, store) in stores.iter() {
                let count = store.counts.get(kind);
                (node, store.partition, store.start, store.fills, count).hash(&mut hasher);
            }
            hasher.finish()
        };
        Pulse {
            versions: std::array::from_fn(version),
            behind_ms: behind(stores),
        }
    }

    /// The name and version of each entity.
    pub fn versions(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = NAMES.iter().map(String::as_str);
        names.zip(self.versions.iter().copied())
    }

    /// A hash of the whole pulse.
    pub fn tag(&self) -> u64 {
        hash_of(&(self.versions, self.behind_ms))
    }
}

fn hash_of(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// The lag of the partition that is furthest behind. Of each partition, the store that is furthest ahead counts.
fn behind(stores: &[(u32, StorePulse)]) -> u64 {
    let of_partitions = stores.chunk_by(|(_, a), (_, b)| a.partition == b.partition);
    let least = of_partitions.map(|stores| {
        let filled = stores.iter().filter(|(_, store)| store.fills);
        filled.map(|(_, store)| store.behind_ms).min().unwrap_or(0)
    });
    least.max().unwrap_or(0) / 1_000 * 1_000
}

/// The client-facing name of an entity, such as `processInstance`.
pub fn name(entity: &Entity) -> String {
    let table = entity.table.strip_prefix("identity_");
    let mut words = table.unwrap_or(entity.table).split('_');
    let mut name = words.next().unwrap_or_default().to_string();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn store(partition: u32, start: u64, counts: &[u64]) -> StorePulse {
        StorePulse {
            partition,
            start,
            fills: true,
            behind_ms: 0,
            counts: counts.to_vec(),
        }
    }

    #[test]
    fn kinds_have_different_names_without_tables_in_them() {
        let names: BTreeSet<String> = ALL.iter().map(|entity| name(entity)).collect();
        assert_eq!(names.len(), KINDS);
        for expected in ["incident", "processInstance", "user", "usageMetric"] {
            assert!(names.contains(expected), "{names:?}");
        }
    }

    #[test]
    fn an_unknown_pulse_never_has_the_same_versions_twice() {
        let versions = |pulse: Pulse| pulse.versions.to_vec();
        let seen: BTreeSet<Vec<u64>> = (0..100).map(|_| versions(Pulse::unknown())).collect();
        assert_eq!(seen.len(), 100);
    }

    #[test]
    fn a_store_that_is_opened_again_has_other_versions_with_the_same_counts() {
        let before = Pulse::of(&mut [(0, store(1, drawn(), &[3; KINDS]))]);
        let after = Pulse::of(&mut [(0, store(1, drawn(), &[3; KINDS]))]);
        let same = before.versions().zip(after.versions());
        assert!(same.into_iter().all(|(a, b)| a.1 != b.1));
    }

    #[test]
    fn the_partition_that_is_furthest_behind_counts_by_the_store_that_is_ahead() {
        let behind = |partition, behind_ms| {
            let store = store(partition, 1, &[]);
            (0, StorePulse { behind_ms, ..store })
        };
        let of = |mut stores: Vec<(u32, StorePulse)>| Pulse::of(&mut stores).behind_ms;
        assert_eq!(of(vec![]), 0);
        assert_eq!(of(vec![behind(1, 999)]), 0);
        assert_eq!(of(vec![behind(1, 9_000), behind(1, 2_100)]), 2_000);
        assert_eq!(of(vec![behind(1, 2_100), behind(2, 5_700)]), 5_000);
        let (node, mut elsewhere) = behind(1, 7_000);
        elsewhere.fills = false;
        assert_eq!(of(vec![(node, elsewhere)]), 0);
    }

    proptest! {
        /// Whatever the counts of the stores: a change affects the version of its own entity only.
        #[test]
        fn a_change_in_any_store_moves_its_kind_alone(
            counts in prop::collection::vec(prop::collection::vec(0u64..1000, KINDS), 1..5),
            which in 0usize..5,
            kind in 0..KINDS,
        ) {
            let mut stores: Vec<(u32, StorePulse)> = (0u32..)
                .zip(&counts)
                .map(|(node, counts)| (node, store(node % 2 + 1, u64::from(node) * 7, counts)))
                .collect();
            let before = Pulse::of(&mut stores);
            let at = which % stores.len();
            stores[at].1.counts[kind] += 1;
            let after = Pulse::of(&mut stores);
            for (other, (a, b)) in before.versions.iter().zip(&after.versions).enumerate() {
                prop_assert_eq!(a != b, other == kind);
            }
            prop_assert_ne!(before.tag(), after.tag());
            stores.reverse();
            prop_assert_eq!(Pulse::of(&mut stores), after);
        }
    }
}
