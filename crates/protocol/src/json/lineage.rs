//! Where an element instance stands: its path through scopes and callers, and what its instance was started with.
//!
//! Records name their scope and their caller only. A reader that sees them in order knows the rest.

use std::collections::HashMap;

use crate::intent::{Intent, ProcessInstanceIntent, ValueType};
use crate::key::Key;
use crate::record::{Record, RecordType};
use crate::value::{ProcessInstanceCreationValue, ProcessInstanceValue};

use super::Definitions;

/// Element instances that are remembered; beyond it new ones have no path.
const LIMIT: usize = 1_000_000;

/// The live element instances among the records seen so far.
#[derive(Debug, Default)]
pub struct Lineage {
    elements: HashMap<Key, Element>,
    /// By process instance; most were started with nothing of this.
    started: HashMap<Key, Started>,
    ended: Vec<Key>,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    element: u32,
    definition: Key,
    scope: Key,
    /// On a process: the call activity that started it.
    caller: Key,
    root: Key,
}

/// What a creation said of its instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Started {
    pub tags: Vec<String>,
    pub business_id: String,
}

/// The way from the root process instance to an element instance, one entry per process instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Each from the process instance to the call activity, or to the element instance itself.
    pub element_instances: Vec<Vec<Key>>,
    pub definitions: Vec<Key>,
    /// The call activities passed, each by its place among the call activities of its process in the order of their ids.
    pub calling_elements: Vec<u32>,
}

impl Lineage {
    /// Takes notice of a record. What it ends is known until [`Lineage::batch_ends`].
    pub fn learn(&mut self, record: &Record<'_>) {
        if record.record_type != RecordType::Event {
            return;
        }
        match record.value_type {
            ValueType::ProcessInstance => self.element(record),
            ValueType::ProcessInstanceCreation => {
                // What cannot be read is reported by the renderer.
                let Ok(value) = record.value::<ProcessInstanceCreationValue>() else {
                    return;
                };
                let started = Started {
                    tags: value.tags,
                    business_id: value.business_id.unwrap_or_default(),
                };
                let live = self.elements.contains_key(&value.process_instance_key);
                if live && started != Started::default() {
                    self.started.insert(value.process_instance_key, started);
                }
            }
            _ => {}
        }
    }

    fn element(&mut self, record: &Record<'_>) {
        use ProcessInstanceIntent::{ElementActivating, ElementCompleted, ElementTerminated};
        match ProcessInstanceIntent::from_id(record.intent) {
            Some(ElementActivating) if self.elements.len() < LIMIT => {
                let Ok(value) = record.value::<ProcessInstanceValue>() else {
                    return;
                };
                let is_process = value.flow_scope_key.is_none();
                let element = Element {
                    element: value.element,
                    definition: value.process_definition_key,
                    scope: value.flow_scope_key,
                    caller: if is_process {
                        value.parent_element_instance_key
                    } else {
                        Key::NONE
                    },
                    root: value.root_process_instance_key,
                };
                self.elements.insert(record.key, element);
            }
            Some(ElementCompleted | ElementTerminated) => self.ended.push(record.key),
            _ => {}
        }
    }

    /// Lets go of what has ended. To be called when the records of a batch are rendered.
    pub fn batch_ends(&mut self) {
        for key in self.ended.drain(..) {
            self.elements.remove(&key);
            self.started.remove(&key);
        }
    }

    pub fn started(&self, process_instance_key: Key) -> Started {
        let started = self.started.get(&process_instance_key);
        started.cloned().unwrap_or_default()
    }

    pub fn root(&self, process_instance_key: Key) -> Key {
        let process = self.elements.get(&process_instance_key);
        process.map_or(Key::NONE, |process| process.root)
    }

    /// The path of an element instance; empty when a part of it began before the first record that was seen.
    pub fn path(&self, key: Key, definitions: &dyn Definitions) -> Path {
        self.whole_path(key, definitions).unwrap_or_default()
    }

    fn whole_path(&self, key: Key, definitions: &dyn Definitions) -> Option<Path> {
        let mut path = Path::default();
        let mut next = key;
        while let Some(mut key) = next.some() {
            let mut level = vec![key];
            let mut element = self.elements.get(&key)?;
            while let Some(scope) = element.scope.some() {
                key = scope;
                level.push(key);
                element = self.elements.get(&key)?;
            }
            level.reverse();
            path.element_instances.push(level);
            path.definitions.push(element.definition);
            if let Some(caller) = element.caller.some() {
                let caller = self.elements.get(&caller)?;
                let place = definitions.calling_element(caller.definition, caller.element);
                path.calling_elements.push(place?);
            }
            next = element.caller;
        }
        path.element_instances.reverse();
        path.definitions.reverse();
        path.calling_elements.reverse();
        Some(path)
    }
}
