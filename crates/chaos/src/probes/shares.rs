//! Shares of nodes or partitions in counters that grow.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Seconds over which shares are compared.
pub const SHARES_OVER_S: f64 = 20.0;
/// The shares of a smaller growth mean nothing.
const ENOUGH: f64 = 100.0;

/// The counters of each at the last looks.
#[derive(Debug, Default)]
pub(super) struct Shares {
    looks: VecDeque<(Instant, BTreeMap<u32, f64>)>,
}

impl Shares {
    /// The largest and the smallest growth ÷ their mean, over the last [`SHARES_OVER_S`]; `None` if they grew little.
    pub(super) fn compare(
        &mut self,
        now: Instant,
        counts: BTreeMap<u32, f64>,
    ) -> Option<(f64, f64)> {
        let over = Duration::from_secs_f64(SHARES_OVER_S);
        while let Some((at, _)) = self.looks.get(1) {
            if now.saturating_duration_since(*at) < over {
                break;
            }
            self.looks.pop_front();
        }
        self.looks.push_back((now, counts));
        let (_, first) = self.looks.front()?;
        let (_, last) = self.looks.back()?;
        // The counters of a node that started again begin at 0.
        let growths = last.iter().map(|(of, count)| match first.get(of) {
            Some(before) if before <= count => count - before,
            _ => *count,
        });
        let growths: Vec<f64> = growths.collect();
        let total: f64 = growths.iter().sum();
        let most = growths.iter().copied().fold(0.0, f64::max);
        let least = growths.iter().copied().fold(f64::INFINITY, f64::min);
        let count = super::float(u64::try_from(growths.len()).unwrap_or(u64::MAX));
        (total >= ENOUGH).then(|| (most * count / total, least * count / total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_and_the_smallest_are_compared_with_the_mean_of_the_last_seconds() {
        let mut shares = Shares::default();
        let begin = Instant::now();
        let mut look = |second: u64, counts: [f64; 3]| {
            let at = begin + Duration::from_secs(second);
            shares.compare(at, (0..).zip(counts).collect())
        };
        assert_eq!(look(0, [1000.0, 0.0, 0.0]), None, "nothing happened since");
        assert_eq!(look(10, [1060.0, 0.0, 0.0]), None, "few requests");
        assert_eq!(look(20, [1300.0, 0.0, 0.0]), Some((3.0, 0.0)));
        // The first look is no longer among the last 20 s; node 2 has started again.
        assert_eq!(look(31, [1360.0, 300.0, 300.0]), Some((1.0, 1.0)));
        let (most, least) = (300.0 * 3.0 / 420.0, 60.0 * 3.0 / 420.0);
        assert_eq!(look(41, [1360.0, 300.0, 60.0]), Some((most, least)));
    }
}
