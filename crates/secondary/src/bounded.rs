//! Bounds the size of answers so that they fit into memory.

use skep_query::{QueryError, Row, Value};

/// Maximum bytes of text in one answer.
pub const MAX_BYTES: usize = 64 << 20;

/// The rows of an answer would take more than [`MAX_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

impl From<TooLarge> for QueryError {
    fn from(_: TooLarge) -> QueryError {
        QueryError::TooLarge {
            mebibytes: MAX_BYTES >> 20,
        }
    }
}

/// Rows with at most [`MAX_BYTES`] of text. One row is always accepted, because no page can be smaller.
#[derive(Debug, Default)]
pub struct BoundedRows {
    rows: Vec<Row>,
    bytes: usize,
}

impl BoundedRows {
    pub fn push(&mut self, row: Row) -> Result<(), TooLarge> {
        let texts = row.iter().filter_map(Value::as_text);
        self.bytes += texts.map(str::len).sum::<usize>();
        if self.bytes > MAX_BYTES && !self.rows.is_empty() {
            return Err(TooLarge);
        }
        self.rows.push(row);
        Ok(())
    }

    pub fn done(self) -> Vec<Row> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_has_any_size_and_more_have_a_bound() {
        let mut rows = BoundedRows::default();
        let large = vec![Value::text(&"x".repeat(MAX_BYTES + 1))];
        assert_eq!(rows.push(large.clone()), Ok(()));
        assert_eq!(rows.push(vec![Value::Int(1)]), Err(TooLarge));
        assert_eq!(rows.done(), [large]);
    }
}
