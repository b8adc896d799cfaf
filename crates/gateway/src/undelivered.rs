//! Activated jobs on their way to a client. If a connection ends before it has taken a job, the job returns to its
//! partition at once instead of waiting for its timeout.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use skep_proto::gateway_protocol::ActivateJobsResponse;
use skep_protocol::Key;
use skep_protocol::response::JobActivation;
use skep_service::Broker;
use tokio_stream::Stream;
use tonic::Status;

/// Jobs that are returned when this is dropped, unless they were [delivered](Undelivered::delivered).
pub struct Undelivered {
    broker: Arc<dyn Broker>,
    jobs: Vec<JobActivation>,
}

impl Undelivered {
    pub fn new(broker: Arc<dyn Broker>, jobs: Vec<JobActivation>) -> Undelivered {
        Undelivered { broker, jobs }
    }

    /// Marks the jobs as taken by the connection.
    pub fn delivered(&mut self) {
        self.jobs.clear();
    }
}

impl fmt::Debug for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} jobs", self.jobs.len())
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        let jobs = std::mem::take(&mut self.jobs);
        if !jobs.is_empty() {
            self.broker.give_back(jobs);
        }
    }
}

/// The messages of one activation over gRPC.
pub struct ActivationStream {
    broker: Arc<dyn Broker>,
    messages: std::vec::IntoIter<ActivateJobsResponse>,
}

impl ActivationStream {
    pub fn new(broker: Arc<dyn Broker>, messages: Vec<ActivateJobsResponse>) -> ActivationStream {
        ActivationStream {
            broker,
            messages: messages.into_iter(),
        }
    }
}

impl Stream for ActivationStream {
    type Item = Result<ActivateJobsResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.messages.next().map(Ok))
    }
}

impl Drop for ActivationStream {
    fn drop(&mut self) {
        let jobs = self.messages.by_ref().flat_map(|message| message.jobs);
        let left = jobs.map(|job| JobActivation {
            key: Key(job.key),
            deadline: job.deadline,
        });
        drop(Undelivered::new(self.broker.clone(), left.collect()));
    }
}
