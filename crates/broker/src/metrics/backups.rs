//! Metrics of backups, counted where a partition is led.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use skep_metrics::{Bounds, Counter, Family, Gauge, Histogram, RealGauge, labels, metrics};

const OPERATION: Bounds = Bounds::milliseconds(&[10, 100, 1000, 10_000, 60_000, 300_000]);
const TAKE: &str = "take";

labels! {
    pub struct OfOperation { pub partition: u32, pub operation: &'static str }
    pub struct OfResult { pub partition: u32, pub operation: &'static str, pub result: &'static str }
}

metrics! {
    /// Metrics of the backups that this node takes of the partitions it leads.
    pub struct BackupFamilies {
        pub operations: Family<OfResult, Counter> = "zeebe_backup_operations", "finished backups of a partition";
        pub in_progress: Family<OfOperation, Gauge> = "zeebe_backup_operations_in_progress", "backups of a partition in progress";
        pub latency: Family<OfOperation, Histogram> = "zeebe_backup_operations_latency_seconds", "duration of a backup of a partition", OPERATION;
        pub behind: RealGauge = "skep_backup_behind_seconds", "age of the newest moment that can be restored, if anything was done since; on the node that makes markers";
        pub broken_ranges: Counter = "skep_backup_broken_ranges", "backup ranges that broke because this node did not keep its log until it was shipped, or has another log than the store";
    }
}

/// A partition's part in a backup, from start to end.
pub struct Counted {
    families: BackupFamilies,
    partition: u32,
    began: Instant,
    completed: AtomicBool,
}

impl Counted {
    pub fn begin(families: &BackupFamilies, partition: u32) -> Counted {
        let counted = Counted {
            families: families.clone(),
            partition,
            began: Instant::now(),
            completed: AtomicBool::new(false),
        };
        families.in_progress.of(counted.operation()).inc();
        counted
    }

    pub fn completes(&self) {
        self.completed.store(true, Ordering::Relaxed);
    }

    fn operation(&self) -> OfOperation {
        OfOperation {
            partition: self.partition,
            operation: TAKE,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.families.in_progress.of(self.operation()).dec();
        let latency = self.families.latency.of(self.operation());
        latency.observe_time(self.began.elapsed());
        let ended = OfResult {
            partition: self.partition,
            operation: TAKE,
            result: if *self.completed.get_mut() {
                "completed"
            } else {
                "failed"
            },
        };
        self.families.operations.of(ended).inc();
    }
}
