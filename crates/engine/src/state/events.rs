//! What instances wait for: messages, signals, conditions, time.

pub mod messages;
pub mod subscriptions;
pub mod timers;
