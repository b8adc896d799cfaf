//! Deployed definitions, by key and by the versions of their id. Rows may be cold; the data for lookups by id stays in
//! memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use skep_model::Binding;
use skep_protocol::value::{
    DecisionRequirementsValue, DecisionValue, FormValue, ResourceValue, StoredResource,
};
use skep_protocol::{Key, TenantId};

use crate::state::table::{CheckpointWriter, Row, Rows, StoreError, Table, Tables, write_row};
use crate::state::undo::Indexed;

/// A row that is one version of a definition.
pub trait Versioned: Row {
    /// Distinguishes the ids of one kind of definition from those of others. It never changes.
    const KIND: u8;

    /// Data for lookups. `None` when the version can no longer be looked up.
    fn pin(&self) -> Option<Pin>;
}

/// Lookup data of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    pub tenant: TenantId,
    pub id: Arc<str>,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub deployment_key: Key,
    /// Name and SHA-256 of the resource: the same resource again is not a new version.
    pub resource: Option<(Arc<str>, Bytes)>,
}

/// All deployed definitions of one kind.
pub struct Definitions<V> {
    pub(in crate::appliers::state) table: Table<V>,
    /// Versions that can be looked up.
    pins: FxHashMap<Key, Pin>,
    by_id: ById<BTreeMap<i32, Key>>,
    /// Highest version ever assigned: the numbers of deleted versions are not reused.
    last_versions: ById<i32>,
    /// Ids whose last version is not in the store yet.
    changed: BTreeSet<(TenantId, Arc<str>)>,
    /// Last versions before uncommitted batches, with the position of the batch's first record.
    versions_before: VecDeque<(u64, TenantId, Arc<str>, Option<i32>)>,
}

/// Each tenant has its own ids.
type ById<T> = HashMap<TenantId, HashMap<Arc<str>, T>>;

