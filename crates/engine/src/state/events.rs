//! Events that instances wait for: messages, signals, conditions and timers.

pub mod messages;
mod sharded;
pub mod subscriptions;
pub mod timers;
