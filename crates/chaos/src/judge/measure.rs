//! Extracts values from the record.

use std::fmt;

use serde::Serialize;

use super::interval::{Interval, median};
use crate::plan::{Measure, Take, Window};
use crate::record::{Kind, Record};

/// With fewer pairs an interval says nothing.
const LEAST_PAIRS: usize = 3;

/// A finite value that comes from the record; there is no other way to make one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Measured(f64);

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Measured {
    pub fn value(self) -> f64 {
        self.0
    }

    /// Takes the value from the record.
    ///
    /// # Errors
    /// There is no window, or one without a value.
    pub fn of(measure: &Measure, record: &Record) -> Result<Measured, Missing> {
        let value = if measure.pairs {
            let ratios = ratios(measure, record)?;
            median(&ratios).ok_or_else(|| Missing(format!("{} has no pairs", measure.of)))?
        } else {
            let value = value(measure, record)?;
            match &measure.over {
                None => value,
                Some(other) => value / Measured::of(other, record)?.0,
            }
        };
        if value.is_finite() {
            Ok(Measured(value))
        } else {
            Err(Missing(format!("{} is divided by zero", measure.of)))
        }
    }
}

/// The interval of a measure of pairs.
pub(super) fn interval(measure: &Measure, record: &Record) -> Option<Interval> {
    let ratios = measure.pairs.then(|| ratios(measure, record));
    Interval::of(&ratios?.ok()?)
}

/// The value of each window divided by that of the window with the same number: other work on the machine changes slowly, and is the same
/// for both.
fn ratios(measure: &Measure, record: &Record) -> Result<Vec<f64>, Missing> {
    let ratios = divided(measure, record)?;
    if ratios.len() < LEAST_PAIRS {
        return Err(Missing(format!(
            "{} pairs of {} were measured, and {LEAST_PAIRS} are the least",
            ratios.len(),
            measure.of
        )));
    }
    if ratios.iter().all(|ratio| ratio.is_finite()) {
        Ok(ratios)
    } else {
        Err(Missing(format!("{} is divided by zero", measure.of)))
    }
}

fn divided(measure: &Measure, record: &Record) -> Result<Vec<f64>, Missing> {
    let values = each(measure, record)?.into_iter();
    let values: Vec<f64> = values.map(|(_, value)| value).collect();
    let Some(over) = &measure.over else {
        return Ok(values);
    };
    let others = divided(over, record)?;
    if values.len() != others.len() {
        return Err(Missing(format!(
            "the windows of {} and {} are no pairs: there are {} and {}",
            measure.of,
            over.of,
            values.len(),
            others.len()
        )));
    }
    let pairs = values.iter().zip(others);
    Ok(pairs.map(|(value, other)| value / other).collect())
}

fn value(measure: &Measure, record: &Record) -> Result<f64, Missing> {
    let each = each(measure, record)?;
    let Some(window) = &measure.window else {
        return each
            .first()
            .map(|(_, value)| *value)
            .ok_or_else(|| Missing(format!("{} was not measured", measure.of)));
    };
    take(measure.across, &each)
        .ok_or_else(|| Missing(format!("the step {} did not begin", window.from)))
}

/// The value of each window, or of the whole run, with its time.
fn each(measure: &Measure, record: &Record) -> Result<Vec<(f64, f64)>, Missing> {
    let Some(window) = &measure.window else {
        let values: Vec<(f64, f64)> = record.series(&measure.of).collect();
        let value = take(measure.take, &values);
        let value = value.ok_or_else(|| Missing(format!("{} was not measured", measure.of)))?;
        return Ok(vec![(0.0, value)]);
    };
    let mut each = Vec::new();
    for (from, to) in windows(window, record) {
        let within = record.series(&measure.of);
        let within = within.filter(|(at, _)| *at > from && *at <= to);
        let values: Vec<(f64, f64)> = within.collect();
        let value = take(measure.take, &values);
        let value = value.ok_or_else(|| {
            Missing(format!(
                "{} was not measured between {from:.1} s and {to:.1} s",
                measure.of
            ))
        })?;
        each.push((from, value));
    }
    Ok(each)
}

/// The begin and end of each window, in seconds.
fn windows(window: &Window, record: &Record) -> Vec<(f64, f64)> {
    let ends = window.to.as_ref().map(|to| record.times(to, Kind::Begin));
    let begins = record.times(&window.from, Kind::Begin).into_iter();
    let windows = begins.map(|begin| {
        let ends = ends.iter().flatten().copied();
        let next = ends
            .filter(|end| *end > begin)
            .fold(f64::INFINITY, f64::min);
        let from = begin + window.skip_s;
        let most = window.for_s.map_or(f64::INFINITY, |length| from + length);
        (from, next.min(most))
    });
    windows.collect()
}

/// Aggregates values, each with its time.
fn take(take: Take, timed: &[(f64, f64)]) -> Option<f64> {
    let values: Vec<f64> = timed.iter().map(|(_, value)| *value).collect();
    let (first, last) = (values.first()?, values.last()?);
    let quantile = |of| quantile(values.clone(), of);
    #[allow(clippy::cast_precision_loss)]
    let count = values.len() as f64;
    match take {
        Take::Max => Some(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        Take::Min => Some(values.iter().copied().fold(f64::INFINITY, f64::min)),
        Take::Mean => Some(values.iter().sum::<f64>() / count),
        Take::Median => quantile(0.5),
        Take::P99 => quantile(0.99),
        Take::Growth => (values.len() > 1).then(|| last - first),
        Take::Slope => slope(timed).map(|slope| slope * 3_600.0),
    }
}

/// The smallest value that at least this share of the values does not exceed.
fn quantile(mut values: Vec<f64>, quantile: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    // The length is far below 2^52.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    let index = (quantile * values.len() as f64).ceil() as usize;
    values.get(index.saturating_sub(1)).copied()
}

/// Number of values above which they are sampled: the number of pairs grows with the square.
const MAX_SLOPES: usize = 400;

/// The Theil–Sen slope, per second.
fn slope(timed: &[(f64, f64)]) -> Option<f64> {
    let step = timed.len().div_ceil(MAX_SLOPES).max(1);
    let points: Vec<(f64, f64)> = timed.iter().step_by(step).copied().collect();
    let mut slopes = Vec::new();
    for (number, (at, value)) in points.iter().enumerate() {
        for (later, other) in points.iter().skip(number + 1) {
            if later > at {
                slopes.push((other - value) / (later - at));
            }
        }
    }
    quantile(slopes, 0.5)
}