impl<V: Versioned> Definitions<V> {
    /// Opens the definitions. `visit` sees each stored row once.
    pub fn open(
        tables: &Arc<Tables>,
        mut visit: impl FnMut(Key, &V),
    ) -> Result<Definitions<V>, StoreError> {
        let (mut pins, mut by_id) = (FxHashMap::default(), ById::new());
        let table = Table::open_with(tables, |key, row: V| {
            if let Some(pin) = row.pin() {
                pin_down(&mut by_id, key, &pin);
                pins.insert(key, pin);
            }
            visit(key, &row);
        })?;
        let mut last_versions = ById::new();
        tables.scan::<LastVersion>(&mut |key, row| {
            if key.first() == Some(&V::KIND) {
                let ids: &mut HashMap<_, _> = last_versions.entry(row.tenant).or_default();
                ids.insert(row.id, row.version);
            }
        })?;
        Ok(Definitions {
            table,
            pins,
            by_id,
            last_versions,
            changed: BTreeSet::new(),
            versions_before: VecDeque::new(),
        })
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, row: V) {
        if let Some(pin) = row.pin() {
            let ids = self.last_versions.entry(pin.tenant.clone()).or_default();
            let before = ids.get(&pin.id).copied();
            ids.insert(
                pin.id.clone(),
                before.map_or(pin.version, |last| last.max(pin.version)),
            );
            if let Some(undo) = &self.table.undo {
                let (tenant, id) = (pin.tenant.clone(), pin.id.clone());
                self.versions_before
                    .push_back((undo.mark(), tenant, id, before));
            }
            self.changed.insert((pin.tenant, pin.id));
        }
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    /// Removes this version from lookups; `change` updates its row.
    pub(in crate::appliers) fn retire(&mut self, key: Key, change: impl FnOnce(&mut V)) {
        self.unpin(key);
        if let Some(row) = self.table.should_get_mut(key) {
            change(row);
        }
    }

    /// Changes the row, except its version, if there is one: the deletion of a resource names its key, but not its table.
    pub(in crate::appliers) fn change(&mut self, key: Key, change: impl FnOnce(&mut V)) {
        if let Some(row) = self.table.get_mut(key) {
            change(row);
        }
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        self.unpin(key);
        self.table.remove(key);
    }

    /// Reverts the changes of batches from this position on. Returns the keys of those rows.
    pub(in crate::appliers::state) fn undo(&mut self, position: u64) -> Vec<Key> {
        let is_later = |change: &mut (u64, _, _, _)| change.0 >= position;
        while let Some((_, tenant, id, before)) = self.versions_before.pop_back_if(is_later) {
            let ids = self.last_versions.entry(tenant.clone()).or_default();
            match before {
                Some(version) => ids.insert(id.clone(), version),
                None => ids.remove(&id),
            };
            self.changed.insert((tenant, id));
        }
        Indexed::undo(self, position)
    }

    fn unpin(&mut self, key: Key) {
        let Some(pin) = self.pins.remove(&key) else {
            return;
        };
        let Some(ids) = self.by_id.get_mut(&pin.tenant) else {
            return;
        };
        if let Some(versions) = ids.get_mut(&pin.id) {
            versions.remove(&pin.version);
            if versions.is_empty() {
                ids.remove(&pin.id);
            }
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&V> {
        self.table.get(key)
    }

    /// The lookup data of a version that can be looked up.
    pub fn pin(&self, key: Key) -> Option<&Pin> {
        self.pins.get(&key)
    }

    /// Keys of all versions that can be looked up.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.pins.keys().copied()
    }

    pub fn latest(&self, tenant: &TenantId, id: &str) -> Option<Key> {
        self.versions(tenant, id).next_back()
    }

    pub fn version(&self, tenant: &TenantId, id: &str, version: i32) -> Option<Key> {
        self.by_id.get(tenant)?.get(id)?.get(&version).copied()
    }

    /// The version that a reference from `deployment` is bound to: the newest one, that of the same deployment, or the
    /// newest with a tag.
    pub fn bound(
        &self,
        tenant: &TenantId,
        id: &str,
        binding: &Binding,
        deployment: Key,
    ) -> Option<Key> {
        let is_meant = |pin: &Pin| match binding {
            Binding::Latest => true,
            Binding::Deployment => pin.deployment_key == deployment,
            Binding::VersionTag(tag) => pin.version_tag.as_ref() == Some(tag),
        };
        let mut newest = self.versions(tenant, id).rev();
        newest.find(|key| self.pins.get(key).is_some_and(is_meant))
    }

    /// Whether name and content are those of the latest version.
    pub fn is_unchanged(
        &self,
        tenant: &TenantId,
        id: &str,
        resource_name: &str,
        checksum: &Bytes,
    ) -> bool {
        let latest = self.latest(tenant, id).and_then(|key| self.pin(key));
        let resource = latest.and_then(|pin| pin.resource.as_ref());
        resource.is_some_and(|(name, content)| **name == *resource_name && content == checksum)
    }

    /// Whether a tenant other than the default one has, or ever had, any.
    pub fn knows_other_tenants(&self) -> bool {
        self.last_versions.keys().any(|tenant| !tenant.is_default())
    }

    pub fn next_version(&self, tenant: &TenantId, id: &str) -> i32 {
        let last = self.last_versions.get(tenant).and_then(|ids| ids.get(id));
        last.map_or(1, |version| version.saturating_add(1))
    }

    /// Keys of all versions, oldest first.
    pub fn versions(
        &self,
        tenant: &TenantId,
        id: &str,
    ) -> impl DoubleEndedIterator<Item = Key> + '_ {
        let versions = self.by_id.get(tenant).and_then(|ids| ids.get(id));
        versions.into_iter().flat_map(|v| v.values().copied())
    }
}

impl<V: Versioned> Rows for Definitions<V> {
    fn tables(&self, numbers: &mut Vec<u8>) {
        self.table.tables(numbers);
        numbers.push(LastVersion::TABLE);
    }

    fn resident_bytes(&self) -> usize {
        self.table.resident_bytes()
    }

    fn dirty_bytes(&self) -> usize {
        self.table.dirty_bytes()
    }

    fn evict(&mut self, limit: usize, resident: &mut usize) -> usize {
        self.table.evict(limit, resident)
    }

    fn checkpoint(&mut self, out: &mut dyn CheckpointWriter) {
        self.table.checkpoint(out);
        for (tenant, id) in std::mem::take(&mut self.changed) {
            let ids = self.last_versions.get(&tenant);
            match ids.and_then(|ids| ids.get(&id)) {
                Some(version) => {
                    let (key, row) = last_version::<V>(&tenant, &id, *version);
                    out.put(LastVersion::TABLE, &key, row);
                }
                None => out.delete(LastVersion::TABLE, &key_of_version::<V>(&tenant, &id)),
            }
        }
    }

    fn dump(&self, all: &mut BTreeMap<(u8, Vec<u8>), Vec<u8>>) {
        self.table.dump(all);
        for (tenant, ids) in &self.last_versions {
            for (id, version) in ids {
                let (key, row) = last_version::<V>(tenant, id, *version);
                all.insert((LastVersion::TABLE, key), row);
            }
        }
    }

