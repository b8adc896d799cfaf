//! `/actuator/backupRuntime`: backups of the cluster. Any node with a configured store answers.

use std::time::SystemTime;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use skep_backup::{Backup, BackupError, BackupState, Manifest, Moment, Range, Store, Writer};
use skep_broker::Broker;
use skep_broker::backup::coordinator::no_store;
use skep_broker::cluster::{Answer as ClusterAnswer, Ask};

use super::cluster::refused;
use super::reply::{
    self, Answer, Handled, Incoming, allow, bad_request, json, message, no_content, ok,
};

pub async fn handle(broker: &Broker, method: &Method, path: &[&str], body: Incoming) -> Handled {
    match path {
        [] => {
            allow(method, &[Method::GET, Method::HEAD, Method::POST])?;
            match *method {
                Method::POST => take(broker, &reply::body(body).await?).await,
                _ => list(broker, String::new()).await,
            }
        }
        ["state"] => {
            allow(method, &[Method::GET, Method::HEAD, Method::DELETE])?;
            match *method {
                Method::DELETE => forget(broker).await,
                _ => state(broker).await,
            }
        }
        // The store is read each time: there is no index of it that could be stale.
        ["state", "sync"] => {
            allow(method, &[Method::POST])?;
            state(broker).await
        }
        [id] => {
            allow(method, &[Method::GET, Method::HEAD, Method::DELETE])?;
            match (method, id.strip_suffix('*')) {
                (&Method::DELETE, None) => delete(broker, number(id)?).await,
                (&Method::DELETE, Some(_)) => Err(bad_request(
                    "one backup is deleted at a time: give its whole id",
                )),
                (_, Some("")) => list(broker, String::new()).await,
                (_, Some(prefix)) => {
                    number(prefix)?;
                    list(broker, prefix.to_string()).await
                }
                (_, None) => show(broker, number(id)?).await,
            }
        }
        _ => Err(message(
            StatusCode::NOT_FOUND,
            format!("there is nothing at backupRuntime/{}", path.join("/")),
        )),
    }
}

pub(super) fn number(id: &str) -> Result<u64, Answer> {
    let number = id.parse::<u64>().ok().filter(|id| is_id(*id));
    number.ok_or_else(|| bad_request(format!("'{id}' is not the id of a backup: {ID}")))
}

const ID: &str = "an id is a whole number above 0, as a 64-bit integer holds it";

fn is_id(id: u64) -> bool {
    id > 0 && i64::try_from(id).is_ok()
}

async fn take(broker: &Broker, body: &serde_json::Map<String, Value>) -> Handled {
    if let Some(unknown) = body.keys().find(|key| *key != "backupId") {
        return Err(bad_request(format!("'{unknown}' is not known here")));
    }
    let config = broker.config().backup.as_ref();
    let is_scheduled =
        config.is_some_and(|config| config.schedule.times.is_some() || config.continuous.is_some());
    let id = match body.get("backupId") {
        // As in the reference: callers choose ids only if no schedule takes backups.
        None | Some(Value::Null) if is_scheduled => None,
        None | Some(Value::Null) => {
            return Err(bad_request(format!("backupId is missing: {ID}")));
        }
        Some(id) => {
            let number = id.as_u64().filter(|id| is_id(*id));
            Some(number.ok_or_else(|| bad_request(format!("backupId is {id}: {ID}")))?)
        }
    };
    match broker.ask_for(Ask::Backup(id)).await {
        Ok(ClusterAnswer::Backup(id)) => Ok(json(
            StatusCode::ACCEPTED,
            &json!({
                "message": format!("The backup {id} has begun; GET /actuator/backupRuntime/{id} shows its progress."),
                "backupId": id,
            }),
        )),
        Ok(_) => Err(message(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the node that decides gave an unexpected answer",
        )),
        Err(refusal) => Err(refused(&refusal)),
    }
}

