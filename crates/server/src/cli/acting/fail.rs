//! `skep fail`: reports that a job failed.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::given::VariableArgs;
use crate::cli::rest::{Body, RestArgs};
use crate::cli::{given, keys};

#[derive(Args)]
pub struct FailArgs {
    /// Key of a job; `skep jobs` lists them.
    #[arg(value_name = "JOB", value_parser = given::key)]
    job: i64,
    /// Number of retries left; 0 raises an incident.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    retries: u32,
    /// Error message.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Time before the next retry, as in 30s or 5m.
    #[arg(long, value_name = "TIME", value_parser = given::time)]
    back_off: Option<Duration>,
    /// Throw a BPMN error with this code instead; an error event of the process may catch it.
    #[arg(long, value_name = "CODE", conflicts_with_all = ["retries", "back_off"])]
    error: Option<String>,
    #[command(flatten)]
    variables: VariableArgs,
    #[command(flatten)]
    rest: RestArgs,
}

pub async fn run(args: FailArgs) -> anyhow::Result<()> {
    let (rest, key) = (&args.rest, args.job);
    let body = Body::default()
        .with_some("variables", args.variables.json()?)
        .with_some("errorMessage", args.message.as_deref());
    let (path, body) = match &args.error {
        Some(code) => ("error", body.with("errorCode", code)),
        None => {
            let wait = args.back_off.map(|time| time.as_millis() as u64);
            let body = body.with("retries", args.retries);
            ("failure", body.with_some("retryBackOff", wait))
        }
    };
    if let Err(error) = rest.post(&format!("jobs/{key}/{path}"), body).await {
        return Err(keys::explain(rest, key, &["a job"], error).await);
    }
    let sentence = match (&args.error, args.retries) {
        (Some(code), _) => format!("Job {key} threw the error '{code}'."),
        (None, 0) => format!("Job {key} failed; an incident was raised."),
        (None, retries) => format!("Job {key} failed; {retries} retries left."),
    };
    rest.say(&sentence, &json!({"failed": {"jobKey": key.to_string()}}))
}
