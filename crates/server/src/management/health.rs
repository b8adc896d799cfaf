//! Health: overall, and by the groups that orchestrators probe.

use std::sync::atomic::Ordering;

use http::StatusCode;
use serde_json::{Map, Value, json};
use skep_broker::Broker;
use skep_service::{PartitionHealth, PartitionRole};

use super::Management;
use super::exporters;
use super::reply::{Answer, json as answer};
use crate::lease::Standing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The server has finished starting.
    Startup,
    /// It takes work.
    Readiness,
    /// No partition has failed. A server that starts or stops is alive.
    Liveness,
    /// It takes work and every partition is healthy.
    Status,
}

pub const GROUPS: [&str; 4] = ["liveness", "readiness", "startup", "status"];

impl Group {
    pub fn named(name: &str) -> Option<Group> {
        match name {
            "startup" => Some(Group::Startup),
            "readiness" => Some(Group::Readiness),
            "liveness" => Some(Group::Liveness),
            "status" => Some(Group::Status),
            _ => None,
        }
    }

    fn is_up(self, management: &Management) -> bool {
        let broker = management.broker();
        let taking_work = |broker: &Broker| {
            broker.is_ready() && !management.is_stopping() && management.has_caught_up()
        };
        let partitions = |broker: &Broker, all: fn(PartitionHealth) -> bool| {
            broker.partitions().iter().all(|p| all(p.status.health()))
        };
        match self {
            Group::Startup => broker.is_some(),
            Group::Readiness => broker.is_some_and(taking_work),
            Group::Liveness => {
                broker.is_none_or(|broker| partitions(broker, |h| h != PartitionHealth::Dead))
            }
            Group::Status => broker.is_some_and(|broker| {
                taking_work(broker) && partitions(broker, |h| h == PartitionHealth::Healthy)
            }),
        }
    }
}

fn status(up: bool) -> (StatusCode, &'static str) {
    if up {
        (StatusCode::OK, "UP")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "DOWN")
    }
}

/// One group, without details.
pub fn group(management: &Management, group: Group) -> Answer {
    let (code, text) = status(group.is_up(management));
    answer(code, &json!({ "status": text }))
}

/// An unreachable bucket stops nobody, so the component is always up.
fn lease_details(lease: &Standing) -> Value {
    let mut details = json!({
        "nodeId": lease.node,
        "version": lease.version,
        "ageSeconds": lease.confirmed.elapsed().as_secs(),
    });
    if let (Some(trouble), Some(details)) = (&lease.trouble, details.as_object_mut()) {
        details.insert("message".into(), json!(trouble));
    }
    details
}

/// Everything, with details.
pub fn all(management: &Management) -> Answer {
    let up = |group: Group| json!({ "status": status(group.is_up(management)).1 });
    let broker = management.broker();
    let gateway = broker.filter(|broker| broker.config().is_gateway());
    let mut components = match gateway {
        Some(gateway) => of_gateway(gateway),
        None => vec![
            ("brokerStartup", up(Group::Startup)),
            ("brokerReady", up(Group::Readiness)),
            ("brokerStatus", up(Group::Status)),
        ],
    };
    let mut healthy = Group::Status.is_up(management);
    if let Some(broker) = broker.filter(|_| gateway.is_none()) {
        let (up, details) = disk(broker);
        healthy &= up;
        components.push(("diskSpace", component(up, details)));
        let (up, details) = cluster_state(broker);
        healthy &= up;
        components.push(("clusterState", component(up, details)));
        components.push(("partitions", partitions(broker)));
        if let Some(lease) = management.lease() {
            components.push(("nodeIdLease", component(true, lease_details(&lease))));
        }
        let (up, details) = secondary_storage(broker);
        healthy &= up;
        components.push(("secondaryStorage", component(up, details)));
        let (up, details) = exporters::health(broker);
        healthy &= up;
        components.push(("exporters", component(up, details)));
    }
    let differences = management.differences();
    if !differences.is_empty() {
        let details = json!({ "status": "DEGRADED", "details": { "differences": differences } });
        components.push(("securitySettings", details));
    }
    let components = components.into_iter();
    let components: Map<_, _> = components.map(|(name, c)| (name.into(), c)).collect();
    let (code, text) = status(healthy);
    answer(
        code,
        &json!({ "status": text, "components": components, "groups": GROUPS }),
    )
}

/// Health of a gateway, which has no components of its own that could fail.
fn of_gateway(broker: &Broker) -> Vec<(&'static str, Value)> {
    let reached = broker.cluster().map_or(0, |cluster| cluster.reached());
    vec![
        ("gatewayStarted", component(true, json!({}))),
        (
            "gatewayClusterAwareness",
            component(reached > 0, json!({ "brokers": reached })),
        ),
        (
            "gatewayPartitionLeaderAwareness",
            component(broker.is_ready(), json!({})),
        ),
    ]
}

/// The partitions, each with its own health.
fn partitions(broker: &Broker) -> Value {
    let mut all = Map::new();
    for handle in broker.partitions() {
        let partition = &handle.status;
        let mut details = json!({
            "role": role(partition.role()),
            "health": health(partition.health()),
            "bannedInstances": partition.banned_instances.load(Ordering::Relaxed),
        });
        if let (Some(trouble), Some(details)) = (partition.trouble(), details.as_object_mut()) {
            details.insert("message".into(), json!(trouble));
        }
        let up = partition.health() == PartitionHealth::Healthy;
        all.insert(partition.partition.to_string(), component(up, details));
    }
    let up = broker
        .partitions()
        .iter()
        .all(|p| p.status.health() == PartitionHealth::Healthy);
    json!({ "status": status(up).1, "components": all })
}

/// Health of this node's copy of the cluster's state: without it the node has no vote in changes. Its disk may be another one than that of
/// the partitions, which go on.
fn cluster_state(broker: &Broker) -> (bool, Value) {
    match broker.metadata_trouble() {
        Some(trouble) => (false, json!({ "message": trouble })),
        None => (true, json!({})),
    }
}

fn component(up: bool, details: Value) -> Value {
    json!({ "status": status(up).1, "details": details })
}

/// Health of secondary storage: the engine works without it, but searches return increasingly stale data.
fn secondary_storage(broker: &Broker) -> (bool, Value) {
    let mut faults = Map::new();
    for handle in broker.partitions() {
        if let Some(fault) = handle.secondary.get().fault() {
            faults.insert(handle.status.partition.to_string(), json!(fault));
        }
    }
    (faults.is_empty(), json!({ "faults": faults }))
}

fn disk(broker: &Broker) -> (bool, Value) {
    let config = &broker.config().disk;
    let space = broker.disk();
    let up = !space.low.load(Ordering::Relaxed);
    let details = json!({
        "free": space.free.load(Ordering::Relaxed),
        "threshold": config.processing,
        "monitored": config.monitoring_enabled,
        "path": broker.config().directory.display().to_string(),
    });
    (up, details)
}

pub fn role(role: PartitionRole) -> &'static str {
    match role {
        PartitionRole::Leader => "LEADER",
        PartitionRole::Follower => "FOLLOWER",
        PartitionRole::Inactive => "INACTIVE",
    }
}

pub fn health(health: PartitionHealth) -> &'static str {
    match health {
        PartitionHealth::Healthy => "HEALTHY",
        PartitionHealth::Unhealthy => "UNHEALTHY",
        PartitionHealth::Dead => "DEAD",
    }
}
