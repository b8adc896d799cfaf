//! Gateways: which sequence flows an instance goes on by.

pub(crate) mod event_based_gateway;
pub(crate) mod exclusive_gateway;
pub(crate) mod inclusive_gateway;
pub(crate) mod parallel_gateway;
