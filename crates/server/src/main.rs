//! The `skep` binary: one command line for the server and its tools.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

/// Prints a line to standard error. A reader that has gone away (`skep status 2>&1 | head`) is no failure: `eprintln!` would panic.
macro_rules! complain {
    ($($text:tt)*) => {
        crate::cli::complain(format_args!($($text)*))
    };
}

mod agreement;
mod args;
mod backup_directory;
mod cli;
mod config;
mod control_group;
#[cfg(test)]
mod documented_metrics;
mod errors;
mod expiry;
mod exposure;
mod identity;
mod interface;
mod lease;
mod logs;
mod management;
mod memory;
mod monitor;
mod node_metrics;
mod notify;
mod otlp;
mod process;
mod serve;
mod throttling;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// The platform's default allocator keeps freed memory per thread; mimalloc is faster and returns it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// BPMN process orchestration, compatible with Camunda 8 clients.
#[derive(Parser)]
#[command(
    name = "skep",
    version,
    after_help = "First steps:\n  skep serve\n  skep deploy examples/first-process.bpmn\n  skep start order --var orderId=o-1 --var amount=99\n  skep status\n\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration."
)]
struct Cli {
    /// PEM file with the authorities to trust for https addresses. Default: those that the machine trusts.
    #[arg(
        long,
        global = true,
        env = "CAMUNDA_CA_CERTIFICATE_PATH",
        value_name = "FILE",
        help_heading = cli::login::HEADING
    )]
    ca_certificate: Option<PathBuf>,
    /// Name of a profile in profiles.yaml, in the directory skep of the user's configuration: address, login and more of a server.
    #[arg(
        long = "profile",
        global = true,
        env = "SKEP_PROFILE",
        value_name = "NAME",
        help_heading = cli::login::HEADING
    )]
    _profile: Option<String>,
    #[command(flatten)]
    login: cli::login::LoginArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a server: REST on 8080, gRPC on 26500, management on 9600, all data in one directory.
    Serve(Box<serve::ServeArgs>),
    /// Write an example process and a worker for it.
    Init(cli::init::InitArgs),
    /// Start a development server that keeps no data, deploys changed files of a directory, and prints what happens.
    Dev(cli::dev::DevArgs),
    /// Run process tests: test cases in JSON files, each on a server that keeps no data.
    Test(cli::test::TestArgs),
    /// Check BPMN and other files for errors, without a server.
    Check(cli::check::CheckArgs),
    /// Work on jobs with a shell command, or complete them.
    Worker(cli::worker::WorkerArgs),
    /// Deploy BPMN files: all of them, or none if one has an error.
    Deploy(cli::deploy::DeployArgs),
    /// Start an instance of a process.
    Start(cli::start::StartArgs),
    /// Deploy files, start an instance, and follow it until it ends or gets stuck.
    Run(cli::run::RunArgs),
    /// List deployed processes with their numbers of running instances.
    Processes(cli::processes::ProcessesArgs),
    /// Cancel process instances.
    Cancel(cli::cancel::CancelArgs),
    /// Resolve incidents after fixing their cause.
    Resolve(cli::resolve::ResolveArgs),
    /// Complete a job or a user task.
    Complete(cli::complete::CompleteArgs),
    /// Fail a job, or throw a BPMN error from it.
    Fail(cli::fail::FailArgs),
    /// Publish a message.
    Publish(cli::publish::PublishArgs),
    /// Broadcast a signal.
    Signal(cli::signal::SignalArgs),
    /// Set variables of a process instance or an element instance.
    Set(cli::set::SetArgs),
    /// Activate, terminate or move elements of a running process instance.
    Modify(cli::modify::ModifyArgs),
    /// Migrate running process instances to another definition.
    Migrate(cli::migrate::MigrateArgs),
    /// Evaluate a decision.
    Evaluate(cli::evaluate::EvaluateArgs),
    /// Delete deployed resources, or the history of ended process instances.
    Delete(cli::delete::DeleteArgs),
    /// Show nodes, partitions and their health.
    Status(cli::status::StatusArgs),
    /// Change the nodes of a cluster.
    Cluster(cli::cluster::ClusterArgs),
    /// Spread leaders evenly over the nodes now: the same as `skep cluster rebalance`.
    Rebalance(cli::cluster::RebalanceArgs),
    /// Take, list, check and delete backups of the whole cluster.
    Backup(Box<cli::backup::BackupArgs>),
    /// Restore the data directory of this node from a backup, before the node starts.
    Restore(Box<cli::restore::RestoreArgs>),
    /// List open incidents with their keys.
    Incidents(cli::incidents::IncidentsArgs),
    /// List open jobs, the oldest first.
    Jobs(cli::jobs::JobsArgs),
    /// List open user tasks, the oldest first.
    Tasks(cli::tasks::TasksArgs),
    /// List process instances, the newest first.
    Instances(cli::instances::InstancesArgs),
    /// Show one process instance: its elements, its state, and what it waits for.
    Instance(cli::instance::InstanceArgs),
    /// List batch operations, show or change one, or start one for many process instances.
    Batch(Box<cli::batch::BatchArgs>),
    /// Put load on a server and report the performance that its users would see.
    Load(Box<skep_load::LoadArgs>),
    /// Inject faults into a cluster and judge a hypothesis: HELD, REFUTED (exit code 1) or NOT RUN (3).
    Chaos(Box<cli::chaos::ChaosArgs>),
    /// Compare the performance of this build with another one: HELD, REFUTED (slower: exit code 1) or NOT RUN (3).
    Bench(Box<cli::bench::BenchArgs>),
    /// Evaluate a FEEL expression.
    Feel(cli::feel::FeelArgs),
    /// Print the records of a data directory as JSON lines, even while a server uses it.
    Log(cli::log::LogArgs),
    /// Record a CPU flame graph of a running server.
    Profile(cli::profile::ProfileArgs),
    /// Explain an error code and what to do about it.
    Explain(cli::explain::ExplainArgs),
    /// Print the completion script for a shell.
    Completion(cli::completion::CompletionArgs),
    /// Print every setting with its value and its source.
    Config(Box<cli::config::ConfigCommand>),
}

