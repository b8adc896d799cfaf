//! `/actuator/cluster`: the state of the cluster, and changes to it. Any node answers.

mod moves;
mod shown;

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_broker::cluster::{Answer as ClusterAnswer, Ask};
use skep_cluster::{Planned, Refusal, Request, UnsafeRecovery};

use super::reply::{self, Answer, Handled, Incoming, allow, bad_request, message, ok};
use moves::Rows;
use shown::brokers;

/// Handles requests to paths below `/actuator/cluster`.
pub async fn handle(
    broker: &Broker,
    method: &Method,
    path: &[&str],
    query: Option<&str>,
    body: Incoming,
) -> Handled {
    let to = Target { broker, query };
    match path {
        [] => {
            allow(method, &[Method::GET, Method::HEAD, Method::PATCH])?;
            match *method {
                Method::PATCH => to.scale(&reply::body(body).await?).await,
                _ => Ok(ok(&shown::topology(broker, &broker.cluster_state()))),
            }
        }
        ["brokers"] => {
            allow(method, &[Method::POST])?;
            let brokers = ids(&reply::json_body(body).await?, "the body")?;
            to.set_brokers(brokers).await
        }
        ["brokers", id] => {
            allow(method, &[Method::POST, Method::DELETE])?;
            let id = number(id, "a broker")?;
            to.change(match *method {
                Method::POST => Request::AddBroker(id),
                _ => Request::RemoveBroker(id),
            })
            .await
        }
        ["brokers", broker, "partitions", partition]
        | ["partitions", partition, "brokers", broker] => {
            allow(method, &[Method::POST, Method::DELETE])?;
            let (broker, partition) = (
                number(broker, "a broker")?,
                number(partition, "a partition")?,
            );
            to.change(match *method {
                Method::POST => joins(broker, partition, &reply::body(body).await?)?,
                _ => Request::Leave { broker, partition },
            })
            .await
        }
        ["purge"] => {
            allow(method, &[Method::POST])?;
            to.change(Request::Purge).await
        }
        ["changes"] => {
            allow(method, &[Method::GET, Method::HEAD])?;
            Ok(ok(&shown::changes(&broker.cluster_state())))
        }
        ["changes", id] => {
            allow(method, &[Method::GET, Method::HEAD, Method::DELETE])?;
            let id = number(id, "a change")?;
            match *method {
                Method::DELETE => to.cancel(id).await,
                _ => shown::change(&broker.cluster_state(), u64::from(id))
                    .map(|change| ok(&change))
                    .ok_or_else(|| unknown_change(id)),
            }
        }
        _ => Err(message(
            StatusCode::NOT_IMPLEMENTED,
            format!(
                "/cluster/{} is not supported by this version of Skep",
                path.join("/")
            ),
        )),
    }
}

/// `POST /actuator/rebalance`.
pub fn rebalance(broker: &Broker, method: &Method) -> Handled {
    allow(method, &[Method::POST])?;
    broker.rebalance();
    Ok(reply::respond(StatusCode::OK, "application/json", ""))
}

/// The broker and the query string of a change request.
struct Target<'a> {
    broker: &'a Broker,
    query: Option<&'a str>,
}

