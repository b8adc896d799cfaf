//! Deployed resources: processes, decisions, forms and others, with their versions.

pub mod definitions;
pub mod process;
