//! What is deployed, by key and by the versions of its id. Rows may be cold; what a look-up by id needs stays in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use skep_model::Binding;
use skep_protocol::Key;
use skep_protocol::value::{
    DecisionRequirementsValue, DecisionValue, FormValue, ResourceValue, StoredResource,
};

use super::table::{CheckpointWriter, Row, StoreError, Table, Tables, write_row};

/// A row that is one version of something.
pub trait Versioned: Row {
    /// Tells ids of one kind of thing from those of another; fixed for ever.
    const KIND: u8;

    /// What look-ups need; `None` when the version can no longer be looked up.
    fn pin(&self) -> Option<Pin>;
}

/// How a version is found.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    pub id: Arc<str>,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub deployment_key: Key,
    /// Name and SHA-256 of the resource: the same again is no new version.
    pub resource: Option<(Arc<str>, Bytes)>,
}

/// Everything of one kind that is deployed.
pub struct Definitions<V> {
    pub(super) table: Table<V>,
    /// Those that can be looked up.
    pins: FxHashMap<Key, Pin>,
    by_id: HashMap<Arc<str>, BTreeMap<i32, Key>>,
    /// Highest version ever given, per id: numbers of deleted versions are not given again.
    last_versions: HashMap<Arc<str>, i32>,
    /// Ids whose highest version is not in the store yet.
    changed: BTreeSet<Arc<str>>,
}

impl<V: Versioned> Definitions<V> {
    /// `visit` sees each stored row once.
    pub fn open(
        tables: &Arc<Tables>,
        mut visit: impl FnMut(Key, &V),
    ) -> Result<Definitions<V>, StoreError> {
        let (mut pins, mut by_id) = (FxHashMap::default(), HashMap::new());
        let table = Table::open_with(tables, |key, row: V| {
            if let Some(pin) = row.pin() {
                index(&mut by_id, key, &pin);
                pins.insert(key, pin);
            }
            visit(key, &row);
        })?;
        let mut last_versions = HashMap::new();
        tables.scan::<LastVersion>(&mut |key, row| {
            if key.first() == Some(&V::KIND) {
                last_versions.insert(row.id, row.version);
            }
        })?;
        Ok(Definitions {
            table,
            pins,
            by_id,
            last_versions,
            changed: BTreeSet::new(),
        })
    }

    pub fn insert(&mut self, key: Key, row: V) {
        if let Some(pin) = row.pin() {
            index(&mut self.by_id, key, &pin);
            let last = self.last_versions.entry(pin.id.clone()).or_default();
            *last = (*last).max(pin.version);
            self.changed.insert(pin.id.clone());
            self.pins.insert(key, pin);
        }
        self.table.insert(key, row);
    }

    /// No look-up finds this version any more; `change` is what its row says of it.
    pub fn retire(&mut self, key: Key, change: impl FnOnce(&mut V)) {
        self.unpin(key);
        if let Some(row) = self.table.get_mut(key) {
            change(row);
        }
    }

    pub fn remove(&mut self, key: Key) {
        self.unpin(key);
        self.table.remove(key);
    }

    fn unpin(&mut self, key: Key) {
        let Some(pin) = self.pins.remove(&key) else {
            return;
        };
        if let Some(versions) = self.by_id.get_mut(&pin.id) {
            versions.remove(&pin.version);
            if versions.is_empty() {
                self.by_id.remove(&pin.id);
            }
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&V> {
        self.table.get(key)
    }

    /// How a version is found that can be looked up.
    pub fn pin(&self, key: Key) -> Option<&Pin> {
        self.pins.get(&key)
    }

    pub fn latest(&self, id: &str) -> Option<Key> {
        self.versions(id).next_back()
    }

    pub fn version(&self, id: &str, version: i32) -> Option<Key> {
        self.by_id.get(id)?.get(&version).copied()
    }

    /// The newest version with this tag.
    pub fn tagged(&self, id: &str, tag: &str) -> Option<Key> {
        let has_tag = |pin: &Pin| pin.version_tag.as_deref() == Some(tag);
        self.newest(id, has_tag)
    }

    /// The version that this deployment brought.
    pub fn deployed_with(&self, id: &str, deployment: Key) -> Option<Key> {
        self.newest(id, |pin| pin.deployment_key == deployment)
    }

    /// The version that something of `deployment` means.
    pub fn bound(&self, id: &str, binding: &Binding, deployment: Key) -> Option<Key> {
        match binding {
            Binding::Latest => self.latest(id),
            Binding::Deployment => self.deployed_with(id, deployment),
            Binding::VersionTag(tag) => self.tagged(id, tag),
        }
    }

    /// Name and content are those of the latest version.
    pub fn is_unchanged(&self, id: &str, resource_name: &str, checksum: &Bytes) -> bool {
        let latest = self.latest(id).and_then(|key| self.pin(key));
        let resource = latest.and_then(|pin| pin.resource.as_ref());
        resource.is_some_and(|(name, content)| **name == *resource_name && content == checksum)
    }

    pub fn next_version(&self, id: &str) -> i32 {
        self.last_versions
            .get(id)
            .map_or(1, |version| version.saturating_add(1))
    }

    fn newest(&self, id: &str, is_meant: impl Fn(&Pin) -> bool) -> Option<Key> {
        let mut newest = self.versions(id).rev();
        newest.find(|key| self.pins.get(key).is_some_and(&is_meant))
    }

    /// Keys of all versions, the oldest first.
    pub fn versions(&self, id: &str) -> impl DoubleEndedIterator<Item = Key> + '_ {
        self.by_id
            .get(id)
            .into_iter()
            .flat_map(|v| v.values().copied())
    }

    pub(super) fn checkpoint(&mut self, out: &mut dyn CheckpointWriter) {
        self.table.checkpoint(out);
        for id in std::mem::take(&mut self.changed) {
            if let Some(version) = self.last_versions.get(&id) {
                let (key, row) = last_version::<V>(&id, *version);
                out.put(LastVersion::TABLE, &key, row);
            }
        }
    }

    pub(super) fn dump(&self, all: &mut BTreeMap<(u8, Vec<u8>), Vec<u8>>) {
        self.table.dump(all);
        for (id, version) in &self.last_versions {
            let (key, row) = last_version::<V>(id, *version);
            all.insert((LastVersion::TABLE, key), row);
        }
    }
}

fn index(by_id: &mut HashMap<Arc<str>, BTreeMap<i32, Key>>, key: Key, pin: &Pin) {
    let versions = by_id.entry(pin.id.clone()).or_default();
    versions.insert(pin.version, key);
}

fn last_version<V: Versioned>(id: &Arc<str>, version: i32) -> (Vec<u8>, Vec<u8>) {
    let key = [&[V::KIND], id.as_bytes()].concat();
    let row = LastVersion {
        id: id.clone(),
        version,
    };
    (key, write_row(&row))
}

/// The highest version ever given to an id. Its key is the kind of thing and the id.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LastVersion {
    id: Arc<str>,
    version: i32,
}

impl Row for LastVersion {
    const TABLE: u8 = 10;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.id.len()
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
