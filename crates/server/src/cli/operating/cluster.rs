//! `skep cluster`: changes the nodes of a cluster.

mod apply;
mod prepare;
mod shape;

use std::time::Duration;

use clap::{Args, Subcommand};

pub use apply::refusal;

#[derive(Args)]
pub struct ClusterArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Change the cluster to a number of nodes, partitions and copies; does nothing if it already has them.
    Apply(apply::ApplyArgs),
    /// Pause processing and exporting on all nodes and store a snapshot of each: before an upgrade that replaces all nodes at once.
    PrepareUpgrade(prepare::NodesArgs),
    /// End the pause of `prepare-upgrade`.
    Resume(prepare::ResumeArgs),
    /// Spread leaders evenly over the nodes now, without waiting for the automatic rebalancing.
    Rebalance(RebalanceArgs),
}

/// How the cluster is reached.
#[derive(Args, Clone, Debug)]
pub struct ManagementArgs {
    /// Address of the management port of any node.
    #[arg(
        long,
        env = "SKEP_MANAGEMENT_ADDRESS",
        default_value = "http://localhost:9600",
        value_name = "URL"
    )]
    pub management: String,
}

#[derive(Args)]
pub struct RebalanceArgs {
    #[command(flatten)]
    server: ManagementArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: ClusterArgs) -> anyhow::Result<()> {
    match args.command {
        Command::Apply(args) => apply::run(args).await,
        Command::PrepareUpgrade(args) => prepare::prepare(args).await,
        Command::Resume(args) => prepare::resume(args).await,
        Command::Rebalance(args) => rebalance(args).await,
    }
}

/// `skep cluster rebalance`, and `skep rebalance`.
pub async fn rebalance(args: RebalanceArgs) -> anyhow::Result<()> {
    let management = &args.server.management;
    let path = "/actuator/rebalance";
    let timeout = Duration::from_secs(20);
    let answer = crate::cli::fetch::post(management, path, String::new(), timeout).await?;
    if !answer.0.is_success() {
        return Err(refusal(management, answer.0, &answer.1));
    }
    if args.json {
        let done = serde_json::json!({ "state": "REBALANCING" });
        return crate::cli::print(&format!("{done:#}\n"));
    }
    crate::cli::print("Spreading leaders evenly over the available nodes.\n")
}