impl Target<'_> {
    fn flag(&self, name: &str) -> Result<bool, Answer> {
        match reply::query(self.query, name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(bad_request(format!(
                "{name} must be true or false, but is '{other}'"
            ))),
        }
    }

    /// `PATCH /actuator/cluster`.
    async fn scale(&self, body: &Map<String, Value>) -> Handled {
        known(body, &["brokers", "partitions"])?;
        let part = |name: &str| match body.get(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(part)) => Ok(part.clone()),
            Some(other) => Err(bad_request(format!(
                "{name} must be an object, but is {other}"
            ))),
        };
        let (brokers, partitions) = (part("brokers")?, part("partitions")?);
        known(&brokers, &["add", "remove", "count"])?;
        known(&partitions, &["count", "replicationFactor"])?;
        let list = |name: &str| match brokers.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(list) => ids(list, &format!("brokers.{name}")),
        };
        let (add, remove) = (list("add")?, list("remove")?);
        let count = amount(&brokers, "count")?;
        if self.flag("force")? {
            if !add.is_empty() || count.is_some() || !partitions.is_empty() || remove.is_empty() {
                return Err(bad_request(
                    "with force=true only brokers.remove is allowed",
                ));
            }
            return self.change(Request::ForceRemove { brokers: remove }).await;
        }
        self.change(Request::Scale {
            add,
            remove,
            count,
            partitions: amount(&partitions, "count")?,
            replication_factor: amount(&partitions, "replicationFactor")?,
        })
        .await
    }

    /// `POST /actuator/cluster/brokers`: the complete set of wanted brokers.
    async fn set_brokers(&self, brokers: Vec<u32>) -> Handled {
        let replication_factor = reply::query(self.query, "replicationFactor");
        let replication_factor = replication_factor
            .map(|text| number(text, "replicationFactor"))
            .transpose()?;
        if self.flag("force")? {
            let state = self.broker.cluster_state();
            if let Some(new) = brokers.iter().find(|id| !state.nodes.contains_key(id)) {
                return Err(bad_request(format!(
                    "with force=true brokers can only be removed, and broker {new} is not part of the cluster"
                )));
            }
            let gone = state.nodes.keys().filter(|id| !brokers.contains(id));
            let brokers = gone.copied().collect();
            return self.change(Request::ForceRemove { brokers }).await;
        }
        self.change(Request::Brokers {
            brokers,
            replication_factor,
        })
        .await
    }

    async fn change(&self, request: Request) -> Handled {
        let dry_run = self.flag("dryRun")?;
        if !dry_run {
            tracing::info!(?request, "operator action on the cluster");
        }
        match self.ask(Ask::Change { request, dry_run }).await? {
            ClusterAnswer::Planned(planned) if dry_run && relocates(&planned) => {
                let rows = moves::rows(self.broker).await;
                Ok(self.planned(&planned, &rows))
            }
            answer => self.answered(answer),
        }
    }

    fn answered(&self, answer: ClusterAnswer) -> Handled {
        match answer {
            ClusterAnswer::Planned(planned) => Ok(self.planned(&planned, &Rows::new())),
            ClusterAnswer::State(state) => Ok(ok(&shown::topology(self.broker, &state))),
            // Only nodes ask each other for this.
            ClusterAnswer::Survivor(_)
            | ClusterAnswer::Backup(_)
            | ClusterAnswer::BackupStep(_) => Err(message(
                StatusCode::INTERNAL_SERVER_ERROR,
                "another node gave an unexpected answer",
            )),
        }
    }

    fn planned(&self, planned: &Planned, rows: &Rows) -> Answer {
        let operations = planned.operations.iter().map(|operation| {
            let mut shown = shown::operation(operation);
            if let (Some(partitions), Some(shown)) =
                (operation.relocates_to(), shown.as_object_mut())
            {
                let moves = moves::of(&planned.current.routing(), partitions, rows);
                shown.insert("moves".to_string(), moves);
            }
            shown
        });
        let operations: Vec<Value> = operations.collect();
        let mut body = json!({
            "changeId": planned.change,
            "currentTopology": brokers(self.broker, &planned.current),
            "plannedChanges": operations,
            "expectedTopology": brokers(self.broker, &planned.expected),
        });
        if let (Some(unsafe_recovery), Some(body)) =
            (&planned.unsafe_recovery, body.as_object_mut())
        {
            body.insert("unsafeRecovery".to_string(), recovered(unsafe_recovery));
        }
        reply::json(StatusCode::ACCEPTED, &body)
    }

    async fn cancel(&self, id: u32) -> Handled {
        if reply::query(self.query, "dryRun").is_some() {
            let text = "cancelling a change does not support dryRun: leave it out";
            return Err(message(StatusCode::NOT_IMPLEMENTED, text));
        }
        tracing::info!(change = id, "operator cancels a change of the cluster");
        let change = u64::from(id);
        let answer = self.ask(Ask::Cancel { change }).await?;
        self.answered(answer)
    }

    async fn ask(&self, ask: Ask) -> Result<ClusterAnswer, Answer> {
        let answer = self.broker.ask_for(ask).await;
        answer.map_err(|refusal| refused(&refusal))
    }
}

