//! What was deployed: processes, decisions, forms and other resources, with their versions.

pub mod definitions;
pub mod process;
