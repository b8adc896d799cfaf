//! Merged changes of rows that are not stored yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use skep_protocol::Key;
use skep_protocol::value::HistoryDeletionValue;
use skep_query::{COUNTED_BY, Durations, Entity, Value, entities};

/// The start or end of an incident. It counts for its element instance and for every enclosing scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncidentDelta {
    pub incident_key: Key,
    pub element_instance_key: Key,
    pub process_instance_key: Key,
    /// 1 or -1.
    pub delta: i64,
}

/// An entry of the audit log about a refused command. Only the entity knows its tenant and its process.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// The entry.
    pub row: Key,
    /// What the command names.
    pub entity: &'static Entity,
    pub key: Key,
}

/// New values for some of the columns of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowChange<'a> {
    pub key: i64,
    /// Bit n: column n is set.
    pub mask: u64,
    /// One value per column; columns that are not set are null.
    pub values: &'a [Value],
}

/// Changed rows of one entity. Their values are stored contiguously, so a row needs no allocation of its own.
#[derive(Debug)]
pub struct Rows {
    pub entity: &'static Entity,
    index: FxHashMap<i64, usize>,
    keys: Vec<i64>,
    masks: Vec<u64>,
    values: Vec<Value>,
    /// The column that is true in rows to delete.
    leaves: Option<usize>,
    /// Index of the row that changed last. The next change often affects the same row.
    last: usize,
    /// Number of changes received.
    received: u64,
}

impl Rows {
    fn new(entity: &'static Entity) -> Rows {
        debug_assert!(
            entity.fields.len() <= 64,
            "a mask has a bit for each column"
        );
        Rows {
            entity,
            index: FxHashMap::default(),
            keys: Vec::new(),
            masks: Vec::new(),
            values: Vec::new(),
            leaves: entity.mark().and_then(|column| entity.index_of(column)),
            last: 0,
            received: 0,
        }
    }

    /// Returns the row and whether it is new in this window.
    fn row(&mut self, key: i64) -> (Option<(&mut u64, &mut [Value])>, bool) {
        self.received += 1;
        let width = self.entity.fields.len();
        let next = self.keys.len();
        let at = match self.keys.get(self.last) {
            Some(last) if *last == key => self.last,
            _ => *self.index.entry(key).or_insert(next),
        };
        self.last = at;
        if at == next {
            self.keys.push(key);
            self.masks.push(1);
            self.values.push(Value::Int(key));
            let absent = std::iter::repeat_n(Value::Null, width.saturating_sub(1));
            self.values.extend(absent);
        }
        let mask = self.masks.get_mut(at);
        let values = self.values.get_mut(at * width..(at + 1) * width);
        (mask.zip(values), at == next)
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn get(&self, key: i64) -> Option<RowChange<'_>> {
        self.at(*self.index.get(&key)?)
    }

    fn at(&self, at: usize) -> Option<RowChange<'_>> {
        let width = self.entity.fields.len();
        Some(RowChange {
            key: *self.keys.get(at)?,
            mask: *self.masks.get(at)?,
            values: self.values.get(at * width..(at + 1) * width)?,
        })
    }

    /// All rows, in the order of their first change.
    pub fn iter(&self) -> impl Iterator<Item = RowChange<'_>> {
        (0..self.keys.len()).filter_map(|at| self.at(at))
    }

    /// Rows sorted by key, so that rows created together are adjacent.
    pub fn sorted(&self) -> Vec<RowChange<'_>> {
        // New rows arrive in key order, with changes of older rows in between. That gives two sorted runs, which the sort
        // exploits.
        let (mut order, mut earlier) = (Vec::with_capacity(self.keys.len()), Vec::new());
        let mut greatest = i64::MIN;
        for (at, key) in self.keys.iter().enumerate() {
            let of = if *key >= greatest {
                &mut order
            } else {
                &mut earlier
            };
            of.push((*key, at));
            greatest = greatest.max(*key);
        }
        earlier.sort_unstable();
        order.append(&mut earlier);
        order.sort();
        let rows = order.into_iter().filter_map(|(_, at)| self.at(at));
        rows.collect()
    }

    /// Rows to store, [`sorted`](Rows::sorted), and the keys of rows to delete; see [`Entity::mark`].
    pub fn parted(&self) -> (Vec<RowChange<'_>>, Vec<&Value>) {
        let mut kept = self.sorted();
        let mut gone: Vec<&Value> = Vec::new();
        if let Some(column) = self.leaves {
            kept.retain(|row| {
                let is_set = row.mask & (1 << column) != 0;
                let leaves = is_set && row.values.get(column) == Some(&Value::from(true));
                gone.extend(row.values.first().filter(|_| leaves));
                !leaves
            });
        }
        (kept, gone)
    }

    /// Number of changes and number of rows they affect.
    pub fn counts(&self) -> (u64, u64) {
        (self.received, self.keys.len() as u64)
    }

    fn clear(&mut self) {
        (self.received, self.last) = (0, 0);
        self.index.clear();
        self.keys.clear();
        self.masks.clear();
        self.values.clear();
    }
}

