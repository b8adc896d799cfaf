//! Disks are full or slow.

pub mod disk_full;
pub mod slow_disk;
