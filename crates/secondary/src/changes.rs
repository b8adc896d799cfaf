//! Changes of rows that were not stored yet, merged.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use skep_protocol::Key;
use skep_protocol::value::HistoryDeletionValue;
use skep_query::{Durations, Entity, Value, entities};

/// An incident begins or ends: it counts for its element instance and for everything around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncidentDelta {
    pub incident_key: Key,
    pub element_instance_key: Key,
    /// 1 or -1.
    pub delta: i64,
}

/// New values for some of the columns of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowChange<'a> {
    pub key: i64,
    /// Bit n: column n is set.
    pub mask: u64,
    /// One for each column; what is not set is null.
    pub values: &'a [Value],
}

/// The rows of one entity that change. Their values stand one after the other: a row costs no allocation of its own.
#[derive(Debug)]
pub struct Rows {
    pub entity: &'static Entity,
    index: FxHashMap<i64, usize>,
    keys: Vec<i64>,
    masks: Vec<u64>,
    values: Vec<Value>,
    /// The place of the row that changed last: the next change is often one of the same row.
    last: usize,
    /// How many changes there were.
    told: u64,
}

impl Rows {
    fn new(entity: &'static Entity) -> Rows {
        Rows {
            entity,
            index: FxHashMap::default(),
            keys: Vec::new(),
            masks: Vec::new(),
            values: Vec::new(),
            last: 0,
            told: 0,
        }
    }

    /// The row, and whether it is new here.
    fn row(&mut self, key: i64) -> (Option<(&mut u64, &mut [Value])>, bool) {
        self.told += 1;
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

    /// In the order of their keys, in which rows that were made together lie together.
    pub fn sorted(&self) -> Vec<RowChange<'_>> {
        // New rows come in the order of their keys, and between them those that were there before: two runs, which the sort finds.
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

    /// How many changes there were, and how many rows they are.
    pub fn counts(&self) -> (u64, u64) {
        (self.told, self.keys.len() as u64)
    }

    fn clear(&mut self) {
        (self.told, self.last) = (0, 0);
        self.index.clear();
        self.keys.clear();
        self.masks.clear();
        self.values.clear();
    }
}

/// A place in a process: definition, and index of the element or sequence flow.
pub type At = (Key, u32);

/// How many instances of an element ended in which way.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub element_id: Arc<str>,
    pub completed: i64,
    pub terminated: i64,
}

/// An element of a definition, and a day on which instances of it were completed: its first millisecond.
pub type OnDay = (At, i64);

/// How long the instances took of one element on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct Lasted {
    /// The key of the row.
    pub id: String,
    pub process_id: Value,
    pub tenant: Value,
    pub element_id: Arc<str>,
    pub durations: Durations,
}

/// How long elements took that were completed.
#[derive(Debug, Default)]
pub struct Took {
    pub lasted: FxHashMap<OnDay, Lasted>,
    /// Those of which only the store knows how long they took.
    pub lasting: Vec<Lasting>,
}

/// An element instance was completed that began before the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lasting {
    pub key: Key,
    pub on: OnDay,
    pub ended: i64,
}

/// A new row that takes something from a row of another entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Completion {
    /// The tags of its process instance.
    UserTask(Key),
    /// The root process instance.
    MessageSubscription(Key),
    /// The root process instance.
    CorrelatedMessageSubscription(Key),
    /// What belongs to its process instance.
    DecisionInstance(Key),
    /// The process instance.
    SignalWait(Key),
    /// The root process instance.
    EventWait(Key),
    /// Name and version of its decision requirements.
    DecisionDefinition(Key),
}

/// What a window of records changes.
#[derive(Debug)]
pub struct Changes {
    /// Per entity, in the order of [`entities::ALL`].
    pub rows: Vec<Rows>,
    /// Sequence flows that process instances took: their ids.
    flows: FxHashMap<(Key, At), Arc<str>>,
    pub ended: FxHashMap<At, Ended>,
    pub took: Took,
    /// Items of lists that are variables, by scope and name: their places and new values.
    pub elements: FxHashMap<(Key, Arc<str>), BTreeMap<u32, String>>,
    pub incidents: Vec<IncidentDelta>,
    /// Rows that are new and take something from rows of other entities.
    pub completions: Vec<Completion>,
    /// Rows whose keys are texts, per entity: the numbers that stand for them here.
    texts: Vec<FxHashMap<Arc<str>, Key>>,
    /// Of these the last two that were asked for, per entity.
    recent: Vec<[Option<Key>; 2]>,
    /// Names of variables that occur.
    names: FxHashSet<Arc<str>>,
    /// Process ids whose latest version may be another one now.
    pub versions: Vec<Arc<str>>,
    /// Decision ids likewise.
    pub decision_versions: Vec<Arc<str>>,
    /// Definitions with the bodies of their PROCESS records.
    pub definitions: Vec<(Key, Vec<u8>)>,
    /// What leaves the history; nothing comes to it any more.
    pub deletions: Vec<HistoryDeletionValue>,
    len: usize,
    bytes: usize,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes {
            rows: entities::ALL.into_iter().map(Rows::new).collect(),
            flows: FxHashMap::default(),
            ended: FxHashMap::default(),
            took: Took::default(),
            elements: FxHashMap::default(),
            incidents: Vec::new(),
            completions: Vec::new(),
            texts: entities::ALL.map(|_| FxHashMap::default()).into(),
            recent: entities::ALL.map(|_| [None; 2]).into(),
            names: FxHashSet::default(),
            versions: Vec::new(),
            decision_versions: Vec::new(),
            definitions: Vec::new(),
            deletions: Vec::new(),
            len: 0,
            bytes: 0,
        }
    }
}

