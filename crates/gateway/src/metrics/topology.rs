//! What the gateway believes of the cluster, read when somebody asks.

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use skep_protocol::service::{Broker, PartitionRole};

/// `zeebe_gateway_topology_partition_roles` and `zeebe_gateway_job_stream_servers`.
#[derive(Clone, Default)]
pub struct TopologyMetrics(Arc<OnceLock<Arc<dyn Broker>>>);

impl TopologyMetrics {
    /// Where to read from. The first one counts.
    pub fn read_from(&self, broker: Arc<dyn Broker>) {
        self.0.get_or_init(|| broker);
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }
}

impl fmt::Debug for TopologyMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TopologyMetrics")
    }
}

impl Collector for TopologyMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(broker) = self.0.get() else {
            return Ok(());
        };
        let topology = broker.topology();
        let servers = encoder.encode_descriptor(
            "zeebe_gateway_job_stream_servers",
            "Nodes known",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(topology.brokers.len() as i64).encode(servers)?;
        let mut roles = encoder.encode_descriptor(
            "zeebe_gateway_topology_partition_roles",
            "Role of each node for each partition: 3 leader, 0 follower",
            None,
            MetricType::Gauge,
        )?;
        for node in topology.brokers.iter() {
            for partition in &node.partitions {
                let role = match partition.role {
                    PartitionRole::Leader => 3_i64,
                    PartitionRole::Follower => 0,
                    PartitionRole::Inactive => continue,
                };
                let labels = [
                    ("partition", partition.partition_id.to_string()),
                    ("broker", node.node_id.to_string()),
                ];
                ConstGauge::new(role).encode(roles.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
