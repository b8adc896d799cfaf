//! The store in memory: for tests and simulations, where "durable" means "as long as the value lives".

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::{Ascending, KvBatch, KvStore, KvView, Rows, Table, TableRows};
use crate::StorageError;

type Content = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// A [`KvStore`] on a sorted map.
#[derive(Debug, Clone, Default)]
pub struct MemoryKv {
    content: Arc<Content>,
    meta: Option<Vec<u8>>,
}

impl MemoryKv {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of rows in all tables.
    pub fn len(&self) -> usize {
        self.content.len()
    }

    /// True if no table has a row.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty()
    }
}

impl KvStore for MemoryKv {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.content.get(&(table, key.to_vec())).cloned())
    }

    fn scan(&self, table: Table, from: &[u8], to: Option<&[u8]>) -> Rows<'_> {
        if to.is_some_and(|to| to <= from) {
            return Box::new(std::iter::empty());
        }
        let end = match to {
            Some(to) => Bound::Excluded((table, to.to_vec())),
            None => match table.checked_add(1) {
                Some(next) => Bound::Excluded((next, Vec::new())),
                None => Bound::Unbounded,
            },
        };
        let range = (Bound::Included((table, from.to_vec())), end);
        Box::new(
            self.content
                .range(range)
                .map(|((_, key), value)| Ok((key.clone(), value.clone()))),
        )
    }

    fn meta(&self) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.meta.clone())
    }

    fn commit(&mut self, batch: KvBatch<'_>) -> Result<(), StorageError> {
        let content = Arc::make_mut(&mut self.content);
        for (table, key, value) in batch.changes {
            match value {
                Some(value) => content.insert((table, key.into_owned()), value.into_owned()),
                None => content.remove(&(table, key.into_owned())),
            };
        }
        if batch.meta.is_some() {
            self.meta = batch.meta;
        }
        Ok(())
    }

    fn view(&self) -> Result<Box<dyn KvView>, StorageError> {
        Ok(Box::new(self.clone()))
    }

    fn install(&mut self, rows: TableRows<'_>, meta: Option<Vec<u8>>) -> Result<(), StorageError> {
        let mut content = Content::new();
        let mut ascending = Ascending::new();
        for row in rows {
            let (table, (key, value)) = row?;
            ascending.check(table, &key)?;
            content.insert((table, key), value);
        }
        self.content = Arc::new(content);
        self.meta = meta;
        Ok(())
    }
}

impl KvView for MemoryKv {
    fn rows(&self) -> TableRows<'_> {
        Box::new(
            self.content
                .iter()
                .map(|((table, key), value)| Ok((*table, (key.clone(), value.clone())))),
        )
    }

    fn meta(&self) -> Option<&[u8]> {
        self.meta.as_deref()
    }
}
