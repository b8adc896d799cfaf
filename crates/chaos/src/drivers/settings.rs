//! The settings with which nodes find each other, and know what they are.

use std::collections::BTreeMap;
use std::io;

use crate::plan::Nodes;

/// The setting of a node without partitions.
const MODE: &str = "camunda.mode";
const GATEWAY: &str = "gateway";

/// Whether a node with these settings has no partitions, and is no member of the cluster.
pub(super) fn are_of_gateway(settings: &BTreeMap<String, String>) -> bool {
    settings.get(MODE).is_some_and(|mode| mode == GATEWAY)
}

/// The addresses of the nodes that begin the cluster. If numbers are leased, that may be any of them.
pub(super) fn contact_points(
    plan: &Nodes,
    advertised: &[u16],
    host: impl Fn(u32) -> String,
) -> io::Result<String> {
    let members = usize::try_from(plan.count).map_err(io::Error::other)?;
    let members = if plan.leases {
        advertised.len()
    } else {
        members
    };
    let ports = (0..).zip(advertised).take(members);
    let points: Vec<String> = ports
        .map(|(number, port)| format!("{}:{port}", host(number)))
        .collect();
    Ok(points.join(","))
}

/// The settings of a node at this host, with its own internal port and the one by which others reach it.
pub(super) fn of_node(
    plan: &Nodes,
    number: u32,
    points: &str,
    (host, internal): (&str, u16),
    advertised: u16,
) -> BTreeMap<String, String> {
    let cluster = |name: &str, value: String| (format!("camunda.cluster.{name}"), value);
    if plan.is_gateway(number) {
        let id = (number - plan.brokers()).to_string();
        let mut settings = vec![(MODE.into(), GATEWAY.into()), cluster("node-id", id)];
        settings.extend(network(points, host, internal, advertised));
        return others(plan, host, settings);
    }
    let mut settings = vec![cluster("partition-count", plan.partitions.to_string())];
    if plan.brokers() > 1 {
        let (id, size) = if plan.leases {
            let task = format!("process-{number}");
            (cluster("node-id-provider.s3.task-id", task), plan.count)
        } else {
            // A node beyond the size would refuse its own number.
            let size = plan.count.max(number + 1);
            (cluster("node-id", number.to_string()), size)
        };
        settings.extend([
            id,
            cluster("size", size.to_string()),
            cluster("replication-factor", plan.count.to_string()),
        ]);
        settings.extend(network(points, host, internal, advertised));
    }
    others(plan, host, settings)
}

/// How a node reaches others, and is reached by them.
fn network(points: &str, host: &str, internal: u16, advertised: u16) -> [(String, String); 4] {
    let settings = [
        ("initial-contact-points", points.to_string()),
        ("network.internal-api.port", internal.to_string()),
        (
            "network.internal-api.advertised-port",
            advertised.to_string(),
        ),
        // The image would open it to other machines.
        ("network.internal-api.host", host.to_string()),
    ];
    settings.map(|(name, value)| (format!("camunda.cluster.{name}"), value))
}

/// The settings with those that depend on no number, of which the plan has the last word.
fn others(
    plan: &Nodes,
    host: &str,
    mut settings: Vec<(String, String)>,
) -> BTreeMap<String, String> {
    if host != "127.0.0.1" {
        // Only this machine reaches the network of the run.
        let open = "camunda.security.authentication.unprotected-api";
        settings.push((open.to_string(), "true".into()));
    }
    settings.extend(plan.settings.clone());
    settings.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_has_a_number_of_its_own_and_no_partitions() {
        let plan = Nodes {
            count: 2,
            gateways: 2,
            partitions: 3,
            ..Nodes::default()
        };
        let of = |number| of_node(&plan, number, "a:1,b:2", ("127.0.0.1", 4), 5);
        let named = |number, name: &str| of(number).get(name).cloned();
        let (id, partitions) = ("camunda.cluster.node-id", "camunda.cluster.partition-count");
        assert!(are_of_gateway(&of(3)) && !are_of_gateway(&of(1)));
        assert_eq!(named(1, id).as_deref(), Some("1"));
        assert_eq!(named(1, partitions).as_deref(), Some("3"));
        assert_eq!(named(3, id).as_deref(), Some("1"));
        assert_eq!(named(3, partitions), None);
        for number in [1, 3] {
            let points = named(number, "camunda.cluster.initial-contact-points");
            assert_eq!(points.as_deref(), Some("a:1,b:2"));
        }
    }
}
