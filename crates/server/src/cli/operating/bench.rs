//! `skep bench`: compares this build with another one under the same load.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use skep_chaos::bench::{self, Options};
use skep_chaos::judge::NOT_RUN;
use skep_load::LoadArgs;
use skep_load::args::{HttpArg, TransportArg, duration};

use crate::cli::Usage;

#[derive(Args)]
pub struct BenchArgs {
    /// Program to compare with: another build of skep.
    #[arg(long, value_name = "OTHER_BINARY")]
    against: PathBuf,
    /// Program that is judged [default: this one].
    #[arg(long, value_name = "BINARY")]
    build: Option<PathBuf>,
    /// Number of turns of each program.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    /// Duration of the measurement in each turn, for example 4s.
    #[arg(long, default_value = "4s", value_name = "TIME", value_parser = duration)]
    duration: Duration,
    /// Duration of the warm-up before each measurement.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = duration)]
    warmup: Duration,
    /// Number of instances in progress at any time.
    #[arg(long, default_value_t = 300, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    concurrency: u32,
    /// Interface that the load uses.
    #[arg(long, value_enum, default_value = "rest")]
    transport: TransportArg,
    /// HTTP version of REST.
    #[arg(long, value_enum, default_value = "2")]
    http: HttpArg,
    /// Setting of both servers.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Directory for the data of the servers; it is deleted afterwards. On /dev/shm a flush costs nothing [default: one below this
    /// directory].
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Judge even if the machine has other work.
    #[arg(long)]
    noisy: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn setting(text: &str) -> anyhow::Result<(String, String)> {
    let pair = text.split_once('=');
    let (name, value) = pair.with_context(|| format!("{text:?} is not NAME=VALUE"))?;
    Ok((name.into(), value.into()))
}

pub fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe().context("the path of this program")?;
    let this = args.build.clone().unwrap_or_else(|| own.clone());
    for build in [&this, &args.against] {
        if !build.is_file() {
            return Err(Usage(format!("{} is not a program", build.display())).into());
        }
    }
    let name = format!("skep-bench-{}", std::process::id());
    let options = Options {
        this: this.canonicalize()?,
        other: args.against.canonicalize()?,
        pairs: args.pairs,
        settings: args.settings.into_iter().collect(),
        load: LoadArgs {
            transport: args.transport,
            http: args.http,
            concurrency: args.concurrency,
            duration: args.duration,
            warmup: args.warmup,
            ..LoadArgs::default()
        },
        guard: vec![own.display().to_string(), "chaos".into(), "guard".into()],
        directory: args.directory.unwrap_or_default().join(name),
        noisy: args.noisy,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let show = |line: &str| complain!("{line}");
    let compared = runtime.block_on(async {
        tokio::select! {
            compared = bench::run(&options, &show) => compared,
            // The guard undoes the rest, now that its input ends.
            () = crate::cli::interrupted() => anyhow::bail!("interrupted; nothing was judged"),
        }
    });
    let compared = match compared {
        Ok(compared) => compared,
        // A build that was not measured is not slower.
        Err(why) => {
            let _ = crate::cli::report(&why);
            return Ok(ExitCode::from(NOT_RUN));
        }
    };
    let text = if args.json {
        compared.to_json()?
    } else {
        compared.to_text()
    };
    crate::cli::print(&text)?;
    Ok(ExitCode::from(compared.verdicts.verdict.exit_code()))
}
