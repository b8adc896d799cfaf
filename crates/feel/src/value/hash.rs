//! Hashes that agree with FEEL's equality.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};

use super::{FunctionKind, Value};

/// A value to be hashed: equal values have equal hashes.
pub(crate) struct Hashed<'a>(pub &'a Value);

impl Hash for Hashed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self.0).hash(state);
        match self.0 {
            Value::Null => {}
            Value::Boolean(value) => value.hash(state),
            Value::Number(value) => value.hash(state),
            Value::String(value) => value.hash(state),
            Value::List(items) => {
                items.len().hash(state);
                items.iter().for_each(|item| Hashed(item).hash(state));
            }
            Value::Context(context) => {
                // The order of entries does not matter for equality.
                let build = BuildHasherDefault::<DefaultHasher>::default();
                let sum = context.entries().iter().fold(0u64, |sum, (key, value)| {
                    sum.wrapping_add(build.hash_one((key, Hashed(value))))
                });
                sum.hash(state);
            }
            Value::Date(value) => value.hash(state),
            // A local time equals no other; moments are equal regardless of their zone.
            Value::Time(value) => (value.zone().is_local(), value.utc_nanos()).hash(state),
            Value::DateTime(value) => {
                (value.zone().is_local(), value.epoch_nanos()).hash(state);
            }
            Value::YearMonthDuration(value) => value.hash(state),
            Value::DayTimeDuration(value) => value.hash(state),
            Value::Range(range) => {
                (range.start_included(), range.end_included()).hash(state);
                Hashed(range.start()).hash(state);
                Hashed(range.end()).hash(state);
            }
            Value::Function(function) => match function.kind() {
                FunctionKind::Builtin(builtin) => builtin.name().hash(state),
                _ => std::sync::Arc::as_ptr(function).hash(state),
            },
        }
    }
}
