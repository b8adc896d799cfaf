//! Judges a comparison: the ratio of each figure, pair by pair, with an interval; the throughput decides.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Pair;
use super::figures::{ALL, Figure};
use crate::judge::Interval;

/// A build whose throughput is certainly below this share of the other's is slower.
pub const SLOWER: f64 = 0.95;
/// One that may be below this share is not certainly as fast.
pub const UNSURE: f64 = 0.90;

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
            Self::NotRun(_) => crate::judge::NOT_RUN,
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
    Interval::of(&ratios)
}

#[cfg(test)]
mod tests;
