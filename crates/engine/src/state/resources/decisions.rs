//! Deployed decisions: the files that contain them, compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_dmn::{Drg, Options};
use skep_protocol::Key;
use skep_protocol::value::{DecisionRequirementsValue, DecisionValue};

use crate::state::definitions::Definitions;
use crate::state::table::{StoreError, Tables};

/// The decisions of one file.
#[derive(Debug)]
pub struct DeployedDecisions {
    /// The compiled file, or the reason why it cannot be compiled: none of its decisions can be evaluated then.
    pub graph: Result<Drg, String>,
}

pub struct Decisions {
    pub requirements: Definitions<DecisionRequirementsValue>,
    pub decisions: Definitions<DecisionValue>,
    compiled: FxHashMap<Key, Arc<DeployedDecisions>>,
    /// Graphs of files whose records are about to be applied. They equal the result of compiling.
    kept: FxHashMap<Key, Drg>,
    /// Keys of the decisions of each file, in document order.
    of_requirements: BTreeMap<Key, Vec<Key>>,
}

impl Decisions {
    pub fn open(tables: &Arc<Tables>) -> Result<Decisions, StoreError> {
        let mut compiled = FxHashMap::default();
        let requirements = Definitions::open(tables, |key, row| {
            let graph = compile(row);
            compiled.insert(key, Arc::new(DeployedDecisions { graph }));
        })?;
        let mut of_requirements: BTreeMap<Key, Vec<Key>> = BTreeMap::new();
        let decisions = Definitions::open(tables, |key, row: &DecisionValue| {
            let of = of_requirements.entry(row.decision_requirements_key);
            of.or_default().push(key);
        })?;
        Ok(Decisions {
            requirements,
            decisions,
            compiled,
            kept: FxHashMap::default(),
            of_requirements,
        })
    }

    /// Keeps the graph of a file that was already compiled. It is not state, and the record uses it up.
    pub(crate) fn keep_compiled(&mut self, key: Key, graph: Drg) {
        self.kept.insert(key, graph);
    }

    /// Compiles and adds a file. It was validated before its record was written. A file that still cannot be compiled,
    /// because another release wrote it, is kept and affects nothing else.
    pub(in crate::appliers) fn insert_requirements(
        &mut self,
        key: Key,
        value: &DecisionRequirementsValue,
    ) {
        let graph = self.kept.remove(&key);
        let graph = graph.map_or_else(|| compile(value), Ok);
        self.compiled
            .insert(key, Arc::new(DeployedDecisions { graph }));
        self.requirements.insert(key, value.clone());
    }

    pub(in crate::appliers) fn insert_decision(&mut self, key: Key, value: &DecisionValue) {
        let of = self.of_requirements.entry(value.decision_requirements_key);
        of.or_default().push(key);
        self.decisions.insert(key, value.clone());
    }

    pub(in crate::appliers) fn remove_requirements(&mut self, key: Key) {
        self.compiled.remove(&key);
        self.of_requirements.remove(&key);
        self.requirements.remove(key);
    }

    /// Reverts the changes of batches from this position on.
    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        // Keys will be reused.
        self.kept.clear();
        for key in self.requirements.undo(position) {
            match self.requirements.get(key) {
                None => drop(self.compiled.remove(&key)),
                Some(row) if !self.compiled.contains_key(&key) => {
                    let graph = compile(row);
                    self.compiled
                        .insert(key, Arc::new(DeployedDecisions { graph }));
                }
                Some(_) => {}
            }
        }
        for key in self.decisions.undo(position) {
            self.of_requirements
                .values_mut()
                .for_each(|of| of.retain(|k| *k != key));
            if let Some(row) = self.decisions.get(key) {
                let of = self.of_requirements.entry(row.decision_requirements_key);
                let of = of.or_default();
                of.push(key);
                of.sort_unstable();
            }
        }
        self.of_requirements.retain(|_, of| !of.is_empty());
    }

    /// Removes a decision. The file that contains it is removed after it.
    pub(in crate::appliers) fn remove_decision(&mut self, key: Key) {
        self.decisions.remove(key);
    }

    pub fn compiled(&self, requirements: Key) -> Option<Arc<DeployedDecisions>> {
        self.compiled.get(&requirements).cloned()
    }

    /// The decisions of a file, in document order.
    pub fn of(&self, requirements: Key) -> &[Key] {
        self.of_requirements
            .get(&requirements)
            .map_or(&[], Vec::as_slice)
    }
}

/// Compiles the graph of a stored file, or returns the reason why it cannot be.
pub(crate) fn compile(value: &DecisionRequirementsValue) -> Result<Drg, String> {
    let name = &value.metadata.resource_name;
    Drg::parse(name, &value.resource, &Options::default()).map_err(|invalid| {
        format!(
            "The stored decision requirements {} ('{}' version {}) cannot be compiled by this release, so none of its decisions can be \
             evaluated: {invalid}. Run the release that deployed it, or deploy the file again.",
            value.metadata.key, value.metadata.id, value.metadata.version
        )
    })
}
