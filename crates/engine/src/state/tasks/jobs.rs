//! Jobs, with indices for activation and timeouts.

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
    /// Held by a worker until its deadline.
    Activated,
    /// Failed; activatable again when the back-off ends.
    BackingOff,
    /// No retries left, or too large to send: waits for its incident to be resolved.
    Incident,
    /// A BPMN error was thrown: removed with its element, or waiting for the incident of an uncaught error.
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
    /// Worker of the last activation.
    pub worker: Arc<str>,
    /// While backing off, the end of the back-off; otherwise the deadline of the last activation, -1 before the first one.
    /// Epoch milliseconds.
    pub due: i64,
    pub extra: Option<Box<Extra>>,
}

/// Optional data that only few jobs have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extra {
    /// Message of the last failure.
    pub error_message: Arc<str>,
    /// The root process instance, if it is not the job's own process instance.
    pub root_process_instance_key: Key,
    pub special: Option<Special>,
}

/// Properties that distinguish a job from an ordinary task's job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Special {
    pub kind: JobKind,
    /// The custom headers as JSON text, if they are not those of the element.
    pub headers: Option<Arc<str>>,
    /// The tenant of the job.
    pub tenant: TenantId,
}

impl Job {
    pub fn special(&self) -> Option<&Special> {
        self.extra.as_ref()?.special.as_ref()
    }

    pub fn kind(&self) -> JobKind {
        self.special().map_or(JobKind::default(), |s| s.kind)
    }

    /// The error message of the last failure.
    pub fn error_message(&self) -> Arc<str> {
        let extra = self.extra.as_ref();
        extra.map_or_else(Arc::default, |extra| extra.error_message.clone())
    }

    pub fn root_process_instance_key(&self) -> Key {
        let extra = self.extra.as_ref();
        let root = extra.and_then(|extra| extra.root_process_instance_key.some());
        root.unwrap_or(self.process_instance_key)
    }

    /// Sets the error message of a failed job; nearly all failures have one.
    pub(in crate::appliers) fn set_error_message(&mut self, message: &Arc<str>) {
        if !message.is_empty() || self.extra.is_some() {
            self.extra.get_or_insert_default().error_message = message.clone();
        }
    }

    /// Sets the special properties, if there are any.
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

    /// The custom headers, if they are not those of the element.
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

/// Maximum number of job types whose empty queue is kept, because the next job usually comes soon.
const MAX_IDLE_TYPES: usize = 1024;

pub struct Jobs {
    pub table: Table<Job>,
    indices: Indices,
    /// Indices are not maintained: a log is being replayed, and nobody asks for jobs before its end.
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
    /// Jobs of the default tenant, often the only one.
    own: Queue,
    /// Jobs of other tenants. Tenants without such jobs are not included.
    others: BTreeMap<TenantId, Queue>,
}

/// Jobs, oldest first, each with the process definition that decides who may take it: skipping a job does not require
/// reading it.
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

/// The position of a job in the indices.
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
    /// Opens the jobs without indices: see [`Jobs::build_indices`].
    pub fn open(tables: &Arc<Tables>) -> Result<Jobs, StoreError> {
        Ok(Jobs {
            table: Table::open(tables)?,
            indices: Indices::default(),
            deferred: true,
        })
    }

    /// Builds the indices: from now on jobs can be found by type and time.
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

    /// Takes a job out of the indices: nobody may receive it any longer.
    pub(in crate::appliers::state) fn hold(&mut self, key: Key) {
        if let Some(job) = self.table.get(key) {
            self.indices.remove(key, &job.index_entry());
        }
    }

    /// Puts a held job back into the indices.
    pub(in crate::appliers::state) fn release(&mut self, key: Key) {
        if let Some(job) = self.table.get(key) {
            self.indices.add(key, job.index_entry());
        }
    }

    /// Changes a job and updates the indices. The job may be gone: an incident is resolved after its job was canceled, and recovery skips the
    /// jobs of finished instances, which an event of several activated jobs names nevertheless.
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

    /// The same with their process definitions, after a job.
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

    /// Number of waiting jobs.
    pub fn waiting_of(&self, job_type: &str, tenant: &TenantId) -> usize {
        let waiting = self.indices.activatable.get(job_type);
        let queue = waiting.and_then(|waiting| waiting.of(tenant));
        queue.map_or(0, Queue::len)
    }

    /// Tenants with waiting jobs of the type.
    pub fn tenants_waiting(&self, job_type: &str) -> Vec<TenantId> {
        let Some(waiting) = self.indices.activatable.get(job_type) else {
            return Vec::new();
        };
        let own = (!waiting.own.is_empty()).then(TenantId::default);
        own.into_iter()
            .chain(waiting.others.keys().cloned())
            .collect()
    }

    /// Which of these tenants have waiting jobs of the type.
    pub fn waiting_among(&self, job_type: &str, tenants: &BTreeSet<TenantId>) -> Vec<TenantId> {
        let others = self.indices.activatable.get(job_type);
        let others = others.map_or(0, |waiting| waiting.others.len());
        // A caller may have thousands of tenants of which few have jobs, or few of the thousands that have some.
        if others < tenants.len() {
            let mut found = self.tenants_waiting(job_type);
            found.retain(|tenant| tenants.contains(tenant));
            return found;
        }
        let has_jobs = |tenant: &&TenantId| self.waiting_of(job_type, tenant) > 0;
        tenants.iter().filter(has_jobs).cloned().collect()
    }

    /// Waiting jobs by type and tenant: their number, and the oldest.
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

    /// Jobs held by workers, earliest deadline first: type, worker and tenant of each. Of the jobs that are not in memory,
    /// at most `reads` are read, because each read takes time.
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

    /// Job types with waiting jobs.
    pub fn activatable_types(&self) -> impl Iterator<Item = &Arc<str>> {
        let types = self.indices.activatable.iter();
        types
            .filter(|(_, waiting)| !waiting.is_empty())
            .map(|(t, _)| t)
    }

    /// Jobs with a passed deadline, the most overdue first.
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

    /// The next deadline of a job, epoch milliseconds.
    pub fn next_time_out(&self) -> Option<i64> {
        self.indices
            .deadlines
            .first()
            .map(|(due, _)| due.saturating_add(1))
    }

    /// The end of the next back-off, epoch milliseconds.
    pub fn next_back_off(&self) -> Option<i64> {
        self.indices.back_offs.first().map(|(due, _)| *due)
    }

    /// Number of jobs currently held by workers.
    pub fn activated_count(&self) -> usize {
        self.indices.deadlines.len()
    }

    /// Number of jobs currently waiting for a worker.
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
