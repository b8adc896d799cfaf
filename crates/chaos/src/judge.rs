//! Judges measurements against criteria. Unmeasured values are never HELD, by construction: a verdict of HELD or REFUTED contains a
//! [`Finding`], a finding a [`Measured`], and that at least one value of the record.

mod interval;
mod measure;

use std::fmt;

use serde::Serialize;

use crate::plan::{Criterion, Limit, Measure, Plan, Provided, Take};
use crate::record::{Kind, Record};
pub use interval::{Interval, median};
pub use measure::{Measured, Missing};

/// Series of values measured before the first step.
pub const FLUSH_MS: &str = "machine.flush-p99-ms";
/// Series that is 1 while the machine was not quiet enough to judge speed.
pub const NOISY: &str = "machine.noisy";
/// Series with the number of the plan's settings that the cluster may not have, since the run has not started it.
pub const FOREIGN_SETTINGS: &str = "foreign-settings";

/// Ends the names of series that hold how long a wait took that was given up.
pub const AT_LEAST: &str = "-at-least";

/// The exit code of whatever judged nothing.
pub const NOT_RUN: u8 = 3;

/// Width of the interval of pairs, as a share of their median, beyond which a limit within it is not judged: the next run might judge
/// otherwise.
const UNSURE: f64 = 0.2;

/// A measured value with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Finding {
    measured: Measured,
    limit: Limit,
    /// Where the value lies, if it is the median of pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
}

impl Finding {
    pub fn measured(&self) -> f64 {
        self.measured.value()
    }

    pub fn limit(&self) -> Limit {
        self.limit
    }

    pub fn interval(&self) -> Option<Interval> {
        self.interval
    }

    fn holds(&self) -> bool {
        is_within(self.limit, self.measured)
    }

    /// Why the pairs do not decide, if so.
    fn unsure(&self) -> Option<String> {
        let Interval { median, low, high } = self.interval?;
        let (Limit::AtMost(limit) | Limit::AtLeast(limit)) = self.limit;
        let is_wide = high - low > median.abs() * UNSURE;
        (is_wide && low < limit && limit < high).then(|| {
            format!(
                "the pairs differ too much: their ratio lies between {low:.2} and {high:.2}; a quieter machine or more pairs (--full) would tell"
            )
        })
    }
}

fn is_within(limit: Limit, measured: Measured) -> bool {
    match limit {
        Limit::AtMost(most) => measured.value() <= most,
        Limit::AtLeast(least) => measured.value() >= least,
    }
}

/// Verdict on a criterion.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Held(Finding),
    Refuted(Finding),
    /// With the reason.
    NotRun(String),
}

/// A criterion with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    pub criterion: Criterion,
    pub verdict: Verdict,
}

/// Outcome of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every mandatory criterion is held; this is the first of them.
    Held(Finding),
    /// At least one is refuted.
    Refuted(Finding),
    /// With the reason.
    NotRun(String),
}

impl Outcome {
    /// The exit code; as everywhere, 2 means wrong usage.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Held(_) => 0,
            Self::Refuted(_) => 1,
            Self::NotRun(_) => NOT_RUN,
        }
    }
}

/// The exit code of several experiments: that of the first of REFUTED, NOT RUN and HELD among them.
pub fn worst(codes: impl IntoIterator<Item = u8>) -> u8 {
    let codes: Vec<u8> = codes.into_iter().collect();
    let worst = [1, NOT_RUN].into_iter().find(|code| codes.contains(code));
    worst.unwrap_or(0)
}

/// Judges all criteria.
pub fn judge(plan: &Plan, record: &Record, noisy_is_fine: bool) -> Vec<Judged> {
    let noisy = !noisy_is_fine && record.last(NOISY) != Some(0.0);
    let judged = plan.criteria.iter().map(|criterion| Judged {
        criterion: criterion.clone(),
        verdict: verdict(criterion, record, noisy),
    });
    judged.collect()
}

