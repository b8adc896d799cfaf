//! Conditions: the events that wait for one, checks in progress that concern very many events, and evaluations of start
//! events.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::value::{ConditionCheckValue, ConditionalEvaluationValue};
use skep_protocol::{Key, TenantId};

use crate::remote::Variables;
use crate::state::table::{Row, StoreError, Table, Tables, weight_of};
use crate::state::undo::Indexed;

/// A conditional subscription. The other contents of its records are in the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionalSubscription {
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    /// The element instance that owns the subscription. None: the definition, for its start event.
    pub element_instance_key: Key,
    /// The triggered event.
    pub catch_event: u32,
    /// The scope whose variables the condition sees, followed by the scopes around it up to the process.
    pub scopes: Vec<Key>,
    pub tenant: TenantId,
}

impl ConditionalSubscription {
    /// Whether it starts instances.
    pub fn is_of_definition(&self) -> bool {
        self.element_instance_key.is_none()
    }

    /// The scope whose variables the condition sees.
    pub fn scope(&self) -> Key {
        self.scopes.first().copied().unwrap_or(Key::NONE)
    }
}

impl Row for ConditionalSubscription {
    const TABLE: u8 = 51;

    fn weight(&self) -> usize {
        size_of::<Self>() + size_of_val(self.scopes.as_slice())
    }
}

/// A check in progress: more conditions listen to the changed variables than one turn has checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionCheck(pub ConditionCheckValue);

impl Row for ConditionCheck {
    const TABLE: u8 = 52;

    fn weight(&self) -> usize {
        let changes = self.0.changes.iter();
        size_of::<Self>() + changes.map(|(name, _)| name.len() + 24).sum::<usize>()
    }
}

/// An evaluation of start events that is not finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartsEvaluation {
    pub process_definition_key: Key,
    pub tenant: TenantId,
    pub variables: Variables,
    /// Definition and key of each instance that was started.
    pub started: Vec<(Key, Key)>,
    /// The newest subscription to evaluate.
    pub last: Key,
}

impl Row for StartsEvaluation {
    const TABLE: u8 = 53;

    fn weight(&self) -> usize {
        size_of::<Self>() + weight_of(&self.variables) + size_of_val(self.started.as_slice())
    }
}

pub struct ConditionalSubscriptions {
    pub table: Table<ConditionalSubscription>,
    pub checks: Table<ConditionCheck>,
    pub evaluations: Table<StartsEvaluation>,
    /// Subscriptions by each scope whose variables the condition may see.
    by_scope: HashMap<Key, BTreeSet<Key>>,
    /// Subscriptions of start events.
    by_definition: HashMap<Key, BTreeSet<Key>>,
    by_tenant: HashMap<TenantId, BTreeSet<Key>>,
}

impl ConditionalSubscriptions {
    pub fn open(tables: &Arc<Tables>) -> Result<ConditionalSubscriptions, StoreError> {
        let mut rows = Vec::new();
        let table = Table::open_with(tables, |key, row: ConditionalSubscription| {
            rows.push((key, row));
        })?;
        let mut subscriptions = ConditionalSubscriptions {
            table,
            checks: Table::open(tables)?,
            evaluations: Table::open(tables)?,
            by_scope: HashMap::new(),
            by_definition: HashMap::new(),
            by_tenant: HashMap::new(),
        };
        for (key, row) in rows {
            subscriptions.add_to_index(key, &row);
        }
        Ok(subscriptions)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, row: ConditionalSubscription) {
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(row) = self.table.remove(key) {
            self.take_from_index(key, &row);
        }
    }

    /// Moves the subscription to an event of another definition, because its instance was migrated.
    pub(in crate::appliers) fn migrate(&mut self, key: Key, definition: Key, catch_event: u32) {
        if let Some(row) = self.table.must_get_mut(key) {
            row.process_definition_key = definition;
            row.catch_event = catch_event;
        }
    }

