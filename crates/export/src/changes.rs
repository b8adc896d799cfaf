//! Changes of rows that were not stored yet, merged.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_query::{Entity, Value, entities};

/// New values for some of the columns of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChange {
    /// Bit n: column n is set.
    pub mask: u32,
    /// One for each column; what is not set is null.
    pub values: Vec<Value>,
}

/// An incident begins or ends: it counts for its element instance and for everything around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncidentDelta {
    pub incident_key: Key,
    pub element_instance_key: Key,
    /// 1 or -1.
    pub delta: i64,
}

/// What a window of records changes.
#[derive(Debug, Default)]
pub struct Changes {
    /// Per entity, in the order of [`entities::ALL`].
    pub rows: [FxHashMap<i64, RowChange>; entities::ALL.len()],
    /// Sequence flows: process instance, id of the flow, process definition.
    pub flows: FxHashMap<(i64, std::sync::Arc<str>), i64>,
    pub incidents: Vec<IncidentDelta>,
    /// User tasks that are new: they have the tags of their process instance.
    pub user_tasks: Vec<Key>,
    /// Process ids whose latest version may be another one now.
    pub versions: Vec<std::sync::Arc<str>>,
    /// Definitions with the bodies of their PROCESS records.
    pub definitions: Vec<(Key, Vec<u8>)>,
    len: usize,
    bytes: usize,
}

impl Changes {
    /// Rows that change.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of texts, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets columns of a row, which need not be there yet. Names are those of the entity's fields.
    pub fn set<const N: usize>(
        &mut self,
        entity: &'static Entity,
        key: Key,
        columns: [(&'static str, Value); N],
    ) {
        let at = entities::ALL.iter().position(|e| std::ptr::eq(*e, entity));
        let Some(rows) = at.and_then(|at| self.rows.get_mut(at)) else {
            debug_assert!(false, "{} is not among the entities", entity.title);
            return;
        };
        let row = match rows.entry(key.0) {
            Entry::Occupied(row) => row.into_mut(),
            Entry::Vacant(vacant) => {
                self.len += 1;
                let mut values = vec![Value::Null; entity.fields.len()];
                values.splice(..1, [Value::Int(key.0)]);
                vacant.insert(RowChange { mask: 1, values })
            }
        };
        for (name, value) in columns {
            let column = entity.index_of(name);
            let Some((column, place)) =
                column.and_then(|column| Some((column, row.values.get_mut(column)?)))
            else {
                debug_assert!(false, "{} has no {name}", entity.title);
                continue;
            };
            if let Value::Text(text) = &value {
                self.bytes += text.len();
            }
            *place = value;
            row.mask |= 1 << column;
        }
    }

    pub fn flow(&mut self, process_instance: Key, flow: std::sync::Arc<str>, definition: Key) {
        if self
            .flows
            .insert((process_instance.0, flow), definition.0)
            .is_none()
        {
            self.len += 1;
        }
    }

    pub fn incident(&mut self, delta: IncidentDelta) {
        self.incidents.push(delta);
    }

    pub fn definition(&mut self, key: Key, id: std::sync::Arc<str>, body: Vec<u8>) {
        self.bytes += body.len();
        self.definitions.push((key, body));
        self.versions.push(id);
    }
}
