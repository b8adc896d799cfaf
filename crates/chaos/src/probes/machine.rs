//! The machine itself: whether it is quiet, how fast it computes, how long a flush takes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use skep_load::server::usage;

use super::float;

/// Share of idle CPU before the run below which the machine has other work.
const IDLE: f64 = 0.85;
/// Tolerated difference between the durations of the same work before and after the run.
const DRIFT: f64 = 0.15;
/// Number of flushes to time.
const FLUSHES: usize = 300;
/// Time limit for timing flushes: on a slow disk fewer suffice.
const FLUSHING: Duration = Duration::from_secs(5);

/// Measurements of the machine before the run.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    /// Share of idle CPU time.
    pub idle: f64,
    /// p99 of a write of 4 KiB and a flush, in milliseconds.
    pub flush_p99_ms: f64,
    /// Duration of a fixed piece of work, in seconds.
    pub spin: f64,
}

/// Measures the machine before anything runs. Takes about two seconds.
///
/// # Errors
/// The directory cannot be written to.
pub fn calibrate(directory: &Path) -> io::Result<Calibration> {
    let mut machine = Machine::default();
    machine.idle();
    std::thread::sleep(Duration::from_secs(1));
    Ok(Calibration {
        // A machine that reports nothing is not known to be quiet.
        idle: machine.idle().unwrap_or(0.0),
        flush_p99_ms: flush_p99_ms(directory)?,
        spin: spin(),
    })
}

impl Calibration {
    /// Why speed cannot be judged, if so. Measures the machine once more, after the run.
    pub fn noise(&self) -> Option<String> {
        self.noise_with(self.idle)
    }

    /// The same, with a share of idle CPU time measured elsewhere.
    pub fn noise_with(&self, idle: f64) -> Option<String> {
        noise(idle, self.spin, spin())
    }
}

fn noise(idle: f64, before: f64, after: f64) -> Option<String> {
    let drift = (before / after).max(after / before) - 1.0;
    if idle < IDLE {
        Some(format!(
            "only {:.0} % of the CPU was idle before the run",
            idle * 100.0
        ))
    } else if drift > DRIFT || !drift.is_finite() {
        Some(format!(
            "the same work took {:.0} % longer at one end of the run than at the other",
            drift * 100.0
        ))
    } else {
        None
    }
}

fn flush_p99_ms(directory: &Path) -> io::Result<f64> {
    let path = directory.join("flush");
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < FLUSHES && begin.elapsed() < FLUSHING {
        let at = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(at.elapsed().as_secs_f64() * 1e3);
    }
    std::fs::remove_file(path)?;
    times.sort_by(f64::total_cmp);
    let index = times.len() - 1 - times.len() / 100;
    Ok(times.get(index).copied().unwrap_or(f64::INFINITY))
}

/// Duration of the fastest of five rounds: this excludes interruptions by other work, but shows a permanent lack of CPU.
fn spin() -> f64 {
    let times = (0..5).map(|_| {
        let begin = Instant::now();
        let mut value = 1_u64;
        for number in 0..5_000_000_u64 {
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005) ^ number);
        }
        begin.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// CPU time of the machine since the last look.
#[derive(Debug, Default)]
pub struct Machine {
    before: Option<(u64, u64)>,
    own: Option<(Instant, f64)>,
}

impl Machine {
    /// Cores used by this program itself since the last call; `None` the first time.
    pub fn own_cores(&mut self) -> Option<f64> {
        let used = usage("self")?.cpu_seconds;
        let now = Instant::now();
        let (at, before) = self.own.replace((now, used))?;
        let seconds = now.saturating_duration_since(at).as_secs_f64().max(1e-9);
        Some((used - before) / seconds)
    }

    /// Share of idle CPU time since the last call; `None` the first time, and if `/proc` does not report it.
    pub fn idle(&mut self) -> Option<f64> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let (idle, all) = times(&text)?;
        let (idle_before, all_before) = self.before.replace((idle, all))?;
        let all = all.checked_sub(all_before).filter(|all| *all > 0)?;
        Some(float(idle.saturating_sub(idle_before)) / float(all))
    }
}

/// Memory allocated by this program itself, without its code, in bytes: what counts for a memory limit.
pub fn own_memory() -> Option<u64> {
    anonymous(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn anonymous(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Idle and all CPU time.
fn times(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields = line.split_whitespace().map(str::parse);
    // Guests are counted in user time already.
    let fields: Vec<u64> = fields.take(8).collect::<Result<_, _>>().ok()?;
    let idle = fields.get(3)? + fields.get(4)?;
    Some((idle, fields.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_work_and_a_machine_that_changes_are_noise() {
        assert_eq!(noise(0.95, 1.0, 1.1), None);
        assert!(noise(0.5, 1.0, 1.0).is_some_and(|why| why.contains("50 %")));
        assert!(noise(0.95, 1.0, 1.2).is_some_and(|why| why.contains("20 %")));
        assert!(noise(0.95, 1.2, 1.0).is_some());
        let stat = "cpu  10 0 20 60 10 0 0 0 5 0\ncpu0 1\n";
        assert_eq!(times(stat), Some((70, 100)));
        assert_eq!(times("intr 1"), None);
    }

    #[test]
    fn only_anonymous_memory_counts() {
        let status = "VmRSS:\t  9000 kB\nRssAnon:\t  2048 kB\nRssFile:\t 6952 kB\n";
        assert_eq!(anonymous(status), Some(2 << 20));
        assert_eq!(anonymous("VmRSS: 1 kB"), None);
    }
}
