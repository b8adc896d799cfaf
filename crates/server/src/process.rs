//! What the operating system says about this process, as metrics.

use std::sync::atomic::AtomicU64;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustix::time::{ClockId, clock_gettime};

type Real = Gauge<f64, AtomicU64>;

/// Read when metrics are scraped.
pub struct ProcessMetrics {
    cpu_usage: Real,
    cpu_seconds: Counter<f64, AtomicU64>,
    resident: Gauge,
    open_files: Gauge,
    max_files: Gauge,
    uptime: Real,
    started: Instant,
    /// When the CPU time was read last, and what it was.
    last: Mutex<(Instant, f64)>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
    profile: &'static str,
}

impl ProcessMetrics {
    pub fn register(registry: &mut Registry, started: Instant) -> ProcessMetrics {
        let metrics = ProcessMetrics {
            cpu_usage: Real::default(),
            cpu_seconds: Counter::default(),
            resident: Gauge::default(),
            open_files: Gauge::default(),
            max_files: Gauge::default(),
            uptime: Real::default(),
            started,
            last: Mutex::new((started, 0.0)),
        };
        registry.register(
            "process_cpu_usage",
            "share of all processors that this process used since the last look",
            metrics.cpu_usage.clone(),
        );
        registry.register(
            "process_cpu_seconds",
            "processor time used",
            metrics.cpu_seconds.clone(),
        );
        registry.register(
            "process_resident_memory_bytes",
            "resident memory",
            metrics.resident.clone(),
        );
        registry.register(
            "process_files_open_files",
            "open files",
            metrics.open_files.clone(),
        );
        registry.register(
            "process_files_max_files",
            "how many files may be open",
            metrics.max_files.clone(),
        );
        registry.register(
            "process_uptime_seconds",
            "time since the start",
            metrics.uptime.clone(),
        );
        let start = Real::default();
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        start.set((since_epoch.saturating_sub(started.elapsed())).as_secs_f64());
        registry.register(
            "process_start_time_seconds",
            "time of the start, seconds since 1970",
            start,
        );
        let build = Family::<Build, Gauge>::default();
        let labels = Build {
            version: env!("CARGO_PKG_VERSION"),
            profile: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            },
        };
        build.get_or_create(&labels).set(1);
        registry.register("skep_build_info", "version of this server", build);
        metrics.refresh();
        metrics
    }

    pub fn refresh(&self) {
        let now = Instant::now();
        self.uptime
            .set(now.saturating_duration_since(self.started).as_secs_f64());
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        let mut last = self.last.lock();
        let passed = now.saturating_duration_since(last.0).as_secs_f64();
        if passed > 0.0 {
            let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
            self.cpu_usage
                .set(((cpu - last.1) / passed / cores).clamp(0.0, 1.0));
        }
        self.cpu_seconds.inc_by((cpu - last.1).max(0.0));
        *last = (now, cpu);
        drop(last);
        let set = |gauge: &Gauge, value: Option<i64>| {
            if let Some(value) = value {
                gauge.set(value);
            }
        };
        set(&self.resident, resident_bytes());
        set(&self.open_files, open_files());
        set(&self.max_files, max_files());
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
    // The listing itself is one of them.
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
