//! Jobs, and the requests about them.

use std::{
    future::poll_fn,
    task::{Context, Poll},
    time::Duration,
};

use crate::{
    Error,
    grpc::GrpcJobs,
    net::{ByteStream, Framed},
    rest::RestJobs,
};

/// An activated job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    /// The key, unique in the cluster.
    pub key: i64,
    /// The job type.
    pub job_type: String,
    /// The process instance it belongs to.
    pub process_instance_key: i64,
    /// The BPMN process id.
    pub process_id: String,
    /// The version of the definition.
    pub process_definition_version: i32,
    /// The key of the definition.
    pub process_definition_key: i64,
    /// The element's id in the model.
    pub element_id: String,
    /// The element instance.
    pub element_instance_key: i64,
    /// The task headers: a JSON object as text.
    pub custom_headers: String,
    /// The worker to which it is assigned.
    pub worker: String,
    /// Retries left.
    pub retries: i32,
    /// Until when it is assigned, in epoch milliseconds.
    pub deadline: i64,
    /// The variables asked for: a JSON object as text.
    pub variables: String,
    /// The tenant.
    pub tenant_id: String,
    /// `BPMN_ELEMENT`, `EXECUTION_LISTENER`, `TASK_LISTENER` or `AD_HOC_SUB_PROCESS`.
    pub kind: String,
    /// The listener event, `UNSPECIFIED` for jobs that are not of listeners.
    pub listener_event_type: String,
    /// Tags of the instance.
    pub tags: Vec<String>,
}

/// A request to activate jobs (long polling).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivateJobs {
    /// The job type.
    pub job_type: String,
    /// The name of the worker.
    pub worker: String,
    /// For how long the jobs are assigned.
    pub timeout: Duration,
    /// How many jobs at most.
    pub max_jobs: i32,
    /// Which variables; none named means all.
    pub fetch_variables: Vec<String>,
    /// How long the server holds the request when there is no job; `None` for no waiting.
    pub long_poll: Option<Duration>,
    /// Whose jobs; none named means the default tenant.
    pub tenant_ids: Vec<String>,
}

impl ActivateJobs {
    /// Up to `max_jobs` jobs, assigned for 5 minutes, long poll of 10 seconds.
    pub fn new(job_type: impl Into<String>, max_jobs: i32) -> Self {
        Self {
            job_type: job_type.into(),
            worker: "skep-client".into(),
            timeout: Duration::from_secs(300),
            max_jobs,
            fetch_variables: Vec::new(),
            long_poll: Some(Duration::from_secs(10)),
            tenant_ids: Vec::new(),
        }
    }
}

/// A request to open a job stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamJobs {
    /// The job type.
    pub job_type: String,
    /// The name of the worker.
    pub worker: String,
    /// For how long each job is assigned.
    pub timeout: Duration,
    /// Which variables; none named means all.
    pub fetch_variables: Vec<String>,
    /// Whose jobs; none named means the default tenant.
    pub tenant_ids: Vec<String>,
}

impl StreamJobs {
    /// Jobs of one type, each assigned for 5 minutes.
    pub fn new(job_type: impl Into<String>) -> Self {
        Self {
            job_type: job_type.into(),
            worker: "skep-client".into(),
            timeout: Duration::from_secs(300),
            fetch_variables: Vec::new(),
            tenant_ids: Vec::new(),
        }
    }
}

/// A failure to report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailJob {
    /// Retries left after this failure; 0 raises an incident.
    pub retries: i32,
    /// The error message.
    pub message: String,
    /// How long until the job may be activated again.
    pub back_off: Duration,
    /// Variables to set: a JSON object as text.
    pub variables: Option<String>,
}

/// A BPMN error to throw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThrowError {
    /// The error code that an error event catches.
    pub code: String,
    /// The error message.
    pub message: String,
    /// Variables for the catching event: a JSON object as text.
    pub variables: Option<String>,
}

/// Jobs pushed by the server.
///
/// The server sends at most [`ClientConfig::stream_window`](crate::ClientConfig::stream_window)
/// bytes ahead of what has been read from here: not reading holds it back.
#[derive(Debug)]
pub struct JobStream(pub(crate) Frames);

#[derive(Debug)]
pub(crate) enum Frames {
    Grpc(Framed<ByteStream, GrpcJobs>),
    Rest(Framed<ByteStream, RestJobs>),
}

impl JobStream {
    /// The next job; `None` when the server closed the stream. Cancel safe.
    ///
    /// # Errors
    /// The connection broke, the server refused, or it sent something unreadable. The stream is over then.
    pub async fn next(&mut self) -> Result<Option<Job>, Error> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// As [`next`](Self::next), for hand-written futures.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Job>, Error>> {
        match &mut self.0 {
            Frames::Grpc(framed) => framed.poll_next(context),
            Frames::Rest(framed) => framed.poll_next(context),
        }
    }
}
