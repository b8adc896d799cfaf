//! Watches the free space of the data directory. Below the first watermark new work is refused; commands that finish work
//! still pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use skep_storage::space::{SpaceLevel, SpaceMonitor, SpaceProbe, Watermarks};

use crate::config::DiskConfig;
use crate::local::Local;

/// The latest measurement, shared with the router.
#[derive(Debug, Default)]
pub struct DiskSpace {
    /// Whether new work is refused.
    pub low: AtomicBool,
    /// Whether space is so low that entries of other leaders are refused wherever others can do without this node.
    pub very_low: AtomicBool,
    pub free: AtomicU64,
    stop: AtomicBool,
}

impl DiskSpace {
    /// Why new work is refused, if it is.
    pub fn refusal(&self, partition: u32) -> Option<String> {
        self.low.load(Ordering::Relaxed).then(|| {
            format!(
                "Partition {partition} takes no new work: only {} MiB are free on the disk of its data directory. Jobs can be completed \
                 and process instances continue; new work is taken again when there is space.",
                self.free.load(Ordering::Relaxed) >> 20
            )
        })
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// While the disk is nearly full, a reminder to free space is logged after this many checks.
const REMIND_AFTER: u32 = 10;

/// Checks the disk and informs the partitions.
pub struct DiskWatch {
    monitor: SpaceMonitor,
    space: Arc<DiskSpace>,
    last_report: LastReport,
    interval: Duration,
    next: Instant,
}

impl DiskWatch {
    /// `None` if the disk is not watched.
    pub fn new(
        config: &DiskConfig,
        probe: Box<dyn SpaceProbe>,
        space: Arc<DiskSpace>,
    ) -> Option<DiskWatch> {
        let watermarks = Watermarks {
            processing: config.processing,
            replication: config.replication,
        };
        config.monitoring_enabled.then(|| DiskWatch {
            monitor: SpaceMonitor::new(probe, watermarks),
            space,
            last_report: LastReport::default(),
            interval: config.monitoring_interval,
            next: Instant::now(),
        })
    }

    /// Checks the disk if it is time to, and reports the free bytes. A nearly full disk is reported at once and repeatedly, and once when
    /// it has space again.
    pub fn look(&mut self, local: &Local) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + self.interval;
        look(&mut self.monitor, &self.space);
        local.disk_has(self.space.free.load(Ordering::Relaxed));
        self.last_report
            .report(&self.space, &|low| local.disk_is(low));
    }
}

/// The last report, and how many checks ago it was.
#[derive(Default)]
struct LastReport {
    low: bool,
    looks: u32,
}

impl LastReport {
    fn report(&mut self, space: &DiskSpace, report: &impl Fn(bool)) {
        let low = space.low.load(Ordering::Relaxed);
        self.looks += 1;
        if low != self.low || low && self.looks >= REMIND_AFTER {
            *self = LastReport { low, looks: 0 };
            report(low);
        }
    }
}

fn look(monitor: &mut SpaceMonitor, space: &DiskSpace) {
    match monitor.check() {
        Ok(level) => {
            let low = level != SpaceLevel::Ok;
            let very_low = level == SpaceLevel::NoReplication;
            space.very_low.store(very_low, Ordering::Relaxed);
            space.free.store(monitor.free_bytes(), Ordering::Relaxed);
            if space.low.swap(low, Ordering::Relaxed) != low {
                let free = monitor.free_bytes() >> 20;
                if low {
                    tracing::warn!(
                        code = "DISK_LOW",
                        free_mib = free,
                        "the disk is nearly full: new work is refused"
                    );
                } else {
                    tracing::info!(
                        free_mib = free,
                        "the disk has room again: new work is taken"
                    );
                }
            }
        }
        Err(error) => {
            tracing::warn!(code = "DISK_NOT_WATCHED", %error, "the free disk space cannot be read")
        }
    }
}
