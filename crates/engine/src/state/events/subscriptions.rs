//! Subscriptions of instances and definitions, except timers.
//!
//! A message subscription of an instance has two sides: the process side is on the instance's partition, the message side
//! on the partition of the correlation key. Message start events have subscriptions on every partition, because each
//! partition has some of the messages.

mod conditional;
mod message;
mod message_start;
mod process;
mod signal;

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use skep_protocol::Key;

pub use conditional::{
    ConditionCheck, ConditionalSubscription, ConditionalSubscriptions, StartsEvaluation,
};
pub use message::{MessageSubscription, MessageSubscriptions, UnderWay};
pub use message_start::{MessageStart, MessageStarts, StartedByMessage};
pub use process::{ProcessMessageSubscription, ProcessMessageSubscriptions, SubscriptionState};
pub use signal::{SignalOnItsWay, SignalSubscription, SignalSubscriptions};

fn copied(keys: Option<&BTreeSet<Key>>) -> Vec<Key> {
    keys.into_iter().flatten().copied().collect()
}

pub(in crate::appliers::state) fn remove_from<K: Hash + Eq>(
    index: &mut HashMap<K, BTreeSet<Key>>,
    entry: &K,
    key: Key,
) {
    if let Some(keys) = index.get_mut(entry) {
        keys.remove(&key);
        if keys.is_empty() {
            index.remove(entry);
        }
    }
}