/// A place in a process: the definition, and the index of the element or sequence flow.
pub type At = (Key, u32);

/// Number of ended instances of an element, by outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub element_id: Arc<str>,
    pub completed: i64,
    pub terminated: i64,
}

/// A definition, and the ID of an element in it.
pub type Place = (i64, Arc<str>);

/// What a process instance has of its definition: values of [`COUNTED_BY`].
pub type OfDefinition = [Value; COUNTED_BY.len()];

/// How many active ones there are more than before, or fewer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActiveCounts {
    /// Without incidents.
    pub active: i64,
    /// With incidents.
    pub incidents: i64,
}

/// Changes of the counts of element and process instances.
#[derive(Debug, Default)]
pub struct Counted {
    pub ended: FxHashMap<At, Ended>,
    /// Set when the changes are settled, as are those below.
    pub active_elements: FxHashMap<Place, ActiveCounts>,
    pub active_instances: FxHashMap<OfDefinition, ActiveCounts>,
}

/// An element of a definition, and the first millisecond of the day on which instances of it completed.
pub type OnDay = (At, i64);

/// Durations of the instances of one element on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct Lasted {
    /// The key of the row.
    pub id: String,
    pub process_id: Value,
    pub tenant: Value,
    pub element_id: Arc<str>,
    pub durations: Durations,
}

/// Durations of completed elements.
#[derive(Debug, Default)]
pub struct Took {
    pub lasted: FxHashMap<OnDay, Lasted>,
    /// Completed instances whose start time only the store knows.
    pub lasting: Vec<Lasting>,
}

/// A completed element instance that started before the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lasting {
    pub key: Key,
    pub on: OnDay,
    pub ended: i64,
}

/// A new row that copies values from a row of another entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Completion {
    /// The tags and the business ID of its process instance.
    UserTask(Key),
    /// The root process instance, and the business ID of the process instance.
    MessageSubscription(Key),
    /// The root process instance, and the business ID of the process instance.
    CorrelatedMessageSubscription(Key),
    /// The business ID of its process instance.
    DecisionInstance(Key),
    /// The process instance.
    SignalWait(Key),
    /// The root process instance.
    EventWait(Key),
    /// Name and version of its decision requirements.
    DecisionDefinition(Key),
}

/// Changes made by a window of records.
#[derive(Debug)]
pub struct Changes {
    /// Per entity, in the order of [`entities::ALL`].
    pub rows: Vec<Rows>,
    /// IDs of the sequence flows that process instances took.
    flows: FxHashMap<(Key, At), Arc<str>>,
    pub counted: Counted,
    pub took: Took,
    /// Changed items of list variables, by scope and name: their indices and new values.
    pub elements: FxHashMap<(Key, Arc<str>), BTreeMap<u32, String>>,
    pub incidents: Vec<IncidentDelta>,
    /// New rows that copy values from rows of other entities.
    pub completions: Vec<Completion>,
    pub refusals: Vec<Refusal>,
    /// Per entity: the surrogate numbers that stand in this window for rows with text keys.
    texts: Vec<FxHashMap<Arc<str>, Key>>,
    /// The two rows with text keys that were used last, per entity.
    recent: Vec<[Option<Key>; 2]>,
    /// Names of variables seen so far.
    names: FxHashSet<Arc<str>>,
    /// Process IDs whose latest version may have changed.
    pub versions: Vec<Arc<str>>,
    /// Decision IDs whose latest version may have changed.
    pub decision_versions: Vec<Arc<str>>,
    /// Definitions and the bodies of their PROCESS records.
    pub definitions: Vec<(Key, Vec<u8>)>,
    /// Rows to delete from the history. No further changes for them follow.
    pub deletions: Vec<HistoryDeletionValue>,
    size: Size,
}

