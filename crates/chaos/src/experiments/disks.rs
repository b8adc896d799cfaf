//! Disks are full, slow, or fail.

pub mod disk_full;
pub mod disks_full;
pub mod network_disk;
pub mod slow_disk;
