//! Keys: 64 bits, the upper 13 name the partition, the lower 51 count.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const COUNTER_BITS: u32 = 51;
const COUNTER_MASK: i64 = (1 << COUNTER_BITS) - 1;

/// The highest partition id. The 13 partition bits reach 8191, but then the sign bit of the 64 is set and a key would read
/// as a negative number; clients treat those as "none", so half of the range is left unused.
pub const MAX_PARTITION: u32 = 4095;

/// Identifies an entity in the cluster, permanently. Unique over all partitions; `-1` stands for "none".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub i64);

impl Key {
    pub const NONE: Key = Key(-1);

    pub fn new(partition: u32, counter: u64) -> Key {
        Key((i64::from(partition) << COUNTER_BITS) | (counter as i64 & COUNTER_MASK))
    }

    /// The partition that made the key; `None` when no partition can have made it.
    pub fn partition(self) -> Option<u32> {
        let partition = (self.0 >> COUNTER_BITS) as u32;
        (self.0 > 0 && partition > 0).then_some(partition)
    }

    pub fn counter(self) -> u64 {
        (self.0 & COUNTER_MASK) as u64
    }

    pub fn is_none(self) -> bool {
        self.0 < 0
    }

    /// The key, or `None` for [`Key::NONE`].
    pub fn some(self) -> Option<Key> {
        (!self.is_none()).then_some(self)
    }
}

impl Default for Key {
    fn default() -> Self {
        Key::NONE
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Represents [`Key::NONE`].
const NONE: u64 = 1;
/// Partitions below are written in 4 bits.
const FEW: u64 = 16;

/// Keys are encoded with the partition in the low bits, so that a variable-length integer needs 4 or 5 bytes and not 9: the
/// lowest bit selects whether the partition takes the next 4 bits, as nearly always, or the next 12; then follows the
/// counter.
#[inline]
pub(crate) fn to_wire(key: Key) -> u64 {
    if key.is_none() {
        return NONE;
    }
    let (partition, counter) = ((key.0 >> COUNTER_BITS) as u64, key.counter());
    if partition < FEW {
        counter << 5 | partition << 1
    } else {
        counter << 13 | partition << 1 | 1
    }
}

#[inline(always)]
pub(crate) fn from_wire(wire: u64) -> Key {
    // Nearly all keys are of this kind.
    if wire & 1 == 0 {
        return of_parts(wire >> 1 & 0xf, wire >> 5);
    }
    match wire {
        NONE => Key::NONE,
        _ => of_parts(wire >> 1 & 0xfff, wire >> 13),
    }
}

#[inline(always)]
fn of_parts(partition: u64, counter: u64) -> Key {
    Key((partition << COUNTER_BITS | counter & COUNTER_MASK as u64) as i64)
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() {
            return s.serialize_i64(self.0);
        }
        s.serialize_u64(to_wire(*self))
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        if d.is_human_readable() {
            return i64::deserialize(d).map(Key);
        }
        u64::deserialize(d).map(from_wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_carries_its_partition_in_the_upper_13_bits() {
        let key = Key::new(1, 1);
        assert_eq!(key.0, 2251799813685249);
        assert_eq!(key.partition(), Some(1));
        assert_eq!(Key::new(MAX_PARTITION, 7).partition(), Some(MAX_PARTITION));
        assert_eq!(Key(42).partition(), None);
        assert_eq!(Key(-1).partition(), None);
    }

    #[test]
    fn the_first_and_the_last_key_survive_the_wire() {
        for key in [
            Key::NONE,
            Key(0),
            Key(1),
            Key(i64::MAX),
            Key::new(15, 0),
            Key::new(16, 0),
        ] {
            assert_eq!(from_wire(to_wire(key)), key);
        }
        assert_eq!(to_wire(Key::new(1, 1 << 22)).next_power_of_two(), 1 << 28);
    }

    proptest::proptest! {
        #[test]
        fn every_key_survives_the_wire(partition in 1..=MAX_PARTITION, counter in 0u64..(1 << 50)) {
            let key = Key::new(partition, counter);
            proptest::prop_assert_eq!(from_wire(to_wire(key)), key);
        }

        #[test]
        fn every_number_from_the_wire_becomes_a_key(wire: u64) {
            let key = from_wire(wire);
            proptest::prop_assert!(key.0 >= -1);
            proptest::prop_assert_eq!(from_wire(to_wire(key)), key);
        }
    }
}
