//! `/actuator/backupHistory`: snapshots of the search server that has the rows. Exporting is paused while one is taken, as it takes each index
//! at another moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_exporting::TargetError;
use skep_protocol::value::ExportingPhase;
use skep_secondary::{Documents, Snapshot, StoreLocation};

use super::Management;
use super::backups::number;
use super::exporters::set_phase_of_all;
use super::reply::{
    self, Answer, Handled, Incoming, allow, bad_request, json, message, no_content, ok,
};

/// Interval between two looks at a snapshot in progress.
const LOOK: Duration = Duration::from_secs(1);
/// A server that does not answer for this long does not keep exporting paused.
const SILENT: Duration = Duration::from_secs(300);
/// Delay between two attempts to go on exporting, and their number.
const AGAIN: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 720;
/// Names of snapshots begin like this, as in the reference.
const PREFIX: &str = "camunda_webapps_";
const IN_PROGRESS: &str = "IN_PROGRESS";

pub async fn handle(
    management: &Management,
    (method, path, query): (&Method, &[&str], Option<&str>),
    body: Incoming,
) -> Handled {
    let broker = &management.running()?.broker;
    let server = server(broker)?;
    match path {
        [] => {
            allow(method, &[Method::GET, Method::HEAD, Method::POST])?;
            match *method {
                Method::POST => take(broker, server, &reply::body(body).await?).await,
                _ => list(server, pattern(query)?).await,
            }
        }
        [id] => {
            allow(method, &[Method::GET, Method::HEAD, Method::DELETE])?;
            let snapshot = find(&server, number(id)?).await?;
            match *method {
                Method::DELETE => delete(server, snapshot).await,
                _ => shown(&snapshot)
                    .map(|it| ok(&it))
                    .ok_or_else(|| unknown(id)),
            }
        }
        _ => Err(message(
            StatusCode::NOT_FOUND,
            format!("there is nothing at backupHistory/{}", path.join("/")),
        )),
    }
}

/// The search server with the rows, which has a repository.
fn server(broker: &Broker) -> Result<Arc<Documents>, Answer> {
    let secondary = broker.config().secondary_storage.as_ref();
    let server = match secondary.map(|it| &it.location) {
        None => {
            return Err(bad_request(
                "there is no secondary storage (camunda.data.secondary-storage.type: none)",
            ));
        }
        Some(StoreLocation::Embedded) => {
            return Err(bad_request(
                "the embedded secondary storage is a part of each backup of /actuator/backupRuntime",
            ));
        }
        Some(StoreLocation::Rdbms(_)) => {
            return Err(bad_request(
                "secondary storage is a database: dump it with its own tools (pg_dump). A restore of a backup of /actuator/backupRuntime \
                 brings the dump to the moment of the backup",
            ));
        }
        Some(StoreLocation::Documents(server)) => server,
    };
    if server.repository().is_none() {
        return Err(bad_request(
            "no repository for snapshots is configured: register one with the search server, and set camunda.data.backup.repository-name",
        ));
    }
    Ok(server.clone())
}

/// The only part of a snapshot.
fn name(id: u64) -> String {
    format!("{PREFIX}{id}_{}_part_1_of_1", env!("CARGO_PKG_VERSION"))
}

/// The id in the name of a snapshot.
fn id_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.split('_').next()?.parse().ok()
}

/// The names of snapshots with these ids.
fn pattern(query: Option<&str>) -> Result<String, Answer> {
    let ids = reply::query(query, "pattern").unwrap_or("*");
    if ids.is_empty() || !ids.chars().all(|c| c.is_ascii_digit() || c == '*') {
        return Err(bad_request(format!(
            "pattern is '{ids}', and may have digits and '*'"
        )));
    }
    Ok(format!("{PREFIX}{ids}_*"))
}

