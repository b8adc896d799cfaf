//! Taking a value of the record.

use std::fmt;

use serde::Serialize;

use crate::plan::{Measure, Take, Window};
use crate::record::{Kind, Record};

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

    /// Takes it.
    ///
    /// # Errors
    /// There is no value in a window of it, or no window.
    pub fn of(measure: &Measure, record: &Record) -> Result<Measured, Missing> {
        let value = value(measure, record)?;
        let value = match &measure.over {
            None => value,
            Some(other) => value / Measured::of(other, record)?.0,
        };
        if value.is_finite() {
            Ok(Measured(value))
        } else {
            Err(Missing(format!("{} is divided by zero", measure.of)))
        }
    }
}

fn value(measure: &Measure, record: &Record) -> Result<f64, Missing> {
    let Some(window) = &measure.window else {
        let values: Vec<f64> = record.series(&measure.of).map(|(_, value)| value).collect();
        return take(measure.take, &values)
            .ok_or_else(|| Missing(format!("{} was not measured", measure.of)));
    };
    let mut each = Vec::new();
    for (from, to) in windows(window, record) {
        let within = record.series(&measure.of);
        let within = within.filter(|(at, _)| *at > from && *at <= to);
        let values: Vec<f64> = within.map(|(_, value)| value).collect();
        let value = take(measure.take, &values);
        each.push(value.ok_or_else(|| {
            Missing(format!(
                "{} was not measured between {from:.1} s and {to:.1} s",
                measure.of
            ))
        })?);
    }
    take(measure.across, &each)
        .ok_or_else(|| Missing(format!("the step {} did not begin", window.from)))
}

/// From when to when, in seconds.
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

fn take(take: Take, values: &[f64]) -> Option<f64> {
    let (first, last) = (values.first()?, values.last()?);
    let quantile = |quantile: f64| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        // The smallest value that so many are not above; the length is far below 2^52.
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let index = (quantile * sorted.len() as f64).ceil() as usize;
        sorted.get(index.saturating_sub(1)).copied()
    };
    #[allow(clippy::cast_precision_loss)]
    let count = values.len() as f64;
    match take {
        Take::Max => Some(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        Take::Min => Some(values.iter().copied().fold(f64::INFINITY, f64::min)),
        Take::Mean => Some(values.iter().sum::<f64>() / count),
        Take::Median => quantile(0.5),
        Take::P99 => quantile(0.99),
        Take::Growth => (values.len() > 1).then(|| last - first),
    }
}
