//! Cluster variables: the variables that expressions of all processes, or those of one tenant, read as `camunda.vars`.
//! There are few, so all of them stay in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_feel::{Context, Value};
use skep_protocol::document::JsonText;
use skep_protocol::value::ClusterVariableValue;
use skep_protocol::{Key, TenantId};

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterVariable(pub ClusterVariableValue);

impl Row for ClusterVariable {
    const TABLE: u8 = 60;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.0.weight()
    }
}

/// The variables of a tenant, or the global ones, by name.
#[derive(Default)]
struct Scope {
    by_name: BTreeMap<Arc<str>, Variable>,
    bytes: usize,
}

/// A variable. Its value is parsed once, and shared by everything that reads it.
struct Variable {
    key: Key,
    text: JsonText,
    value: Value,
}

/// Maximum number of tenants whose visible variables are cached.
const MAX_SEEN: usize = 64;

pub struct ClusterVariables {
    pub table: Table<ClusterVariable>,
    scopes: HashMap<Option<TenantId>, Scope>,
    count: usize,
    /// Bytes of the names and values of all scopes.
    bytes: usize,
    /// Variables visible to expressions, by tenant. Cleared on every change.
    seen: HashMap<TenantId, Arc<Value>>,
}

impl ClusterVariables {
    pub fn open(tables: &Arc<Tables>) -> Result<ClusterVariables, StoreError> {
        let mut rows = Vec::new();
        let table = Table::open_with(tables, |key, row: ClusterVariable| rows.push((key, row.0)))?;
        let mut variables = ClusterVariables {
            table,
            scopes: HashMap::new(),
            count: 0,
            bytes: 0,
            seen: HashMap::new(),
        };
        for (key, value) in &rows {
            variables.index(*key, value);
        }
        Ok(variables)
    }

    fn index(&mut self, key: Key, value: &ClusterVariableValue) {
        self.forget(value);
        let scope = self.scopes.entry(value.tenant.clone()).or_default();
        let variable = Variable {
            key,
            text: value.value.clone(),
            value: Value::from_json(&value.value).unwrap_or(Value::Null),
        };
        scope.by_name.insert(value.name.clone(), variable);
        scope.bytes += value.weight();
        self.bytes += value.weight();
        self.count += 1;
    }

    /// Removes a variable from the index, and clears the cached values.
    fn forget(&mut self, value: &ClusterVariableValue) {
        self.seen.clear();
        let Some(scope) = self.scopes.get_mut(&value.tenant) else {
            return;
        };
        if let Some(old) = scope.by_name.remove(&value.name) {
            let bytes = value.name.len() + old.text.len();
            scope.bytes = scope.bytes.saturating_sub(bytes);
            self.bytes = self.bytes.saturating_sub(bytes);
            self.count = self.count.saturating_sub(1);
        }
        if scope.by_name.is_empty() {
            self.scopes.remove(&value.tenant);
        }
    }

    /// Adds or updates a variable.
    pub(in crate::appliers) fn set(&mut self, key: Key, value: &ClusterVariableValue) {
        self.index(key, value);
        self.table.insert(key, ClusterVariable(value.clone()));
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key, value: &ClusterVariableValue) {
        self.forget(value);
        self.table.remove(key);
    }

    pub fn find(&self, tenant: Option<&TenantId>, name: &str) -> Option<(Key, &JsonText)> {
        let scope = self.scopes.get(&tenant.cloned())?;
        let variable = scope.by_name.get(name)?;
        Some((variable.key, &variable.text))
    }

    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        let variables = self
            .scopes
            .values()
            .flat_map(|scope| scope.by_name.values());
        variables.map(|variable| variable.key)
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the names and values of all scopes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the names and values of one scope.
    pub fn bytes_of(&self, tenant: Option<&TenantId>) -> usize {
        let scope = self.scopes.get(&tenant.cloned());
        scope.map_or(0, |scope| scope.bytes)
    }

    /// The value of the name `camunda` in expressions of a tenant: `vars.cluster` has the global variables, `vars.tenant`
    /// those of the tenant, and `vars.env` both, where the tenant's variables hide the global ones.
    pub fn seen_by(&mut self, tenant: &TenantId) -> Arc<Value> {
        if let Some(seen) = self.seen.get(tenant) {
            return seen.clone();
        }
        let cluster = self.values(&None);
        let own = self.values(&Some(tenant.clone()));
        let mut both: BTreeMap<Arc<str>, Value> = cluster.iter().cloned().collect();
        both.extend(own.iter().cloned());
        let vars = [
            ("cluster", cluster),
            ("tenant", own),
            ("env", both.into_iter().collect()),
        ];
        let vars = vars.map(|(name, values)| (Arc::from(name), context(values)));
        let seen = context(vec![("vars".into(), context(vars.into()))]);
        let seen = Arc::new(seen);
        if self.seen.len() >= MAX_SEEN {
            self.seen.clear();
        }
        self.seen.insert(tenant.clone(), seen.clone());
        seen
    }

    fn values(&self, tenant: &Option<TenantId>) -> Vec<(Arc<str>, Value)> {
        let by_name = self.scopes.get(tenant).map(|scope| &scope.by_name);
        let entries = by_name.into_iter().flatten();
        entries
            .map(|(name, variable)| (name.clone(), variable.value.clone()))
            .collect()
    }
}

impl Indexed<ClusterVariable> for ClusterVariables {
    fn rows(&mut self) -> &mut Table<ClusterVariable> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &ClusterVariable) {
        self.index(key, &row.0);
    }

    fn take_from_index(&mut self, _key: Key, row: &ClusterVariable) {
        self.forget(&row.0);
    }
}

fn context(entries: Vec<(Arc<str>, Value)>) -> Value {
    Value::Context(Context::new(entries))
}