/// Whether slots of correlation keys move.
fn relocates(planned: &Planned) -> bool {
    let mut operations = planned.operations.iter();
    operations.any(|operation| operation.relocates_to().is_some())
}

/// The answer to a request that the cluster refused.
pub fn refused(refusal: &Refusal) -> Answer {
    let status = match refusal {
        Refusal::Invalid(_) => StatusCode::BAD_REQUEST,
        Refusal::Busy(_) => StatusCode::CONFLICT,
        Refusal::NotOffered(_) => StatusCode::NOT_IMPLEMENTED,
        Refusal::Unknown(_) => StatusCode::NOT_FOUND,
        Refusal::Unreachable(_) => StatusCode::BAD_GATEWAY,
        Refusal::Unanswered(_) => StatusCode::GATEWAY_TIMEOUT,
    };
    match refusal {
        // It may be about to restart as one of several nodes, so that clients can try again.
        Refusal::NotOffered(why) => {
            reply::json(status, &json!({ "message": why, "isAlone": true }))
        }
        _ => message(status, refusal.to_string()),
    }
}

/// The result of an unsafe recovery: the partitions that continue without a majority, and those that are lost.
fn recovered(unsafe_recovery: &UnsafeRecovery) -> Value {
    let from = unsafe_recovery.from.iter();
    let from = from.map(|(partition, goes_on)| {
        json!({
            "partitionId": partition,
            "brokerId": goes_on.broker_id,
            "lastTerm": goes_on.term,
            "lastEntry": goes_on.index,
        })
    });
    json!({
        "epoch": unsafe_recovery.epoch,
        "partitions": from.collect::<Vec<_>>(),
        "lostPartitions": unsafe_recovery.lost,
        "warning": "these partitions continue from one copy each: acknowledged entries that are in no copy of the brokers that stay are \
                    lost. The removed brokers must never come back with their data: empty their directories before they are added again",
    })
}

fn unknown_change(id: u32) -> Answer {
    let text = format!("change {id} is not known: it never existed, or is too old");
    message(StatusCode::NOT_FOUND, text)
}

/// Refuses unknown fields, so that no part of a request is ignored.
fn known(object: &Map<String, Value>, names: &[&str]) -> Result<(), Answer> {
    match object.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(bad_request(format!(
            "'{name}' is not known here; allowed are {}",
            names.join(", ")
        ))),
    }
}

fn number(text: &str, what: &str) -> Result<u32, Answer> {
    text.parse()
        .map_err(|_| bad_request(format!("{what} must be a number, but is '{text}'")))
}

fn ids(value: &Value, what: &str) -> Result<Vec<u32>, Answer> {
    let list = value.as_array().map(|list| {
        let ids = list.iter().map(|id| u32::try_from(id.as_u64()?).ok());
        ids.collect::<Option<Vec<u32>>>()
    });
    list.flatten().ok_or_else(|| {
        bad_request(format!(
            "{what} must be a list of broker ids, but is {value}"
        ))
    })
}

fn amount(object: &Map<String, Value>, name: &str) -> Result<Option<u32>, Answer> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_u64()
            .and_then(|value| u32::try_from(value).ok())
            .map(Some)
            .ok_or_else(|| bad_request(format!("{name} must be a number, but is {value}"))),
    }
}

fn joins(broker: u32, partition: u32, body: &Map<String, Value>) -> Result<Request, Answer> {
    known(body, &["priority"])?;
    let priority = amount(body, "priority")?;
    let priority = priority
        .ok_or_else(|| bad_request("the body must have the priority: {\"priority\": 1}"))?;
    Ok(Request::Join {
        broker,
        partition,
        priority,
    })
}