/// How much a window has.
#[derive(Debug, Default)]
struct Size {
    rows: usize,
    bytes: usize,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes {
            rows: entities::ALL.into_iter().map(Rows::new).collect(),
            flows: FxHashMap::default(),
            counted: Counted::default(),
            took: Took::default(),
            elements: FxHashMap::default(),
            incidents: Vec::new(),
            completions: Vec::new(),
            refusals: Vec::new(),
            texts: entities::ALL.map(|_| FxHashMap::default()).into(),
            recent: entities::ALL.map(|_| [None; 2]).into(),
            names: FxHashSet::default(),
            versions: Vec::new(),
            decision_versions: Vec::new(),
            definitions: Vec::new(),
            deletions: Vec::new(),
            size: Size::default(),
        }
    }
}

impl Changes {
    /// Number of changed rows.
    pub fn len(&self) -> usize {
        self.size.rows
    }

    /// Approximate bytes of text.
    pub fn bytes(&self) -> usize {
        self.size.bytes
    }

    /// Clears all changes but keeps the capacity for the next window, which is usually of similar size.
    pub fn clear(&mut self) {
        for rows in &mut self.rows {
            rows.clear();
        }
        self.flows.clear();
        self.counted.ended.clear();
        self.counted.active_elements.clear();
        self.counted.active_instances.clear();
        self.took.lasted.clear();
        self.took.lasting.clear();
        self.elements.clear();
        self.incidents.clear();
        self.completions.clear();
        self.refusals.clear();
        self.texts.iter_mut().for_each(FxHashMap::clear);
        self.recent.fill([None; 2]);
        self.names.clear();
        self.versions.clear();
        self.decision_versions.clear();
        self.definitions.clear();
        self.deletions.clear();
        self.size = Size::default();
    }

    /// Sets columns of a row, creating the row if needed; see [`set!`].
    pub fn set<const N: usize>(&mut self, entity: usize, key: Key, columns: [(usize, Value); N]) {
        let Some(rows) = self.rows.get_mut(entity) else {
            debug_assert!(false, "there is no entity {entity}");
            return;
        };
        // The keys that stand for texts begin with the same number.
        let has_texts = || self.texts.get(entity).is_some_and(|all| !all.is_empty());
        debug_assert!(
            !key.is_none() || has_texts(),
            "a row of {} has a key",
            rows.entity.title
        );
        let (row, is_new) = rows.row(key.0);
        self.size.rows += usize::from(is_new);
        let Some((mask, values)) = row else {
            return;
        };
        for (column, value) in columns {
            if let Value::Text(text) = &value {
                self.size.bytes += text.len();
            }
            if let Some(place) = values.get_mut(column) {
                *place = value;
                *mask |= 1 << column;
            }
        }
    }

    /// Merges new values into columns of a row, as the entity defines for each column.
    pub fn merge<const N: usize>(&mut self, entity: usize, key: Key, columns: [(usize, Value); N]) {
        let held = self.rows.get(entity).and_then(|rows| rows.get(key.0));
        let merged = columns.map(|(column, value)| {
            let before = held.and_then(|row| row.values.get(column));
            let value = match (before, entities::ALL.get(entity)) {
                (Some(before), Some(entity)) => entity.field(column).merged.of(before, value),
                _ => value,
            };
            (column, value)
        });
        self.set(entity, key, merged);
    }

    /// Returns the row with a text key if it is one of the last two used. Consecutive records usually count towards the same
    /// row, so its key need not be built again.
    pub fn recent_row(&self, entity: usize, is_it: impl Fn(&[Value]) -> bool) -> Option<Key> {
        let (recent, rows) = (self.recent.get(entity)?, self.rows.get(entity)?);
        let mut recent = recent.iter().flatten().copied();
        recent.find(|row| rows.get(row.0).is_some_and(|row| is_it(row.values)))
    }