impl Changes {
    /// Rows that change.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of texts, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets everything; the next window is about as large and finds the room.
    pub fn clear(&mut self) {
        for rows in &mut self.rows {
            rows.clear();
        }
        self.flows.clear();
        self.ended.clear();
        self.took.lasted.clear();
        self.took.lasting.clear();
        self.elements.clear();
        self.incidents.clear();
        self.completions.clear();
        self.texts.iter_mut().for_each(FxHashMap::clear);
        self.recent.fill([None; 2]);
        self.names.clear();
        self.versions.clear();
        self.decision_versions.clear();
        self.definitions.clear();
        self.deletions.clear();
        (self.len, self.bytes) = (0, 0);
    }

    /// Sets columns of a row, which need not be there yet; see [`set!`].
    pub fn set<const N: usize>(&mut self, entity: usize, key: Key, columns: [(usize, Value); N]) {
        let Some(rows) = self.rows.get_mut(entity) else {
            debug_assert!(false, "there is no entity {entity}");
            return;
        };
        let (row, is_new) = rows.row(key.0);
        self.len += usize::from(is_new);
        let Some((mask, values)) = row else {
            return;
        };
        for (column, value) in columns {
            if let Value::Text(text) = &value {
                self.bytes += text.len();
            }
            if let Some(place) = values.get_mut(column) {
                *place = value;
                *mask |= 1 << column;
            }
        }
    }

    /// Gives columns of a row values that are merged with those it has, as its entity says of each.
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

    /// A row of a key that is a text, if it was one of the last that were asked for: what is counted is mostly the same for one
    /// record after the other, and its key need not be put together again.
    pub fn recent_row(&self, entity: usize, is_it: impl Fn(&[Value]) -> bool) -> Option<Key> {
        let (recent, rows) = (self.recent.get(entity)?, self.rows.get(entity)?);
        let mut recent = recent.iter().flatten().copied();
        recent.find(|row| rows.get(row.0).is_some_and(|row| is_it(row.values)))
    }

    /// Stands for the row of a key that is a text, which is to be set as well; and the text, if the row is new here.
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

    /// The name of a variable, which is one text for all that have it.
    pub fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.names.insert(name.clone());
        name
    }

    /// A process instance took a sequence flow. `id` is asked for when that is news.
    pub fn flow(&mut self, process_instance: Key, at: At, id: impl FnOnce() -> Option<Arc<str>>) {
        if let std::collections::hash_map::Entry::Vacant(vacant) =
            self.flows.entry((process_instance, at))
            && let Some(id) = id()
        {
            self.bytes += id.len() + size_of::<(Key, At)>();
            vacant.insert(id);
        }
    }

    /// The sequence flows that process instances took.
    pub fn take_flows(&mut self) -> Vec<(Key, Arc<str>)> {
        let flows = std::mem::take(&mut self.flows).into_iter();
        flows.map(|((key, _), id)| (key, id)).collect()
    }

    /// The rows of an entity that change.
    pub fn rows_of(&self, entity: &'static Entity) -> Option<&Rows> {
        let rows = self.rows.iter();
        rows.into_iter()
            .find(|rows| std::ptr::eq(rows.entity, entity))
    }

    /// Sets one column of a row.
    pub fn put(&mut self, entity: &'static Entity, key: Key, column: usize, value: Value) {
        self.set(entities::number(entity), key, [(column, value)]);
    }

    /// An item of a variable, which is a list, has another value.
    pub fn element(&mut self, variable: (Key, Arc<str>), index: u32, value: String) {
        self.bytes += value.len() + size_of::<(u32, String)>();
        self.elements
            .entry(variable)
            .or_default()
            .insert(index, value);
    }

    /// The whole of a variable is told: what was to become of its items is past.
    pub fn set_whole(&mut self, scope: Key, name: &Arc<str>) {
        if !self.elements.is_empty() {
            self.elements.remove(&(scope, name.clone()));
        }
    }

    pub fn incident(&mut self, delta: IncidentDelta) {
        self.incidents.push(delta);
    }

    pub fn deletion(&mut self, deletion: HistoryDeletionValue) {
        self.len += 1;
        self.deletions.push(deletion);
    }

    pub fn definition(&mut self, key: Key, id: Arc<str>, body: Vec<u8>) {
        self.bytes += body.len();
        self.definitions.push((key, body));
        self.versions.push(id);
    }
}

/// Sets columns of a row by their names, which the compiler resolves: `set!(changes, JOB, key, { "state": value, … })`.
macro_rules! set {
    ($changes:expr, $entity:path, $key:expr, { $($name:literal: $value:expr),+ $(,)? }) => {
        $changes.set(
            const { skep_query::entities::number(&$entity) },
            $key,
            [$((const { $entity.column($name) }, $value)),+],
        )
    };
}

/// Merges columns of a row likewise: see [`Changes::merge`].
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
