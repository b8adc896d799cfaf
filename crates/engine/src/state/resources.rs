//! What was deployed: processes, decisions, forms and other resources, with their versions.

pub mod decisions;
pub mod definitions;
pub mod processes;
