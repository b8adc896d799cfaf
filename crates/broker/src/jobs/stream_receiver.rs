//! The gateway's end of a job stream.

use std::sync::Arc;
use std::task::{Context, Poll};

use skep_protocol::ActivatedJob;
use skep_service::JobReceiver;

use crate::job_streams::Stream;
use crate::shared::Shared;

pub struct Receiver {
    stream: Arc<Stream>,
    shared: Arc<Shared>,
}

impl Receiver {
    pub(crate) fn new(stream: Arc<Stream>, shared: Arc<Shared>) -> Receiver {
        Receiver { stream, shared }
    }
}

impl JobReceiver for Receiver {
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<ActivatedJob>> {
        let stream = &self.stream;
        let Some((job, from)) = std::task::ready!(stream.poll_job(cx)) else {
            return Poll::Ready(None);
        };
        if let (Some((node, name)), Some(cluster)) = (from, self.shared.others()) {
            cluster.taken(node, name);
        } else if stream.add_credit(1) {
            self.shared.local.streams.has_room(&stream.spec.job_type);
        }
        Poll::Ready(Some(job))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let left = self.stream.close();
        self.shared.local.streams.close(&self.stream);
        if let Some(cluster) = self.shared.others() {
            cluster.close_elsewhere(self.stream.id);
        }
        self.shared
            .give_back(left.iter().map(ActivatedJob::activation));
    }
}
