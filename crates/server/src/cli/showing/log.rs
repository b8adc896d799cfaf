//! `skep log`: the records of a data directory, read without touching it.

mod disk;
mod names;
pub mod reading;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;
use skep_engine::RecordNames;
use skep_protocol::batch::BatchReader;

use self::reading::Reading;
use crate::cli::Usage;

/// Interval at which `--follow` checks for new records.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

#[derive(Args)]
pub struct LogArgs {
    /// Data directory of a server, or the log directory of one of its partitions.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Only this partition.
    #[arg(long)]
    partition: Option<u32>,
    /// Position of the first record.
    #[arg(long, default_value_t = 0, value_name = "POSITION")]
    from: u64,
    /// Keep printing new records until interrupted; with several partitions, --partition is required.
    #[arg(long)]
    follow: bool,
}

pub fn run(args: &LogArgs) -> anyhow::Result<()> {
    let logs = logs(args)?;
    if args.follow && logs.len() > 1 {
        bail!(Usage(
            "--follow requires one partition: add --partition N".to_string()
        ));
    }
    for (partition, directory) in &logs {
        let mut printer = Printer {
            from: args.from,
            names: RecordNames::new(*partition),
        };
        let mut log = Reading::begin(directory)?;
        let store = directory.with_file_name("state");
        // Compacted entries may have held definitions; these are in the checkpoint then.
        if log.begins_after_a_checkpoint()
            && store.is_dir()
            && let Err(reason) = names::learn_checkpoint(&mut printer.names, &store)
        {
            complain!(
                "The checkpoint {} cannot be read ({reason:#}): elements of processes that were deployed before the log \
                 begins have no names.",
                store.display()
            );
        }
        printer.print(&mut log)?;
        if args.follow {
            loop {
                std::thread::sleep(LOOK_AGAIN);
                log.renew()?;
                printer.print(&mut log)?;
            }
        }
    }
    Ok(())
}

/// The log directories and their partitions.
fn logs(args: &LogArgs) -> anyhow::Result<Vec<(u32, PathBuf)>> {
    let partitions = args.directory.join("partitions");
    let mut found = Vec::new();
    if partitions.is_dir() {
        for entry in std::fs::read_dir(&partitions)? {
            let path = entry?.path();
            let id = path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok());
            if let Some(id) = id
                && args.partition.is_none_or(|wanted| wanted == id)
            {
                found.push((id, path.join("log")));
            }
        }
    } else if has_segments(&args.directory) {
        found.push((args.partition.unwrap_or(0), args.directory.clone()));
    }
    if found.is_empty() {
        bail!(Usage(format!(
            "{} is no data directory of a server{}",
            args.directory.display(),
            args.partition
                .map_or_else(String::new, |id| format!(" with a partition {id}"))
        )));
    }
    found.sort();
    Ok(found)
}

fn has_segments(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory);
    entries.is_ok_and(|mut entries| {
        entries.any(|entry| {
            let name = entry.map(|entry| entry.file_name()).unwrap_or_default();
            // Other files end with .log as well.
            let stem = name.to_str().and_then(|name| name.strip_suffix(".log"));
            stem.is_some_and(|stem| stem.parse::<u64>().is_ok())
        })
    })
}

struct Printer {
    /// Position of the first record to print.
    from: u64,
    names: RecordNames,
}

impl Printer {
    fn print(&mut self, log: &mut Reading) -> anyhow::Result<()> {
        let from = self.from;
        each(log, &mut self.names, |lines| {
            let late = |record: &&Value| record["position"].as_u64().is_none_or(|at| at >= from);
            let text: String = lines
                .iter()
                .filter(late)
                .map(|record| format!("{record}\n"))
                .collect();
            crate::cli::print(&text)
        })
    }
}

/// Passes on the records up to the end of a log, in batches.
pub fn each(
    log: &mut Reading,
    names: &mut RecordNames,
    mut use_them: impl FnMut(&[Value]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    loop {
        let entries = log.read()?;
        if entries.is_empty() {
            return Ok(());
        }
        let mut rendered = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.content().is_empty()) {
            let damaged = || format!("entry {} of the log cannot be read", entry.index);
            let records = BatchReader::new(&entry.payload).with_context(damaged)?;
            // The details of a new instance follow its first records, so all records are read before any is printed.
            for record in records.clone() {
                names.learn(&record.with_context(damaged)?);
            }
            for record in records {
                let record = record.with_context(damaged)?;
                rendered.push(skep_protocol::json::render(&record, names).with_context(damaged)?);
            }
            names.batch_ends();
        }
        use_them(&rendered)?;
    }
}
