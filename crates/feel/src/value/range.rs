//! Intervals and comparisons as values.

use super::Value;

/// An interval `[start..end]`, or a comparison such as `< 5` when one side is open without bound.
#[derive(Clone)]
pub struct Range {
    start: Value,
    end: Value,
    start_included: bool,
    end_included: bool,
}

impl Range {
    /// A range; a `Null` side has no bound.
    pub fn new(start: Value, start_included: bool, end: Value, end_included: bool) -> Range {
        Range {
            start,
            end,
            start_included,
            end_included,
        }
    }

    /// The lower bound, or null.
    pub fn start(&self) -> &Value {
        &self.start
    }

    /// The upper bound, or null.
    pub fn end(&self) -> &Value {
        &self.end
    }

    /// True when the lower bound belongs to the range.
    pub fn start_included(&self) -> bool {
        self.start_included
    }

    /// True when the upper bound belongs to the range.
    pub fn end_included(&self) -> bool {
        self.end_included
    }

    /// Whether a value lies inside; `None` when it cannot be compared with the bounds.
    pub fn contains(&self, value: &Value) -> Option<bool> {
        let above = match &self.start {
            Value::Null => true,
            start => {
                let order = value.compare(start)?;
                order.is_gt() || (self.start_included && order.is_eq())
            }
        };
        let below = match &self.end {
            Value::Null => true,
            end => {
                let order = value.compare(end)?;
                order.is_lt() || (self.end_included && order.is_eq())
            }
        };
        if self.start.is_null() && self.end.is_null() {
            return None;
        }
        Some(above && below)
    }
}
