//! Deployed process definitions. They stay in memory: every instance needs its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use skep_model::{ElementType, Process};
use skep_protocol::value::{PinnedElement, ProcessValue};
use skep_protocol::{Key, TenantId};

use super::table::{CheckpointWriter, Row, StoreError, Tables, write_row};

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
    /// Why the stored definition cannot be compiled, if it cannot: nothing of it starts or goes on then.
    pub unusable: Option<Arc<str>>,
}

impl DeployedProcess {
    /// What of the stored definition this release cannot run, in sentences for the log.
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

/// The PROCESS record is the row: the graph is compiled from it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Definition {
    value: ProcessValue,
    /// Cannot be started any more; kept for the instances that still run.
    deleted: bool,
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

#[derive(Default)]
pub struct Processes {
    by_key: rustc_hash::FxHashMap<Key, Arc<DeployedProcess>>,
    /// Versions that can be started, by tenant and process id.
    by_id: HashMap<TenantId, HashMap<Arc<str>, Versions>>,
    rows: BTreeMap<Key, Definition>,
    changed: Vec<Key>,
    /// Highest version ever given, by tenant and process id.
    last_versions: HashMap<TenantId, HashMap<Arc<str>, i32>>,
}

type Versions = BTreeMap<i32, Key>;

impl Processes {
    pub fn open(tables: &Arc<Tables>) -> Result<Processes, StoreError> {
        let mut processes = Processes::default();
        let mut rows = Vec::new();
        tables.scan::<Definition>(&mut |_, row| rows.push(row))?;
        for row in rows {
            processes.insert(&row.value);
            if row.deleted {
                processes.delete(row.value.process_definition_key);
            }
        }
        tables.scan::<LastVersion>(&mut |_, row| {
            let last = processes.last_versions.entry(row.tenant).or_default();
            last.insert(row.bpmn_process_id, row.version);
        })?;
        processes.changed.clear();
        Ok(processes)
    }

    /// Compiles and adds a definition. The text was validated before its PROCESS record was written: what cannot be compiled
    /// nevertheless, because another release wrote it, is kept and concerns nothing but itself.
    pub fn insert(&mut self, value: &ProcessValue) {
        let (graph, unusable) = compile(value);
        let key = value.process_definition_key;
        let process = DeployedProcess {
            key,
            bpmn_process_id: value.bpmn_process_id.clone(),
            tenant: value.tenant.clone(),
            version: value.version,
            version_tag: value.version_tag.clone(),
            deployment_key: value.deployment_key,
            resource_name: value.resource_name.clone(),
            checksum: value.checksum.clone(),
            graph,
            unusable,
        };
        self.by_key.insert(key, Arc::new(process));
        let of_tenant = self.by_id.entry(value.tenant.clone()).or_default();
        let versions = of_tenant.entry(value.bpmn_process_id.clone()).or_default();
        versions.insert(value.version, key);
        let of_tenant = self.last_versions.entry(value.tenant.clone()).or_default();
        let last = of_tenant.entry(value.bpmn_process_id.clone()).or_default();
        *last = (*last).max(value.version);
        self.rows.insert(
            key,
            Definition {
                value: value.clone(),
                deleted: false,
            },
        );
        self.changed.push(key);
    }

    /// The definition can no longer be started. Instances that run keep it.
    pub fn delete(&mut self, key: Key) {
        let (Some(process), Some(row)) = (self.by_key.get(&key), self.rows.get_mut(&key)) else {
            return;
        };
        row.deleted = true;
        let of_tenant = self.by_id.get_mut(&process.tenant);
        if let Some(versions) = of_tenant.and_then(|ids| ids.get_mut(&process.bpmn_process_id)) {
            versions.remove(&process.version);
        }
        self.changed.push(key);
    }

    /// The definition, unless it was deleted.
    pub fn startable(&self, key: Key) -> Option<&Arc<DeployedProcess>> {
        self.rows.get(&key).filter(|row| !row.deleted)?;
        self.by_key.get(&key)
    }

    /// The definition, deleted or not.
    pub fn get(&self, key: Key) -> Option<&Arc<DeployedProcess>> {
        self.by_key.get(&key)
    }

    fn versions(&self, tenant: &TenantId, bpmn_process_id: &str) -> Option<&Versions> {
        self.by_id.get(tenant)?.get(bpmn_process_id)
    }

    pub fn latest(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &str,
    ) -> Option<&Arc<DeployedProcess>> {
        let (_, key) = self.versions(tenant, bpmn_process_id)?.last_key_value()?;
        self.by_key.get(key)
    }

