//! Routing: which partitions there are, and which of them has a key or a correlation key.

use crate::command::At;
use crate::key::Key;

/// Minimum number of slots: the granularity in which correlation keys are spread over added partitions.
const LEAST_SLOTS: u32 = 4096;

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
    /// Partitions over which correlation keys are spread: the first ones.
    initial: u32,
    /// The partition of each slot of correlation keys. Their number is a multiple of the partitions with which the cluster began,
    /// so that a cluster that was never scaled spreads keys by the plain remainder of their hash.
    slots: Box<[u32]>,
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
        let slots = initial * LEAST_SLOTS.div_ceil(initial);
        Routing {
            version: 1,
            partitions: partitions.max(active),
            active,
            accepting: active,
            initial,
            slots: (0..slots).map(|slot| slot % initial + 1).collect(),
        }
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

    /// The partitions with which the cluster began. Correlation keys are spread over them.
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

    /// The partition that keeps messages with this correlation key, and subscriptions to them.
    ///
    /// The hash is part of the cluster's layout: `h = 31·h + byte` in 32 bits; its remainder by the number of slots is the slot.
    pub fn of_correlation(&self, correlation_key: &str) -> u32 {
        let hash = correlation_key.bytes().fold(0i32, |h, b| {
            h.wrapping_mul(31).wrapping_add(i32::from(b as i8))
        });
        let slots = self.slots.len().max(1) as i32;
        let slot = (hash % slots).unsigned_abs() as usize;
        self.slots.get(slot).copied().unwrap_or(Routing::FIRST)
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
