//! Working the jobs with the client crate's worker.

use std::{sync::Arc, time::Duration, time::Instant};

use skep_client::{
    Client, Error, Finished, Job, Message, Outcome, RetryPolicy, Worker, WorkerObserver,
};

use super::slice::{Collector, Shared};
use crate::args::to_usize;
use crate::scenario::{MESSAGE, PUBLISHES};

/// One worker, until the slice ends.
pub(super) async fn run(shared: Arc<Shared>, client: Client, job_type: String, number: u32) {
    let args = &shared.plan.args;
    let handling = Duration::from_millis(args.handle_ms);
    let publisher = (job_type == PUBLISHES).then(|| client.clone());
    let hangs = shared.plan.habits.hangs;
    let worker = Worker::builder(client, job_type)
        .name(format!("skep-load-{number}"))
        .max_jobs(to_usize(args.max_jobs))
        .timeout(args.job_timeout)
        .delivery(args.jobs.delivery())
        .retry(RetryPolicy {
            max: Duration::from_secs(1),
            ..RetryPolicy::default()
        })
        .grace(Duration::from_secs(1));
    let worker = if hangs {
        worker
    } else {
        worker.observer(Arc::new(Notes(Arc::clone(&shared.collector))))
    };
    worker
        .build(async move |job: Job| {
            if hangs {
                std::future::pending::<()>().await;
            }
            if !handling.is_zero() {
                tokio::time::sleep(handling).await;
            }
            match &publisher {
                Some(client) => publish(client, &job).await,
                None => Outcome::complete(),
            }
        })
        .run_until(shared.stopped())
        .await;
}

/// Publishes the message that the instance waits for next, and gives the instance its correlation
/// key as a variable.
async fn publish(client: &Client, job: &Job) -> Outcome {
    let key = job.process_instance_key.to_string();
    let message = Message {
        name: MESSAGE.into(),
        correlation_key: key.clone(),
        time_to_live: Duration::from_secs(60),
        message_id: None,
        variables: None,
        tenant_id: None,
    };
    match client.publish_message(&message).await {
        Ok(_) => Outcome::complete_with(format!(r#"{{"key":"{key}"}}"#)),
        // A retry of the job publishes again: the instance takes one of the messages.
        Err(error) => Outcome::fail(error.to_string()),
    }
}

/// Notes what the worker does in the ledger.
#[derive(Debug)]
struct Notes(Arc<Collector>);

impl WorkerObserver for Notes {
    fn received(&self, job: &Job) {
        let now = Instant::now();
        self.0
            .ledger()
            .job_received(job.key, job.process_instance_key, now);
    }

    fn finished(&self, finished: &Finished<'_>) {
        let now = Instant::now();
        let instance = finished.process_instance_key;
        let wake = {
            let mut ledger = self.0.ledger();
            if finished.attempts > 1 {
                ledger.completion_retried(now, finished.attempts - 1);
            }
            match finished.result {
                Ok(()) => {
                    ledger.job_done(finished.job_key);
                    ledger.job_completed(instance, finished.handled, now)
                }
                Err(error) => {
                    ledger.completion_failed(instance, now, error);
                    None
                }
            }
        };
        self.0.wake(wake);
    }

    fn interrupted(&self, error: &Error) {
        self.0.ledger().interrupted(Instant::now(), error);
    }
}
