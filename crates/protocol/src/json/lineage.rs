//! The lineage of an element instance: its path through scopes and callers, and the options with which its instance was
//! started.
//!
//! Records name only their scope and their caller. A reader that sees them in order knows the rest.

use std::collections::HashMap;
use std::sync::Arc;

use crate::document::JsonText;
use crate::intent::{Intent, JobIntent, ProcessInstanceIntent, ValueType};
use crate::key::Key;
use crate::record::{Record, RecordType};
use crate::value::{JobValue, ProcessInstanceCreationValue, ProcessInstanceValue, VariableValue};

use super::Definitions;

/// Element instances that are remembered; beyond it new ones have no path.
const LIMIT: usize = 1_000_000;

/// Jobs that are remembered; beyond it activations name new ones by key only.
const JOB_LIMIT: usize = 100_000;

/// Names with the JSON texts of their values.
type Variables = Vec<(Arc<str>, JsonText)>;

/// The live element instances and jobs among the records seen so far.
#[derive(Debug, Default)]
pub struct Lineage {
    elements: HashMap<Key, Element>,
    /// By process instance; most were started with nothing of this.
    started: HashMap<Key, Started>,
    /// Variables that come before their process instance, by its key, until the next command.
    unborn: HashMap<Key, Variables>,
    /// Those of the creations of this batch.
    created: HashMap<Key, Variables>,
    jobs: HashMap<Key, JobValue>,
    ended: Vec<Key>,
}

/// The place of an element instance among the others.
#[derive(Clone, Debug)]
pub struct Ancestor {
    /// Index of the element in its definition.
    pub element: u32,
    pub definition: Key,
    pub scope: Key,
    /// On a process: the call activity that started it.
    pub caller: Key,
    pub root: Key,
    /// On a process: the tags and business id from its creation.
    pub started: Option<Started>,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    element: u32,
    definition: Key,
    scope: Key,
    caller: Key,
    root: Key,
}

/// Tags and business id from the creation of an instance.
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
    /// The call activities passed, each by its place among those of its file in the order of their ids.
    pub calling_elements: Vec<u32>,
}

impl Lineage {
    /// Adds an element instance that began before the first record seen.
    pub fn add(&mut self, key: Key, ancestor: &Ancestor) {
        if self.elements.len() >= LIMIT {
            return;
        }
        let element = Element {
            element: ancestor.element,
            definition: ancestor.definition,
            scope: ancestor.scope,
            caller: ancestor.caller,
            root: ancestor.root,
        };
        self.elements.insert(key, element);
        if let Some(started) = &ancestor.started {
            self.started.insert(key, started.clone());
        }
    }

    /// Learns a record. Whatever it ends stays known until [`Lineage::batch_ends`].
    pub fn learn(&mut self, record: &Record<'_>) {
        match record.record_type {
            RecordType::Event => {}
            RecordType::Command => return self.unborn.clear(),
            RecordType::CommandRejection => return,
        }
        match record.value_type {
            ValueType::ProcessInstance => self.element(record),
            ValueType::Variable => self.variable(record),
            ValueType::Job => self.job(record),
            ValueType::ProcessInstanceCreation => {
                // Values that cannot be read are reported by the renderer.
                let Ok(value) = record.value::<ProcessInstanceCreationValue>() else {
                    return;
                };
                let started = Started {
                    tags: value.tags,
                    business_id: value.business_id.unwrap_or_default(),
                };
                let instance = value.process_instance_key;
                if started != Started::default() {
                    self.started.insert(instance, started);
                }
                if let Some(variables) = self.unborn.remove(&instance) {
                    self.created.insert(instance, variables);
                }
            }
            _ => {}
        }
    }

    fn element(&mut self, record: &Record<'_>) {
        use ProcessInstanceIntent::{
            ElementActivating, ElementCompleted, ElementMigrated, ElementTerminated,
        };
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
            Some(ElementMigrated) => {
                if let Some(element) = self.elements.get_mut(&record.key)
                    && let Ok(value) = record.value::<ProcessInstanceValue>()
                {
                    element.element = value.element;
                    element.definition = value.process_definition_key;
                }
            }
            Some(ElementCompleted | ElementTerminated) => self.ended.push(record.key),
            _ => {}
        }
    }

    fn variable(&mut self, record: &Record<'_>) {
        // Values that cannot be read are reported by the renderer.
        let Ok(value) = record.value::<VariableValue>() else {
            return;
        };
        let instance = value.process_instance_key;
        if value.scope_key == instance && !self.elements.contains_key(&instance) {
            let variables = self.unborn.entry(instance).or_default();
            variables.push((value.name, value.value));
        }
    }

    fn job(&mut self, record: &Record<'_>) {
        match JobIntent::from_id(record.intent) {
            Some(JobIntent::Completed | JobIntent::Canceled) => self.ended.push(record.key),
            Some(JobIntent::Created) if self.jobs.len() >= JOB_LIMIT => {}
            Some(JobIntent::Created) => {
                if let Ok(value) = record.value::<JobValue>() {
                    self.jobs.insert(record.key, value);
                }
            }
            _ => {
                if let Some(job) = self.jobs.get_mut(&record.key)
                    && let Ok(value) = record.value::<JobValue>()
                {
                    *job = value;
                }
            }
        }
    }

    /// Forgets what has ended. To be called when the records of a batch are rendered.
    pub fn batch_ends(&mut self) {
        for key in self.ended.drain(..) {
            self.elements.remove(&key);
            self.started.remove(&key);
            self.jobs.remove(&key);
        }
        self.created.clear();
    }

    /// The variables that the creation of this process instance brought, while its batch is rendered.
    pub fn creation_variables(&self, process_instance_key: Key) -> &[(Arc<str>, JsonText)] {
        let created = self.created.get(&process_instance_key);
        created.map_or(&[], Vec::as_slice)
    }

    /// The value of the last event of a live job.
    pub fn job_value(&self, key: Key) -> Option<&JobValue> {
        self.jobs.get(&key)
    }

    pub fn started(&self, process_instance_key: Key) -> Started {
        let started = self.started.get(&process_instance_key);
        started.cloned().unwrap_or_default()
    }

    /// The definition of an element instance, if it is known.
    pub fn definition(&self, element_instance_key: Key) -> Option<Key> {
        let element = self.elements.get(&element_instance_key)?;
        Some(element.definition)
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
