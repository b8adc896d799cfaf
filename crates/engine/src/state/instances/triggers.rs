//! Triggers: an event has happened, and its target still has to be activated.
//!
//! A trigger is a row until it is used, so it survives incidents, restarts and deferred work. The scope in which the target
//! is activated counts it (see `Extra::triggers`) and does not complete before it is used. The trigger of an event
//! sub-process moves to the sub-process and then to its start event, which uses it up on completion.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::remote::Variables;
use crate::state::table::{Row, StoreError, Table, Tables, weight_of};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// The activity that the event is attached to, the scope of a start instruction, or the definition of an instance to
    /// begin.
    pub scope_key: Key,
    /// The scope in which the target is activated.
    pub flow_scope_key: Key,
    pub interrupting: bool,
    pub process_instance_key: Key,
    pub process_definition_key: Key,
    /// An element within the flow scope, or deeper (for a start instruction whose scopes could not be created yet).
    pub target_element: u32,
    pub variables: Variables,
}

impl Trigger {
    /// Whether it triggers a start event of the definition.
    pub fn begins_instance(&self) -> bool {
        self.scope_key == self.process_definition_key
    }
}

impl Trigger {
    /// Whether an instruction activates the target, and not an event.
    pub fn is_instruction(&self) -> bool {
        self.scope_key == self.flow_scope_key
    }
}

impl Row for Trigger {
    const TABLE: u8 = 12;

    fn weight(&self) -> usize {
        size_of::<Self>() + weight_of(&self.variables)
    }
}

pub struct Triggers {
    pub table: Table<Trigger>,
    /// Triggers by the process instance that they begin.
    beginning: HashMap<Key, Key>,
    /// Number of instances about to begin, by definition.
    of_definition: HashMap<Key, usize>,
}

impl Triggers {
    pub fn open(tables: &Arc<Tables>) -> Result<Triggers, StoreError> {
        let (mut beginning, mut of_definition) = (HashMap::new(), HashMap::new());
        let table = Table::open_with(tables, |key, row: Trigger| {
            if row.begins_instance() {
                beginning.insert(row.process_instance_key, key);
                *of_definition.entry(row.process_definition_key).or_default() += 1;
            }
        })?;
        Ok(Triggers {
            table,
            beginning,
            of_definition,
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&Trigger> {
        self.table.get(key)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, trigger: Trigger) {
        self.add_to_index(key, &trigger);
        self.table.insert(key, trigger);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(trigger) = self.table.remove(key) {
            self.take_from_index(key, &trigger);
        }
    }

    /// Moves the trigger to an element of another definition. Triggers that begin an instance are not migrated.
    pub(in crate::appliers) fn migrate(&mut self, key: Key, definition: Key, target: u32) {
        if let Some(trigger) = self.table.must_get_mut(key) {
            trigger.process_definition_key = definition;
            trigger.target_element = target;
        }
    }

    /// Moves the trigger to another element instance.
    pub(in crate::appliers) fn pass_on(&mut self, key: Key, flow_scope_key: Key) {
        if let Some(trigger) = self.table.must_get_mut(key) {
            trigger.flow_scope_key = flow_scope_key;
        }
    }

    /// Whether any instance of the definition is about to begin.
    pub fn begin_any_of(&self, definition: Key) -> bool {
        self.of_definition.contains_key(&definition)
    }

    /// The trigger that begins this process instance.
    pub fn beginning(&self, instance: Key) -> Option<Key> {
        self.beginning.get(&instance).copied()
    }
}

impl Indexed<Trigger> for Triggers {
    fn rows(&mut self) -> &mut Table<Trigger> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Trigger) {
        if row.begins_instance() {
            self.beginning.insert(row.process_instance_key, key);
            let count = self.of_definition.entry(row.process_definition_key);
            *count.or_default() += 1;
        }
    }

    fn take_from_index(&mut self, _key: Key, row: &Trigger) {
        if !row.begins_instance() {
            return;
        }
        self.beginning.remove(&row.process_instance_key);
        let definition = row.process_definition_key;
        if let Some(count) = self.of_definition.get_mut(&definition) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.of_definition.remove(&definition);
            }
        }
    }
}
