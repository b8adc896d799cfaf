//! Mocked workers: they finish every waiting job of a type until the test case is over.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use super::instruction::{MockCompletingWorker, MockThrowingWorker};
use super::value::Variables;
use super::world::{Search, World};
use super::{examples, jobs};
use crate::cli::rest::Body;
use crate::cli::search::word;
use crate::errors::code_of;

/// Interval between two searches for jobs.
const PAUSE: Duration = Duration::from_millis(50);

enum Outcome {
    Complete(Option<Variables>),
    Example,
    Throw {
        code: String,
        message: Option<String>,
        variables: Option<Variables>,
    },
}

pub fn completes(world: &mut World, of: &MockCompletingWorker) {
    let outcome = match of.use_example_data {
        Some(true) => Outcome::Example,
        _ => Outcome::Complete(of.variables.clone()),
    };
    begin(world, &of.job_type, outcome);
}

pub fn throws(world: &mut World, of: &MockThrowingWorker) {
    let outcome = Outcome::Throw {
        code: of.error_code.clone(),
        message: of.error_message.clone(),
        variables: of.variables.clone(),
    };
    begin(world, &of.job_type, outcome);
}

/// Jobs are found by search and finished by key: on a shared server, jobs of others are left alone.
fn begin(world: &mut World, job_type: &str, outcome: Outcome) {
    let (search, job_type) = (world.search(), job_type.to_string());
    let trouble = std::sync::Arc::clone(&world.trouble);
    world.workers.spawn(async move {
        let mut seen = BTreeSet::new();
        loop {
            if let Err(why) = round(&search, &job_type, &outcome, &mut seen).await {
                trouble
                    .lock()
                    .push(format!("the mocked worker of '{job_type}': {why:#}"));
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
}

async fn round(
    search: &Search,
    job_type: &str,
    outcome: &Outcome,
    seen: &mut BTreeSet<String>,
) -> anyhow::Result<()> {
    let mut filter = Map::new();
    filter.insert("type".into(), job_type.into());
    for job in jobs::open(search, filter).await? {
        // Keyed with its retries: a job that has failed since may be handled again.
        if !seen.insert(format!(
            "{}/{}",
            word(&job, "jobKey"),
            word(&job, "retries")
        )) {
            continue;
        }
        match finish(search, &job, outcome).await {
            // The job is done already, or gone.
            Err(why) if ["NOT_FOUND", "FAILED_PRECONDITION"].contains(&code_of(&why)) => {}
            result => result?,
        }
    }
    Ok(())
}

async fn finish(search: &Search, job: &Value, outcome: &Outcome) -> anyhow::Result<()> {
    let key = word(job, "jobKey");
    let (what, body) = match outcome {
        Outcome::Complete(variables) => (
            "completion",
            Body::default().with_some("variables", variables.as_ref()),
        ),
        Outcome::Example => {
            let variables = examples::of(&search.rest, job).await?;
            ("completion", Body::default().with("variables", variables))
        }
        Outcome::Throw {
            code,
            message,
            variables,
        } => (
            "error",
            Body::default()
                .with("errorCode", code)
                .with_some("errorMessage", message.as_ref())
                .with_some("variables", variables.as_ref()),
        ),
    };
    search
        .rest
        .post(&format!("jobs/{key}/{what}"), body)
        .await?;
    Ok(())
}
