//! `skep restore`: restores the data directory of a node from a backup.

use std::str::FromStr;

use clap::Args;
use serde_json::{Value, json};
use skep_backup::{BackupError, DocumentsManifest, Moment, Reader, Store, instant};
use skep_broker::backup::restore::{self, DocumentsFate, How, Plan, RestoreError};
use skep_broker::backup::rows::Rows;

use crate::args::ConfigArgs;
use crate::cli::backup::{size, store, unreadable};
use crate::cli::{Usage, print};
use crate::errors::Coded;

#[derive(Args)]
pub struct RestoreArgs {
    /// Id of the backup.
    #[arg(long, value_name = "ID")]
    backup: Option<u64>,
    /// Restore the newest moment at or before this time, as in 2026-11-27T19:00:00Z, within a range of continuous backups; `latest` is the
    /// newest one of the store, or the newest one that rows in a database or a search server fit [default: latest].
    #[arg(long, value_name = "TIME", conflicts_with = "backup")]
    to: Option<To>,
    /// Take part in the restore with this epoch, which the other nodes have printed [default: the newest one of this moment that this node
    /// is not in yet; if there is none, a new one].
    #[arg(long, value_name = "EPOCH")]
    epoch: Option<u64>,
    /// Restore a cluster that takes no backups in this store, to try something out while the original cluster works.
    #[arg(long)]
    drill: bool,
    /// Print what would be restored, without restoring it.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Clone, Copy)]
enum To {
    Latest,
    /// Milliseconds since 1970.
    Time(i64),
}

#[derive(Debug, thiserror::Error)]
#[error("expected a time with its offset such as 2026-11-27T19:00:00Z, or latest ({0})")]
struct NoTime(#[from] jiff::Error);

impl FromStr for To {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<To, NoTime> {
        if text.eq_ignore_ascii_case("latest") {
            return Ok(To::Latest);
        }
        let time: jiff::Timestamp = text.parse()?;
        Ok(To::Time(time.as_millisecond()))
    }
}

/// `rows`: those that are not in backups. The moment must be one that they can be brought to.
fn open(
    store: &Store,
    args: &RestoreArgs,
    cluster: Option<&str>,
    rows: Option<&Rows>,
) -> Result<Reader, RestoreError> {
    let mut reader = match (args.backup, args.to) {
        (Some(backup), _) => Reader::open(store, backup)?,
        (None, Some(To::Time(time))) => {
            Reader::open_at(store, skep_backup::moment(store, time, cluster)?)?
        }
        (None, Some(To::Latest) | None) => {
            let newest = match rows {
                Some(rows) => rows.moments(store, cluster)?.newest,
                None => skep_backup::newest_moment(store, cluster)?,
            };
            Reader::open_at(store, newest)?
        }
    };
    if let Some(rows) = rows {
        reader.reach_back(rows.entries())?;
    }
    Ok(reader)
}

/// A failure as the command line reports it.
fn reported(error: RestoreError) -> anyhow::Error {
    match error {
        RestoreError::Refused(reason) => Usage(reason).into(),
        RestoreError::Directory(error) => error.into(),
        error => Coded::new("BACKUP_FAILED", error.to_string()).into(),
    }
}

pub fn run(args: &RestoreArgs) -> anyhow::Result<()> {
    let (store, loaded) = store(&args.config)?;
    if loaded.settings.cluster.node_ids.is_leased() {
        let text = "camunda.cluster.node-id-provider.type is S3, but a restored directory belongs to one number: set it to FIXED and \
                    camunda.cluster.node-id to the number, with --data DIRECTORY/node-NUMBER";
        return Err(Usage(text.to_string()).into());
    }
    let config = loaded.settings.broker_config();
    let rows = Rows::read(&config).map_err(reported)?;
    let reader = open(&store, args, config.cluster_id.as_deref(), rows.as_ref());
    let reader = reader.map_err(reported)?;
    // Other backups may be damaged: that is no reason not to restore this one.
    let newest = skep_backup::newest_moment(&store, Some(&reader.manifest.cluster.cluster_id));
    let how = How {
        epoch: args.epoch,
        drill: args.drill,
    };
    let outcome = if args.dry_run {
        restore::plan(&config, &reader, how)
    } else {
        restore::run(&config, &reader, how, &mut |what| {
            complain!("restoring {what}");
        })
    };
    let plan = outcome.map_err(reported)?;
    if args.json {
        let directory = config.directory.display().to_string();
        let restored = as_json(&plan, &reader, newest, (directory, args, rows.as_ref()));
        return print(&format!("{restored:#}\n"));
    }
    let did = if args.dry_run {
        "would contain"
    } else {
        "contains"
    };
    let directory = config.directory.display();
    let mut text = format!("{directory} {did} {}.\n", what(&plan, &reader));
    text.push_str(&lost(&reader, newest));
    text.push_str(&rows_elsewhere(rows.as_ref()));
    text.push_str(&documents(&plan, &reader));
    text.push_str(&epoch(&plan));
    if args.drill {
        text.push_str("For a drill: its cluster takes no backups in this store.\n");
    }
    if !args.dry_run {
        text.push_str(&match plan.first.nodes.len() {
            1 => "Start it with `skep serve` and the same settings.\n".to_string(),
            _ => format!(
                "Restore the other nodes too, each with its settings and to the same moment ({}), and then start all of them with `skep serve`.\n",
                same(&reader)
            ),
        });
    }
    print(&text)
}

/// The same as the texts, for programs.
fn as_json(
    plan: &Plan,
    reader: &Reader,
    newest: Result<Moment, BackupError>,
    (directory, args, rows): (String, &RestoreArgs, Option<&Rows>),
) -> Value {
    let documents = plan.documents.iter().map(|here| {
        let (fate, directory) = match &here.fate {
            DocumentsFate::Restored(directory) => {
                ("RESTORED", Some(directory.display().to_string()))
            }
            DocumentsFate::NoStore => ("NO_STORE", None),
            DocumentsFate::Missing => ("MISSING", None),
        };
        json!({ "store": here.store, "state": fate, "directory": directory })
    });
    let joined = &plan.joined;
    let other = joined.other.as_ref().map(
        |other| json!({ "epoch": other.epoch, "at": instant(other.at), "nodes": other.nodes }),
    );
    json!({
        "directory": directory,
        "state": if args.dry_run { "PLANNED" } else { "RESTORED" },
        "clusterId": plan.first.cluster_id,
        "backupId": reader.manifest.backup_id,
        "moment": instant(reader.moment.at),
        "newestMoment": newest.ok().map(|newest| instant(newest.at)),
        "partitions": plan.here,
        "bytes": plan.bytes,
        "rows": rows.map(|rows| json!({ "place": rows.place, "entries": rows.entries() })),
        "documents": documents.collect::<Vec<Value>>(),
        "unreadableDocuments": unreadable(&reader.manifest),
        "epoch": joined.epoch,
        "otherRestore": other,
        "unclaimed": joined.unclaimed,
        "drill": args.drill,
        "sameMoment": same(reader),
    })
}

/// The flag that restores the same moment again, even if the store has received more since.
fn same(reader: &Reader) -> String {
    match reader.moment.marker {
        Some(at) => format!("--to {}", instant(at)),
        None => format!("--backup {}", reader.moment.backup),
    }
}

fn lost(reader: &Reader, newest: Result<Moment, BackupError>) -> String {
    let at = reader.moment.at;
    let lost = format!("Work after {} is lost", instant(at));
    match newest {
        Ok(newest) if newest.at > at => {
            let newest = instant(newest.at);
            format!("{lost}; the store has moments up to {newest}.\n")
        }
        Ok(_) => format!("{lost}.\n"),
        Err(error) => {
            format!("{lost}; whether the store has later moments is not known: {error}.\n")
        }
    }
}

/// What becomes of rows that are not in backups.
fn rows_elsewhere(rows: Option<&Rows>) -> String {
    rows.map_or_else(String::new, |rows| {
        format!(
            "The rows are in {}, where the nodes write those that are missing. No other cluster may write there.\n",
            rows.place
        )
    })
}

/// What becomes of documents that were kept in directories.
fn documents(plan: &Plan, reader: &Reader) -> String {
    let lines = plan.documents.iter().map(|here| {
        let store = &here.store;
        let mut stores = reader.manifest.documents.iter();
        let of = stores.find(|of| of.store == *store);
        let missing = of.and_then(DocumentsManifest::missing);
        let missing = missing.map_or_else(String::new, |missing| format!("WARNING: {missing}.\n"));
        match &here.fate {
            DocumentsFate::Restored(directory) => {
                let later = match reader.moment.marker {
                    Some(_) => ". Those stored after the backup are lost, even if the log after it refers to them",
                    None => "",
                };
                format!(
                    "Documents of the store '{store}' are restored to {}{later}.\n{missing}",
                    directory.display()
                )
            }
            DocumentsFate::NoStore => format!(
                "Documents of the store '{store}' are not restored: the settings have no local store with this id.\n"
            ),
            DocumentsFate::Missing => format!(
                "Documents of the store '{store}' are not in the backup, because each node had its own, and are lost unless the directories \
                 of the original nodes are copied: after this restore, which needs an empty data directory, and before the node starts.\n"
            ),
        }
    });
    lines.collect()
}

/// The restore that this node takes part in, and another one that it might be confused with.
fn epoch(plan: &Plan) -> String {
    let joined = &plan.joined;
    let mut text = format!(
        "This restore has the epoch {}. Nodes of other restores, and of the original cluster, refuse it.\n",
        joined.epoch
    );
    if let Some(other) = &joined.other {
        let nodes: Vec<String> = other.nodes.iter().map(u32::to_string).collect();
        text.push_str(&format!(
            "The same moment was already restored at {} with the epoch {}, on the nodes {}: that is another cluster. If this node is to be \
             one of them, and they have not worked yet, restore it again into an empty directory with --epoch {}.\n",
            instant(other.at),
            other.epoch,
            nodes.join(", "),
            other.epoch
        ));
    }
    if let Some(reason) = &joined.unclaimed {
        text.push_str(&format!(
            "The store does not know of this restore ({reason}): give each later restore of this cluster a greater epoch.\n"
        ));
    }
    text
}

fn what(plan: &Plan, reader: &Reader) -> String {
    let manifest = &reader.manifest;
    let of = match reader.moment.marker {
        Some(_) => "by the log after backup",
        None => "in backup",
    };
    let here: Vec<String> = plan.here.iter().map(u32::to_string).collect();
    let partitions = match here.as_slice() {
        [only] => format!("partition {only}"),
        _ => format!("the partitions {}", here.join(", ")),
    };
    format!(
        "{partitions} of the cluster {} as it was {of} {}, of {} ({} in the store)",
        plan.first.cluster_id,
        manifest.backup_id,
        instant(manifest.cut_at),
        size(plan.bytes)
    )
}
