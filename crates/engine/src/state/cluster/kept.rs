//! What users of the web interface keep. Only the first partition has any.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{KeptId, KeptKind, KeptOwner, KeptValue};

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Kept(pub KeptValue);

impl Row for Kept {
    const TABLE: u8 = 70;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.0.weight()
    }
}

/// An object without its body, which may be on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key of the row.
    pub revision: Key,
    pub title: Arc<str>,
    pub changed: i64,
    /// Bytes that count against the limits.
    pub weight: usize,
}

/// Objects by revision: one that is replaced gets another key. So a revision is never that of another object.
pub struct KeptObjects {
    pub table: Table<Kept>,
    by_id: BTreeMap<KeptId, Entry>,
    shared: BTreeSet<KeptId>,
    weight: usize,
}

impl KeptObjects {
    pub fn open(tables: &Arc<Tables>) -> Result<KeptObjects, StoreError> {
        let mut rows = Vec::new();
        let table = Table::open_with(tables, |key, Kept(mut value): Kept| {
            // The index has no bodies.
            let weight = value.weight();
            value.body = "".into();
            rows.push((key, value, weight));
        })?;
        let mut objects = KeptObjects {
            table,
            by_id: BTreeMap::new(),
            shared: BTreeSet::new(),
            weight: 0,
        };
        for (key, value, weight) in &rows {
            objects.add(*key, value, *weight);
        }
        Ok(objects)
    }

    pub fn entry(&self, id: &KeptId) -> Option<&Entry> {
        self.by_id.get(id)
    }

    pub fn is_shared(&self, id: &KeptId) -> bool {
        self.shared.contains(id)
    }

    pub fn get(&mut self, revision: Key) -> Option<&Kept> {
        self.table.get(revision)
    }

    /// Objects of an owner, by kind and name.
    pub fn of_owner<'s>(
        &'s self,
        owner: &'s KeptOwner,
    ) -> impl Iterator<Item = (&'s KeptId, &'s Entry)> {
        let first = KeptId {
            owner: owner.clone(),
            kind: KeptKind::Views,
            name: "".into(),
        };
        let from = self.by_id.range(first..);
        from.take_while(move |(id, _)| id.owner == *owner)
    }

    /// Objects that their owners share, by owner, kind and name.
    pub fn shared(&self) -> impl ExactSizeIterator<Item = &KeptId> {
        self.shared.iter()
    }

    pub fn count(&self) -> usize {
        self.by_id.len()
    }

    /// Bytes of all objects.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Adds an object, in place of its previous revision.
    pub(in crate::appliers) fn set(&mut self, revision: Key, value: KeptValue) {
        debug_assert!(!revision.is_none(), "a row has a key");
        self.remove(&value.id);
        let row = Kept(value);
        self.add_to_index(revision, &row);
        self.table.insert(revision, row);
    }

    pub(in crate::appliers) fn remove(&mut self, id: &KeptId) {
        let Some(old) = self.by_id.remove(id) else {
            return;
        };
        self.shared.remove(id);
        self.weight = self.weight.saturating_sub(old.weight);
        self.table.remove(old.revision);
    }

    fn add(&mut self, revision: Key, value: &KeptValue, weight: usize) {
        let entry = Entry {
            revision,
            title: value.title.clone(),
            changed: value.changed,
            weight,
        };
        self.by_id.insert(value.id.clone(), entry);
        if value.shared {
            self.shared.insert(value.id.clone());
        }
        self.weight += weight;
    }
}

impl Indexed<Kept> for KeptObjects {
    fn rows(&mut self) -> &mut Table<Kept> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Kept) {
        self.add(key, &row.0, row.0.weight());
    }

    fn take_from_index(&mut self, _: Key, row: &Kept) {
        if let Some(old) = self.by_id.remove(&row.0.id) {
            self.weight = self.weight.saturating_sub(old.weight);
        }
        self.shared.remove(&row.0.id);
    }
}
