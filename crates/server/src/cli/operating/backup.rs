//! `skep backup`: backups of a cluster.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use skep_backup::{BackupError, Manifest, Reader, Store, verify};
use skep_broker::backup::replay::replay;

use crate::args::ConfigArgs;
use crate::cli::cluster::ManagementArgs;
use crate::cli::moments::BackupsState;
use crate::cli::rest::without_json;
use crate::cli::{Usage, block_on, fetch, print, table};
use crate::errors::Coded;

const PATH: &str = "/actuator/backupRuntime";
/// Request timeout: the store of backups may be slow.
const TIMEOUT: Duration = Duration::from_secs(200);
/// Interval between two checks of a backup in progress.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Args)]
pub struct BackupArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Take a backup and wait until it is complete.
    Take(TakeArgs),
    /// List backups, the newest first.
    List(ListArgs),
    /// Delete a backup.
    Delete(OneArgs),
    /// Read a whole backup and check every object, row and record, without a cluster.
    Verify(Box<VerifyArgs>),
}

#[derive(Args)]
struct TakeArgs {
    /// Id of the backup, greater than all others [default: the time in milliseconds since 1970].
    id: Option<u64>,
    /// Return immediately.
    #[arg(long)]
    no_wait: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ManagementArgs,
}

#[derive(Args)]
struct ListArgs {
    /// Print the server's response as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ManagementArgs,
}

#[derive(Args)]
struct OneArgs {
    /// Id of the backup.
    id: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ManagementArgs,
}

#[derive(Args)]
struct VerifyArgs {
    /// Id of the backup.
    id: u64,
    /// Also replay the backup and the log after it on engines, as restored nodes would: every partition must pass each cut, of the backup
    /// and of later moments, with the record and the key that were recorded.
    #[arg(long)]
    replay: bool,
    /// Directory for the rows of one partition at a time during --replay [default: the system's directory for temporary files].
    #[arg(long, value_name = "DIRECTORY", requires = "replay")]
    scratch: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// A backup, as the server shows it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    backup_id: u64,
    state: String,
    failure_reason: Option<String>,
    #[serde(default)]
    details: Vec<Detail>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    created_at: Option<String>,
}

pub fn run(args: BackupArgs) -> anyhow::Result<()> {
    match args.command {
        Command::Take(args) => block_on(take(args)),
        Command::List(args) => block_on(list(args)),
        Command::Delete(args) => block_on(delete(args)),
        Command::Verify(args) => check(&args),
    }
}

/// The time in milliseconds since 1970, or one above the newest id. Servers with a schedule choose ids the same way.
async fn next_id(base: &str) -> anyhow::Result<u64> {
    let listed = expect(fetch::get(base, PATH, TIMEOUT).await?)?;
    let listed: Vec<Shown> = serde_json::from_value(listed)?;
    let newest = listed.first().map_or(0, |backup| backup.backup_id);
    let time = jiff::Timestamp::now().as_millisecond();
    let time = u64::try_from(time).unwrap_or_default();
    Ok(time.max(newest.saturating_add(1)))
}

async fn take(args: TakeArgs) -> anyhow::Result<()> {
    let base = &args.server.management;
    let id = match args.id {
        Some(id) => id,
        None => next_id(base).await?,
    };
    let body = json!({ "backupId": id }).to_string();
    expect(fetch::post(base, PATH, body, TIMEOUT).await?)?;
    let said = |state: &str, lacks: Option<String>, text: String| {
        if !args.json {
            let warning = lacks.map_or_else(String::new, |lacks| format!("WARNING: {lacks}.\n"));
            return print(&format!("{text}{warning}"));
        }
        let mut taken = json!({ "backupId": id, "state": state });
        if let (Some(lacks), Some(whole)) = (lacks, taken.as_object_mut()) {
            whole.insert("warning".to_string(), lacks.into());
        }
        print(&format!("{taken:#}\n"))
    };
    if args.no_wait {
        let text =
            format!("The backup {id} has started; `skep backup list` shows when it is complete.\n");
        return said("IN_PROGRESS", None, text);
    }
    let began = Instant::now();
    loop {
        let (status, body) = fetch::look(base, &format!("{PATH}/{id}"), TIMEOUT).await?;
        let shown: Shown = serde_json::from_value(expect((status, body))?)?;
        match shown.state.as_str() {
            "IN_PROGRESS" => tokio::time::sleep(LOOK).await,
            "COMPLETED" => {
                let seconds = began.elapsed().as_secs_f64();
                let text = format!("The backup {id} is complete ({seconds:.1} s).\n");
                return said("COMPLETED", shown.failure_reason, text);
            }
            state => {
                let reason = shown.failure_reason.unwrap_or_else(|| state.to_string());
                bail!(Coded::new(
                    "BACKUP_FAILED",
                    format!("the backup {id} has failed: {reason}")
                ));
            }
        }
    }
}

