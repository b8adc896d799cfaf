//! Label values that clients choose. A registry never forgets a series, so the number and length of the values are bounded:
//! otherwise any client could fill the memory and every scrape.

use std::collections::HashMap;
use std::sync::Arc;

/// Stands for all values beyond the bounds.
pub const OTHER: &str = "(other)";
/// Values of one label that have a series of their own.
pub const MAX_LABEL_VALUES: usize = 1000;
/// Bytes of a value that has a series of its own.
pub const MAX_LABEL_BYTES: usize = 256;

/// Whether a value is short enough to name a series.
pub fn fits_label(value: &str) -> bool {
    value.len() <= MAX_LABEL_BYTES
}

/// The first [`MAX_LABEL_VALUES`] values of a label, numbered from 1. Number 0 is [`OTHER`].
#[derive(Debug)]
pub struct LabelValues {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, usize>,
    /// The last number asked for: the next one is mostly the same.
    last: usize,
}

impl Default for LabelValues {
    fn default() -> Self {
        LabelValues {
            names: vec![OTHER.into()],
            numbers: HashMap::new(),
            last: 0,
        }
    }
}

impl LabelValues {
    /// The number of a value; 0 if it is too long, or if there are too many.
    #[inline]
    pub fn number(&mut self, value: &str) -> usize {
        if self
            .names
            .get(self.last)
            .is_none_or(|last| **last != *value)
        {
            self.last = self.find(value);
        }
        self.last
    }

    fn find(&mut self, value: &str) -> usize {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        if self.names.len() > MAX_LABEL_VALUES || !fits_label(value) {
            return 0;
        }
        let name: Arc<str> = value.into();
        self.numbers.insert(name.clone(), self.names.len());
        self.names.push(name);
        self.names.len() - 1
    }

    /// The value with this number.
    pub fn name(&self, number: usize) -> Arc<str> {
        let known = self.names.get(number).or_else(|| self.names.first());
        known.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bounds_values_share_one_name() {
        let mut values = LabelValues::default();
        let long = "x".repeat(MAX_LABEL_BYTES + 1);
        assert_eq!(&*values.name(values.numbers.len()), OTHER);
        assert_eq!(values.number(&long), 0);
        for n in 0..2 * MAX_LABEL_VALUES {
            let number = values.number(&n.to_string());
            let name = values.name(number);
            if n < MAX_LABEL_VALUES {
                assert_eq!(*name, *n.to_string());
            } else {
                assert_eq!(&*name, OTHER);
            }
        }
        assert_eq!(values.number("0"), 1, "what has a name keeps it");
    }
}