    /// The version that becomes the latest of its process when this one, the latest, is deleted.
    pub fn successor_of_deleted(&self, key: Key) -> Option<&Arc<DeployedProcess>> {
        let process = self.by_key.get(&key)?;
        let versions = self.versions(&process.tenant, &process.bpmn_process_id)?;
        let mut versions = versions.values().rev();
        let latest = versions.next()?;
        self.by_key.get(versions.next()?).filter(|_| *latest == key)
    }

    pub fn version(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &str,
        version: i32,
    ) -> Option<&Arc<DeployedProcess>> {
        let key = self.versions(tenant, bpmn_process_id)?.get(&version)?;
        self.by_key.get(key)
    }

    /// The newest version with this tag.
    pub fn tagged(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &str,
        tag: &str,
    ) -> Option<&Arc<DeployedProcess>> {
        let versions = self.versions(tenant, bpmn_process_id)?;
        versions
            .values()
            .rev()
            .filter_map(|key| self.by_key.get(key))
            .find(|p| p.version_tag.as_deref() == Some(tag))
    }

    /// The version that was deployed together with `deployment`.
    pub fn deployed_with(
        &self,
        tenant: &TenantId,
        bpmn_process_id: &str,
        deployment: Key,
    ) -> Option<&Arc<DeployedProcess>> {
        let versions = self.versions(tenant, bpmn_process_id)?;
        versions
            .values()
            .filter_map(|key| self.by_key.get(key))
            .find(|p| p.deployment_key == deployment)
    }

    pub fn next_version(&self, tenant: &TenantId, bpmn_process_id: &str) -> i32 {
        let last = self.last_versions.get(tenant);
        let last = last.and_then(|ids| ids.get(bpmn_process_id));
        last.map_or(1, |version| version + 1)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<DeployedProcess>> {
        self.by_key.values()
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(crate) fn checkpoint(&mut self, out: &mut dyn CheckpointWriter) {
        for key in self.changed.drain(..) {
            let Some(row) = self.rows.get(&key) else {
                continue;
            };
            out.put(Definition::TABLE, &key.0.to_be_bytes(), write_row(row));
            let ProcessValue {
                tenant,
                bpmn_process_id,
                version,
                ..
            } = &row.value;
            let last = self.last_versions.get(tenant);
            let last = last.and_then(|ids| ids.get(bpmn_process_id));
            let last = LastVersion::new(tenant, bpmn_process_id, *last.unwrap_or(version));
            out.put(LastVersion::TABLE, &last.key(), write_row(&last));
        }
    }

    pub(crate) fn dump(&self, all: &mut BTreeMap<(u8, Vec<u8>), Vec<u8>>) {
        for (key, row) in &self.rows {
            let key = (Definition::TABLE, key.0.to_be_bytes().to_vec());
            all.insert(key, write_row(row));
        }
        for (tenant, ids) in &self.last_versions {
            for (id, version) in ids {
                let last = LastVersion::new(tenant, id, *version);
                all.insert((LastVersion::TABLE, last.key()), write_row(&last));
            }
        }
    }
}

/// The graph, or a stand-in with the reason.
fn compile(value: &ProcessValue) -> (Process, Option<Arc<str>>) {
    match skep_model::parse_pinned(&value.resource, &value.elements) {
        Ok(graph) => (graph, None),
        Err(invalid) => {
            let reason = format!(
                "The stored process definition {} ('{}' version {}) cannot be compiled by this release, so that no instance of \
                 it can start or go on: {invalid}. Run the release that deployed it, or deploy the process anew.",
                value.process_definition_key, value.bpmn_process_id, value.version
            );
            let mut elements = value.elements.clone();
            if elements.is_empty() {
                elements.push(PinnedElement {
                    id: value.bpmn_process_id.clone(),
                    element_type: ElementType::Process,
                });
            }
            (Process::unusable(&elements, &reason), Some(reason.into()))
        }
    }
}

/// The highest version ever given to a process id: numbers of deleted versions are not given again.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LastVersion {
    tenant: TenantId,
    bpmn_process_id: Arc<str>,
    version: i32,
}

impl LastVersion {
    fn new(tenant: &TenantId, bpmn_process_id: &Arc<str>, version: i32) -> LastVersion {
        LastVersion {
            tenant: tenant.clone(),
            bpmn_process_id: bpmn_process_id.clone(),
            version,
        }
    }

    /// No id contains the byte between the two.
    fn key(&self) -> Vec<u8> {
        let (tenant, id) = (self.tenant.as_str(), &self.bpmn_process_id);
        [tenant.as_bytes(), &[0], id.as_bytes()].concat()
    }
}

impl Row for LastVersion {
    const TABLE: u8 = 10;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.bpmn_process_id.len() + self.tenant.weight()
    }
}