fn verdict(criterion: &Criterion, record: &Record, noisy: bool) -> Verdict {
    let given_up = given_up(criterion, record);
    let measured = given_up.map_or_else(|| Measured::of(&criterion.measure, record), Ok);
    let measured = match measured {
        Ok(measured) => measured,
        Err(missing) => return Verdict::NotRun(missing.to_string()),
    };
    if criterion.timed && noisy {
        return Verdict::NotRun(format!(
            "the machine is noisy (measured {})",
            amount(measured.value(), &criterion.unit)
        ));
    }
    let unmet = criterion.provided.iter().find_map(|it| unmet(it, record));
    if let Some(why) = unmet {
        return Verdict::NotRun(why);
    }
    let Some(limit) = limit(criterion, record) else {
        return Verdict::NotRun("how long a flush takes here was not measured".into());
    };
    let finding = Finding {
        measured,
        limit,
        interval: measure::interval(&criterion.measure, record),
    };
    if let Some(why) = finding.unsure() {
        Verdict::NotRun(why)
    } else if finding.holds() {
        Verdict::Held(finding)
    } else {
        Verdict::Refuted(finding)
    }
}

/// How long a wait took that was given up, if that alone is more than the limit: what did not come within the limit is not unmeasured.
fn given_up(criterion: &Criterion, record: &Record) -> Option<Measured> {
    let measure = &criterion.measure;
    if measure.over.is_some() || measure.take != Take::Max {
        return None;
    }
    let waited = Measure {
        of: format!("{}{AT_LEAST}", measure.of),
        ..measure.clone()
    };
    let waited = Measured::of(&waited, record).ok()?;
    match limit(criterion, record)? {
        Limit::AtMost(most) => (waited.value() > most).then_some(waited),
        Limit::AtLeast(_) => None,
    }
}

/// Why a precondition does not hold.
fn unmet(provided: &Provided, record: &Record) -> Option<String> {
    let measured = match Measured::of(&provided.measure, record) {
        Ok(measured) => measured,
        Err(missing) => return Some(missing.to_string()),
    };
    let met = is_within(provided.limit, measured);
    (!met).then(|| {
        let Provided {
            otherwise, limit, ..
        } = provided;
        let (series, value) = (&provided.measure.of, amount(measured.value(), ""));
        format!("{otherwise}: {series} is {value}, not {limit}")
    })
}

/// The limit, adapted to this machine.
fn limit(criterion: &Criterion, record: &Record) -> Option<Limit> {
    if criterion.flushes == 0.0 {
        return Some(criterion.limit);
    }
    let more = criterion.flushes * record.last(FLUSH_MS)?;
    Some(match criterion.limit {
        Limit::AtMost(value) => Limit::AtMost(value + more),
        Limit::AtLeast(value) => Limit::AtLeast(value - more),
    })
}

/// The overall verdict on all criteria.
pub fn outcome(judged: &[Judged], record: &Record) -> Outcome {
    let refuted = judged.iter().find_map(|it| match &it.verdict {
        Verdict::Refuted(finding) => Some(*finding),
        Verdict::Held(_) | Verdict::NotRun(_) => None,
    });
    if let Some(finding) = refuted {
        return Outcome::Refuted(finding);
    }
    let unbitten = record.events.iter().find(|it| it.kind == Kind::Unbitten);
    if let Some(event) = unbitten {
        return Outcome::NotRun(match event.step.as_str() {
            "" => event.text.clone(),
            step => format!("step {step}: {}", event.text),
        });
    }
    let missing = judged.iter().find_map(|it| match &it.verdict {
        Verdict::NotRun(why) if !it.criterion.optional => Some((it, why)),
        _ => None,
    });
    if let Some((it, why)) = missing {
        return Outcome::NotRun(format!("{}: {why}", it.criterion.name));
    }
    let held = judged.iter().find_map(|it| match &it.verdict {
        Verdict::Held(finding) => Some(*finding),
        Verdict::Refuted(_) | Verdict::NotRun(_) => None,
    });
    match held {
        Some(finding) => Outcome::Held(finding),
        None => Outcome::NotRun("nothing was judged".into()),
    }
}

/// A human-readable figure.
pub fn amount(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        _ if value == value.trunc() => 0,
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    match unit {
        "" => format!("{value:.digits$}"),
        unit => format!("{value:.digits$} {unit}"),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held(_) => "HELD",
            Self::Refuted(_) => "REFUTED",
            Self::NotRun(_) => "NOT RUN",
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held(_) => "HELD",
            Self::Refuted(_) => "REFUTED",
            Self::NotRun(_) => "NOT RUN",
        })
    }
}

#[cfg(test)]
mod tests;
