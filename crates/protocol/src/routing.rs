//! Routing: which partitions there are, and which of them has a key or a correlation key.
//!
//! Correlation keys belong to slots, and slots to partitions. The table of slots is what the cluster has agreed on last. Which partition
//! really has a slot is in the logs of the partitions, between which slots move while the cluster works: a partition sends on whatever
//! reaches it by an outdated table.

mod slots;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

pub use slots::shard_of;

use self::slots::Slots;
use crate::command::At;
use crate::key::Key;

/// The routing that the cluster has agreed on. It is the only way to find the partition of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    version: u64,
    /// Partitions that exist, and can have made keys.
    partitions: u32,
    /// Partitions that take part: the first ones.
    active: u32,
    /// Partitions that get new instances: the first ones. The others that take part are drained.
    accepting: u32,
    /// Partitions with which the cluster began: the first ones. Correlation keys were spread over them at first.
    initial: u32,
    slots: Slots,
    /// The partition of each slot.
    table: Arc<[u32]>,
    /// The table that the partitions are bringing about by moving slots, if they are.
    target: Option<Arc<[u32]>>,
}

impl Routing {
    /// The partition that decides for all: shared data is created on it.
    pub const FIRST: u32 = 1;

    /// The routing of a cluster that has had this many partitions from the beginning.
    pub fn new(partitions: u32) -> Routing {
        Routing::scaled(partitions, partitions, partitions)
    }

    /// The routing of a cluster that began with `initial` partitions and has more of them now. Only `active` of them take part.
    pub fn scaled(initial: u32, active: u32, partitions: u32) -> Routing {
        let initial = initial.max(1);
        let active = active.max(initial);
        let slots = Slots::of(initial);
        Routing {
            version: 1,
            partitions: partitions.max(active),
            active,
            accepting: active,
            initial,
            slots,
            table: (0..slots.count()).map(|slot| slots.initial(slot)).collect(),
            target: None,
        }
    }

    /// The slots have been spread over these numbers of partitions, one after the other.
    #[must_use]
    pub fn spread_over(self, counts: &[u32]) -> Routing {
        let spread = |table: Arc<[u32]>, count: &u32| slots::spread(&table, *count);
        let table = counts.iter().fold(Arc::clone(&self.table), spread);
        Routing { table, ..self }
    }

    /// The slots are now being spread over this many partitions.
    #[must_use]
    pub fn relocating_to(self, count: Option<u32>) -> Routing {
        let target = count.map(|count| slots::spread(&self.table, count));
        Routing { target, ..self }
    }

    /// Only this many partitions get new instances; those above are drained.
    #[must_use]
    pub fn accepting_only(self, partitions: u32) -> Routing {
        let accepting = partitions.clamp(self.initial, self.active);
        Routing { accepting, ..self }
    }

    /// Sets the number of the cluster's change.
    pub fn at_version(self, version: u64) -> Routing {
        Routing { version, ..self }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// The partitions that take part, in ascending order. New ones have no data yet.
    pub fn partitions(&self) -> impl DoubleEndedIterator<Item = u32> + Clone + use<> {
        1..=self.active
    }

    /// How many take part.
    pub fn count(&self) -> u32 {
        self.active
    }

    /// How many get new instances: the first ones.
    pub fn accepting(&self) -> u32 {
        self.accepting
    }

    /// The partitions with which the cluster began. Correlation keys were spread over them at first.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// Whether it exists, taking part or not.
    pub fn has(&self, partition: u32) -> bool {
        (1..=self.partitions).contains(&partition)
    }

    /// The partition of the entity with this key; `None`: no partition can have made such a key.
    pub fn home(&self, key: Key) -> Option<u32> {
        key.partition().filter(|partition| self.has(*partition))
    }

    /// The partition that keeps messages with this correlation key, and subscriptions to them, as far as the cluster has agreed.
    pub fn of_correlation(&self, correlation_key: &str) -> u32 {
        self.of_slot(self.slot_of(correlation_key))
    }

    /// The slot of a correlation key. It never changes: the rows of partitions that have moved slots name them.
    pub fn slot_of(&self, correlation_key: &str) -> u32 {
        self.slots.of_key(correlation_key)
    }

    pub fn of_slot(&self, slot: u32) -> u32 {
        let partition = self.table.get(slot as usize);
        partition.copied().unwrap_or(Routing::FIRST)
    }

    /// The partition that had the slot when the cluster began.
    pub fn initial_of_slot(&self, slot: u32) -> u32 {
        self.slots.initial(slot)
    }

    /// The shards ([`shard_of`]) in which the keys of the slot are. They have keys of other slots too.
    pub fn shards_of_slot(&self, slot: u32) -> RangeInclusive<u16> {
        self.slots.shards(slot)
    }

    /// While slots are being moved: the partition that is to have the slot.
    pub fn target_of_slot(&self, slot: u32) -> Option<u32> {
        self.target.as_ref()?.get(slot as usize).copied()
    }

    /// While slots are being moved: each slot with the partition that is to have it.
    pub fn targets(&self) -> Option<impl Iterator<Item = (u32, u32)> + '_> {
        let target = self.target.as_ref()?;
        Some((0..).zip(target.iter().copied()))
    }

