//! Jobs, with the indices that activation and time-outs need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::JobKind;

use super::table::{Row, StoreError, Table, Tables};

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
    pub root_process_instance_key: Key,
    pub retries: i32,
    /// Of the last activation.
    pub worker: Arc<str>,
    /// While backing off: the end of the back-off; else the deadline of the last activation, -1 before the first. Epoch
    /// milliseconds.
    pub due: i64,
    /// Of the last failure.
    pub error_message: Arc<str>,
    pub extra: Option<Box<Extra>>,
}

/// What few jobs have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extra {
    pub kind: JobKind,
    /// Text of a JSON object: the custom headers, where they are not those of the element.
    pub headers: Option<Arc<str>>,
}

impl Job {
    pub fn kind(&self) -> JobKind {
        self.extra.as_ref().map_or(JobKind::default(), |e| e.kind)
    }

    /// The custom headers, where they are not those of the element.
    pub fn headers(&self) -> Option<&Arc<str>> {
        self.extra.as_ref()?.headers.as_ref()
    }
}

impl Row for Job {
    const TABLE: u8 = 3;

    fn weight(&self) -> usize {
        let extra = self.extra.as_ref().map_or(0, |extra| {
            size_of::<Extra>() + extra.headers.as_ref().map_or(0, |headers| headers.len())
        });
        let texts = self.job_type.len() + self.worker.len() + self.error_message.len();
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
    /// Waiting jobs per type, oldest first.
    activatable: BTreeMap<Arc<str>, BTreeSet<Key>>,
    deadlines: BTreeSet<(i64, Key)>,
    back_offs: BTreeSet<(i64, Key)>,
}

impl Indices {
    fn add(&mut self, key: Key, state: JobState, job_type: &Arc<str>, due: i64) {
        match state {
            JobState::Activatable => match self.activatable.get_mut(job_type) {
                Some(waiting) => {
                    waiting.insert(key);
                }
                None => {
                    self.activatable
                        .insert(job_type.clone(), BTreeSet::from([key]));
                }
            },
            JobState::Activated => {
                self.deadlines.insert((due, key));
            }
            JobState::BackingOff => {
                self.back_offs.insert((due, key));
            }
            JobState::Incident | JobState::ErrorThrown => {}
        }
    }

    fn remove(&mut self, key: Key, state: JobState, job_type: &Arc<str>, due: i64) {
        match state {
            JobState::Activatable => {
                if let Some(waiting) = self.activatable.get_mut(job_type) {
                    waiting.remove(&key);
                    if waiting.is_empty() && self.activatable.len() > MAX_IDLE_TYPES {
                        self.activatable.remove(job_type);
                    }
                }
            }
            JobState::Activated => {
                self.deadlines.remove(&(due, key));
            }
            JobState::BackingOff => {
                self.back_offs.remove(&(due, key));
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
    pub(super) fn build_indices(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.deferred) {
            let indices = &mut self.indices;
            self.table.for_each(|key, job| {
                indices.add(key, job.state, &job.job_type, job.due);
            })?;
        }
        Ok(())
    }

    fn index(&mut self, key: Key, state: JobState, job_type: &Arc<str>, due: i64) {
        if !self.deferred {
            self.indices.add(key, state, job_type, due);
        }
    }

    fn unindex(&mut self, key: Key, state: JobState, job_type: &Arc<str>, due: i64) {
        if !self.deferred {
            self.indices.remove(key, state, job_type, due);
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&Job> {
        self.table.get(key)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, job: Job) {
        self.index(key, job.state, &job.job_type, job.due);
        self.table.insert(key, job);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) -> Option<Job> {
        let job = self.table.remove(key)?;
        self.unindex(key, job.state, &job.job_type, job.due);
        Some(job)
    }

    /// Takes a job out of the indices: nobody is to have it any more.
    pub(super) fn hold(&mut self, key: Key) {
        if let Some(job) = self.table.get(key) {
            let (state, job_type, due) = (job.state, job.job_type.clone(), job.due);
            self.unindex(key, state, &job_type, due);
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
        let (state, due) = (job.state, job.due);
        change(job);
        if (state, due) != (job.state, job.due) {
            let (new_state, new_due, job_type) = (job.state, job.due, job.job_type.clone());
            self.unindex(key, state, &job_type, due);
            self.index(key, new_state, &job_type, new_due);
        }
    }

    /// Waiting jobs of a type, oldest first.
    pub fn activatable(&self, job_type: &str) -> impl Iterator<Item = Key> + '_ {
        self.indices
            .activatable
            .get(job_type)
            .into_iter()
            .flatten()
            .copied()
    }

    /// Job types for which a job waits.
    pub fn activatable_types(&self) -> impl Iterator<Item = &Arc<str>> {
        let types = self.indices.activatable.iter();
        types.filter(|(_, keys)| !keys.is_empty()).map(|(t, _)| t)
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
        self.indices.activatable.values().map(BTreeSet::len).sum()
    }
}
