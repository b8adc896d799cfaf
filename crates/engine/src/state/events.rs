//! Events that instances wait for: messages, signals, conditions and timers.

pub mod messages;
pub mod subscriptions;
pub mod timers;
