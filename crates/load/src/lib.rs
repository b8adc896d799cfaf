//! The load generator behind `skep load`.
//!
//! It starts instances of a process and works their jobs, over REST or gRPC or both in turn, and
//! says what a user of the server would have seen.
//!
//! * **Open loop** (`--rate`): starts are due at fixed times whatever the server does, and latency
//!   counts from the time a start was due, not from when it could be sent. A server that stalls
//!   therefore shows the stall in every start that fell into it (no coordinated omission). The rate
//!   is constant, or changes during the measurement as a ramp or in steps.
//! * **Closed loop** (`--concurrency`): that many instances are under way at any time; the next
//!   starts when one has completed.
//! * An instance counts as **completed** when the completion of its last job was acknowledged (or,
//!   with `--await-completion`, when the creation was answered with the result).
//!
//! # Limits
//! Open instances are tracked up to [`ledger::MAX_OPEN`]; job keys are remembered for duplicates up to
//! [`ledger::MAX_SEEN`]; one sample per second is kept, at most [`drive::MAX_SAMPLES`].

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod args;
pub mod drive;
pub mod ledger;
pub mod pace;
pub mod process;
pub mod progress;
pub mod rate;
pub mod report;
pub mod scenario;
pub mod server;

pub use args::LoadArgs;
pub use drive::{Clients, Live, Running, Wire};
pub use report::Report;

/// Runs a load as `args` say; writes the JSON and HTML reports that they name.
/// Prints nothing but live progress on standard error: print [`Report::to_text`] for the summary.
///
/// # Errors
/// Contradicting arguments, a server that cannot be reached, a process that cannot be deployed, a
/// report that cannot be written. Refusals during the run are results, not errors.
pub async fn run(args: LoadArgs) -> anyhow::Result<Report> {
    use anyhow::Context as _;

    let report = drive::run(&args).await?;
    if let Some(path) = &args.json {
        let json = serde_json::to_vec_pretty(&report)?;
        std::fs::write(path, json).with_context(|| format!("writing {}", path.display()))?;
    }
    if let Some(path) = &args.html {
        std::fs::write(path, report.to_html())
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(report)
}