fn main() -> ExitCode {
    let command = match cli::profiles::applied(Cli::command()) {
        Ok(command) => command,
        Err(why) => return cli::report(&why.into()),
    };
    let cli = Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|why| why.exit());
    cli::fetch::believe(cli.ca_certificate);
    // A server that a command starts for itself needs no login.
    if !matches!(&cli.command, Command::Test(args) if args.starts_server()) {
        cli::login::chosen(cli.login);
    }
    let result = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Init(args) => cli::init::run(&args),
        Command::Dev(args) => cli::block_on(cli::dev::run(args)),
        Command::Test(args) => cli::block_on(cli::test::run(args)),
        Command::Check(args) => cli::check::run(&args),
        Command::Worker(args) => cli::block_on(cli::worker::run(args)),
        Command::Deploy(args) => cli::block_on(cli::deploy::run(args)),
        Command::Start(args) => cli::block_on(cli::start::run(args)),
        Command::Run(args) => cli::block_on(cli::run::run(args)),
        Command::Processes(args) => cli::block_on(cli::processes::run(args)),
        Command::Cancel(args) => cli::block_on(cli::cancel::run(args)),
        Command::Resolve(args) => cli::block_on(cli::resolve::run(args)),
        Command::Complete(args) => cli::block_on(cli::complete::run(args)),
        Command::Fail(args) => cli::block_on(cli::fail::run(args)),
        Command::Publish(args) => cli::block_on(cli::publish::run(args)),
        Command::Signal(args) => cli::block_on(cli::signal::run(args)),
        Command::Set(args) => cli::block_on(cli::set::run(args)),
        Command::Modify(args) => cli::block_on(cli::modify::run(args)),
        Command::Migrate(args) => cli::block_on(cli::migrate::run(args)),
        Command::Evaluate(args) => cli::block_on(cli::evaluate::run(args)),
        Command::Delete(args) => cli::block_on(cli::delete::run(args)),
        Command::Status(args) => cli::block_on(cli::status::run(args)),
        Command::Cluster(args) => cli::block_on(cli::cluster::run(args)),
        Command::Rebalance(args) => cli::block_on(cli::cluster::rebalance(args)),
        Command::Backup(args) => cli::backup::run(*args),
        Command::Restore(args) => cli::restore::run(&args),
        Command::Incidents(args) => cli::block_on(cli::incidents::run(args)),
        Command::Jobs(args) => cli::block_on(cli::jobs::run(args)),
        Command::Tasks(args) => cli::block_on(cli::tasks::run(args)),
        Command::Instances(args) => cli::block_on(cli::instances::run(args)),
        Command::Instance(args) => cli::block_on(cli::instance::run(args)),
        Command::Batch(args) => cli::block_on(cli::batch::run(*args)),
        Command::Load(args) => cli::load(*args),
        Command::Chaos(args) => match cli::chaos::run(*args) {
            Ok(code) => return code,
            Err(why) => Err(why),
        },
        Command::Bench(args) => match cli::bench::run(*args) {
            Ok(code) => return code,
            Err(why) => Err(why),
        },
        Command::Feel(args) => cli::feel::run(&args),
        Command::Log(args) => cli::log::run(&args),
        Command::Profile(args) => cli::block_on(cli::profile::run(args)),
        Command::Explain(args) => cli::explain::run(&args),
        Command::Completion(args) => cli::completion::run(&args, Cli::command()),
        Command::Config(args) => cli::config::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => cli::report(&error),
    }
}
