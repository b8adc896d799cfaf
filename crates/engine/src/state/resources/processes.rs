//! Deployed process definitions. Their graphs stay in memory, because every instance needs its graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use skep_model::{Binding, ElementType, Process};
use skep_protocol::value::{PinnedElement, ProcessValue};
use skep_protocol::{Key, TenantId};

use crate::state::definitions::{Definitions, Pin, Versioned};
use crate::state::table::{Row, StoreError, Tables};

/// A definition with its compiled graph.
#[derive(Debug)]
pub struct DeployedProcess {
    pub key: Key,
    pub bpmn_process_id: Arc<str>,
    pub tenant: TenantId,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub deployment_key: Key,
    pub resource_name: Arc<str>,
    pub checksum: Bytes,
    pub graph: Process,
    /// The reason why the stored definition cannot be compiled, if so: none of its instances start or continue then.
    pub unusable: Option<Arc<str>>,
}

impl DeployedProcess {
    /// The parts of the stored definition that this release cannot run, as sentences for the log.
    pub fn problems(&self) -> Vec<String> {
        if let Some(reason) = &self.unusable {
            return vec![reason.to_string()];
        }
        let unusable = self.graph.unusable_elements();
        unusable
            .map(|(element, reason)| {
                format!(
                    "process definition {} ('{}' version {}): the element '{}' cannot be run by this release: {reason}",
                    self.key, self.bpmn_process_id, self.version, element.id
                )
            })
            .collect()
    }
}

/// The PROCESS record is the row: the graph is recompiled from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Definition {
    value: ProcessValue,
    /// The definition is being deleted: no instances start any more, and it is kept for those that still run.
    draining: bool,
    /// The history of each instance is deleted when the instance ends.
    forgotten: bool,
}

impl Row for Definition {
    const TABLE: u8 = 1;

    fn weight(&self) -> usize {
        let elements = self.value.elements.iter();
        let elements: usize = elements
            .map(|element| size_of_val(element) + element.id.len())
            .sum();
        size_of::<Self>() + self.value.resource.len() + elements
    }
}

impl Versioned for Definition {
    const KIND: u8 = 0;

    fn pin(&self) -> Option<Pin> {
        let value = &self.value;
        (!self.draining).then(|| Pin {
            tenant: value.tenant.clone(),
            id: value.bpmn_process_id.clone(),
            version: value.version,
            version_tag: value.version_tag.clone(),
            deployment_key: value.deployment_key,
            resource: Some((value.resource_name.clone(), value.checksum.clone())),
        })
    }
}

pub struct Processes {
    pub definitions: Definitions<Definition>,
    by_key: FxHashMap<Key, Arc<DeployedProcess>>,
    /// Graphs of definitions whose PROCESS records are about to be applied. They equal the result of compiling.
    compiled: FxHashMap<Key, Process>,
    /// Definitions that are deleted once their last instance has ended, and whether their history is deleted as well.
    draining: BTreeMap<Key, bool>,
}

impl Processes {
    pub fn open(tables: &Arc<Tables>) -> Result<Processes, StoreError> {
        let (mut by_key, mut draining) = (FxHashMap::default(), BTreeMap::new());
        let definitions = Definitions::open(tables, |key, row: &Definition| {
            by_key.insert(key, Arc::new(deployed(&row.value, compile(&row.value))));
            if row.draining {
                draining.insert(key, row.forgotten);
            }
        })?;
        Ok(Processes {
            definitions,
            by_key,
            compiled: FxHashMap::default(),
            draining,
        })
    }

    /// Keeps the graph of a definition that was already compiled. It is not state, and the PROCESS record uses it up.
    pub(crate) fn keep_compiled(&mut self, key: Key, graph: Process) {
        self.compiled.insert(key, graph);
    }

    /// Compiles and adds a definition. The text was validated before its PROCESS record was written. A definition that
    /// still cannot be compiled, because another release wrote it, is kept and affects nothing else.
    pub(in crate::appliers) fn insert(&mut self, value: &ProcessValue) {
        let key = value.process_definition_key;
        let graph = self.compiled.remove(&key);
        let graph = graph.map_or_else(|| compile(value), Ok);
        self.by_key.insert(key, Arc::new(deployed(value, graph)));
        let row = Definition {
            value: value.clone(),
            draining: false,
            forgotten: false,
        };
        self.definitions.insert(key, row);
    }

    /// Stops new instances of the definition. Running instances keep it.
    pub(in crate::appliers) fn drain(&mut self, key: Key) {
        let mut forgotten = false;
        self.definitions.retire(key, |row| {
            row.draining = true;
            forgotten = row.forgotten;
        });
        if self.by_key.contains_key(&key) {
            self.draining.insert(key, forgotten);
        }
    }

