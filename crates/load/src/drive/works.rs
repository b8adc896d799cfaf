//! Working the jobs with the client crate's worker.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use skep_client::{
    Client, Error, Finished, Job, Message, Outcome, RetryPolicy, Worker, WorkerObserver,
};

use super::slice::{Collector, Shared};
use crate::args::to_usize;
use crate::scenario::{CALLED, CALLER, MESSAGE, PUBLISHES};

/// Jobs of called instances whose callers are remembered at once: more than a worker holds.
const MAX_CALLED: usize = 100_000;

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
        worker.observer(Arc::new(Notes::new(&shared.collector)))
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
/// key as a variable, [`CALLER`].
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
struct Notes {
    collector: Arc<Collector>,
    /// By jobs of called instances, the instances that the ledger knows.
    callers: Mutex<FxHashMap<i64, i64>>,
}

impl Notes {
    fn new(collector: &Arc<Collector>) -> Self {
        Self {
            collector: Arc::clone(collector),
            callers: Mutex::default(),
        }
    }

    fn callers<R>(&self, look: impl FnOnce(&mut FxHashMap<i64, i64>) -> R) -> R {
        look(&mut self.callers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The instance for which the ledger counts a job.
    fn instance_of(&self, job: &Job) -> i64 {
        let caller = (job.job_type == CALLED).then(|| caller(&job.variables));
        let Some(caller) = caller.flatten() else {
            return job.process_instance_key;
        };
        self.callers(|callers| {
            if callers.len() >= MAX_CALLED {
                // Jobs that were never finished: others got them.
                callers.clear();
            }
            callers.insert(job.key, caller);
        });
        caller
    }
}

/// The key of the instance that called that of a job with these variables.
fn caller(variables: &str) -> Option<i64> {
    let variables: serde_json::Value = serde_json::from_str(variables).ok()?;
    variables.get(CALLER)?.as_str()?.parse().ok()
}

impl WorkerObserver for Notes {
    fn received(&self, job: &Job) {
        let now = Instant::now();
        let instance = self.instance_of(job);
        self.collector.ledger().job_received(job.key, instance, now);
    }

    fn finished(&self, finished: &Finished<'_>) {
        let now = Instant::now();
        let caller = self.callers(|callers| callers.remove(&finished.job_key));
        let instance = caller.unwrap_or(finished.process_instance_key);
        let wake = {
            let mut ledger = self.collector.ledger();
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
        self.collector.wake(wake);
    }

    fn interrupted(&self, error: &Error) {
        let now = Instant::now();
        self.collector.ledger().interrupted(now, error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_of_an_instance_is_in_its_variables() {
        let known = r#"{"payload": "x", "key": "2251799813685250"}"#;
        assert_eq!(caller(known), Some(2_251_799_813_685_250));
        for unknown in ["{}", "", r#"{"key": 7}"#, r#"{"key": "x"}"#] {
            assert_eq!(caller(unknown), None, "{unknown}");
        }
    }
}
