//! Histograms of durations with a fixed number of buckets, from which percentiles are computed.

/// Names of the buckets. The first bucket counts durations below the first of [`BOUNDS`], the last one those equal to or above
/// the last bound.
pub const COUNTS: [&str; 48] = [
    "count0", "count1", "count2", "count3", "count4", "count5", "count6", "count7", "count8",
    "count9", "count10", "count11", "count12", "count13", "count14", "count15", "count16",
    "count17", "count18", "count19", "count20", "count21", "count22", "count23", "count24",
    "count25", "count26", "count27", "count28", "count29", "count30", "count31", "count32",
    "count33", "count34", "count35", "count36", "count37", "count38", "count39", "count40",
    "count41", "count42", "count43", "count44", "count45", "count46", "count47",
];

/// Bounds between the buckets in milliseconds: 1 ms to 57 days, each about 1.6 times the one before. Counts are stored by
/// bucket index, so the bounds must never change.
#[allow(clippy::indexing_slicing)] // The compiler evaluates it.
pub const BOUNDS: [i64; COUNTS.len() - 1] = {
    let mut bounds = [1; COUNTS.len() - 1];
    let mut at = 1;
    while at < bounds.len() {
        bounds[at] = bounds[at - 1] * 8 / 5 + 1;
        at += 1;
    }
    bounds
};

/// The bucket of a duration.
pub fn place(ms: i64) -> usize {
    BOUNDS.partition_point(|bound| *bound <= ms)
}

/// Histogram of the durations of one kind of thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Durations {
    pub shortest: i64,
    pub longest: i64,
    pub counts: [i64; COUNTS.len()],
}

impl Default for Durations {
    fn default() -> Durations {
        Durations {
            shortest: i64::MAX,
            longest: 0,
            counts: [0; COUNTS.len()],
        }
    }
}

impl Durations {
    /// Adds a duration. Negative ones, after a clock was set back, count as zero.
    pub fn add(&mut self, ms: i64) {
        let ms = ms.max(0);
        self.shortest = self.shortest.min(ms);
        self.longest = self.longest.max(ms);
        if let Some(count) = self.counts.get_mut(place(ms)) {
            *count += 1;
        }
    }

    pub fn count(&self) -> i64 {
        self.counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The number of milliseconds that this percentage of the durations does not exceed. Exact if all durations are equal. Otherwise,
    /// durations are assumed to be evenly distributed within a bucket, so the result is off by a factor of at most 1.6 beyond a
    /// few milliseconds. `None`: there are no durations.
    pub fn percentile(&self, percent: i64) -> Option<i64> {
        let count = self.count();
        if count <= 0 {
            return None;
        }
        let rank = count.saturating_mul(percent).saturating_add(99) / 100;
        let rank = rank.clamp(1, count);
        let mut before = 0;
        for (place, in_place) in self.counts.iter().copied().enumerate() {
            if before + in_place < rank {
                before += in_place;
                continue;
            }
            let from = place.checked_sub(1).and_then(|it| BOUNDS.get(it));
            let from = from.copied().unwrap_or(0).max(self.shortest);
            let to = BOUNDS.get(place).copied().unwrap_or(i64::MAX);
            let to = to.min(self.longest).max(from);
            let share = (rank - before) as f64 / in_place as f64;
            return Some(from + ((to - from) as f64 * share).round() as i64);
        }
        Some(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400_000;

    fn of(lengths: &[i64]) -> Durations {
        let mut durations = Durations::default();
        lengths.iter().for_each(|ms| durations.add(*ms));
        durations
    }

    #[test]
    fn bounds_rise_evenly_from_a_millisecond_to_weeks() {
        assert_eq!(BOUNDS[..6], [1, 2, 4, 7, 12, 20]);
        let longest = BOUNDS[BOUNDS.len() - 1];
        assert!((40 * DAY..60 * DAY).contains(&longest), "{longest}");
        assert_eq!((place(0), place(1), place(i64::MAX)), (0, 1, 47));
    }

    #[test]
    fn constant_durations_have_exact_percentiles() {
        for ms in [0, 1, 5, 3_600_000, 90 * DAY] {
            let durations = of(&[ms; 30]);
            assert_eq!(durations.percentile(50), Some(ms));
            assert_eq!(durations.percentile(95), Some(ms));
        }
        assert_eq!(of(&[]).percentile(50), None);
        assert_eq!(of(&[-7]).percentile(50), Some(0));
    }

    proptest! {
        #[test]
        fn a_percentile_is_near_the_true_one(
            mut lengths in prop::collection::vec(0i64..3 * DAY, 1..300),
            percent in 1i64..100,
        ) {
            let estimated = of(&lengths).percentile(percent).unwrap();
            lengths.sort_unstable();
            let rank = (lengths.len() * usize::try_from(percent).unwrap()).div_ceil(100);
            let exact = lengths[rank - 1];
            prop_assert!(place(estimated).abs_diff(place(exact)) <= 1, "{} {}", estimated, exact);
            prop_assert!(estimated <= exact * 17 / 10 + 3 && exact <= estimated * 17 / 10 + 3, "{} {}", estimated, exact);
        }
    }
}
