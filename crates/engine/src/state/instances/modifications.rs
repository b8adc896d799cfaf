//! Process instances that are being modified: the remaining work, by the key of the instance. A large modification takes
//! more than one turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::ProcessInstanceModificationValue;

use crate::state::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Modification {
    /// For an element to activate, the first of `ancestor_scope_keys` is the scope that existed when the command arrived;
    /// once the element is prepared, all of its scopes are listed.
    pub value: ProcessInstanceModificationValue,
    /// Triggers of the prepared elements. None: the scope of the element was gone.
    pub triggers: Vec<Key>,
    /// Scopes in which elements were prepared, as outer scope, element and instance; sorted. Scopes of elements with a
    /// chosen ancestor are not included, because each of them creates its own.
    scopes: Vec<(Key, u32, Key)>,
}

impl Modification {
    /// The instance of `element` within `outer` in which an earlier element was prepared.
    pub fn scope(&self, outer: Key, element: u32) -> Option<Key> {
        let place = self.place_of(outer, element).ok()?;
        self.scopes.get(place).map(|(_, _, key)| *key)
    }

    fn place_of(&self, outer: Key, element: u32) -> Result<usize, usize> {
        let wanted = (outer, element);
        self.scopes
            .binary_search_by_key(&wanted, |(outer, element, _)| (*outer, *element))
    }
}

impl Row for Modification {
    const TABLE: u8 = 54;

    fn weight(&self) -> usize {
        let triggers = self.triggers.len() * size_of::<Key>();
        let scopes = self.scopes.len() * size_of::<(Key, u32, Key)>();
        size_of::<Self>() + self.value.weight() + triggers + scopes
    }
}

pub struct Modifications {
    pub table: Table<Modification>,
}

impl Modifications {
    pub fn open(tables: &Arc<Tables>) -> Result<Modifications, StoreError> {
        Ok(Modifications {
            table: Table::open(tables)?,
        })
    }

    /// The modification in progress of a process instance.
    pub fn get(&mut self, process_instance: Key) -> Option<&Modification> {
        self.table.get(process_instance)
    }

    pub(in crate::appliers) fn begin(&mut self, value: &ProcessInstanceModificationValue) {
        let modification = Modification {
            value: value.clone(),
            triggers: Vec::new(),
            scopes: Vec::new(),
        };
        self.table.insert(value.process_instance_key, modification);
    }

    /// Records that the next element to activate has its scopes; `scopes` contains them with their elements, innermost
    /// first.
    pub(in crate::appliers) fn prepared(
        &mut self,
        process_instance: Key,
        trigger: Key,
        scopes: &[(Key, u32)],
    ) {
        let Some(row) = self.table.must_get_mut(process_instance) else {
            return;
        };
        let next = row.triggers.len();
        row.triggers.push(trigger);
        let Some(instruction) = row.value.activate_instructions.get_mut(next) else {
            return;
        };
        instruction.ancestor_scope_keys = scopes.iter().map(|(key, _)| *key).collect();
        if instruction.has_ancestor() {
            return;
        }
        for pair in scopes.windows(2) {
            let [(key, element), (outer, _)] = pair else {
                continue;
            };
            if let Err(place) = row.place_of(*outer, *element) {
                row.scopes.insert(place, (*outer, *element, *key));
            }
        }
    }

    pub(in crate::appliers) fn end(&mut self, process_instance: Key) {
        self.table.remove(process_instance);
    }
}
