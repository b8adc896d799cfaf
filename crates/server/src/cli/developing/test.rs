//! `skep test FILE`: runs process tests, the scenarios in JSON files that Camunda's process-test library also runs.

mod act;
mod assert;
mod document;
mod examples;
#[cfg(test)]
mod facts;
mod files;
mod found;
mod instruction;
mod jobs;
mod mock;
mod report;
mod selector;
mod step;
mod value;
mod wait;
mod worker;
mod world;

use std::path::PathBuf;
use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use skep_client::Resource;

use self::document::{TestCase, TestFile};
use self::report::{Failure, FileOutcome, Outcome};
use self::wait::Wrong;
use self::world::{Clock, World};
use crate::cli::dev::server::Server;
use crate::cli::rest::RestArgs;
use crate::cli::{Usage, colour, deploy, given};
use crate::errors::Coded;

/// The setting that allows moving the server's clock.
const CLOCK: &str = "camunda.system.clock-controlled=true";
/// Time limit of a test case.
const CASE: Duration = Duration::from_secs(600);

#[derive(Args)]
pub struct TestArgs {
    /// Files with test cases, or directories: all .json files below them.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Further resources to deploy, in addition to the BPMN, DMN, form and RPA files next to the test cases: a file, or all such files
    /// below a directory; may be given several times.
    #[arg(long, value_name = "FILE")]
    resources: Vec<PathBuf>,
    /// Run only the test cases with this text in their names.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Maximum time to wait for what an instruction expects or needs.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = given::time)]
    timeout: Duration,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Address of a server to run on, instead of a new one for each test case. It is not taken from a profile or SKEP_ADDRESS.
    #[arg(long, visible_alias = "server", value_name = "URL")]
    address: Option<String>,
}

impl TestArgs {
    /// Whether the command starts a server of its own.
    pub fn starts_server(&self) -> bool {
        self.address.is_none()
    }
}

pub async fn run(args: TestArgs) -> anyhow::Result<()> {
    let mut files = files::test_files(&args.paths)?;
    if let Some(text) = &args.filter {
        for file in &mut files {
            file.cases.retain(|case| case.name.contains(text));
        }
    }
    files.retain(|file| !file.cases.is_empty());
    if files.is_empty() {
        let text = match &args.filter {
            Some(text) => format!("no test case in these files has '{text}' in its name"),
            None => "there are no test cases in these files".to_string(),
        };
        return Err(Usage(text).into());
    }
    let began = Instant::now();
    let mut outcomes = Vec::new();
    run_all(&args, &files, &mut outcomes).await?;
    let (passed, failed) = report::counts(&outcomes);
    if args.json {
        crate::cli::print(&format!("{:#}\n", report::json(&outcomes)))?
    } else {
        crate::cli::print(&format!(
            "{passed} passed, {failed} failed ({:.2} s)\n",
            began.elapsed().as_secs_f64()
        ))?
    }
    match failed {
        0 => Ok(()),
        _ => {
            let text = format!("{failed} of {} test cases failed", passed + failed);
            Err(Coded::new("FAILED", text).into())
        }
    }
}

async fn run_all(
    args: &TestArgs,
    files: &[TestFile],
    outcomes: &mut Vec<FileOutcome>,
) -> anyhow::Result<()> {
    let coloured = colour::wanted(&std::io::stdout());
    let mut end = std::pin::pin!(crate::cli::interrupted());
    for file in files {
        let name = file.path.display().to_string();
        let paths = files::resources(&file.path, &args.resources)?;
        let resources = deploy::resources(&paths)?;
        if !args.json {
            crate::cli::print(&format!("{name}\n"))?;
        }
        let mut cases = Vec::new();
        for case in &file.cases {
            let outcome = run_case(args, case, &resources, end.as_mut()).await;
            let outcome = outcome.with_context(|| format!("{name}, test case '{}'", case.name))?;
            if !args.json {
                crate::cli::print(&report::text(&outcome, coloured))?;
            }
            cases.push(outcome);
        }
        outcomes.push(FileOutcome { file: name, cases });
    }
    Ok(())
}

/// Runs a test case on a server of its own, or isolated from other data on the given server.
async fn run_case(
    args: &TestArgs,
    case: &TestCase,
    resources: &[Resource],
    end: Pin<&mut impl Future<Output = ()>>,
) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    let rest = |address: &str| RestArgs {
        json: false,
        address: address.to_string(),
    };
    // Ends with the case.
    let mut own = None;
    let mut world = match &args.address {
        Some(address) => World::new(rest(address), args.timeout, Clock::Pinned(None)),
        None => {
            let server = Server::start([0, 0, 0], "error", &[CLOCK])?;
            let server = own.insert(server);
            let clock = Clock::Own(server.management.clone());
            World::new(rest(&server.rest), args.timeout, clock)
        }
    };
    if !resources.is_empty() {
        let client = world.rest.client().await?;
        deploy::deploy(&client, resources, None).await?;
    }
    if own.is_none()
        && let Err(why) = world.begin().await
    {
        world.clean().await?;
        return Err(why);
    }
    // On interruption, a server shared with others is cleaned up as well.
    let done = tokio::select! {
        () = end => None,
        failure = run_instructions(&mut world, case, CASE) => Some(failure),
    };
    match &mut own {
        Some(server) if done.is_some() => server.still_runs()?,
        Some(_) => {}
        None => world.clean().await?,
    }
    let Some(failure) = done else {
        bail!("interrupted");
    };
    Ok(Outcome {
        name: case.name.clone(),
        took: began.elapsed(),
        failure,
    })
}

/// `None`: everything was as the case expects. Takes no longer than `limit`.
async fn run_instructions(world: &mut World, case: &TestCase, limit: Duration) -> Option<Failure> {
    let end = tokio::time::Instant::now() + limit;
    for (index, placed) in case.instructions.iter().enumerate() {
        let done = step::carry_out(world, &placed.instruction);
        let mut result = match tokio::time::timeout_at(end, done).await {
            Ok(result) => result,
            Err(_) => Err(Wrong::Refused(format!(
                "the test case has taken longer than {} s",
                limit.as_secs()
            ))),
        };
        // The test case did not ask for the failure of a mocked worker, so it counts as an error.
        let trouble = world.trouble.lock().first().cloned();
        if let (Ok(()), Some(trouble)) = (&result, trouble) {
            result = Err(Wrong::Refused(trouble));
        }
        if let Err(wrong) = result {
            return Some(Failure {
                number: index + 1,
                count: case.instructions.len(),
                line: placed.line,
                instruction: placed.instruction.name(),
                wrong,
                state: found::describe(world).await,
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_test_case_does_not_wait_beyond_its_limit() {
        // Accepts connections but never answers.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let rest = RestArgs {
            json: false,
            address: format!("http://{}", silent.local_addr().unwrap()),
        };
        let mut world = World::new(rest, Duration::from_secs(3600), Clock::Pinned(None));
        let text = r#"{"testCases": [{"name": "slow", "instructions": [
            {"type": "PUBLISH_MESSAGE", "name": "paid", "correlationKey": "1"}]}]}"#;
        let file = document::read(Path::new("slow.json"), text).unwrap();
        let limit = Duration::from_secs(1);
        let failure = run_instructions(&mut world, &file.cases[0], limit).await;
        match failure.map(|failure| failure.wrong) {
            Some(Wrong::Refused(why)) => {
                assert_eq!(why, "the test case has taken longer than 1 s");
            }
            other => panic!("{}", other.is_none()),
        }
    }
}
