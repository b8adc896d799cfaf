//! `skep worker TYPE`: works jobs with a shell command, or just completes them.

mod command;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use skep_client::{Delivery, Error, Finished, Job, Outcome, OutcomeKind, Worker, WorkerObserver};
use tokio::sync::Notify;

use self::command::Until;
use crate::cli::Interrupts;
use crate::cli::given::{self, VariableArgs};
use crate::cli::rest::RestArgs;

#[derive(Args)]
#[command(group = clap::ArgGroup::new("how").required(true).args(["exec", "complete"]))]
pub struct WorkerArgs {
    /// Type of the jobs.
    #[arg(value_name = "TYPE")]
    job_type: String,
    /// Shell command that works on each job: it reads the job's variables and prints the result, both as JSON objects. SKEP_JOB_KEY and
    /// more are in its environment. Exit code 0 completes the job, 99 means that the command has reported the outcome itself, and any other
    /// fails the job with the text on standard error.
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// Complete each job with the given variables.
    #[arg(long)]
    complete: bool,
    #[command(flatten)]
    variables: VariableArgs,
    /// Number of jobs worked on at a time.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    parallel: u32,
    /// Time after which another worker may take a job that is not finished.
    #[arg(long, default_value = "5m", value_name = "TIME", value_parser = given::time)]
    timeout: Duration,
    /// Exit after this many jobs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Tenant of the jobs; may be given several times.
    #[arg(long, value_name = "TENANT")]
    tenant: Vec<String>,
    /// Name of the worker.
    #[arg(long, default_value = "skep worker", value_name = "NAME")]
    name: String,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: WorkerArgs) -> anyhow::Result<()> {
    let variables = args.variables.json()?;
    let client = args.rest.client().await?;
    // Fails at once if there is no server.
    client.topology().await?;
    let said = Arc::new(Said {
        json: args.rest.json,
        last: parking_lot::Mutex::new(String::new()),
    });
    let builder = Worker::builder(client, &args.job_type)
        .name(&args.name)
        .max_jobs(args.parallel as usize)
        .timeout(args.timeout)
        .grace(args.timeout)
        .tenant_ids(&args.tenant)
        // Works with any compatible server.
        .delivery(Delivery::Poll)
        .observer(said);
    complain!("Waiting for jobs of type '{}'.", args.job_type);
    let enough = Notify::new();
    let left = RefCell::new(args.count);
    let at_work = Cell::new(0_u32);
    let until = Until {
        limit: args.timeout,
        stopped: Arc::new(AtomicBool::new(false)),
    };
    let worker = builder.build(async |job: Job| {
        let key = job.key;
        at_work.set(at_work.get() + 1);
        let outcome = match &args.exec {
            Some(line) => {
                let outcome = command::run(line, job, &until).await;
                if let Outcome::Fail { message, .. } = &outcome {
                    complain!("Job {key}: {message}");
                }
                outcome
            }
            None => Outcome::Complete(variables.as_ref().map(|json| json.get().to_string())),
        };
        at_work.set(at_work.get().saturating_sub(1));
        if let Some(left) = left.borrow_mut().as_mut() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                enough.notify_one();
            }
        }
        outcome
    });
    let mut interrupts = Interrupts::listen();
    let twice = async {
        interrupts.next().await;
        enough.notify_one();
        if at_work.get() > 0 {
            complain!(
                "Waiting until the running commands have ended; interrupt again to kill them."
            );
        }
        interrupts.next().await;
        until.stopped.store(true, Ordering::Relaxed);
        std::future::pending().await
    };
    tokio::select! {
        _ = worker.run_until(enough.notified()) => Ok(()),
        never = twice => never,
    }
}

/// Prints the outcome of each job.
struct Said {
    json: bool,
    /// The last error, which is printed once.
    last: parking_lot::Mutex<String>,
}

impl WorkerObserver for Said {
    fn finished(&self, finished: &Finished<'_>) {
        let what = match (finished.kind, finished.result) {
            (_, Err(_)) => "not reported",
            (OutcomeKind::Completed, _) => "completed",
            (OutcomeKind::Failed, _) => "failed",
            (OutcomeKind::Thrown, _) => "threw an error",
            (_, Ok(())) => "reported by its command",
        };
        let (job, instance) = (finished.job_key, finished.process_instance_key);
        let millis = finished
            .handled
            .duration_since(finished.received)
            .as_millis();
        let line = if self.json {
            format!(
                "{}\n",
                serde_json::json!({"jobKey": job.to_string(), "processInstanceKey": instance.to_string(), "outcome": what, "millis": millis as u64})
            )
        } else {
            format!("Job {job} of instance {instance}: {what}, {millis} ms\n")
        };
        // The reader of the output may be gone; the jobs continue.
        let _ = crate::cli::print(&line);
        if let Err(error) = finished.result {
            complain!("{error}");
        }
    }

    fn interrupted(&self, error: &Error) {
        let text = error.to_string();
        let mut last = self.last.lock();
        if *last != text {
            complain!("{text}; trying again");
            *last = text;
        }
    }
}
