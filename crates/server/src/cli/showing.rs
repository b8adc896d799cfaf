//! Commands that show the contents of a server, and its problems.

pub mod incidents;
pub mod instance;
pub mod instances;
pub mod jobs;
pub mod log;
pub mod processes;
pub mod status;
pub mod tasks;
