//! An answer with jobs that must not be lost when the client disconnects.

use skep_protocol::Response;
use skep_protocol::response::JobActivation;
use skep_service::{Answer, Reply};

pub struct DeliveredJobs<F: Fn(Vec<JobActivation>)> {
    reply: Option<Reply>,
    give_back: F,
}

impl<F: Fn(Vec<JobActivation>)> DeliveredJobs<F> {
    /// `give_back` receives the jobs that nobody took.
    pub fn new(reply: Reply, give_back: F) -> DeliveredJobs<F> {
        DeliveredJobs {
            reply: Some(reply),
            give_back,
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

impl<F: Fn(Vec<JobActivation>)> Drop for DeliveredJobs<F> {
    fn drop(&mut self) {
        if let Some(answer) = self.reply.as_mut().and_then(Reply::take_arrived)
            && let Ok(Response::JobsActivated { jobs, .. }) = answer.result
        {
            (self.give_back)(jobs.iter().map(|job| job.activation()).collect());
        }
    }
}
