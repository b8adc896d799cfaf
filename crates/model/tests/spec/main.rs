//! What a BPMN file must look like to be deployed, and what becomes of it: one test per rule.

mod deployment;
mod events;
mod extensions;
mod files;
mod flows;
mod graph;
mod not_supported;
mod pinned;
mod process_ids;
mod robustness;
mod start_events;
mod structure;
mod support;
mod tasks;