    /// Returns the key that stands for the row with this text key, and the text if the row is new in this window. The caller
    /// sets the text as a column, too.
    pub fn text_row(&mut self, entity: usize, key: &str) -> (Key, Option<Arc<str>>) {
        let Some(texts) = self.texts.get_mut(entity) else {
            debug_assert!(false, "there is no entity {entity}");
            return (Key::NONE, None);
        };
        let known = texts.get(key).copied();
        let new = || Key(-1 - i64::try_from(texts.len()).unwrap_or(i64::MAX - 1));
        let row = known.unwrap_or_else(new);
        if let Some(recent) = self.recent.get_mut(entity) {
            *recent = [Some(row), recent.first().copied().flatten()];
        }
        if known.is_some() {
            return (row, None);
        }
        let key: Arc<str> = key.into();
        texts.insert(key.clone(), row);
        (row, Some(key))
    }

    /// Interns the name of a variable, so that all variables of this name share one text.
    pub fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.names.insert(name.clone());
        name
    }

    /// Records that a process instance took a sequence flow. Calls `id` only if this is new.
    pub fn flow(&mut self, process_instance: Key, at: At, id: impl FnOnce() -> Option<Arc<str>>) {
        if let std::collections::hash_map::Entry::Vacant(vacant) =
            self.flows.entry((process_instance, at))
            && let Some(id) = id()
        {
            self.size.bytes += id.len() + size_of::<(Key, At)>();
            vacant.insert(id);
        }
    }

    /// The process instances that took sequence flows, some of them several times.
    pub fn takers_of_flows(&self) -> impl Iterator<Item = Key> {
        self.flows.keys().map(|(instance, _)| *instance)
    }

    /// Takes the sequence flows that process instances took.
    pub fn take_flows(&mut self) -> Vec<(Key, Arc<str>)> {
        let flows = std::mem::take(&mut self.flows).into_iter();
        flows.map(|((key, _), id)| (key, id)).collect()
    }

    /// Changed rows of an entity.
    pub fn rows_of(&self, entity: &'static Entity) -> Option<&Rows> {
        let rows = self.rows.iter();
        rows.into_iter()
            .find(|rows| std::ptr::eq(rows.entity, entity))
    }

    /// Sets one column of a row.
    pub fn put(&mut self, entity: &'static Entity, key: Key, column: usize, value: Value) {
        self.set(entities::number(entity), key, [(column, value)]);
    }

    /// Sets an item of a list variable.
    pub fn element(&mut self, variable: (Key, Arc<str>), index: u32, value: String) {
        self.size.bytes += value.len() + size_of::<(u32, String)>();
        self.elements
            .entry(variable)
            .or_default()
            .insert(index, value);
    }

    /// Discards pending item changes of a variable, because its whole value is set.
    pub fn set_whole(&mut self, scope: Key, name: &Arc<str>) {
        if !self.elements.is_empty() {
            self.elements.remove(&(scope, name.clone()));
        }
    }

    pub fn incident(&mut self, delta: IncidentDelta) {
        self.incidents.push(delta);
    }

    pub fn deletion(&mut self, deletion: HistoryDeletionValue) {
        self.size.rows += 1;
        self.deletions.push(deletion);
    }

    pub fn definition(&mut self, key: Key, id: Arc<str>, body: Vec<u8>) {
        self.size.bytes += body.len();
        self.definitions.push((key, body));
        self.versions.push(id);
    }
}

/// Sets columns of a row by name; names are resolved at compile time: `set!(changes, JOB, key, { "state": value, … })`.
macro_rules! set {
    ($changes:expr, $entity:path, $key:expr, { $($name:literal: $value:expr),+ $(,)? }) => {
        $changes.set(
            const { skep_query::entities::number(&$entity) },
            $key,
            [$((const { $entity.column($name) }, $value)),+],
        )
    };
}

/// Merges columns of a row by name, like `set!`; see [`Changes::merge`].
macro_rules! merge {
    ($changes:expr, $entity:path, $key:expr, { $($name:literal: $value:expr),+ $(,)? }) => {
        $changes.merge(
            const { skep_query::entities::number(&$entity) },
            $key,
            [$((const { $entity.column($name) }, $value)),+],
        )
    };
}

pub(crate) use {merge, set};
