//! `skep profile`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::cluster::refusal;

#[derive(Args)]
pub struct ProfileArgs {
    /// Duration of the recording, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=300))]
    seconds: u64,
    /// File for the flame graph, which a browser can open.
    #[arg(long, default_value = "profile.svg", value_name = "FILE")]
    output: PathBuf,
    /// Address of the server's management port.
    #[arg(
        long,
        env = "SKEP_MANAGEMENT_ADDRESS",
        default_value = "http://localhost:9600",
        value_name = "URL"
    )]
    management: String,
}

pub async fn run(args: ProfileArgs) -> anyhow::Result<()> {
    complain!("Recording for {} s …", args.seconds);
    let path = format!("/debug/pprof/flamegraph?seconds={}", args.seconds);
    let timeout = Duration::from_secs(args.seconds + 60);
    let (status, body) = super::fetch::get(&args.management, &path, timeout).await?;
    if !status.is_success() {
        return Err(refusal(&args.management, status, &body));
    }
    std::fs::write(&args.output, &body)
        .with_context(|| format!("{} cannot be written", args.output.display()))?;
    super::print(&format!("{}\n", args.output.display()))
}
