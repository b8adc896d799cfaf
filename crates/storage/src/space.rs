//! Free disk space and the watermarks that keep a full disk from stopping work half-way.
//!
//! Names and defaults follow `camunda.data.disk.free-space.*`: below `processing` new work is refused, below `replication` followers stop
//! appending too. A level is left only when there is a tenth more space than it asks for, so that a disk at its limit does not switch back
//! and forth.

use std::io;
use std::path::{Path, PathBuf};

/// How much may be done with the remaining space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceLevel {
    /// Enough space for everything.
    Ok,
    /// Below the processing watermark: refuse new work, allow completions, reads and replication.
    NoProcessing,
    /// Below the replication watermark: append nothing that can be refused.
    NoReplication,
}

/// The two watermarks, in bytes of free space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// Below this new work is refused. Default 2 GB.
    pub processing: u64,
    /// Below this nothing is replicated. Default 1 GB.
    pub replication: u64,
}

impl Default for Watermarks {
    fn default() -> Self {
        Self {
            processing: 2 << 30,
            replication: 1 << 30,
        }
    }
}

/// Reports the bytes of free space that an unprivileged process may use.
pub trait SpaceProbe: Send {
    /// Free bytes now.
    fn free_bytes(&self) -> io::Result<u64>;
}

/// Asks the operating system (`statvfs`).
#[derive(Debug, Clone)]
pub struct StatvfsProbe(PathBuf);

impl StatvfsProbe {
    /// Watches the file system that holds `path`, which must exist.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self(path.as_ref().to_path_buf())
    }
}

impl SpaceProbe for StatvfsProbe {
    fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(&self.0)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// Turns free space into a [`SpaceLevel`], with hysteresis. Call [`SpaceMonitor::check`] every second or so.
pub struct SpaceMonitor {
    probe: Box<dyn SpaceProbe>,
    watermarks: Watermarks,
    level: SpaceLevel,
    free: u64,
}

impl SpaceMonitor {
    /// Starts at [`SpaceLevel::Ok`]; the first check finds the actual level.
    pub fn new(probe: Box<dyn SpaceProbe>, watermarks: Watermarks) -> Self {
        Self {
            probe,
            watermarks,
            level: SpaceLevel::Ok,
            free: u64::MAX,
        }
    }

    /// Reads the free space and returns the level. If the probe fails, the last level stands and the error is returned.
    pub fn check(&mut self) -> io::Result<SpaceLevel> {
        let free = self.probe.free_bytes()?;
        self.free = free;
        let leave = |mark: u64| mark.saturating_add(mark / 10);
        let Watermarks {
            processing,
            replication,
        } = self.watermarks;
        let entered = if free < replication {
            SpaceLevel::NoReplication
        } else if free < processing {
            SpaceLevel::NoProcessing
        } else {
            SpaceLevel::Ok
        };
        let left = if free < leave(replication) {
            SpaceLevel::NoReplication
        } else if free < leave(processing) {
            SpaceLevel::NoProcessing
        } else {
            SpaceLevel::Ok
        };
        self.level = if entered >= self.level {
            entered
        } else {
            left.min(self.level)
        };
        Ok(self.level)
    }

    /// The level found by the last check.
    pub fn level(&self) -> SpaceLevel {
        self.level
    }

    /// Free bytes found by the last check; `u64::MAX` before the first one.
    pub fn free_bytes(&self) -> u64 {
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Fake(Arc<AtomicU64>);

    impl SpaceProbe for Fake {
        fn free_bytes(&self) -> io::Result<u64> {
            match self.0.load(Ordering::Relaxed) {
                0 => Err(io::Error::other("probe failed")),
                free => Ok(free),
            }
        }
    }

    fn monitor() -> (Arc<AtomicU64>, SpaceMonitor) {
        let free = Arc::new(AtomicU64::new(u64::MAX));
        let marks = Watermarks {
            processing: 2000,
            replication: 1000,
        };
        (
            Arc::clone(&free),
            SpaceMonitor::new(Box::new(Fake(free)), marks),
        )
    }

    #[test]
    fn levels_follow_the_watermarks_downwards_at_once_and_upwards_with_hysteresis() {
        let (free, mut monitor) = monitor();
        let mut at = |bytes| {
            free.store(bytes, Ordering::Relaxed);
            monitor.check().unwrap()
        };
        assert_eq!(at(5000), SpaceLevel::Ok);
        assert_eq!(at(2000), SpaceLevel::Ok);
        assert_eq!(at(1999), SpaceLevel::NoProcessing);
        assert_eq!(
            at(2100),
            SpaceLevel::NoProcessing,
            "less than a tenth above"
        );
        assert_eq!(at(2200), SpaceLevel::Ok);
        assert_eq!(at(999), SpaceLevel::NoReplication);
        assert_eq!(at(1050), SpaceLevel::NoReplication);
        assert_eq!(at(1100), SpaceLevel::NoProcessing);
        assert_eq!(at(2199), SpaceLevel::NoProcessing);
        assert_eq!(at(u64::MAX), SpaceLevel::Ok);
    }

    #[test]
    fn a_failing_probe_keeps_the_last_level() {
        let (free, mut monitor) = monitor();
        free.store(1500, Ordering::Relaxed);
        assert_eq!(monitor.check().unwrap(), SpaceLevel::NoProcessing);
        free.store(0, Ordering::Relaxed);
        assert!(monitor.check().is_err());
        assert_eq!(monitor.level(), SpaceLevel::NoProcessing);
        assert_eq!(monitor.free_bytes(), 1500);
    }

    #[test]
    fn statvfs_sees_the_temporary_directory() {
        let free = StatvfsProbe::new(std::env::temp_dir())
            .free_bytes()
            .unwrap();
        assert!(free > 0);
    }
}