async fn list(args: ListArgs) -> anyhow::Result<()> {
    let answer = expect(fetch::get(&args.server.management, PATH, TIMEOUT).await?)?;
    if args.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&answer)?));
    }
    let backups: Vec<Shown> = serde_json::from_value(answer)?;
    if backups.is_empty() {
        return print("There are no backups; `skep backup take` takes one.\n");
    }
    let heads = ["ID", "STATE", "OF", "NOTE"].map(str::to_string);
    let rows = backups.into_iter().map(|backup| {
        let created = backup.details.into_iter().next();
        let created = created.and_then(|detail| detail.created_at);
        [
            backup.backup_id.to_string(),
            backup.state,
            created.unwrap_or_default(),
            backup.failure_reason.unwrap_or_default(),
        ]
    });
    let rows: Vec<[String; 4]> = std::iter::once(heads).chain(rows).collect();
    print(&table(&rows))?;
    let path = format!("{PATH}/state");
    let state = expect(fetch::get(&args.server.management, &path, TIMEOUT).await?)?;
    let state = BackupsState::parse(&state)?;
    let lines = state.ranges().map(|(start, end)| {
        format!("Moments from {start} to {end} can be restored: skep restore --to TIME\n")
    });
    print(&lines.collect::<String>())
}

async fn delete(args: OneArgs) -> anyhow::Result<()> {
    let path = format!("{PATH}/{}", args.id);
    let (status, body) = fetch::delete(&args.server.management, &path, TIMEOUT).await?;
    if status == StatusCode::CONFLICT {
        let reason = reason(status, &body);
        return Err(Coded::new("FAILED_PRECONDITION", reason).into());
    }
    if status != StatusCode::NO_CONTENT {
        expect((status, body))?;
    }
    print(&if args.json {
        format!("{:#}\n", json!({ "deleted": args.id }))
    } else {
        format!("The backup {} is deleted.\n", args.id)
    })
}

/// Returns the server's answer, or the error that it reports.
fn expect((status, body): (StatusCode, bytes::Bytes)) -> anyhow::Result<Value> {
    if status.is_success() {
        let answer = serde_json::from_slice(&body);
        return answer.map_err(|_| without_json(status, &body).into());
    }
    let text = reason(status, &body);
    let code = match status {
        StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
        StatusCode::FORBIDDEN => "PERMISSION_DENIED",
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::CONFLICT => "ALREADY_EXISTS",
        StatusCode::BAD_REQUEST => "INVALID_ARGUMENT",
        _ => "BACKUP_FAILED",
    };
    bail!(Coded::new(code, text))
}

fn reason(status: StatusCode, body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = answer.get("message").and_then(Value::as_str);
    text.map_or_else(|| format!("the server answered {status}"), str::to_string)
}

/// The location of backups, from the settings of a server.
pub fn store(config: &ConfigArgs) -> anyhow::Result<(Store, crate::config::Loaded)> {
    let loaded = config.load()?;
    for warning in &loaded.warnings {
        complain!("warning: {warning}");
    }
    let backup = loaded.settings.backup.config().ok_or_else(|| {
        Usage(format!(
            "{}. Give the settings that the servers use: --config, --set or the environment",
            skep_broker::backup::coordinator::no_store()
        ))
    })?;
    let store = Store::open(&backup.location).map_err(failed)?;
    Ok((store, loaded))
}

fn failed(error: impl std::fmt::Display) -> Coded {
    Coded::new("BACKUP_FAILED", error.to_string())
}

