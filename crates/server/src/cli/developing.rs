//! Commands for those who build processes and workers.

pub mod check;
pub mod dev;
pub mod feel;
pub mod init;
pub mod test;
pub mod worker;
