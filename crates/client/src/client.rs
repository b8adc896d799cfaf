//! The client: one interface over both transports.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    ActivateJobs, ClientConfig, CorrelatedMessage, CreateInstance, Deployment, Error, FailJob,
    Instance, InstanceResult, Job, JobStream, Message, PublishedMessage, Resource, StreamJobs,
    ThrowError, Topology, grpc::GrpcClient, job::Frames, rest::RestClient,
};

/// Which interface a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// REST v2.
    Rest,
    /// gRPC.
    Grpc,
}

/// How to wait for the end of an instance.
#[derive(Debug, Clone)]
pub(crate) struct AwaitCompletion {
    pub(crate) timeout: Duration,
    pub(crate) fetch_variables: Vec<String>,
}

/// A client of one gateway. Cheap to clone; clones share connections.
///
/// Calls are not repeated by themselves: see [`RetryPolicy`](crate::RetryPolicy). Every call fails
/// with an [`Error`] that says whether it [may be repeated](Error::is_retryable).
#[derive(Debug, Clone)]
pub struct Client {
    wire: Wire,
}

#[derive(Debug, Clone)]
enum Wire {
    Rest(Arc<RestClient>),
    Grpc(Arc<GrpcClient>),
}

/// A creation request encoded once, to be sent many times.
#[derive(Debug, Clone)]
pub struct PreparedCreate {
    body: Bytes,
    wait: Option<Duration>,
}

macro_rules! both {
    ($self:ident, $client:ident => $call:expr) => {
        match &$self.wire {
            Wire::Rest($client) => $call,
            Wire::Grpc($client) => $call,
        }
    };
}

impl Client {
    /// A client over REST. Connects on first use.
    ///
    /// # Errors
    /// The address or the credentials are malformed.
    pub fn rest(config: ClientConfig) -> Result<Self, Error> {
        Ok(Self {
            wire: Wire::Rest(Arc::new(RestClient::new(config)?)),
        })
    }

    /// A client over gRPC. Connects on first use.
    ///
    /// # Errors
    /// The address or the credentials are malformed.
    pub fn grpc(config: ClientConfig) -> Result<Self, Error> {
        Ok(Self {
            wire: Wire::Grpc(Arc::new(GrpcClient::new(config)?)),
        })
    }

    /// A client over `transport`.
    ///
    /// # Errors
    /// The address or the credentials are malformed.
    pub fn new(transport: Transport, config: ClientConfig) -> Result<Self, Error> {
        match transport {
            Transport::Rest => Self::rest(config),
            Transport::Grpc => Self::grpc(config),
        }
    }

    /// The interface that this client speaks.
    pub fn transport(&self) -> Transport {
        match self.wire {
            Wire::Rest(_) => Transport::Rest,
            Wire::Grpc(_) => Transport::Grpc,
        }
    }

    /// The cluster as the gateway sees it.
    pub async fn topology(&self) -> Result<Topology, Error> {
        both!(self, client => client.topology().await)
    }

    /// Deploys resources, all or none.
    pub async fn deploy(
        &self,
        resources: &[Resource],
        tenant_id: Option<&str>,
    ) -> Result<Deployment, Error> {
        both!(self, client => client.deploy(resources, tenant_id).await)
    }

    /// Deletes a deployed definition by its key.
    pub async fn delete_resource(&self, key: i64) -> Result<(), Error> {
        both!(self, client => client.delete_resource(key).await)
    }

    /// Starts a process instance.
    pub async fn create_instance(&self, request: &CreateInstance) -> Result<Instance, Error> {
        let prepared = self.prepare_create(request);
        self.create_prepared(&prepared).await.map(|r| r.instance)
    }

    /// Starts a process instance and waits for its end, at most `timeout`.
    /// `fetch_variables` names the variables to return; none named means all.
    pub async fn create_instance_with_result(
        &self,
        request: &CreateInstance,
        timeout: Duration,
        fetch_variables: &[String],
    ) -> Result<InstanceResult, Error> {
        let prepared = self.prepare_create_with_result(request, timeout, fetch_variables);
        self.create_prepared(&prepared).await
    }

    /// Encodes a creation request for this client's transport.
    pub fn prepare_create(&self, request: &CreateInstance) -> PreparedCreate {
        self.prepare(request, None)
    }

