//! Jobs, with the indices for activation and timeouts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::value::JobKind;
use skep_protocol::{Key, TenantId};

use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    Activatable,
    /// With a worker until its deadline.
    Activated,
    /// Failed; offered again when the back-off ends.
    BackingOff,
    /// No retries left, or too large to be sent: waits for its incident to be resolved.
    Incident,
    /// A BPMN error was thrown: gone with its element, or waiting for the incident of an uncaught error.
    ErrorThrown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub job_type: Arc<str>,
    pub state: JobState,
    pub element: u32,
    pub element_instance_key: Key,
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub retries: i32,
    /// Of the last activation.
    pub worker: Arc<str>,
    /// While backing off: the end of the back-off; else the deadline of the last activation, -1 before the first. Epoch
    /// milliseconds.
    pub due: i64,
    pub extra: Option<Box<Extra>>,
}

/// What few jobs have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extra {
    /// Of the last failure.
    pub error_message: Arc<str>,
    /// The outermost process instance around that of the job, where it is another one.
    pub root_process_instance_key: Key,
    pub special: Option<Special>,
}

/// What distinguishes a job from that of an ordinary task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Special {
    pub kind: JobKind,
    /// Text of a JSON object: the custom headers, where they are not those of the element.
    pub headers: Option<Arc<str>>,
    /// Whose job it is.
    pub tenant: TenantId,
}

impl Job {
    pub fn special(&self) -> Option<&Special> {
        self.extra.as_ref()?.special.as_ref()
    }

    pub fn kind(&self) -> JobKind {
        self.special().map_or(JobKind::default(), |s| s.kind)
    }

    /// What the last failure said.
    pub fn error_message(&self) -> Arc<str> {
        let extra = self.extra.as_ref();
        extra.map_or_else(Arc::default, |extra| extra.error_message.clone())
    }

    pub fn root_process_instance_key(&self) -> Key {
        let extra = self.extra.as_ref();
        let root = extra.and_then(|extra| extra.root_process_instance_key.some());
        root.unwrap_or(self.process_instance_key)
    }

    /// It has failed; nearly all failures say why.
    pub(in crate::appliers) fn set_error_message(&mut self, message: &Arc<str>) {
        if !message.is_empty() || self.extra.is_some() {
            self.extra.get_or_insert_default().error_message = message.clone();
        }
    }

    /// What distinguishes it, if anything does.
    pub(in crate::appliers) fn set_special(&mut self, special: Option<Special>) {
        if special.is_some() || self.extra.is_some() {
            self.extra.get_or_insert_default().special = special;
        }
    }

    pub(in crate::appliers) fn set_root_process_instance_key(&mut self, root: Key) {
        if root != self.process_instance_key {
            self.extra.get_or_insert_default().root_process_instance_key = root;
        }
    }

    /// The custom headers, where they are not those of the element.
    pub fn headers(&self) -> Option<&Arc<str>> {
        self.special()?.headers.as_ref()
    }

    pub fn tenant(&self) -> TenantId {
        let special = self.special();
        special.map_or_else(TenantId::default, |special| special.tenant.clone())
    }

    fn index_entry(&self) -> IndexEntry {
        IndexEntry {
            state: self.state,
            due: self.due,
            job_type: self.job_type.clone(),
            tenant: self.tenant(),
            definition: self.process_definition_key,
        }
    }
}

impl Row for Job {
    const TABLE: u8 = 3;

    fn weight(&self) -> usize {
        let extra = self.extra.as_ref().map_or(0, |extra| {
            let special = extra.special.as_ref().map_or(0, |special| {
                let headers = special.headers.as_ref().map_or(0, |headers| headers.len());
                headers + special.tenant.weight()
            });
            size_of::<Extra>() + extra.error_message.len() + special
        });
        let texts = self.job_type.len() + self.worker.len();
        size_of::<Self>() + texts + extra
    }
}

/// Job types whose queue is kept when it is empty, as the next job will come soon.
const MAX_IDLE_TYPES: usize = 1024;

pub struct Jobs {
    pub table: Table<Job>,
    indices: Indices,
    /// The indices are not kept: a log is applied, and nobody asks for jobs before its end.
    deferred: bool,
}

#[derive(Default)]
struct Indices {
    activatable: BTreeMap<Arc<str>, Waiting>,
    deadlines: BTreeSet<(i64, Key)>,
    back_offs: BTreeSet<(i64, Key)>,
}

/// Waiting jobs of one type, oldest first.
#[derive(Default)]
struct Waiting {
    /// Those of the default tenant, often the only one.
    own: Queue,
    /// Tenants without such jobs are not in it.
    others: BTreeMap<TenantId, Queue>,
}

