//! Running instances: their elements and variables, and what is about to happen to them.

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
