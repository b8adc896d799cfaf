//! Requirements on BPMN files for deployment, and the resulting processes: one test per rule.

mod activities;
mod deployment;
mod events;
mod extensions;
mod files;
mod flows;
mod graph;
mod not_supported;
mod pinned;
mod positions;
mod process_ids;
mod robustness;
mod scopes;
mod start_events;
mod structure;
mod support;
mod tasks;