/// Jobs, oldest first, each with the process definition that decides who may take it: no job needs to be read to pass it over.
type Queue = BTreeMap<Key, Key>;

impl Waiting {
    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.others.is_empty()
    }

    fn of(&self, tenant: &TenantId) -> Option<&Queue> {
        if tenant.is_default() {
            Some(&self.own)
        } else {
            self.others.get(tenant)
        }
    }

    fn insert(&mut self, entry: IndexEntry, key: Key) {
        let queue = if entry.tenant.is_default() {
            &mut self.own
        } else {
            self.others.entry(entry.tenant).or_default()
        };
        queue.insert(key, entry.definition);
    }

    fn remove(&mut self, tenant: &TenantId, key: Key) {
        if tenant.is_default() {
            self.own.remove(&key);
        } else if let Some(keys) = self.others.get_mut(tenant) {
            keys.remove(&key);
            if keys.is_empty() {
                self.others.remove(tenant);
            }
        }
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        std::iter::once(&self.own).chain(self.others.values())
    }
}

/// Where a job stands in the indices.
#[derive(PartialEq)]
struct IndexEntry {
    state: JobState,
    due: i64,
    job_type: Arc<str>,
    tenant: TenantId,
    definition: Key,
}

impl Indices {
    fn add(&mut self, key: Key, index_entry: IndexEntry) {
        match index_entry.state {
            JobState::Activatable => match self.activatable.get_mut(&index_entry.job_type) {
                Some(waiting) => waiting.insert(index_entry, key),
                None => {
                    let job_type = index_entry.job_type.clone();
                    let mut waiting = Waiting::default();
                    waiting.insert(index_entry, key);
                    self.activatable.insert(job_type, waiting);
                }
            },
            JobState::Activated => {
                self.deadlines.insert((index_entry.due, key));
            }
            JobState::BackingOff => {
                self.back_offs.insert((index_entry.due, key));
            }
            JobState::Incident | JobState::ErrorThrown => {}
        }
    }

    fn remove(&mut self, key: Key, index_entry: &IndexEntry) {
        match index_entry.state {
            JobState::Activatable => {
                if let Some(waiting) = self.activatable.get_mut(&index_entry.job_type) {
                    waiting.remove(&index_entry.tenant, key);
                    if waiting.is_empty() && self.activatable.len() > MAX_IDLE_TYPES {
                        self.activatable.remove(&index_entry.job_type);
                    }
                }
            }
            JobState::Activated => {
                self.deadlines.remove(&(index_entry.due, key));
            }
            JobState::BackingOff => {
                self.back_offs.remove(&(index_entry.due, key));
            }
            JobState::Incident | JobState::ErrorThrown => {}
        }
    }
}

impl Jobs {
    /// Without its indices: see [`Jobs::build_indices`].
    pub fn open(tables: &Arc<Tables>) -> Result<Jobs, StoreError> {
        Ok(Jobs {
            table: Table::open(tables)?,
            indices: Indices::default(),
            deferred: true,
        })
    }

