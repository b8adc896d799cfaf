//! Commands for developers of processes and workers.

pub mod check;
pub mod dev;
pub mod feel;
pub mod init;
pub mod test;
pub mod worker;
