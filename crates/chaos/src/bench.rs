//! Compares two builds: in turn, each gets the same load on this machine, and the ratio of their figures is judged.
//!
//! The builds take turns A B B A, so that a machine that becomes slower affects both alike. Each turn is a separate process with its own
//! empty directory; as everywhere here, the guard ends it if the run cannot.

mod figures;
mod judge;
mod text;
mod turn;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use skep_load::LoadArgs;

use crate::drivers::SharedGuard;
use crate::guard::Guard;
pub use crate::judge::Interval;
use crate::probes::{Machine, calibrate};
pub use figures::{Figures, Pair};
pub use judge::{Verdict, Verdicts};

/// Version of the `--json` output.
const SCHEMA: u32 = 1;
/// Time for which the machine is observed before each pair.
const LOOK: Duration = Duration::from_millis(300);

/// The builds to compare, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The `skep` to judge, and the one to judge it against.
    pub this: PathBuf,
    pub other: PathBuf,
    pub pairs: u32,
    /// Settings of both servers, by the names of docs/configuration.md.
    pub settings: BTreeMap<String, String>,
    /// Arguments of each turn; addresses and process are filled in.
    pub load: LoadArgs,
    /// The command that calls [`crate::guard::serve`]; its time limit in seconds is appended.
    pub guard: Vec<String>,
    /// Directory for the builds' data while they run. It is deleted.
    pub directory: PathBuf,
    /// Judge even if the machine has other work.
    pub noisy: bool,
}

/// Result of the comparison.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Comparison {
    schema: u32,
    /// Version texts of the builds.
    pub this: String,
    pub other: String,
    pub seconds: f64,
    pub concurrency: u32,
    /// REST over HTTP/1.1 or HTTP/2, or gRPC.
    pub interface: String,
    pub cores: usize,
    /// Share of idle CPU time before a pair, median.
    pub idle: f64,
    /// Why the machine was not quiet, if it was not.
    pub noise: Option<String>,
    /// Whether it was judged nevertheless.
    pub noisy_is_fine: bool,
    pub pairs: Vec<Pair>,
    #[serde(flatten)]
    pub verdicts: Verdicts,
}

/// Compares both builds; `show` is informed of each pair. Leaves nothing behind.
///
/// # Errors
/// A build that does not start or does not complete a single instance, a directory that is not available.
pub async fn run(options: &Options, show: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Comparison> {
    let directory = options.directory.as_path();
    let named = || format!("the directory {}", directory.display());
    std::fs::create_dir_all(directory).with_context(named)?;
    let guard = start_guard(options)?;
    let compared = compare(options, &guard, show).await;
    let guarded = guard.clone();
    let undone = tokio::task::spawn_blocking(move || guarded.with(Guard::end)).await?;
    // Even after a failure: the error contains the log.
    let removed = std::fs::remove_dir_all(directory).with_context(named);
    let comparison = compared?;
    undone.context("undoing what the comparison did")?;
    removed?;
    Ok(comparison)
}

fn start_guard(options: &Options) -> anyhow::Result<SharedGuard> {
    let load = &options.load;
    let turn = load.warmup + load.duration + load.drain + turn::START + turn::END;
    let seconds = (turn * 2 * options.pairs).as_secs() + 600;
    let mut command = options.guard.clone();
    command.push(seconds.to_string());
    let guard = Guard::start(&command).context("starting the guard process")?;
    Ok(SharedGuard::new(guard))
}

async fn compare(
    options: &Options,
    guard: &SharedGuard,
    show: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Comparison> {
    let (this, other) = (version(&options.this)?, version(&options.other)?);
    let directory = options.directory.clone();
    let calibration = tokio::task::spawn_blocking(move || calibrate(&directory)).await??;
    let (mut pairs, mut looks) = (Vec::new(), Vec::new());
    for number in 0..options.pairs {
        let mut machine = Machine::default();
        machine.idle();
        tokio::time::sleep(LOOK).await;
        // A machine that reports nothing is not known to be quiet.
        looks.push(machine.idle().unwrap_or(0.0));
        let turn = |build: &PathBuf| turn::take(build.clone(), options, guard.clone());
        let pair = if number % 2 == 0 {
            let this = turn(&options.this).await?;
            let other = turn(&options.other).await?;
            Pair { this, other }
        } else {
            let other = turn(&options.other).await?;
            let this = turn(&options.this).await?;
            Pair { this, other }
        };
        show(&format!(
            "pair {:>2} of {}: {:.0} ÷ {:.0} instances/s = {:.3}",
            number + 1,
            options.pairs,
            pair.this.throughput,
            pair.other.throughput,
            pair.this.throughput / pair.other.throughput
        ));
        pairs.push(pair);
    }
    let idle = crate::judge::median(&looks).unwrap_or(0.0);
    let noise = calibration.noise_with(idle);
    let counts = noise.clone().filter(|_| !options.noisy);
    Ok(Comparison {
        schema: SCHEMA,
        this,
        other,
        seconds: options.load.duration.as_secs_f64(),
        concurrency: options.load.concurrency,
        interface: turn::interface(&options.load),
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        idle,
        verdicts: Verdicts::of(&pairs, counts),
        noise,
        noisy_is_fine: options.noisy,
        pairs,
    })
}

/// The version text of a build.
fn version(build: &PathBuf) -> anyhow::Result<String> {
    let named = || build.display().to_string();
    let said = std::process::Command::new(build).arg("--version").output();
    let said = said.with_context(named)?;
    anyhow::ensure!(
        said.status.success(),
        "{} --version fails: {}",
        build.display(),
        String::from_utf8_lossy(&said.stderr).trim()
    );
    let text = String::from_utf8_lossy(&said.stdout);
    let line = text.lines().next().unwrap_or_default();
    Ok(format!("{line} ({})", build.display()))
}