    /// Reverts the changes of batches from this position on.
    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        // Keys will be reused.
        self.compiled.clear();
        for key in self.definitions.undo(position) {
            self.draining.remove(&key);
            let Some(row) = self.definitions.get(key) else {
                self.by_key.remove(&key);
                continue;
            };
            if row.draining {
                self.draining.insert(key, row.forgotten);
            }
            let is_known = self.by_key.get(&key);
            if is_known.is_none_or(|process| process.checksum != row.value.checksum) {
                let process = deployed(&row.value, compile(&row.value));
                self.by_key.insert(key, Arc::new(process));
            }
        }
    }

    /// Marks a definition that is about to be deleted with its history.
    pub(in crate::appliers) fn forget(&mut self, key: Key) {
        self.definitions.change(key, |row| row.forgotten = true);
    }

    /// Removes the definition, which no instance uses any more.
    pub(in crate::appliers) fn delete(&mut self, key: Key) {
        self.draining.remove(&key);
        self.by_key.remove(&key);
        self.definitions.remove(key);
    }

    /// Whether the definition is deleted, but kept until its last instance has ended.
    pub fn is_draining(&self, key: Key) -> bool {
        self.draining.contains_key(&key)
    }

    /// Likewise, and the history of each of its instances is deleted when it ends.
    pub fn is_forgotten(&self, key: Key) -> bool {
        self.draining.get(&key) == Some(&true)
    }

    /// Returns the definition, unless it is being deleted.
    pub fn startable(&self, key: Key) -> Option<&Arc<DeployedProcess>> {
        self.definitions.pin(key)?;
        self.by_key.get(&key)
    }

    /// Returns the definition, even if it is being deleted.
    pub fn get(&self, key: Key) -> Option<&Arc<DeployedProcess>> {
        self.by_key.get(&key)
    }

    pub fn latest(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &str,
    ) -> Option<&Arc<DeployedProcess>> {
        let key = self.definitions.latest(tenant, bpmn_process_id)?;
        self.by_key.get(&key)
    }

    /// The version that becomes the latest of its process when this one, the latest, is deleted.
    pub fn successor_of_deleted(&self, key: Key) -> Option<&Arc<DeployedProcess>> {
        let process = self.by_key.get(&key)?;
        let versions = self
            .definitions
            .versions(&process.tenant, &process.bpmn_process_id);
        let mut versions = versions.rev();
        let latest = versions.next()?;
        self.by_key.get(&versions.next()?).filter(|_| latest == key)
    }

    pub fn version(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &str,
        version: i32,
    ) -> Option<&Arc<DeployedProcess>> {
        let key = self.definitions.version(tenant, bpmn_process_id, version)?;
        self.by_key.get(&key)
    }

    /// The version that a reference from `deployment` is bound to.
    pub fn bound(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &str,
        binding: &Binding,
        deployment: Key,
    ) -> Option<&Arc<DeployedProcess>> {
        let definitions = &self.definitions;
        let key = definitions.bound(tenant, bpmn_process_id, binding, deployment)?;
        self.by_key.get(&key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<DeployedProcess>> {
        self.by_key.values()
    }

    /// The PROCESS record of a definition.
    pub fn record(&mut self, key: Key) -> Option<&ProcessValue> {
        Some(&self.definitions.get(key)?.value)
    }

    /// The PROCESS records of all definitions, which secondary storage needs when they are no longer in the log.
    pub fn records(&mut self) -> Vec<ProcessValue> {
        let keys = self.by_key.keys();
        let row = |key: &Key| Some(self.definitions.get(*key)?.value.clone());
        keys.filter_map(row).collect()
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

fn deployed(value: &ProcessValue, graph: Result<Process, String>) -> DeployedProcess {
    let (graph, unusable) = match graph {
        Ok(graph) => (graph, None),
        Err(reason) => (stand_in(value, &reason), Some(reason.into())),
    };
    DeployedProcess {
        key: value.process_definition_key,
        bpmn_process_id: value.bpmn_process_id.clone(),
        tenant: value.tenant.clone(),
        version: value.version,
        version_tag: value.version_tag.clone(),
        deployment_key: value.deployment_key,
        resource_name: value.resource_name.clone(),
        checksum: value.checksum.clone(),
        graph,
        unusable,
    }
}

/// Compiles the graph of a stored definition, or returns the reason why it cannot be.
pub(crate) fn compile(value: &ProcessValue) -> Result<Process, String> {
    skep_model::parse_pinned(&value.resource, &value.elements).map_err(|invalid| {
        format!(
            "The stored process definition {} ('{}' version {}) cannot be compiled by this release, so no instance of it can start or \
             continue: {invalid}. Run the release that deployed it, or deploy the process again.",
            value.process_definition_key, value.bpmn_process_id, value.version
        )
    })
}

/// A stand-in for a definition that cannot be compiled.
fn stand_in(value: &ProcessValue, reason: &str) -> Process {
    let mut elements = value.elements.clone();
    if elements.is_empty() {
        elements.push(PinnedElement {
            id: value.bpmn_process_id.clone(),
            element_type: ElementType::Process,
        });
    }
    Process::unusable(&elements, reason)
}