    /// As [`prepare_create`](Self::prepare_create), for an instance to be awaited.
    pub fn prepare_create_with_result(
        &self,
        request: &CreateInstance,
        timeout: Duration,
        fetch_variables: &[String],
    ) -> PreparedCreate {
        let wait = AwaitCompletion {
            timeout,
            fetch_variables: fetch_variables.to_vec(),
        };
        self.prepare(request, Some(&wait))
    }

    fn prepare(&self, request: &CreateInstance, wait: Option<&AwaitCompletion>) -> PreparedCreate {
        PreparedCreate {
            body: match self.wire {
                Wire::Rest(_) => RestClient::create_body(request, wait),
                Wire::Grpc(_) => GrpcClient::create_body(request, wait),
            },
            wait: wait.map(|wait| wait.timeout),
        }
    }

    /// Sends an encoded creation request. `variables` of the result are `{}` unless it waits for the end.
    /// The request must have been prepared by a client of the same transport.
    pub async fn create_prepared(&self, request: &PreparedCreate) -> Result<InstanceResult, Error> {
        let (body, wait) = (request.body.clone(), request.wait);
        both!(self, client => client.create_instance(body, wait).await)
    }

    /// Cancels a process instance.
    pub async fn cancel_instance(&self, process_instance_key: i64) -> Result<(), Error> {
        both!(self, client => client.cancel_instance(process_instance_key).await)
    }

    /// Activates jobs, waiting for some to appear as the request says.
    pub async fn activate_jobs(&self, request: &ActivateJobs) -> Result<Vec<Job>, Error> {
        both!(self, client => client.activate_jobs(request).await)
    }

    /// Opens a stream of jobs, on a connection of its own. Over REST this is `POST /v2/jobs/stream`,
    /// an addition of Skep.
    pub async fn stream_jobs(&self, request: &StreamJobs) -> Result<JobStream, Error> {
        Ok(JobStream(match &self.wire {
            Wire::Rest(client) => Frames::Rest(client.stream_jobs(request).await?),
            Wire::Grpc(client) => Frames::Grpc(client.stream_jobs(request).await?),
        }))
    }

    /// Completes a job; `variables` is a JSON object as text.
    pub async fn complete_job(&self, key: i64, variables: Option<&str>) -> Result<(), Error> {
        both!(self, client => client.complete_job(key, variables).await)
    }

    /// Reports that a job failed.
    pub async fn fail_job(&self, key: i64, failure: &FailJob) -> Result<(), Error> {
        both!(self, client => client.fail_job(key, failure).await)
    }

    /// Throws a BPMN error from a job.
    pub async fn throw_error(&self, key: i64, error: &ThrowError) -> Result<(), Error> {
        both!(self, client => client.throw_error(key, error).await)
    }

    /// Sets the retries that a job has left, above 0.
    pub async fn update_job_retries(&self, key: i64, retries: i32) -> Result<(), Error> {
        match &self.wire {
            Wire::Rest(client) => client.update_job(key, "retries", i64::from(retries)).await,
            Wire::Grpc(client) => client.update_job_retries(key, retries).await,
        }
    }

    /// Sets the time-out of an activated job, counted from now.
    pub async fn update_job_timeout(&self, key: i64, timeout: Duration) -> Result<(), Error> {
        match &self.wire {
            Wire::Rest(client) => client.update_job(key, "timeout", millis(timeout)).await,
            Wire::Grpc(client) => client.update_job_timeout(key, timeout).await,
        }
    }

    /// Publishes a message, buffered for its time to live.
    pub async fn publish_message(&self, message: &Message) -> Result<PublishedMessage, Error> {
        both!(self, client => client.publish_message(message).await)
    }

    /// Correlates a message at once, without buffering. REST only.
    pub async fn correlate_message(&self, message: &Message) -> Result<CorrelatedMessage, Error> {
        match &self.wire {
            Wire::Rest(client) => client.correlate_message(message).await,
            Wire::Grpc(_) => Err(Error::Invalid(
                "gRPC has no message correlation; use publish_message or a REST client".into(),
            )),
        }
    }

    /// Sets variables at an element instance; not `local` means that they go up to the scope that has them.
    pub async fn set_variables(
        &self,
        element_instance_key: i64,
        variables: &str,
        local: bool,
    ) -> Result<(), Error> {
        both!(self, client => client.set_variables(element_instance_key, variables, local).await)
    }

    /// Resolves an incident: the engine tries again.
    pub async fn resolve_incident(&self, key: i64) -> Result<(), Error> {
        both!(self, client => client.resolve_incident(key).await)
    }
}

/// Milliseconds, as all durations of the interfaces.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
