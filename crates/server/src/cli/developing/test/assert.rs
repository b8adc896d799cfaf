//! Assertions, one file each.

pub mod decision;
pub mod elements;
pub mod process;
pub mod subscription;
pub mod user_task;
pub mod variables;
