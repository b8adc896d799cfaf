//! Running instances: their elements, variables and pending activations.

pub mod banned;
pub mod compensations;
pub mod continuations;
pub mod element_instances;
pub mod input_collections;
pub mod joins;
pub mod migrations;
pub mod modifications;
pub mod triggers;
pub mod variables;