    /// Stores an evaluation that continues in a later turn, or updates what it has started since.
    pub(in crate::appliers) fn go_on(&mut self, key: Key, value: &ConditionalEvaluationValue) {
        match self.evaluations.get_mut(key) {
            Some(row) => row.started.extend(&value.started),
            None => self.evaluations.insert(
                key,
                StartsEvaluation {
                    process_definition_key: value.process_definition_key,
                    tenant: value.tenant.clone(),
                    variables: value.variables.clone(),
                    started: value.started.clone(),
                    last: value.last,
                },
            ),
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&ConditionalSubscription> {
        self.table.get(key)
    }

    /// Whether conditions listen to the variables of this scope.
    pub fn listen_to(&self, scope: Key) -> bool {
        !self.by_scope.is_empty() && self.by_scope.contains_key(&scope)
    }

    /// Subscriptions that listen to the variables of this scope, oldest first.
    pub fn of_scope(&self, scope: Key) -> impl ExactSizeIterator<Item = Key> {
        static NONE: BTreeSet<Key> = BTreeSet::new();
        self.by_scope.get(&scope).unwrap_or(&NONE).iter().copied()
    }

    /// The newest subscription of a scope.
    pub fn newest_of_scope(&self, scope: Key) -> Key {
        newest(self.by_scope.get(&scope))
    }

    /// The oldest subscription of a scope that is newer than `after` and not newer than `last`.
    pub fn next_of_scope(&self, scope: Key, after: Key, last: Key) -> Option<Key> {
        next(self.by_scope.get(&scope)?, after, last)
    }

    /// Subscriptions of the start events of one version of a process.
    pub fn of_definition(&self, definition: Key) -> Vec<Key> {
        super::copied(self.by_definition.get(&definition))
    }

    /// Number of subscriptions for start events of definitions.
    pub fn of_definitions(&self) -> usize {
        self.by_definition.values().map(BTreeSet::len).sum()
    }

    fn starts(&self, tenant: &TenantId, definition: Key) -> Option<&BTreeSet<Key>> {
        match definition.some() {
            Some(definition) => self.by_definition.get(&definition),
            None => self.by_tenant.get(tenant),
        }
    }

    /// The newest start event subscription of a tenant, or of one definition.
    pub fn newest_start(&self, tenant: &TenantId, definition: Key) -> Key {
        newest(self.starts(tenant, definition))
    }

    /// The oldest start event subscription that is newer than `after` and not newer than `last`.
    pub fn next_start(
        &self,
        tenant: &TenantId,
        definition: Key,
        after: Key,
        last: Key,
    ) -> Option<Key> {
        next(self.starts(tenant, definition)?, after, last)
    }
}

impl Indexed<ConditionalSubscription> for ConditionalSubscriptions {
    fn rows(&mut self) -> &mut Table<ConditionalSubscription> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &ConditionalSubscription) {
        for scope in &row.scopes {
            self.by_scope.entry(*scope).or_default().insert(key);
        }
        if row.is_of_definition() {
            let definition = self.by_definition.entry(row.process_definition_key);
            definition.or_default().insert(key);
            let tenant = self.by_tenant.entry(row.tenant.clone());
            tenant.or_default().insert(key);
        }
    }

    fn take_from_index(&mut self, key: Key, row: &ConditionalSubscription) {
        for scope in &row.scopes {
            super::remove_from(&mut self.by_scope, scope, key);
        }
        if row.is_of_definition() {
            super::remove_from(&mut self.by_definition, &row.process_definition_key, key);
            super::remove_from(&mut self.by_tenant, &row.tenant, key);
        }
    }
}

fn newest(keys: Option<&BTreeSet<Key>>) -> Key {
    keys.and_then(|keys| keys.last().copied())
        .unwrap_or(Key::NONE)
}

fn next(keys: &BTreeSet<Key>, after: Key, last: Key) -> Option<Key> {
    let later = (Bound::Excluded(after), Bound::Included(last));
    (after < last).then(|| keys.range(later).next().copied())?
}