/// Asks the search server on a separate thread.
async fn ask<T: Send + 'static>(
    server: &Arc<Documents>,
    question: impl FnOnce(&Arc<Documents>) -> Result<T, TargetError> + Send + 'static,
) -> Result<T, Answer> {
    let server = server.clone();
    let asked = tokio::task::spawn_blocking(move || question(&server)).await;
    let answer =
        asked.map_err(|error| message(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    answer.map_err(|error| message(StatusCode::BAD_GATEWAY, error.to_string()))
}

async fn list(server: Arc<Documents>, pattern: String) -> Handled {
    let mut found = ask(&server, move |server| server.snapshots(&pattern)).await?;
    found.sort_by_key(|snapshot| std::cmp::Reverse(id_of(&snapshot.name)));
    Ok(ok(&found.iter().filter_map(shown).collect()))
}

/// The snapshot with this id. An earlier version of Skep may have given it its name.
async fn find(server: &Arc<Documents>, id: u64) -> Result<Snapshot, Answer> {
    let named = format!("{PREFIX}{id}_*");
    let found = ask(server, move |server| server.snapshots(&named)).await?;
    let found = found.into_iter().next();
    found.ok_or_else(|| unknown(&id.to_string()))
}

async fn delete(server: Arc<Documents>, snapshot: Snapshot) -> Handled {
    let id = id_of(&snapshot.name).unwrap_or_default();
    let name = snapshot.name;
    if ask(&server, move |server| server.delete_snapshot(&name)).await? {
        Ok(no_content())
    } else {
        Err(unknown(&id.to_string()))
    }
}

fn unknown(id: &str) -> Answer {
    message(
        StatusCode::NOT_FOUND,
        format!("there is no snapshot with the id {id}"),
    )
}

fn shown(snapshot: &Snapshot) -> Option<Value> {
    let state = match snapshot.state.as_str() {
        IN_PROGRESS => IN_PROGRESS,
        "SUCCESS" => "COMPLETED",
        "INCOMPATIBLE" => "INCOMPATIBLE",
        _ => "FAILED",
    };
    let began = jiff::Timestamp::from_millisecond(snapshot.began_at).ok();
    Some(json!({
        "backupId": id_of(&snapshot.name)?,
        "state": state,
        "failureReason": (!snapshot.failures.is_empty()).then(|| snapshot.failures.join("; ")),
        "details": [{
            "snapshotName": snapshot.name,
            "state": snapshot.state,
            "startTime": began.map(|time| time.to_string()),
            "failures": snapshot.failures,
        }],
    }))
}

async fn take(broker: &Arc<Broker>, server: Arc<Documents>, body: &Map<String, Value>) -> Handled {
    if let Some(unknown) = body.keys().find(|key| *key != "backupId") {
        return Err(bad_request(format!("'{unknown}' is not known here")));
    }
    let id = body.get("backupId").unwrap_or(&Value::Null);
    let id = number(&id.to_string())?;
    let name = name(id);
    let known = ask(&server, |server| server.snapshots(&format!("{PREFIX}*"))).await?;
    let is_taken = |snapshot: &Snapshot| id_of(&snapshot.name) == Some(id);
    if known.iter().any(is_taken) {
        return Err(bad_request(format!(
            "there is a snapshot with the id {id} already"
        )));
    }
    expect_alone(&known, &name)?;
    let before = phase(broker).ok_or_else(|| {
        bad_request("this node has no copy of any partition: ask a node that has one")
    })?;
    let begun = begin(broker, &server, &name).await;
    if let Err(failure) = begun {
        tokio::spawn(resume(broker.clone(), before));
        return Err(failure);
    }
    tokio::spawn(watch(broker.clone(), server, name.clone(), before));
    Ok(json(
        StatusCode::ACCEPTED,
        &json!({ "scheduledSnapshots": [name] }),
    ))
}

/// Two snapshots at a time would each resume exporting under the other.
fn expect_alone(known: &[Snapshot], name: &str) -> Result<(), Answer> {
    let mut others = known.iter().filter(|snapshot| snapshot.name != name);
    match others.find(|snapshot| snapshot.state == IN_PROGRESS) {
        Some(other) => Err(bad_request(format!(
            "the snapshot '{}' is in progress: wait for its end, or delete it",
            other.name
        ))),
        None => Ok(()),
    }
}

/// The phase of exporting, according to a copy on this node. All partitions have the same.
fn phase(broker: &Broker) -> Option<ExportingPhase> {
    let copies = broker.partitions();
    copies.first().map(|copy| copy.exporters.value().phase)
}

/// Pauses exporting, and begins the snapshot.
async fn begin(broker: &Broker, server: &Arc<Documents>, name: &str) -> Result<(), Answer> {
    set_phase_of_all(broker, ExportingPhase::Paused).await?;
    let new = name.to_string();
    let now = ask(server, move |server| {
        server.begin_snapshot(&new)?;
        server.snapshots(&format!("{PREFIX}*"))
    });
    // Another node may have begun one at the same time: neither of the two counts then.
    if let Err(refused) = expect_alone(&now.await?, name) {
        let new = name.to_string();
        ask(server, move |server| server.delete_snapshot(&new)).await?;
        return Err(refused);
    }
    Ok(())
}

/// Waits for the end of the snapshot, and goes on exporting. A snapshot during which rows were written is deleted.
async fn watch(broker: Arc<Broker>, server: Arc<Documents>, name: String, before: ExportingPhase) {
    // A copy that follows learns of the pause a moment later.
    let (mut answered, mut was_paused) = (Instant::now(), false);
    loop {
        tokio::time::sleep(LOOK).await;
        let wanted = name.clone();
        let found = ask(&server, move |server| server.snapshots(&wanted)).await;
        let is_paused = phase(&broker).is_none_or(|phase| phase == ExportingPhase::Paused);
        was_paused |= is_paused;
        match found {
            Ok(found) => {
                answered = Instant::now();
                let goes_on = found.first().is_some_and(|it| it.state == IN_PROGRESS);
                if was_paused && !is_paused {
                    give_up(&server, &name, "exporting was resumed meanwhile").await;
                    return;
                }
                if !goes_on {
                    break;
                }
                if has_no_room(&broker) {
                    give_up(&server, &name, "the log needs the rest of the disk").await;
                    break;
                }
            }
            Err(_) if answered.elapsed() > SILENT => {
                give_up(&server, &name, "the server does not answer").await;
                break;
            }
            Err(_) => {}
        }
    }
    resume(broker, before).await;
}

/// Whether the log that is kept for the pause has filled a disk here.
fn has_no_room(broker: &Broker) -> bool {
    let copies = broker.partitions();
    let mut status = copies.iter().map(|copy| &copy.status);
    status.any(|status| status.disk_low.load(std::sync::atomic::Ordering::Relaxed))
}

async fn give_up(server: &Arc<Documents>, name: &str, reason: &str) {
    tracing::error!(
        code = "BACKUP_FAILED",
        snapshot = name,
        reason,
        "the snapshot of secondary storage is given up and deleted"
    );
    let unwanted = name.to_string();
    if ask(server, move |server| server.delete_snapshot(&unwanted))
        .await
        .is_err()
    {
        tracing::error!(
            code = "BACKUP_FAILED",
            snapshot = name,
            "the snapshot cannot be deleted: do not restore it"
        );
    }
}

/// Exporting must not stay paused because a partition has no leader now.
async fn resume(broker: Arc<Broker>, phase: ExportingPhase) {
    for _ in 0..ATTEMPTS {
        if set_phase_of_all(&broker, phase).await.is_ok() {
            return;
        }
        tokio::time::sleep(AGAIN).await;
    }
    tracing::error!(
        code = "BACKUP_FAILED",
        "exporting is still paused after a snapshot of secondary storage: POST /actuator/exporting/resume"
    );
}
