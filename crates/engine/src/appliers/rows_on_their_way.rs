//! Test of [`Table`]: a row whose deletion has not yet reached the store is not visible. The test lives here because only
//! appliers can change rows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::state::table::{
    CheckpointWriter, Row, RowStore, Rows, StoreError, Table, Tables, write_row,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Number(u32);

impl Row for Number {
    const TABLE: u8 = 99;

    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

const KEY: Key = Key(7);
const OTHER: Key = Key(8);

/// A store that always returns two rows: no deletion has reached it yet.
struct Slow;

impl RowStore for Slow {
    fn get(&self, table: u8, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = None;
        self.scan(table, &mut |there, row| {
            if there == key {
                found = Some(row.to_vec());
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn scan(
        &self,
        table: u8,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if table == Number::TABLE {
            for key in [KEY, OTHER] {
                visit(&key.0.to_be_bytes(), &write_row(&Number(1)))?;
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Deletions(usize);

impl CheckpointWriter for Deletions {
    fn put(&mut self, _: u8, _: &[u8], _: Vec<u8>) {}

    fn delete(&mut self, _: u8, _: &[u8]) {
        self.0 += 1;
    }
}

#[test]
fn a_row_inserted_and_removed_during_a_pending_deletion_does_not_uncover_the_old_row() {
    let tables = Arc::new(Tables::new(Arc::new(Slow)));
    let mut table: Table<Number> = Table::open(&tables).expect("opens");
    assert_eq!(table.get(KEY), Some(&Number(1)));
    table.remove(KEY);
    let mut deletions = Deletions::default();
    table.checkpoint(&mut deletions);
    assert_eq!(deletions.0, 1);
    // The checkpoint has not reached the store yet.
    table.insert(KEY, Number(2));
    table.remove(KEY);
    assert_eq!(table.get(KEY), None);
    assert_eq!(table.len(), 1);
}
