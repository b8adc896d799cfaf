//! The effects that leave the node after a batch is committed, and the interface to the job streams.

use std::sync::Arc;

use skep_identity::Directory;
use skep_protocol::origin::Claims;
use skep_protocol::{ActivatedJob, Key, Rejection, Response, TenantFilter, TenantId, Tenants};

use crate::noted::Noted;
use crate::remote::Sent;
use crate::state::VariableNames;

/// Identifies a waiting client within the broker; the engine only carries it.
pub type RequestId = u64;

/// Identifies an open job stream within the broker.
pub type StreamId = u64;

/// Effects of a batch. The broker holds them back until the batch is committed.
#[derive(Debug, Default)]
pub struct Effects {
    pub responses: Vec<(RequestId, Result<Response, Rejection>)>,
    /// Requests that get no answer: their correlation keys have moved to another partition, and the outcome is not known here.
    pub aborted: Vec<RequestId>,
    pub pushes: Vec<(StreamId, ActivatedJob)>,
    /// Commands to other partitions (or to this one), by partition id.
    pub sends: Vec<(u32, Sent)>,
    /// Jobs that no stream took, each type and tenant once: wakes long-polling clients.
    pub jobs_available: Vec<JobsAvailable>,
    /// Batch operations whose items must be chosen.
    pub to_choose: Vec<Key>,
    /// The directory of users and permissions after this batch, if the batch has changed it.
    pub directory: Option<Directory>,
    /// Notes about the records of the batch, for the metrics.
    pub noted: Noted,
}

/// At least one job of this type waits for this tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobsAvailable {
    pub job_type: Arc<str>,
    pub tenant: TenantId,
}

/// Maximum number of items to reserve room for: what a full batch of one-task instances needs.
const MAX_ROOM: usize = 1024;

impl Effects {
    /// Takes the effects of a batch and reserves the same capacity again: the next batch usually has the same size, and
    /// growing would copy the lists each time.
    pub(crate) fn take(&mut self) -> Effects {
        fn next<T>(last: &[T]) -> Vec<T> {
            Vec::with_capacity(last.len().min(MAX_ROOM))
        }
        let mut following = Effects {
            responses: next(&self.responses),
            pushes: next(&self.pushes),
            ..Effects::default()
        };
        following.noted.notes = next(&self.noted.notes);
        std::mem::replace(self, following)
    }

    /// Announces a waiting job to long-polling clients.
    pub(crate) fn job_available(&mut self, job_type: Arc<str>, tenant: TenantId) {
        let available = JobsAvailable { job_type, tenant };
        if !self.jobs_available.contains(&available) {
            self.jobs_available.push(available);
        }
    }

    /// True if nothing has to leave.
    pub fn is_empty(&self) -> bool {
        self.responses.is_empty()
            && self.aborted.is_empty()
            && self.pushes.is_empty()
            && self.sends.is_empty()
            && self.jobs_available.is_empty()
            && self.to_choose.is_empty()
    }

    /// True if a response reveals something of the state to a client. A poll without jobs does not: an empty answer may be
    /// correct at any time.
    pub fn reveal_state(&self) -> bool {
        let is_empty_poll = |answer: &Result<Response, Rejection>| matches!(answer, Ok(Response::JobsActivated { jobs, .. }) if jobs.is_empty());
        (self.responses.iter()).any(|(_, answer)| !is_empty_poll(answer))
    }
}

/// Credit for one job in a stream.
#[derive(Clone, Debug)]
pub struct Reservation {
    pub stream: StreamId,
    pub worker: Arc<str>,
    /// Milliseconds.
    pub timeout: i64,
    pub fetch_variables: VariableNames,
    /// How the stream names its tenants.
    pub tenant_filter: TenantFilter,
}

/// The open job streams of the node, as far as the engine needs them: which stream has credit for a job of a type.
pub trait JobStreams {
    /// Takes one credit of a stream for jobs of `job_type` that may have this job: `may` decides by the stream's client and
    /// its tenants. `None` if no such stream has credit.
    fn reserve(
        &mut self,
        job_type: &str,
        may: &mut dyn FnMut(&Claims, &Tenants) -> bool,
    ) -> Option<Reservation>;

    /// Whether any stream for jobs of the type has credit, whichever of them it may have. If none has, waiting jobs are pushed again as soon
    /// as one gets some.
    fn has_credit(&mut self, job_type: &str) -> bool;

    /// Returns a credit for which no job could be sent.
    fn release(&mut self, reservation: Reservation);
}

/// A node without open streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStreams;

impl JobStreams for NoStreams {
    fn reserve(
        &mut self,
        _job_type: &str,
        _may: &mut dyn FnMut(&Claims, &Tenants) -> bool,
    ) -> Option<Reservation> {
        None
    }

    fn has_credit(&mut self, _job_type: &str) -> bool {
        false
    }

    fn release(&mut self, _reservation: Reservation) {}
}

/// Result of [`crate::Engine::push_waiting_jobs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pushed {
    /// Number of pushed jobs.
    pub jobs: usize,
    /// The turn ended before jobs or credit ran out: call again.
    pub more: bool,
}
