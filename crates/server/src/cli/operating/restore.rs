//! `skep restore`: the data directory of a node from a backup.

use clap::Args;
use skep_backup::Reader;
use skep_broker::backup::restore::{self, Plan, RestoreError};

use crate::args::ConfigArgs;
use crate::cli::backup::{place, size};
use crate::cli::{Usage, print};
use crate::errors::Coded;

#[derive(Args)]
pub struct RestoreArgs {
    /// The id of the backup.
    #[arg(long, value_name = "ID")]
    backup: u64,
    /// Say what would be restored, and do nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &RestoreArgs) -> anyhow::Result<()> {
    let (place, loaded) = place(&args.config)?;
    let config = loaded.settings.broker_config();
    let failed = |error: &dyn std::fmt::Display| Coded::new("BACKUP_FAILED", error.to_string());
    let reader = Reader::open(&place, args.backup).map_err(|error| failed(&error))?;
    let outcome = if args.dry_run {
        restore::plan(&config, &reader)
    } else {
        restore::run(&config, &reader, &mut |what| eprintln!("restoring {what}"))
    };
    let plan = match outcome {
        Ok(plan) => plan,
        Err(RestoreError::Refused(reason)) => return Err(Usage(reason).into()),
        Err(RestoreError::Directory(error)) => return Err(error.into()),
        Err(error) => return Err(failed(&error).into()),
    };
    let did = if args.dry_run { "would get" } else { "has" };
    let directory = config.directory.display();
    let mut text = format!("{directory} {did} {}.\n", what(&plan, &reader));
    if !args.dry_run {
        text.push_str(match plan.first.nodes.len() {
            1 => "Start it with `skep serve` and the same settings.\n",
            _ => {
                "Restore the other nodes too, each with its settings, and then start all of them with `skep serve`.\n"
            }
        });
    }
    print(&text)
}

fn what(plan: &Plan, reader: &Reader) -> String {
    let manifest = &reader.manifest;
    let cut = jiff::Timestamp::from_millisecond(manifest.cut_at);
    let cut = cut.map_or_else(|_| String::new(), |cut| format!(", of {cut}"));
    let here: Vec<String> = plan.here.iter().map(u32::to_string).collect();
    let partitions = match here.as_slice() {
        [only] => format!("partition {only}"),
        _ => format!("the partitions {}", here.join(", ")),
    };
    format!(
        "{partitions} of the cluster {} as it was in backup {}{cut} ({} in the store)",
        plan.first.cluster_id,
        manifest.backup_id,
        size(plan.bytes)
    )
}