    fn keep_undo(&mut self, from: Option<u64>) {
        self.versions_before.clear();
        self.table.keep_undo(from);
    }

    fn begin_batch(&mut self, position: u64) {
        self.table.begin_batch(position);
    }

    fn settle(&mut self, position: u64) {
        let is_settled = |change: &mut (u64, _, _, _)| change.0 < position;
        while self.versions_before.pop_front_if(is_settled).is_some() {}
        self.table.settle(position);
    }
}

impl<V: Versioned> Indexed<V> for Definitions<V> {
    fn rows(&mut self) -> &mut Table<V> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &V) {
        if let Some(pin) = row.pin() {
            pin_down(&mut self.by_id, key, &pin);
            self.pins.insert(key, pin);
        }
    }

    fn take_from_index(&mut self, key: Key, _row: &V) {
        self.unpin(key);
    }
}

fn pin_down(by_id: &mut ById<BTreeMap<i32, Key>>, key: Key, pin: &Pin) {
    let ids = by_id.entry(pin.tenant.clone()).or_default();
    let versions = ids.entry(pin.id.clone()).or_default();
    versions.insert(pin.version, key);
}

/// The key of the last-version row. No id contains the byte between tenant and id.
fn key_of_version<V: Versioned>(tenant: &TenantId, id: &str) -> Vec<u8> {
    [&[V::KIND], tenant.as_str().as_bytes(), &[0], id.as_bytes()].concat()
}

/// Key and row of the last version of an id.
fn last_version<V: Versioned>(
    tenant: &TenantId,
    id: &Arc<str>,
    version: i32,
) -> (Vec<u8>, Vec<u8>) {
    let key = key_of_version::<V>(tenant, id);
    let row = LastVersion {
        tenant: tenant.clone(),
        id: id.clone(),
        version,
    };
    (key, write_row(&row))
}

/// The highest version ever assigned to an id.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LastVersion {
    tenant: TenantId,
    id: Arc<str>,
    version: i32,
}

impl Row for LastVersion {
    const TABLE: u8 = 10;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.id.len() + self.tenant.weight()
    }
}

impl Row for DecisionRequirementsValue {
    const TABLE: u8 = 40;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.resource.len() + self.metadata.name.len()
    }
}

impl Versioned for DecisionRequirementsValue {
    const KIND: u8 = 1;

    fn pin(&self) -> Option<Pin> {
        let metadata = &self.metadata;
        Some(Pin {
            tenant: metadata.tenant.clone(),
            id: metadata.id.clone(),
            version: metadata.version,
            version_tag: None,
            deployment_key: metadata.deployment_key,
            resource: Some((metadata.resource_name.clone(), metadata.checksum.clone())),
        })
    }
}

impl Row for DecisionValue {
    const TABLE: u8 = 41;

    fn weight(&self) -> usize {
        let texts = self.id.len() + self.name.len() + self.decision_requirements_id.len();
        size_of::<Self>() + texts
    }
}

impl Versioned for DecisionValue {
    const KIND: u8 = 2;

    fn pin(&self) -> Option<Pin> {
        Some(Pin {
            tenant: self.tenant.clone(),
            id: self.id.clone(),
            version: self.version,
            version_tag: self.version_tag.clone(),
            deployment_key: self.deployment_key,
            resource: None,
        })
    }
}

fn weight(stored: &StoredResource) -> usize {
    size_of::<StoredResource>() + stored.resource.len() + stored.metadata.id.len()
}

fn pin(stored: &StoredResource) -> Pin {
    let metadata = &stored.metadata;
    Pin {
        tenant: metadata.tenant.clone(),
        id: metadata.id.clone(),
        version: metadata.version,
        version_tag: metadata.version_tag.clone(),
        deployment_key: metadata.deployment_key,
        resource: Some((metadata.resource_name.clone(), metadata.checksum.clone())),
    }
}

impl Row for FormValue {
    const TABLE: u8 = 42;

    fn weight(&self) -> usize {
        weight(&self.0)
    }
}

impl Versioned for FormValue {
    const KIND: u8 = 3;

    fn pin(&self) -> Option<Pin> {
        Some(pin(&self.0))
    }
}

impl Row for ResourceValue {
    const TABLE: u8 = 43;

    fn weight(&self) -> usize {
        weight(&self.0)
    }
}

impl Versioned for ResourceValue {
    const KIND: u8 = 4;

    fn pin(&self) -> Option<Pin> {
        Some(pin(&self.0))
    }
}
