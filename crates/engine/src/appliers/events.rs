//! Events that instances wait for: messages, signals, conditions and timers.

pub mod compensation_subscription;
pub mod conditional;
pub mod message;
pub mod message_start_event_subscription;
pub mod message_subscription;
pub mod process_event;
pub mod process_message_subscription;
pub mod signal;
pub mod signal_subscription;
pub mod timer;
