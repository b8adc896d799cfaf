//! Gateways: the choice of the sequence flows on which an instance continues.

pub(crate) mod event_based_gateway;
pub(crate) mod exclusive_gateway;
pub(crate) mod inclusive_gateway;
pub(crate) mod parallel_gateway;
