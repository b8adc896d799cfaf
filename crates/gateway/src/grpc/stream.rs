//! `StreamActivatedJobs`: jobs are taken from the stream only as HTTP/2 flow control gives room.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use skep_proto::gateway_protocol as pb;
use tokio_stream::Stream;
use tonic::{Code, Status};

use super::encode;
use super::rpcs::STREAM_ACTIVATED_JOBS;
use crate::call::{FrontEnd, JobStream, Stopwatch};

pub struct GrpcJobStream {
    jobs: JobStream,
    front: Arc<FrontEnd>,
    watch: Stopwatch,
    ended: bool,
}

impl GrpcJobStream {
    pub fn new(jobs: JobStream, front: Arc<FrontEnd>, watch: Stopwatch) -> GrpcJobStream {
        GrpcJobStream {
            jobs,
            front,
            watch,
            ended: false,
        }
    }
}

impl Stream for GrpcJobStream {
    type Item = Result<pb::ActivatedJob, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let limit = self.front.config.max_message_size;
        loop {
            let Some(job) = ready!(self.jobs.poll_next(cx)) else {
                self.ended = true;
                return Poll::Ready(None);
            };
            // The stream continues with the jobs behind it.
            if let Some(too_large) = encode::too_large(&job, limit) {
                self.front.refuse(&too_large);
                continue;
            }
            self.front.metrics.grpc.sent(STREAM_ACTIVATED_JOBS, 1);
            return Poll::Ready(Some(Ok(encode::activated_job(job))));
        }
    }
}

impl Drop for GrpcJobStream {
    fn drop(&mut self) {
        let code = if self.ended {
            Code::Ok
        } else {
            Code::Cancelled
        };
        let metrics = &self.front.metrics.grpc;
        metrics.observe(STREAM_ACTIVATED_JOBS, code as i32, self.watch.total_ns(), 0);
    }
}