    /// From now on jobs are found by type and time.
    pub(in crate::appliers::state) fn build_indices(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.deferred) {
            let indices = &mut self.indices;
            self.table
                .for_each(|key, job| indices.add(key, job.index_entry()))?;
        }
        Ok(())
    }

    pub fn get(&mut self, key: Key) -> Option<&Job> {
        self.table.get(key)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, job: Job) {
        if !self.deferred {
            self.indices.add(key, job.index_entry());
        }
        self.table.insert(key, job);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) -> Option<Job> {
        let job = self.table.remove(key)?;
        if !self.deferred {
            self.indices.remove(key, &job.index_entry());
        }
        Some(job)
    }

    /// Takes a job out of the indices: nobody is to have it any more.
    pub(in crate::appliers::state) fn hold(&mut self, key: Key) {
        if let Some(job) = self.table.get(key) {
            self.indices.remove(key, &job.index_entry());
        }
    }

    /// Nobody held it.
    pub(in crate::appliers::state) fn release(&mut self, key: Key) {
        if let Some(job) = self.table.get(key) {
            self.indices.add(key, job.index_entry());
        }
    }

    /// Changes a job and keeps the indices true.
    pub(in crate::appliers) fn update(&mut self, key: Key, change: impl FnOnce(&mut Job)) {
        let Some(job) = self.table.get_mut(key) else {
            return;
        };
        if self.deferred {
            return change(job);
        }
        let (state, due, definition) = (job.state, job.due, job.process_definition_key);
        change(job);
        if (state, due, definition) != (job.state, job.due, job.process_definition_key) {
            let now = job.index_entry();
            let before = IndexEntry {
                state,
                due,
                job_type: now.job_type.clone(),
                tenant: now.tenant.clone(),
                definition,
            };
            self.indices.remove(key, &before);
            self.indices.add(key, now);
        }
    }

    /// Waiting jobs of a type and tenant, oldest first.
    pub fn activatable(&self, job_type: &str, tenant: &TenantId) -> impl Iterator<Item = Key> + '_ {
        self.activatable_after(job_type, tenant, None)
            .map(|(key, _)| key)
    }

    /// The same with their process definitions, behind a job.
    pub fn activatable_after(
        &self,
        job_type: &str,
        tenant: &TenantId,
        after: Option<Key>,
    ) -> impl Iterator<Item = (Key, Key)> + '_ {
        let waiting = self.indices.activatable.get(job_type);
        let queue = waiting.and_then(|waiting| waiting.of(tenant));
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let behind = queue.map(|queue| queue.range((start, Bound::Unbounded)));
        behind.into_iter().flatten().map(|(key, of)| (*key, *of))
    }

    /// Tenants for which a job of the type waits.
    pub fn tenants_waiting(&self, job_type: &str) -> Vec<TenantId> {
        let Some(waiting) = self.indices.activatable.get(job_type) else {
            return Vec::new();
        };
        let own = (!waiting.own.is_empty()).then(TenantId::default);
        own.into_iter()
            .chain(waiting.others.keys().cloned())
            .collect()
    }

    /// Jobs that wait for a worker, by type and tenant: how many there are, and the oldest.
    pub fn waiting(&self) -> impl Iterator<Item = (&Arc<str>, TenantId, usize, Key)> {
        let each = self.indices.activatable.iter();
        each.flat_map(|(job_type, waiting)| {
            let own = std::iter::once((TenantId::default(), &waiting.own));
            let others = waiting.others.iter().map(|(id, queue)| (id.clone(), queue));
            own.chain(others).filter_map(move |(tenant, queue)| {
                let (oldest, _) = queue.first_key_value()?;
                Some((job_type, tenant, queue.len(), *oldest))
            })
        })
    }

    /// Jobs with workers, those whose deadline is next first: type, worker and tenant of each. Of those that are not in memory only so many
    /// as `reads` are read, as each takes its time.
    pub fn with_workers(
        &mut self,
        most: usize,
        mut reads: usize,
    ) -> Vec<(Arc<str>, Arc<str>, TenantId)> {
        let about = |job: &Job| (job.job_type.clone(), job.worker.clone(), job.tenant());
        let keys = self.indices.deadlines.iter().take(most);
        let jobs = keys.filter_map(|(_, key)| {
            if let Some(job) = self.table.resident(*key) {
                return Some(about(job));
            }
            reads = reads.checked_sub(1)?;
            self.table.get(*key).map(about)
        });
        jobs.collect()
    }

    /// Job types for which a job waits.
    pub fn activatable_types(&self) -> impl Iterator<Item = &Arc<str>> {
        let types = self.indices.activatable.iter();
        types
            .filter(|(_, waiting)| !waiting.is_empty())
            .map(|(t, _)| t)
    }

    /// Jobs whose deadline has passed, the most overdue first.
    pub fn timed_out(&self, now: i64) -> impl Iterator<Item = Key> + '_ {
        self.indices
            .deadlines
            .range(..(now, Key(i64::MIN)))
            .map(|(_, key)| *key)
    }

    /// Failed jobs whose back-off has ended.
    pub fn backed_off(&self, now: i64) -> impl Iterator<Item = Key> + '_ {
        self.indices
            .back_offs
            .range(..=(now, Key(i64::MAX)))
            .map(|(_, key)| *key)
    }

    /// When the next deadline has passed, epoch milliseconds.
    pub fn next_time_out(&self) -> Option<i64> {
        self.indices
            .deadlines
            .first()
            .map(|(due, _)| due.saturating_add(1))
    }

    /// When the next back-off ends, epoch milliseconds.
    pub fn next_back_off(&self) -> Option<i64> {
        self.indices.back_offs.first().map(|(due, _)| *due)
    }

    /// Jobs with workers now.
    pub fn activated_count(&self) -> usize {
        self.indices.deadlines.len()
    }

    /// Jobs that wait for a worker now.
    pub fn activatable_count(&self) -> usize {
        let types = self.indices.activatable.values();
        types.flat_map(Waiting::queues).map(Queue::len).sum()
    }
}

impl Indexed<Job> for Jobs {
    fn rows(&mut self) -> &mut Table<Job> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Job) {
        self.indices.add(key, row.index_entry());
    }

    fn take_from_index(&mut self, key: Key, row: &Job) {
        self.indices.remove(key, &row.index_entry());
    }
}
