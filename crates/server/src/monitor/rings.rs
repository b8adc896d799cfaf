//! A node's measurements of the last hour, in a fixed amount of memory.
//!
//! Each series is a ring of 720 numbers of 4 bytes, one for every 5 seconds. A partition has at most 64 series, so an hour of it takes 180
//! KiB; the node's own series take at most as much. A ring is created with its first number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

/// Milliseconds between two points. Steps are counted from 1970, so they are the same on all nodes.
pub const STEP: i64 = 5_000;
/// An hour.
pub const POINTS: usize = 720;
/// Maximum number of series per partition.
pub const MAX_SERIES: usize = 64;

/// Measurements by partition; 0 is the node itself.
pub type Measured = BTreeMap<u32, Vec<Value>>;

/// One number of this step.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub name: String,
    pub unit: Unit,
    pub value: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Per second.
    #[serde(rename = "1/s")]
    PerSecond,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    #[serde(rename = "count")]
    Count,
    /// A share of one; booleans are 1 or 0.
    #[serde(rename = "share")]
    Share,
}

#[derive(Debug)]
struct Series {
    name: String,
    unit: Unit,
    /// By step; NaN if nothing was measured.
    points: Box<[f32]>,
}

impl Series {
    fn new(name: String, unit: Unit) -> Series {
        Series {
            name,
            unit,
            points: vec![f32::NAN; POINTS].into(),
        }
    }

    fn put(&mut self, step: i64, value: f32) {
        if let Some(point) = self.points.get_mut(place(step)) {
            *point = value;
        }
    }

    fn at(&self, step: i64) -> f32 {
        self.points.get(place(step)).copied().unwrap_or(f32::NAN)
    }

    fn is_empty(&self) -> bool {
        self.points.iter().all(|point| point.is_nan())
    }
}

fn place(step: i64) -> usize {
    usize::try_from(step.rem_euclid(POINTS as i64)).unwrap_or_default()
}

/// The step that contains a moment.
pub fn step_of(epoch_ms: i64) -> i64 {
    epoch_ms.div_euclid(STEP)
}

#[derive(Debug, Default)]
pub struct Rings {
    /// The newest step; none before the first.
    last: Option<i64>,
    partitions: BTreeMap<u32, Vec<Series>>,
}

impl Rings {
    /// Enters the measurements of a step. Skipped steps hold nothing; a step that is not newer is dropped, since the clock was set back.
    pub fn put(&mut self, step: i64, measured: Measured) {
        let first = match self.last {
            Some(last) if last >= step => return,
            Some(last) => (last + 1).max(step - POINTS as i64 + 1),
            None => step,
        };
        self.last = Some(step);
        for series in self.partitions.values_mut().flatten() {
            (first..=step).for_each(|step| series.put(step, f32::NAN));
        }
        for (partition, values) in measured {
            let all = self.partitions.entry(partition).or_default();
            for Value { name, unit, value } in values {
                let has_room = all.len() < MAX_SERIES && !value.is_nan();
                if let Some(series) = all.iter_mut().find(|series| series.name == name) {
                    series.put(step, value);
                } else if has_room {
                    let mut series = Series::new(name, unit);
                    series.put(step, value);
                    all.push(series);
                }
            }
        }
        // Series without a value for an hour are dropped.
        for all in self.partitions.values_mut() {
            all.retain(|series| !series.is_empty());
        }
        self.partitions.retain(|_, all| !all.is_empty());
    }

    /// All series since a moment, which lies within the hour, as JSON: `{"from", "series": [{"name", "partition", "unit", "points"}]}`.
    pub fn since(&self, from: i64) -> String {
        let last = self.last.unwrap_or(i64::MIN);
        let oldest = last.saturating_sub(POINTS as i64 - 1);
        let first = step_of(from.saturating_add(STEP - 1)).max(oldest);
        let mut out = format!("{{\"from\":{},\"series\":[", first.saturating_mul(STEP));
        let mut is_first = true;
        for (partition, all) in &self.partitions {
            for series in all {
                if !is_first {
                    out.push(',');
                }
                is_first = false;
                write_series(&mut out, *partition, series, first..=last);
            }
        }
        out.push_str("]}");
        out
    }
}

