//! Judges a comparison: the ratio of each figure, pair by pair, with an interval; the throughput decides.

use std::collections::BTreeMap;

use serde::Serialize;
use skep_random::Random;

use super::Pair;
use super::figures::{ALL, Figure};

/// A build whose throughput is certainly below this share of the other's is slower.
pub const SLOWER: f64 = 0.95;
/// One that may be below this share is not certainly as fast.
pub const UNSURE: f64 = 0.90;
/// Number of resamples of the bootstrap.
const DRAWS: usize = 10_000;
/// Fixed, so that the same pairs give the same interval.
const SEED: u64 = 0x5EED;

/// A median with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// Verdict on the comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// This build is not slower than the other by a tenth.
    Held,
    /// This build is slower.
    Refuted,
    /// It cannot be decided, with the reason.
    NotRun(String),
}

impl Verdict {
    /// The exit code, as for chaos experiments.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Refuted => 1,
            Self::NotRun(_) => 3,
        }
    }
}

/// Ratios, and the verdict that follows from them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verdicts {
    pub verdict: Verdict,
    /// This build ÷ the other one.
    pub ratios: BTreeMap<&'static str, Interval>,
}

impl Verdicts {
    /// `noise`: why the pairs prove nothing, if they do not.
    pub fn of(pairs: &[Pair], noise: Option<String>) -> Self {
        let ratios = ALL
            .iter()
            .filter_map(|figure| Some((figure.key, ratio(pairs, figure)?)));
        let ratios: BTreeMap<_, _> = ratios.collect();
        let throughput = ratios.get(ALL[0].key).copied();
        Self {
            verdict: verdict(throughput, noise),
            ratios,
        }
    }

    /// The ratio of this figure.
    pub(super) fn ratio(&self, figure: &Figure) -> Option<Interval> {
        self.ratios.get(figure.key).copied()
    }
}

fn verdict(throughput: Option<Interval>, noise: Option<String>) -> Verdict {
    let Some(ratio) = throughput else {
        return Verdict::NotRun("nothing was measured".into());
    };
    if let Some(noise) = noise {
        Verdict::NotRun(format!("the machine is noisy: {noise}"))
    } else if ratio.high < SLOWER {
        Verdict::Refuted
    } else if ratio.low < UNSURE {
        Verdict::NotRun(format!(
            "the turns differ too much: the ratio lies between {:.3} and {:.3}; use more --pairs, or a quieter machine",
            ratio.low, ratio.high
        ))
    } else {
        Verdict::Held
    }
}

/// `None` without pairs, or if the figure of the other build is zero.
fn ratio(pairs: &[Pair], figure: &Figure) -> Option<Interval> {
    let ratios = pairs
        .iter()
        .map(|pair| (figure.of)(&pair.this) / (figure.of)(&pair.other));
    let ratios: Vec<f64> = ratios.collect();
    if ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    interval(&ratios)
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

/// Bootstrap: the range of medians of samples drawn from the sample.
fn interval(values: &[f64]) -> Option<Interval> {
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
    Some(Interval {
        median: median_of_all,
        low: at(25)?,
        high: at(975)?,
    })
}

#[cfg(test)]
mod tests;