fn check(args: &VerifyArgs) -> anyhow::Result<()> {
    let (store, loaded) = store(&args.config)?;
    let found = verify(&store, args.id).map_err(|error| match error {
        BackupError::Unknown(_) => Coded::new("NOT_FOUND", error.to_string()),
        error => failed(error),
    })?;
    let reader = Reader::open(&store, args.id).map_err(failed)?;
    let replayed = || -> anyhow::Result<u64> {
        let scratch = Scratch::new(args.scratch.clone().unwrap_or_else(std::env::temp_dir))?;
        Ok(replay(&loaded.settings.broker, &reader, &scratch.0).map_err(failed)?)
    };
    if args.json {
        let mut whole = json!({
            "backupId": args.id,
            "objects": found.objects,
            "bytes": found.bytes,
            "rows": found.rows,
            "entries": found.entries,
            "records": found.records,
            "laterMoments": found.markers,
            "documentFiles": found.files,
            "unreadableDocuments": unreadable(&reader.manifest),
        });
        if let (true, Some(whole)) = (args.replay, whole.as_object_mut()) {
            whole.insert("replayedRecords".to_string(), replayed()?.into());
        }
        return print(&format!("{whole:#}\n"));
    }
    let markers = match found.markers {
        0 => String::new(),
        1 => ", and one later moment".to_string(),
        markers => format!(", and {markers} later moments"),
    };
    print(&format!(
        "The backup {} is intact: {} objects with {}, {} rows, {} entries with {} records{markers}.\n{}",
        args.id,
        found.objects,
        size(found.bytes),
        found.rows,
        found.entries,
        found.records,
        documents(&reader.manifest, found.files)
    ))?;
    if !args.replay {
        return Ok(());
    }
    let records = replayed()?;
    let cut = match found.markers {
        0 => "ends where it was cut".to_string(),
        _ => format!("was cut as recorded by the backup{markers}"),
    };
    print(&format!(
        "Replay: {records} records were applied, and each partition {cut}.\n"
    ))
}

/// Which documents the backup has, and which it lacks.
fn documents(manifest: &Manifest, files: u64) -> String {
    let lines = manifest.documents.iter().map(|of| match &of.objects {
        Some(_) => format!(
            "Documents of the store '{}' are in it ({files} files in all stores).\n{}",
            of.store,
            of.missing()
                .map_or_else(String::new, |missing| format!("WARNING: {missing}.\n"))
        ),
        None => format!(
            "Documents of the store '{}' are not in it, because each node has its own: copy their directories, or use a bucket.\n",
            of.store
        ),
    });
    lines.collect()
}

/// The documents that could not be read when the backup was taken.
pub fn unreadable(manifest: &Manifest) -> Vec<Value> {
    let all = manifest.documents.iter().flat_map(|of| {
        let store = &of.store;
        let unreadable = of.unreadable.iter();
        unreadable.map(move |it| json!({ "store": store, "path": it.path, "reason": it.reason }))
    });
    all.collect()
}

/// A temporary directory, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: PathBuf) -> anyhow::Result<Scratch> {
        let directory = parent.join(format!("skep-replay-{}", std::process::id()));
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("{} cannot be created", directory.display()))?;
        Ok(Scratch(directory))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A human-readable size.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::code_of;

    #[test]
    fn a_refusal_has_the_code_of_its_status_and_the_servers_reason() {
        for (status, body, code, text) in [
            (
                401,
                "",
                "UNAUTHENTICATED",
                "the server answered 401 Unauthorized",
            ),
            (
                403,
                r#"{"message": "no right"}"#,
                "PERMISSION_DENIED",
                "no right",
            ),
            (
                404,
                r#"{"message": "no backup 5"}"#,
                "NOT_FOUND",
                "no backup 5",
            ),
            (
                409,
                r#"{"message": "the id 5 is taken"}"#,
                "ALREADY_EXISTS",
                "the id 5 is taken",
            ),
            (
                502,
                r#"{"message": "no store"}"#,
                "BACKUP_FAILED",
                "no store",
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let refused = expect((status, body.into())).unwrap_err();
            assert_eq!(
                (code_of(&refused), refused.to_string().as_str()),
                (code, text)
            );
        }
    }
}