fn write_series(
    out: &mut String,
    partition: u32,
    series: &Series,
    steps: std::ops::RangeInclusive<i64>,
) {
    let name = serde_json::to_string(&series.name).unwrap_or_default();
    let unit = serde_json::to_string(&series.unit).unwrap_or_default();
    let _ = write!(
        out,
        "{{\"name\":{name},\"partition\":{partition},\"unit\":{unit},\"points\":["
    );
    for (n, step) in steps.enumerate() {
        if n > 0 {
            out.push(',');
        }
        match series.at(step) {
            point if point.is_finite() => {
                let _ = write!(out, "{point}");
            }
            _ => out.push_str("null"),
        }
    }
    out.push_str("]}");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn value(name: &str, value: f32) -> Value {
        Value {
            name: name.to_string(),
            unit: Unit::Count,
            value,
        }
    }

    fn put(rings: &mut Rings, step: i64, partition: u32, values: Vec<Value>) {
        rings.put(step, BTreeMap::from([(partition, values)]));
    }

    fn shown(rings: &Rings, from: i64) -> Json {
        serde_json::from_str(&rings.since(from)).unwrap()
    }

    #[test]
    fn a_ring_has_the_measured_values_and_marks_missing_ones() {
        let mut rings = Rings::default();
        assert_eq!(shown(&rings, 0)["series"], json!([]));
        put(&mut rings, 100, 1, vec![value("jobs", 1.5)]);
        put(
            &mut rings,
            103,
            1,
            vec![value("jobs", 4.0), value("elements", 7.0)],
        );
        let all = shown(&rings, 100 * STEP);
        assert_eq!(
            all,
            json!({"from": 500_000, "series": [
                {"name": "jobs", "partition": 1, "unit": "count", "points": [1.5, null, null, 4]},
                {"name": "elements", "partition": 1, "unit": "count", "points": [null, null, null, 7]},
            ]})
        );
        // From within a step, the next step is the first one returned.
        let newest = shown(&rings, 102 * STEP + 1);
        assert_eq!(newest["from"], 103 * STEP);
        assert_eq!(newest["series"][0]["points"], json!([4]));
        assert_eq!(shown(&rings, 104 * STEP)["series"][0]["points"], json!([]));
        // A clock that was set back has no effect.
        put(&mut rings, 90, 1, vec![value("jobs", 9.0)]);
        assert_eq!(shown(&rings, 100 * STEP), all);
    }

    #[test]
    fn an_hour_is_all_that_is_kept() {
        let mut rings = Rings::default();
        for step in 0..2_000 {
            let partition = if step < 500 { 1 } else { 2 };
            put(
                &mut rings,
                step,
                partition,
                vec![value("jobs", step as f32)],
            );
        }
        let all = shown(&rings, i64::MIN);
        let series = all["series"].as_array().unwrap();
        assert_eq!(series.len(), 1, "{all}");
        let points = series[0]["points"].as_array().unwrap();
        assert_eq!(points.len(), POINTS);
        assert_eq!(
            (&points[0], &points[POINTS - 1]),
            (&json!(1280), &json!(1999))
        );
        // After a gap longer than the ring, no earlier points are left.
        put(&mut rings, 10_000, 2, vec![value("elements", 1.0)]);
        let after = shown(&rings, i64::MIN);
        assert_eq!(after["series"].as_array().unwrap().len(), 1, "{after}");
        assert_eq!(after["series"][0]["name"], "elements");
    }

    #[test]
    fn a_partition_has_so_many_series_and_no_more() {
        let mut rings = Rings::default();
        let names: Vec<String> = (0..200).map(|n| format!("exporter {n}")).collect();
        for step in 0..3 {
            put(
                &mut rings,
                step,
                1,
                names.iter().map(|name| value(name, 1.0)).collect(),
            );
        }
        assert_eq!(
            shown(&rings, 0)["series"].as_array().unwrap().len(),
            MAX_SERIES
        );
        // A series without any number takes no room.
        put(&mut rings, 3, 2, vec![value("jobs", f32::NAN)]);
        assert!(!rings.partitions.contains_key(&2));
    }
}
