//! Events: subscriptions, triggers, and throwing.

pub(crate) mod boundary_event;
pub(crate) mod catching;
pub(crate) mod end_event;
pub(crate) mod intermediate_catch_event;
pub(crate) mod start_event;
pub(crate) mod subscriptions;
pub(crate) mod throw_event;
pub(crate) mod throwing;
pub(crate) mod triggers;
