//! Deployed resources: processes, decisions, forms and others, with their versions.

pub mod decisions;
pub mod definitions;
pub mod processes;