    /// How many partitions have slots.
    pub fn spread(&self) -> usize {
        let of: BTreeSet<u32> = self.table.iter().copied().collect();
        of.len()
    }

    /// How many slots the partition has.
    pub fn slots_of(&self, partition: u32) -> u32 {
        let slots = self.table.iter().filter(|of| **of == partition);
        slots.map(|_| 1).sum()
    }

    /// How many slots move from one partition to another so that they are spread over `count` partitions.
    pub fn moves(&self, count: u32) -> BTreeMap<(u32, u32), u32> {
        let target = slots::spread(&self.table, count);
        let pairs = self.table.iter().copied().zip(target.iter().copied());
        let mut moves = BTreeMap::new();
        for pair in pairs.filter(|(from, to)| from != to) {
            *moves.entry(pair).or_default() += 1;
        }
        moves
    }

    /// Whether each key belongs to the remainder of its hash by the number of partitions with which the cluster began.
    pub fn is_by_remainder(&self) -> bool {
        let mut table = (0..).zip(self.table.iter());
        table.all(|(slot, partition)| self.slots.initial(slot) == *partition)
    }

    /// The partition that carries out a command; `None`: any, or its key names nothing.
    pub fn partition_of(&self, at: At<'_>) -> Option<u32> {
        match at {
            At::Key(key) => self.home(key),
            At::Correlation(key) => Some(self.of_correlation(key)),
            At::Turn => None,
            At::First | At::Home => Some(Routing::FIRST),
            At::Given(partition) => Some(partition),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The partition of a message is part of data on disk.
        #[test]
        fn a_cluster_that_was_never_scaled_spreads_by_the_remainder_of_the_hash(
            partitions in 1u32..=1024,
            key in ".{0,12}",
        ) {
            let hash = key.bytes().fold(0i32, |h, b| {
                h.wrapping_mul(31).wrapping_add(i32::from(b as i8))
            });
            let expected = (hash % partitions as i32).unsigned_abs() + 1;
            prop_assert_eq!(Routing::new(partitions).of_correlation(&key), expected);
            let scaled = Routing::scaled(partitions, partitions + 1, partitions + 3);
            prop_assert_eq!(scaled.of_correlation(&key), expected, "messages stay where they are looked for");
        }
    }

    proptest! {
        #[test]
        fn few_slots_move_and_in_the_end_all_partitions_have_as_many(
            initial in 1u32..20,
            more in proptest::collection::vec(1u32..40, 1..4),
        ) {
            let mut routing = Routing::new(initial);
            for count in more {
                let before = routing.table.clone();
                let target = routing.clone().relocating_to(Some(count));
                routing = routing.spread_over(&[count]);
                let all = target.targets().into_iter().flatten().map(|(_, of)| of);
                prop_assert!(all.eq(routing.table.iter().copied()), "the target is what is agreed on in the end");
                let of = |table: &[u32], partition| table.iter().filter(|it| **it == partition).count();
                let counts: Vec<_> = (1..=count).map(|it| of(&routing.table, it)).collect();
                let (least, most) = (counts.iter().min(), counts.iter().max());
                prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{:?}", counts);
                prop_assert_eq!(counts.iter().sum::<usize>(), before.len());
                let moves = target.moves(count);
                // A partition either gets slots or gives some away.
                for partition in 1..=40 {
                    let (had, has) = (of(&before, partition), of(&routing.table, partition));
                    prop_assert_eq!(target.slots_of(partition) as usize, had);
                    let sum = |is_of: &dyn Fn(&(u32, u32)) -> bool| {
                        let slots = moves.iter().filter(|(pair, _)| is_of(pair));
                        slots.map(|(_, slots)| *slots as usize).sum::<usize>()
                    };
                    let given = sum(&|(from, _)| *from == partition);
                    let got = sum(&|(_, to)| *to == partition);
                    prop_assert_eq!((given, got), (had.saturating_sub(has), has.saturating_sub(had)));
                    let pairs = before.iter().zip(routing.table.iter());
                    let kept = pairs.filter(|(a, b)| **a == partition && **b == partition).count();
                    prop_assert_eq!(kept, had.min(has));
                }
            }
        }
    }

    /// Rows on disk name slots.
    #[test]
    fn a_correlation_key_has_the_same_slot_for_ever() {
        let slots = |initial, key| Routing::new(initial).slot_of(key);
        let all =
            ["", "a", "order-4711", "köln"].map(|key| [1, 3, 5].map(|initial| slots(initial, key)));
        assert_eq!(
            all,
            [
                [0, 0, 0],
                [3888, 5833, 4862],
                [1394, 2092, 1744],
                [2131, 3196, 2660],
            ]
        );
    }

    #[test]
    fn the_keys_of_a_slot_are_in_its_shards() {
        for initial in [1, 3, 7, 1024] {
            let routing = Routing::new(initial);
            for number in 0..5_000 {
                let key = format!("key-{number}");
                let slot = routing.slot_of(&key);
                assert!(routing.shards_of_slot(slot).contains(&shard_of(&key)));
                assert_eq!(routing.initial_of_slot(slot), routing.of_correlation(&key));
            }
        }
    }

    #[test]
    fn keys_are_spread_evenly_over_added_partitions() {
        let routing = Routing::scaled(3, 6, 6).spread_over(&[6]);
        assert!(!routing.is_by_remainder() && Routing::new(3).is_by_remainder());
        let mut counts = [0; 6];
        for number in 0..60_000 {
            let partition = routing.of_correlation(&format!("order-{number}"));
            if let Some(count) = counts.get_mut(partition as usize - 1) {
                *count += 1;
            }
        }
        assert!(
            counts.iter().all(|count| (9_000..11_000).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_key_belongs_to_the_partition_that_created_it_if_that_exists() {
        let routing = Routing::new(3);
        assert_eq!(routing.home(Key::new(3, 1)), Some(3));
        for key in [Key::new(4, 1), Key::NONE, Key(0), Key(i64::MIN)] {
            assert_eq!(routing.home(key), None, "{key}");
        }
        assert_eq!(routing.partitions().collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn commands_that_any_partition_can_carry_out_have_none_of_their_own() {
        let routing = Routing::new(3);
        assert_eq!(routing.partition_of(At::Turn), None);
        assert_eq!(routing.partition_of(At::Home), Some(1));
        assert_eq!(routing.partition_of(At::Given(7)), Some(7));
        assert_eq!(routing.partition_of(At::Key(Key::new(2, 5))), Some(2));
    }

    #[test]
    fn a_partition_that_has_just_come_about_has_keys_and_takes_no_part() {
        let routing = Routing::scaled(3, 4, 6);
        assert_eq!(routing.partitions().collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(routing.home(Key::new(6, 1)), Some(6));
        assert_eq!(routing.home(Key::new(7, 1)), None);
    }

    #[test]
    fn a_partition_that_is_drained_takes_part_and_gets_no_new_instances() {
        let routing = Routing::scaled(3, 6, 6).accepting_only(4);
        assert_eq!((routing.accepting(), routing.count()), (4, 6));
        assert_eq!(routing.home(Key::new(6, 1)), Some(6));
        assert_eq!(Routing::new(3).accepting(), 3);
        // Correlation keys are distributed over the initial partitions, which can start instances themselves.
        assert_eq!(Routing::scaled(3, 6, 6).accepting_only(1).accepting(), 3);
        assert_eq!(Routing::scaled(3, 4, 6).accepting_only(6).accepting(), 4);
    }
}
