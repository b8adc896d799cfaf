//! Commands for operators of a server or a cluster.

pub mod backup;
pub mod bench;
pub mod chaos;
pub mod cluster;
pub mod config;
pub mod restore;
