//! A map over names with correlation keys, by shard: the keys of a few slots are found without looking at all others.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use skep_protocol::{TenantId, shard_of};

/// Tenant, name of a message or id of a process, correlation key.
pub(in crate::appliers::state) type Name = (TenantId, Arc<str>, Arc<str>);

pub(in crate::appliers::state) struct Sharded<V> {
    shards: BTreeMap<u16, HashMap<Name, V>>,
}

impl<V> Default for Sharded<V> {
    fn default() -> Sharded<V> {
        Sharded {
            shards: BTreeMap::new(),
        }
    }
}

impl<V> Sharded<V> {
    pub fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    pub fn get(&self, name: &Name) -> Option<&V> {
        self.shards.get(&shard(name))?.get(name)
    }

    pub(in crate::appliers::state) fn get_mut(&mut self, name: &Name) -> Option<&mut V> {
        self.shards.get_mut(&shard(name))?.get_mut(name)
    }

    pub fn contains(&self, name: &Name) -> bool {
        self.get(name).is_some()
    }

    pub(in crate::appliers::state) fn insert(&mut self, name: Name, value: V) {
        let shard = self.shards.entry(shard(&name)).or_default();
        shard.insert(name, value);
    }

    pub(in crate::appliers::state) fn remove(&mut self, name: &Name) {
        let number = shard(name);
        if let Some(shard) = self.shards.get_mut(&number) {
            shard.remove(name);
            if shard.is_empty() {
                self.shards.remove(&number);
            }
        }
    }

    /// The entries of these shards, each with its correlation key.
    pub fn of_shards(&self, shards: RangeInclusive<u16>) -> impl Iterator<Item = (&Arc<str>, &V)> {
        let entries = self.shards.range(shards).flat_map(|(_, shard)| shard);
        entries.map(|((_, _, correlation_key), value)| (correlation_key, value))
    }
}

impl<V: Default> Sharded<V> {
    pub(in crate::appliers::state) fn or_default(&mut self, name: Name) -> &mut V {
        let shard = self.shards.entry(shard(&name)).or_default();
        shard.entry(name).or_default()
    }
}

fn shard((_, _, correlation_key): &Name) -> u16 {
    shard_of(correlation_key)
}
