//! Slots: the units in which correlation keys move between partitions.
//!
//! The hash of a key is `h = 31·h + byte` in 32 bits. Its remainder by the number of initial partitions tells the key's first partition;
//! the other part of the slot is a shard, which depends on the key alone. So a cluster that was never scaled spreads keys by the plain
//! remainder, and each partition can list the keys of a slot without looking at all of its keys.

use std::ops::RangeInclusive;
use std::sync::Arc;

/// Minimum number of slots: the granularity in which correlation keys are spread over added partitions.
const LEAST_SLOTS: u32 = 4096;
/// There are 2^12 shards.
const SHARD_BITS: u32 = 12;

/// The slots of a cluster that began with `initial` partitions: a power of two for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    initial: u32,
    /// Each initial partition has 2^bits slots.
    bits: u32,
}

impl Slots {
    pub fn of(initial: u32) -> Slots {
        let each = LEAST_SLOTS.div_ceil(initial).next_power_of_two();
        Slots {
            initial,
            bits: each.trailing_zeros(),
        }
    }

    pub fn count(self) -> u32 {
        self.initial << self.bits
    }

    pub fn of_key(self, correlation_key: &str) -> u32 {
        let hash = hash(correlation_key);
        let group = shard(hash) >> (SHARD_BITS - self.bits);
        group * self.initial + (hash % self.initial as i32).unsigned_abs()
    }

    pub fn initial(self, slot: u32) -> u32 {
        slot % self.initial + 1
    }

    pub fn shards(self, slot: u32) -> RangeInclusive<u16> {
        let rest = SHARD_BITS - self.bits;
        let first = (slot / self.initial) << rest;
        first as u16..=(first + (1 << rest) - 1) as u16
    }
}

/// The shard of a correlation key, less than 4096. Stores keep their keys in the order of shards.
pub fn shard_of(correlation_key: &str) -> u16 {
    shard(hash(correlation_key)) as u16
}

fn hash(correlation_key: &str) -> i32 {
    correlation_key.bytes().fold(0i32, |h, b| {
        h.wrapping_mul(31).wrapping_add(i32::from(b as i8))
    })
}

/// The high bits of the hash after a multiplication (Fibonacci hashing): even the hashes of short keys differ in them.
fn shard(hash: i32) -> u32 {
    (hash as u32).wrapping_mul(0x9E37_79B1) >> (32 - SHARD_BITS)
}

/// Spreads the slots of this table evenly over the first `count` partitions. Those that have too many keep their first slots; the others
/// get the rest, in order.
pub(super) fn spread(table: &[u32], count: u32) -> Arc<[u32]> {
    let (count, slots) = (count.max(1) as usize, table.len());
    let mut room: Vec<usize> = (0..count)
        .map(|it| slots / count + usize::from(it < slots % count))
        .collect();
    let kept: Vec<bool> = table
        .iter()
        .map(|partition| {
            let room = room.get_mut((*partition as usize).wrapping_sub(1));
            match room {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    true
                }
                _ => false,
            }
        })
        .collect();
    let mut free = (1u32..)
        .zip(room)
        .flat_map(|(partition, left)| std::iter::repeat_n(partition, left));
    let moved = |(partition, kept): (&u32, bool)| {
        if kept {
            *partition
        } else {
            free.next().unwrap_or(*partition)
        }
    };
    table.iter().zip(kept).map(moved).collect()
}
