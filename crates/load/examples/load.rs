//! The load generator on its own: `cargo run --release -p skep-load --example load -- --help`.

use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: skep_load::LoadArgs,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let report = skep_load::run(Cli::parse().args).await?;
    println!("{}", report.to_text());
    Ok(())
}
