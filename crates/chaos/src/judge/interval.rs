//! Medians of ratios, with how sure they are.

use serde::Serialize;
use skep_random::Random;

/// Number of resamples of the bootstrap.
const DRAWS: usize = 10_000;
/// Fixed, so that the same values give the same interval.
const SEED: u64 = 0x5EED;

/// A median with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Bootstrap: the range of medians of samples drawn from the sample. `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let median_of_all = median(values)?;
        let mut random = Random(SEED);
        let mut medians: Vec<f64> = (0..DRAWS)
            .filter_map(|_| {
                let drawn = values.iter().map(|_| *random.pick(values));
                median(&drawn.collect::<Vec<f64>>())
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let at = |thousandths: usize| medians.get(medians.len() * thousandths / 1000).copied();
        Some(Self {
            median: median_of_all,
            low: at(25)?,
            high: at(975)?,
        })
    }
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(upper, *sorted.get(half.checked_sub(1)?)?))
}
