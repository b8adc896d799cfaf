//! Operations that bring events to instances.

pub(super) mod conditional_events;
pub(super) mod messages;
pub(super) mod signals;
