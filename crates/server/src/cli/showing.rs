//! Commands that show what a server has, and what is wrong with it.

pub mod incidents;
pub mod instance;
pub mod instances;
pub mod jobs;
pub mod log;
pub mod processes;
pub mod status;
pub mod tasks;
