//! Operating system data about this process, as metrics.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use skep_metrics::{Family, Gauge, RealCounter, RealGauge, Registry, labels, metrics};

labels! {
    struct Build {
        version: &'static str,
        profile: &'static str,
    }
}

metrics! {
    /// Metrics of the server's process.
    pub struct ProcessFamilies {
        cpu_usage: RealGauge = "process_cpu_usage", "share of all processors used by this process since the last scrape";
        cpu_seconds: RealCounter = "process_cpu_seconds", "processor time used";
        resident: Gauge = "process_resident_memory_bytes", "resident memory";
        open_files: Gauge = "process_files_open_files", "open files";
        max_files: Gauge = "process_files_max_files", "limit of open files";
        uptime: RealGauge = "process_uptime_seconds", "time since the process started";
        start_time: RealGauge = "process_start_time_seconds", "start time of the process, in seconds since 1970";
        build: Family<Build, Gauge> = "skep_build_info", "version of this server";
    }
}

/// Read when metrics are scraped.
pub struct ProcessMetrics {
    families: ProcessFamilies,
    started: Instant,
    /// Time and value of the last reading of CPU time.
    last: Mutex<(Instant, f64)>,
}

impl ProcessMetrics {
    pub fn register(registry: &mut Registry, started: Instant) -> ProcessMetrics {
        let families = ProcessFamilies::default();
        families.register(registry);
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let start = since_epoch.saturating_sub(started.elapsed());
        families.start_time.set(start.as_secs_f64());
        let labels = Build {
            version: env!("CARGO_PKG_VERSION"),
            profile: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            },
        };
        families.build.of(labels).set(1);
        let metrics = ProcessMetrics {
            families,
            started,
            last: Mutex::new((started, 0.0)),
        };
        metrics.refresh();
        metrics
    }

    pub fn refresh(&self) {
        let families = &self.families;
        let now = Instant::now();
        families
            .uptime
            .set(now.saturating_duration_since(self.started).as_secs_f64());
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        let mut last = self.last.lock();
        let passed = now.saturating_duration_since(last.0).as_secs_f64();
        if passed > 0.0 {
            let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
            families
                .cpu_usage
                .set(((cpu - last.1) / passed / cores).clamp(0.0, 1.0));
        }
        families.cpu_seconds.inc_by((cpu - last.1).max(0.0));
        *last = (now, cpu);
        drop(last);
        let set = |gauge: &Gauge, value: Option<i64>| {
            if let Some(value) = value {
                gauge.set(value);
            }
        };
        set(&families.resident, resident_bytes());
        set(&families.open_files, open_files());
        set(&families.max_files, max_files());
    }
}

fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: i64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    kib.checked_mul(1024)
}

fn open_files() -> Option<i64> {
    let entries = std::fs::read_dir("/proc/self/fd").ok()?;
    // The listing itself has one descriptor open.
    i64::try_from(entries.count()).ok()?.checked_sub(1)
}

fn max_files() -> Option<i64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_has_the_figures_of_this_process() {
        let mut registry = Registry::default();
        let metrics = ProcessMetrics::register(&mut registry, Instant::now());
        metrics.refresh();
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let value = |name: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(name));
            let value = line.and_then(|line| line.rsplit(' ').next());
            value.and_then(|v| v.parse().ok()).unwrap_or(-1.0)
        };
        assert!(
            value("process_resident_memory_bytes ") > 100_000.0,
            "{text}"
        );
        assert!(value("process_files_open_files ") >= 3.0);
        assert!(value("process_files_max_files ") >= value("process_files_open_files "));
        assert!(value("process_cpu_seconds_total ") >= 0.0);
        assert!((0.0..=1.0).contains(&value("process_cpu_usage ")));
        assert!(text.contains("skep_build_info{version=\""));
    }
}
