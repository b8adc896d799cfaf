//! The `skep` binary: one command line for the server and its tools.

mod management;
mod serve;

use clap::{Parser, Subcommand};

/// The default allocator of the platform keeps freed memory per thread; mimalloc is quicker and gives it back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "skep", version, about = "BPMN process orchestration, compatible with Camunda 8 clients")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a server: REST on 8080, gRPC on 26500, management on 9600, all data in one directory.
    Serve(serve::ServeArgs),
    /// Put load on a server and report what a user of it would have seen.
    Load(Box<skep_load::LoadArgs>),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Serve(args) => serve::run(args),
        Command::Load(args) => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(args.threads.max(1) as usize)
                .enable_all()
                .build()?;
            let report = runtime.block_on(skep_load::run(*args))?;
            println!("{}", report.to_text());
            Ok(())
        }
    }
}
