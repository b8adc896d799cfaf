//! The gateway's view of the cluster, read at each scrape: `zeebe_gateway_topology_partition_roles`,
//! `zeebe_gateway_job_stream_servers` and `skep_permissions_age_seconds`.

use std::sync::Arc;
use std::time::Duration;

use skep_metrics::Unlabelled;
use skep_service::{Broker, PartitionRole};

use super::families::{GatewayFamilies, LoginFamilies, RoleLabels};

/// Shown as the age of permissions that were never confirmed.
const LONGEST_AGE: Duration = Duration::from_secs(24 * 3600);

/// Sets the source of the metrics. Only the first call has an effect.
pub(super) fn read_from(
    families: &GatewayFamilies,
    logins: &LoginFamilies,
    broker: &Arc<dyn Broker>,
) {
    let asked = Arc::clone(broker);
    logins.directory_age.read_from(move || {
        // A node that has just started has not heard the leader yet.
        let age = asked.directory_age().min(LONGEST_AGE).as_secs();
        vec![(Unlabelled, i64::try_from(age).unwrap_or(i64::MAX))]
    });
    let asked = Arc::clone(broker);
    families.servers.read_from(move || {
        let servers = asked.topology().brokers.len();
        vec![(Unlabelled, servers as i64)]
    });
    let asked = Arc::clone(broker);
    families.roles.read_from(move || roles(&*asked));
}

fn roles(broker: &dyn Broker) -> Vec<(RoleLabels, i64)> {
    let mut roles = Vec::new();
    for node in broker.topology().brokers.iter() {
        for partition in &node.partitions {
            let role = match partition.role {
                PartitionRole::Leader => 3,
                PartitionRole::Follower => 0,
                PartitionRole::Inactive => continue,
            };
            let labels = RoleLabels {
                partition: partition.partition_id,
                broker: node.node_id,
            };
            roles.push((labels, role));
        }
    }
    roles
}
