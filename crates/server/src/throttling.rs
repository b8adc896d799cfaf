//! How often the kernel stops this process because it has used up its CPU limit (the quota of a control group, as of a container).

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::control_group::{self, Groups};

const STEP: Duration = Duration::from_secs(1);
/// Steps over which the share of periods is taken.
const STEPS: usize = 5;

/// A CPU limit and its use: the kernel grants time by period, and counts the periods in which there was not enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    pub cores: f64,
    pub periods: u64,
    pub throttled: u64,
}

/// Looks at the limit each second, as it may come and change while the process runs.
#[derive(Debug, Default)]
pub struct Throttling(Mutex<VecDeque<Option<Quota>>>);

impl Throttling {
    /// Starts looking, for as long as the server runs.
    pub fn start() -> Arc<Throttling> {
        let throttling = Arc::new(Throttling::default());
        let own = Arc::clone(&throttling);
        tokio::spawn(async move {
            loop {
                let quota = control_group::of_this_process("cpu").and_then(|it| quota(&it));
                own.look(quota);
                tokio::time::sleep(STEP).await;
            }
        });
        throttling
    }

    fn look(&self, quota: Option<Quota>) {
        let mut looks = self.0.lock();
        looks.truncate(STEPS);
        looks.push_front(quota);
    }

    /// The limit at the last look, if there is one.
    pub fn quota(&self) -> Option<Quota> {
        *self.0.lock().front()?
    }

    /// The share of the last seconds' periods in which the limit was used up; `None` without a limit.
    pub fn share(&self) -> Option<f64> {
        let looks = self.0.lock();
        let last = (*looks.front()?)?;
        // The oldest look at the same counters: they begin at 0 in another group.
        let same = looks.iter().map_while(|look| *look);
        let same = same.take_while(|it| it.cores == last.cores && it.periods <= last.periods);
        let first = same.last()?;
        let periods = last.periods.saturating_sub(first.periods);
        let throttled = last.throttled.saturating_sub(first.throttled);
        Some(throttled as f64 / periods.max(1) as f64)
    }
}

/// The limit of the nearest group that has one.
fn quota(groups: &Groups) -> Option<Quota> {
    let mut directories = groups.directories.iter();
    directories.find_map(|group| {
        let cores = cores(group, groups.unified)?;
        let stat = fs::read_to_string(group.join("cpu.stat")).ok()?;
        let count = |name: &str| {
            let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
            let (_, count) = lines.find(|(key, _)| *key == name)?;
            count.trim().parse().ok()
        };
        Some(Quota {
            cores,
            periods: count("nr_periods")?,
            throttled: count("nr_throttled")?,
        })
    })
}

/// The limit of a group in cores, if it has one.
fn cores(group: &Path, unified: bool) -> Option<f64> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    // Without a limit the quota is `max` or negative.
    let (quota, period): (u64, u64) = if unified {
        let text = read("cpu.max")?;
        let (quota, period) = text.trim().split_once(' ')?;
        (quota.parse().ok()?, period.parse().ok()?)
    } else {
        let number = |file| read(file)?.trim().parse().ok();
        (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
    };
    (period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_group::{groups, tests::written};

    #[test]
    fn the_nearest_limit_counts_in_either_version() {
        let stat = "nr_periods 200\nnr_throttled 50\nthrottled_usec 7\n";
        let root = written(&[
            ("pod/cpu.max", "50000 100000\n"),
            ("pod/cpu.stat", stat),
            ("pod/c/cpu.max", "max 100000\n"),
            ("pod/c/cpu.stat", "usage_usec 1\n"),
            ("cpu/c/cpu.cfs_quota_us", "-1\n"),
            ("cpu/c/cpu.cfs_period_us", "100000\n"),
            ("cpu/d/cpu.cfs_quota_us", "10000\n"),
            ("cpu/d/cpu.cfs_period_us", "100000\n"),
            ("cpu/d/cpu.stat", stat),
        ]);
        let found = |text: &str| quota(&groups(text, root.path(), "cpu").unwrap());
        let quota = |cores| Quota {
            cores,
            periods: 200,
            throttled: 50,
        };
        assert_eq!(found("0::/pod/c\n"), Some(quota(0.5)));
        assert_eq!(found("2:cpu:/d\n"), Some(quota(0.1)));
        assert_eq!(found("2:cpu:/c\n"), None);
        assert_eq!(found("0::/\n"), None);
    }

    #[test]
    fn the_share_is_that_of_the_last_seconds_under_the_same_limit() {
        let throttling = Throttling::default();
        assert_eq!(throttling.share(), None);
        let look = |cores, periods, throttled| {
            throttling.look(Some(Quota {
                cores,
                periods,
                throttled,
            }));
            throttling.share().unwrap()
        };
        assert_eq!(look(1.0, 100, 0), 0.0);
        assert_eq!(look(1.0, 110, 5), 0.5);
        // Another limit, in another group.
        assert_eq!(look(0.5, 10, 10), 0.0);
        for step in 1..=10 {
            look(0.5, 10 + step * 10, 10);
        }
        assert_eq!(look(0.5, 120, 20), 0.2, "10 of the 50 periods in 5 s");
        throttling.look(None);
        assert_eq!((throttling.share(), throttling.quota()), (None, None));
    }
}
