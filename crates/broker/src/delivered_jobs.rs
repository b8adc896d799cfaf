//! An answer with jobs that must not be lost when the client goes away.

use std::sync::Arc;

use skep_protocol::Response;
use skep_service::{Answer, Reply};

use crate::shared::Shared;

pub struct DeliveredJobs {
    reply: Option<Reply>,
    broker: Arc<Shared>,
}

impl DeliveredJobs {
    pub fn new(reply: Reply, broker: Arc<Shared>) -> DeliveredJobs {
        DeliveredJobs {
            reply: Some(reply),
            broker,
        }
    }

    pub async fn answer(&mut self) -> Answer {
        let answer = match &mut self.reply {
            Some(reply) => reply.await,
            None => Reply::ready(Ok(Response::Empty)).await,
        };
        self.reply = None;
        answer
    }
}

impl Drop for DeliveredJobs {
    fn drop(&mut self) {
        if let Some(answer) = self.reply.as_mut().and_then(Reply::take_arrived)
            && let Ok(Response::JobsActivated { jobs, .. }) = answer.result
        {
            self.broker
                .give_back(jobs.iter().map(|job| job.activation()));
        }
    }
}
