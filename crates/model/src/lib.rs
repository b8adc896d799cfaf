//! BPMN resources: XML in, validated executable graph out.
//!
//! The graph speaks in indices, not strings: every flow node and sequence flow of a process has an [`ElementIndex`],
//! and the engine, the records and the state name elements by it. Nothing here knows of state or time.

pub mod graph;

pub use graph::*;
