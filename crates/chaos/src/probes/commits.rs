//! How long batches take until they are committed, by the nodes' own histograms.

use std::collections::BTreeMap;

use super::metric::{label, value};

const BUCKETS: &str = "zeebe_log_appender_commit_latency_seconds_bucket{";
/// The share of the batches that took no longer than what is measured.
const SHARE: f64 = 0.99;

/// The batches of all partitions so far, by an upper bound of their latency in seconds: each bound counts every batch that took no longer.
/// The bounds are keys by their bits, whose order is that of positive numbers.
type Counts = BTreeMap<u64, f64>;

/// The counts at the last look.
#[derive(Debug, Default)]
pub(super) struct Commits {
    before: Counts,
}

impl Commits {
    /// p99 in milliseconds of the batches that were committed since the last look, from the metrics of all nodes; `None` if there were none,
    /// or if a node has started again meanwhile.
    pub(super) fn p99_ms(&mut self, texts: &[String]) -> Option<f64> {
        let now = counts(texts);
        let before = std::mem::replace(&mut self.before, now.clone());
        let grown = now.into_iter().map(|(bound, count)| {
            let count = before.get(&bound).map(|before| count - before);
            Some((f64::from_bits(bound), count?))
        });
        // At the first look, nothing is known of what was before.
        let grown: Vec<(f64, f64)> = grown.collect::<Option<_>>()?;
        Some(p99(&grown)? * 1e3)
    }
}

fn counts(texts: &[String]) -> Counts {
    let mut counts = Counts::new();
    let lines = texts.iter().flat_map(|text| text.lines());
    for line in lines.filter(|line| line.starts_with(BUCKETS)) {
        let bound = label(line, "le").and_then(|bound| bound.parse::<f64>().ok());
        if let (Some(bound), Some(count)) = (bound, value(line)) {
            *counts.entry(bound.to_bits()).or_default() += count;
        }
    }
    counts
}

/// p99 of batches, counted by upper bounds in their order; within two bounds they are taken to lie evenly.
fn p99(counts: &[(f64, f64)]) -> Option<f64> {
    let (_, all) = counts.last()?;
    if *all <= 0.0 || counts.iter().any(|(_, count)| *count < 0.0) {
        return None;
    }
    let rank = SHARE * all;
    let mut below = (0.0, 0.0);
    for (bound, count) in counts {
        if *count >= rank && bound.is_finite() {
            let part = (rank - below.1) / (count - below.1);
            return Some(below.0 + (bound - below.0) * part);
        }
        if bound.is_finite() {
            below = (*bound, *count);
        }
    }
    // Longer than the largest bound: at least that long.
    Some(below.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(partition: u32, counts: [u32; 4]) -> String {
        let bounds = ["0.001", "0.002", "0.01", "+Inf"];
        let lines = bounds.iter().zip(counts).map(|(bound, count)| {
            format!("{BUCKETS}le=\"{bound}\",partition=\"{partition}\"}} {count}\n")
        });
        lines.collect()
    }

    #[test]
    fn the_percentile_is_that_of_the_batches_since_the_last_look_at_all_nodes() {
        let mut commits = Commits::default();
        let mut look = |one: [u32; 4], two: [u32; 4]| {
            let p99 = commits.p99_ms(&[node(1, one), node(2, two)])?;
            Some((p99 * 1e6).round() / 1e6)
        };
        assert_eq!(look([500; 4], [0; 4]), None, "nothing is known before");
        // 98 within 1 ms, then one within 2 ms: the rank is its own.
        let first = look([598, 599, 600, 600], [0; 4]);
        assert_eq!(first, Some(2.0));
        // One of the two between 2 and 10 ms is below the rank.
        let both = look([696, 697, 698, 698], [0, 0, 2, 2]);
        assert_eq!(both, Some(6.0));
        let same = look([696, 697, 698, 698], [0, 0, 2, 2]);
        assert_eq!(same, None, "no batch");
        let again = look([1, 1, 1, 1], [0, 0, 2, 2]);
        assert_eq!(again, None, "a node counts from 0 again");
        let late = look([1, 1, 1, 1], [0, 0, 2, 102]);
        assert_eq!(late, Some(10.0), "longer than any bound");
    }
}
