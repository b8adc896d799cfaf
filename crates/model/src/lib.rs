//! BPMN resources: XML in, validated executable graph out.
//!
//! The graph speaks in indices, not strings: every flow node and sequence flow of a process has an [`ElementIndex`],
//! and the engine, the records and the state name elements by it. Nothing here knows of state or time.
//!
//! * [`parse`] checks a resource for deployment and compiles its executable processes,
//! * [`parse_pinned`] recompiles a deployed process with the indices that its PROCESS record pins,
//! * [`deployment`] holds the checks across the resources of one deployment,
//! * [`timer_value`] reads dates, durations and cycles, at deployment and at run time,
//! * [`builder`] writes BPMN XML for tests and load.
//!
//! Inside, one file per concept: `element/` per element kind (its XML and its rules side by side), `event/` per event
//! definition, `zeebe/` per extension element, `validate/` for rules over the finished graph. An element that becomes
//! executable gets its file there and a row in the table of `element.rs`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod builder;
mod compile;
mod context;
pub mod deployment;
mod element;
mod error;
mod event;
pub mod graph;
mod resource;
pub mod timer_value;
mod validate;
mod value;
mod xml;
mod zeebe;

pub use graph::*;
pub use resource::{Options, Resource, parse, parse_pinned};
pub use skep_protocol::findings::{Finding, Invalid, Rule};
