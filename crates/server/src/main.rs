//! The `skep` binary: one command line for the server and its tools.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod args;
mod cli;
mod config;
#[cfg(test)]
mod documented_metrics;
mod errors;
mod expiry;
mod exposure;
mod identity;
mod interface;
mod logs;
mod management;
mod node_metrics;
mod notify;
mod otlp;
mod process;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The default allocator of the platform keeps freed memory per thread; mimalloc is quicker and gives it back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// BPMN process orchestration, compatible with Camunda 8 clients.
#[derive(Parser)]
#[command(
    name = "skep",
    version,
    after_help = "First steps:\n  skep serve\n  skep deploy examples/first-process.bpmn\n  skep start order --variables '{\"orderId\": \"o-1\", \"amount\": 99}'\n  skep status\n\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration."
)]
struct Cli {
    /// With an address of https: file of the authorities that are believed, in PEM format. Default: those that the machine trusts.
    #[arg(
        long,
        global = true,
        env = "CAMUNDA_CA_CERTIFICATE_PATH",
        value_name = "FILE"
    )]
    ca_certificate: Option<PathBuf>,
    #[command(flatten)]
    login: cli::login::LoginArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a server: REST on 8080, gRPC on 26500, management on 9600, all data in one directory.
    Serve(Box<serve::ServeArgs>),
    /// Deploy BPMN files: all of them, or none when one has an error.
    Deploy(cli::deploy::DeployArgs),
    /// Start an instance of a process.
    Start(cli::start::StartArgs),
    /// Show nodes, partitions and their health.
    Status(cli::status::StatusArgs),
    /// Change which nodes a cluster has.
    Cluster(cli::cluster::ClusterArgs),
    /// Take, list, check and delete backups of the whole cluster.
    Backup(Box<cli::backup::BackupArgs>),
    /// Make the data directory of this node from a backup, before the node starts.
    Restore(Box<cli::restore::RestoreArgs>),
    /// List open incidents with their keys.
    Incidents(cli::incidents::IncidentsArgs),
    /// List open jobs, the oldest first.
    Jobs(cli::jobs::JobsArgs),
    /// List open user tasks, the oldest first.
    Tasks(cli::tasks::TasksArgs),
    /// List process instances, the newest first.
    Instances(cli::instances::InstancesArgs),
    /// Show one process instance: what happened, where it stands, why it waits.
    Instance(cli::instance::InstanceArgs),
    /// List batch operations, or show, suspend, resume or cancel one.
    Batch(cli::batch::BatchArgs),
    /// Put load on a server and report what a user of it would have seen.
    Load(Box<skep_load::LoadArgs>),
    /// Evaluate a FEEL expression.
    Feel(cli::feel::FeelArgs),
    /// Print the records of a data directory as JSON lines, also while a server runs on it.
    Log(cli::log::LogArgs),
    /// Record a CPU flame graph of a running server.
    Profile(cli::profile::ProfileArgs),
    /// Say what an error code means and what to do.
    Explain(cli::explain::ExplainArgs),
    /// Print every setting with its value and where it comes from.
    Config(Box<cli::config::ConfigCommand>),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    cli::fetch::believe(cli.ca_certificate);
    cli::login::chosen(cli.login);
    let result = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Deploy(args) => cli::block_on(cli::deploy::run(args)),
        Command::Start(args) => cli::block_on(cli::start::run(args)),
        Command::Status(args) => cli::block_on(cli::status::run(args)),
        Command::Cluster(args) => cli::block_on(cli::cluster::run(args)),
        Command::Backup(args) => cli::backup::run(*args),
        Command::Restore(args) => cli::restore::run(&args),
        Command::Incidents(args) => cli::block_on(cli::incidents::run(args)),
        Command::Jobs(args) => cli::block_on(cli::jobs::run(args)),
        Command::Tasks(args) => cli::block_on(cli::tasks::run(args)),
        Command::Instances(args) => cli::block_on(cli::instances::run(args)),
        Command::Instance(args) => cli::block_on(cli::instance::run(args)),
        Command::Batch(args) => cli::block_on(cli::batch::run(args)),
        Command::Load(args) => cli::load(*args),
        Command::Feel(args) => cli::feel::run(&args),
        Command::Log(args) => cli::log::run(&args),
        Command::Profile(args) => cli::block_on(cli::profile::run(args)),
        Command::Explain(args) => cli::explain::run(&args),
        Command::Config(args) => cli::config::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => cli::report(&error),
    }
}
