//! Nodes have little memory, or much to keep in it.

pub mod memory_ladder;
pub mod million_live;