/// Accesses the store on a separate thread.
async fn ask<T: Send + 'static>(
    broker: &Broker,
    question: impl FnOnce(&Store) -> Result<T, BackupError> + Send + 'static,
) -> Result<T, Answer> {
    let config = broker.config().backup.clone();
    let location = config.ok_or_else(|| bad_request(no_store()))?.location;
    let asked = tokio::task::spawn_blocking(move || {
        let store = Store::open(&location)?;
        question(&store)
    });
    let answer = asked.await;
    let answer =
        answer.map_err(|error| message(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    answer.map_err(|error| {
        let status = match error {
            BackupError::Unknown(_) => StatusCode::NOT_FOUND,
            BackupError::Needed { .. } => StatusCode::CONFLICT,
            BackupError::OtherCluster { .. } | BackupError::OtherRestore { .. } => {
                StatusCode::BAD_REQUEST
            }
            BackupError::Objects(_) => StatusCode::BAD_GATEWAY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        message(status, error.to_string())
    })
}

/// The newest backups, at most so many.
pub async fn newest(broker: &Broker, limit: usize) -> Handled {
    let backups = ask(broker, move |store| {
        skep_backup::list_newest(store, "", limit)
    })
    .await?;
    Ok(ok(&backups.iter().map(shown).collect()))
}

async fn list(broker: &Broker, prefix: String) -> Handled {
    let backups = ask(broker, move |store| skep_backup::list(store, &prefix)).await?;
    Ok(ok(&backups.iter().map(shown).collect()))
}

async fn show(broker: &Broker, id: u64) -> Handled {
    let backup = ask(broker, move |store| skep_backup::find(store, id)).await?;
    Ok(ok(&shown(&backup)))
}

async fn delete(broker: &Broker, id: u64) -> Handled {
    let config = broker.config().backup.as_ref();
    let continues = config.is_some_and(|config| config.continuous.is_some());
    let (state, owner) = (broker.cluster_state(), broker.owner_of_backups());
    let now = jiff::Timestamp::now().as_millisecond();
    ask(broker, move |store| {
        let backup = skep_backup::find(store, id)?;
        match backup.state {
            BackupState::InProgress => Err(BackupError::Unusable {
                id,
                reason: "it is being taken: wait until that has ended".to_string(),
            }),
            _ => match skep_backup::is_needed(store, id, continues)? {
                Some(reason) => Err(BackupError::Needed { id, reason }),
                None => {
                    let by = Writer {
                        cluster_id: &state.cluster_id,
                        epoch: state.epoch,
                    };
                    owner.expect_grown(store)?;
                    skep_backup::delete_by(store, by, id, now)
                }
            },
        }
    })
    .await?;
    Ok(no_content())
}

fn instant(millis: i64) -> Value {
    jiff::Timestamp::from_millisecond(millis).map_or(Value::Null, |time| json!(time.to_string()))
}

fn time(time: Option<SystemTime>) -> Value {
    let time = time.and_then(|time| jiff::Timestamp::try_from(time).ok());
    time.map_or(Value::Null, |time| json!(time.to_string()))
}

fn shown(backup: &Backup) -> Value {
    let failure = match backup.state {
        BackupState::InProgress => Value::Null,
        BackupState::Completed | BackupState::Failed | BackupState::Incompatible => {
            json!(backup.note)
        }
    };
    let details = match &backup.manifest {
        Some(manifest) => complete(manifest),
        None => unfinished(backup),
    };
    json!({
        "backupId": backup.id,
        "state": backup.state.name(),
        "failureReason": failure,
        "details": details,
    })
}

fn complete(manifest: &Manifest) -> Vec<Value> {
    let details = manifest.partitions.iter().map(|of| {
        json!({
            "partitionId": of.partition,
            "state": BackupState::Completed.name(),
            "failureReason": null,
            "createdAt": instant(manifest.cut_at),
            "lastUpdatedAt": instant(manifest.completed_at),
            "snapshotId": of.checkpoint_index.to_string(),
            "firstLogPosition": of.log.base_index + 1,
            "checkpointPosition": of.cut.position,
            "brokerId": of.broker_id,
            "brokerVersion": manifest.version,
        })
    });
    details.collect()
}

fn unfinished(backup: &Backup) -> Vec<Value> {
    let Some(begun) = &backup.begun else {
        return Vec::new();
    };
    let details = (1..=begun.partitions).map(|partition| {
        json!({
            "partitionId": partition,
            "state": backup.state.name(),
            "failureReason": (backup.state == BackupState::Failed).then_some(&backup.note),
            "createdAt": instant(begun.began_at),
            "lastUpdatedAt": time(backup.updated_at),
            "brokerVersion": begun.version,
        })
    });
    details.collect()
}

/// Discards all checkpoints up to now: the next backup begins another range.
async fn forget(broker: &Broker) -> Handled {
    let (state, owner) = (broker.cluster_state(), broker.owner_of_backups());
    let now = jiff::Timestamp::now().as_millisecond();
    ask(broker, move |store| {
        let by = Writer {
            cluster_id: &state.cluster_id,
            epoch: state.epoch,
        };
        owner.expect_grown(store)?;
        skep_backup::forget(store, by, now)
    })
    .await?;
    Ok(no_content())
}

/// The newest checkpoint and backup of each partition, and the ranges within which every checkpoint can be restored. What was discarded
/// is not among them.
async fn state(broker: &Broker) -> Handled {
    let state = ask(broker, |store| {
        let forgotten = skep_backup::forgotten(store)?;
        let is_known = |backup: u64| forgotten.is_none_or(|upto| backup > upto);
        let mut backups = skep_backup::list(store, "")?.into_iter();
        let newest = backups
            .find_map(|backup| backup.manifest)
            .filter(|it| is_known(it.backup_id));
        let backups = newest.iter().flat_map(of_backup).collect::<Vec<Value>>();
        let (mut checkpoints, mut ranges) = (None, Vec::new());
        for range in skep_backup::ranges(store)? {
            let (Some(start), Some(end)) = (range.start(), range.end()) else {
                continue;
            };
            if !is_known(end.backup) {
                continue;
            }
            let starts = checkpoints_at(store, &range, start)?;
            let ends = checkpoints_at(store, &range, end)?;
            ranges.extend(starts.into_iter().zip(&ends).map(|(start, end)| {
                json!({ "partitionId": start.get("partitionId"), "start": start, "end": end })
            }));
            if newest.as_ref().is_some_and(|it| it.backup_id == end.backup) {
                checkpoints = Some(ends);
            }
        }
        Ok(json!({
            "checkpointStates": checkpoints.as_ref().unwrap_or(&backups),
            "backupStates": backups,
            "ranges": ranges,
        }))
    });
    Ok(ok(&state.await?))
}

/// The position of each partition at a moment of a range.
fn checkpoints_at(store: &Store, range: &Range, moment: Moment) -> Result<Vec<Value>, BackupError> {
    let Some(base) = range.base(moment) else {
        return Ok(Vec::new());
    };
    let Some(marker) = skep_backup::marker_of(store, &base.manifest, moment)? else {
        return Ok(of_backup(&base.manifest));
    };
    let cuts = marker.cuts.iter().map(|(partition, cut)| {
        json!({
            "checkpointId": marker.at,
            "checkpointType": "MARKER",
            "partitionId": partition,
            "checkpointPosition": cut.position,
            "checkpointTimestamp": instant(marker.at),
        })
    });
    Ok(cuts.collect())
}

fn of_backup(manifest: &Manifest) -> Vec<Value> {
    let partitions = manifest.partitions.iter().map(|of| {
        json!({
            "checkpointId": manifest.backup_id,
            "checkpointType": manifest.kind.checkpoint_type(),
            "partitionId": of.partition,
            "firstLogPosition": of.log.base_index + 1,
            "checkpointPosition": of.cut.position,
            "checkpointTimestamp": instant(manifest.cut_at),
        })
    });
    partitions.collect()
}
