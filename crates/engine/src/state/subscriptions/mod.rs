//! What instances and definitions wait for, other than timers.
//!
//! A message subscription of an instance has two sides: the process side lives with the instance, the message side where the
//! correlation key hashes to. Message start events are subscribed to on every partition, as each owns some of the messages.

mod message;
mod message_start;
mod process;

pub use message::{MessageSubscription, MessageSubscriptions, UnderWay};
pub use message_start::{MessageStart, MessageStarts, StartedByMessage};
pub use process::{ProcessMessageSubscription, ProcessMessageSubscriptions, SubscriptionState};
