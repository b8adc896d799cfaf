//! Data collected from all nodes of the cluster, whichever of them is asked: `/actuator/nodes`, the states of exporters, and leases.

use std::sync::Arc;

use serde_json::{Map, Value};
use skep_broker::Broker;

use super::reply::{Answer, ok};
use super::{exporters, leases, partitions};
use crate::agreement::{self, Agreement};
use crate::lease::Lease;
use crate::monitor::{self, Monitor};
use crate::throttling::Throttling;

/// Questions that nodes ask each other.
pub const PARTITIONS: &str = "partitions";
pub const EXPORTERS: &str = "exporters";
pub const LEASES: &str = "leases";

/// Lets this node answer questions of other nodes.
pub fn answer_for(
    broker: &Arc<Broker>,
    monitor: Arc<Monitor>,
    agreement: Arc<Agreement>,
    (throttling, lease): (Arc<Throttling>, Option<Arc<Lease>>),
) {
    let known = Arc::downgrade(broker);
    broker.answer_questions(Box::new(move |question| {
        let Some(broker) = known.upgrade() else {
            return String::new();
        };
        match question {
            PARTITIONS => with_cpu(partitions::of_node(&broker), &throttling).to_string(),
            EXPORTERS => exporters::of_node(&broker),
            LEASES => {
                let standing = lease.as_ref().and_then(|lease| lease.standing());
                leases::of_node(standing.as_ref()).to_string()
            }
            agreement::QUESTION => agreement.answer(),
            other => match other.strip_prefix(monitor::QUESTION) {
                Some(since) => monitor.answer(since),
                // A question of a later version.
                None => String::new(),
            },
        }
    }));
}

/// Adds what the node's CPU limit does to it, which concerns each of its partitions.
fn with_cpu(mut partitions: Value, throttling: &Throttling) -> Value {
    let quota = throttling.quota();
    for partition in partitions.as_object_mut().into_iter().flatten() {
        partition.1["cpuLimitCores"] = quota.map(|quota| quota.cores).into();
        partition.1["cpuThrottledShare"] = throttling.share().into();
    }
    partitions
}

/// Answers a request for the data of all nodes.
pub async fn list(broker: &Broker, name: &str) -> Answer {
    match name {
        EXPORTERS => exporters::list(broker).await,
        LEASES => leases::list(broker).await,
        _ => all(broker).await,
    }
}

/// `GET /actuator/nodes`: the partitions of each node; `null` for one that does not answer.
async fn all(broker: &Broker) -> Answer {
    let answers = broker.ask_nodes(PARTITIONS).await.into_iter();
    let nodes = answers.map(|(node, answer)| {
        let partitions = answer.and_then(|text| serde_json::from_str(&text).ok());
        (node.to_string(), partitions.unwrap_or(Value::Null))
    });
    ok(&Value::Object(nodes.collect::<Map<_, _>>()))
}
