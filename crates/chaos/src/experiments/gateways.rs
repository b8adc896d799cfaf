//! Clients use some of the nodes, or gateways without partitions.

pub mod gateway_loss;
pub mod gateway_skew;
