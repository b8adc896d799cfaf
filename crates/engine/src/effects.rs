//! The effects that leave the node after a batch is committed, and the interface to the job streams.

use std::sync::Arc;

use skep_identity::Directory;
use skep_protocol::origin::Claims;
use skep_protocol::{ActivatedJob, Key, Rejection, Response, TenantId, Tenants};

use crate::noted::Noted;
use crate::remote::Sent;
use crate::state::VariableNames;

/// Names a waiting client within the broker; the engine only carries it.
pub type RequestId = u64;

/// Names an open job stream within the broker.
pub type StreamId = u64;

/// Consequences of a batch. The broker holds them back until the batch is committed.
#[derive(Debug, Default)]
pub struct Effects {
    pub responses: Vec<(RequestId, Result<Response, Rejection>)>,
    pub pushes: Vec<(StreamId, ActivatedJob)>,
    /// Commands to other partitions (or to this one), by partition id.
    pub sends: Vec<(u32, Sent)>,
    /// Job types for which a job waits that no stream took: long-polling clients want to know.
    pub jobs_available: Vec<Arc<str>>,
    /// Batch operations whose items are to be chosen.
    pub to_choose: Vec<Key>,
    /// Who there is and what each may do after this batch, if it has changed that.
    pub directory: Option<Directory>,
    /// What the records of the batch say about the work, for the metrics.
    pub noted: Noted,
}

impl Effects {
    /// Nobody waits for anything of it.
    pub fn is_empty(&self) -> bool {
        self.responses.is_empty()
            && self.pushes.is_empty()
            && self.sends.is_empty()
            && self.jobs_available.is_empty()
            && self.to_choose.is_empty()
    }
}

/// Room for one job in a stream.
#[derive(Clone, Debug)]
pub struct Reservation {
    pub stream: StreamId,
    pub worker: Arc<str>,
    /// Milliseconds.
    pub timeout: i64,
    pub fetch_variables: VariableNames,
    /// As the stream names them.
    pub tenants: Tenants,
}

/// The open job streams of the node, as far as the engine needs them: who has room for a job of this type?
pub trait JobStreams {
    /// Takes one credit of a stream that waits for jobs of `job_type` of this tenant, and that was opened by somebody who may take them;
    /// `None` when no such stream has room.
    fn reserve(
        &mut self,
        job_type: &str,
        tenant: &TenantId,
        may: &mut dyn FnMut(&Claims) -> bool,
    ) -> Option<Reservation>;

    /// Gives a credit back for which there was no job.
    fn release(&mut self, reservation: Reservation);
}

/// No stream is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStreams;

impl JobStreams for NoStreams {
    fn reserve(
        &mut self,
        _job_type: &str,
        _tenant: &TenantId,
        _may: &mut dyn FnMut(&Claims) -> bool,
    ) -> Option<Reservation> {
        None
    }

    fn release(&mut self, _reservation: Reservation) {}
}

/// What [`crate::Engine::push_waiting_jobs`] did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pushed {
    /// Jobs that went out.
    pub jobs: usize,
    /// The turn ended before jobs or room did: call again.
    pub more: bool,
}
