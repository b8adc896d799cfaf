//! Process instances that are being modified: the remaining work, under the key of the instance. A large modification takes
//! more than one turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::ProcessInstanceModificationValue;

use crate::state::table::{Row, StoreError, Table, Tables};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Modification {
    /// The first of `ancestor_scope_keys` of an element to activate is the scope that was there when the command came; once it
    /// is prepared they are all.
    pub value: ProcessInstanceModificationValue,
    /// Of the elements that are prepared: the trigger that activates each. None: its scope was gone.
    pub triggers: Vec<Key>,
    /// The scopes that elements were prepared in: outer scope, element, instance; sorted. Those of elements with a chosen
    /// ancestor are not among them, as each makes its own.
    scopes: Vec<(Key, u32, Key)>,
}

impl Modification {
    /// The instance of `element` within `outer` that an earlier element was prepared in.
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

    /// What a process instance is being modified by.
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

    /// The next of the elements to activate has its scopes; `scopes` are those with their elements, the innermost first.
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
