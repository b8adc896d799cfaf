//! What alerts ask of a node besides its partitions: room on the disk, changes of the cluster, certificates that end.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use skep_broker::Broker;
use skep_metrics::{Family, Gauge, Registry, labels, metrics};

use crate::expiry;

labels! {
    struct OfPort {
        port: &'static str,
    }
}

metrics! {
    /// What the node is told of when metrics are scraped.
    pub struct NodeFamilies {
        disk_free: Gauge = "skep_disk_free_bytes", "free bytes of the disk with the data directory";
        disk_needed: Gauge = "skep_disk_needed_bytes", "free bytes below which new work is refused";
        operations_pending: Gauge = "zeebe_cluster_changes_operations_pending", "operations that are left of the change of the cluster that is under way";
        operations_completed: Gauge = "zeebe_cluster_changes_operations_completed", "operations that are done of it";
        certificate: Family<OfPort, Gauge> = "skep_certificate_expires_seconds", "end of the certificate in the file of a port, seconds since 1970";
    }
}

/// Read when metrics are scraped.
pub struct NodeMetrics {
    families: NodeFamilies,
    /// Of each port with TLS the file of its certificate. It may change while the server runs.
    certificates: Vec<(&'static str, PathBuf)>,
}

impl NodeMetrics {
    pub fn register(
        registry: &mut Registry,
        certificates: Vec<(&'static str, PathBuf)>,
    ) -> NodeMetrics {
        let families = NodeFamilies::default();
        families.register(registry);
        NodeMetrics {
            families,
            certificates,
        }
    }

    pub fn refresh(&self, broker: &Broker) {
        let families = &self.families;
        let gauge = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let disk = &broker.config().disk;
        let needed = if disk.monitoring_enabled {
            disk.processing
        } else {
            0
        };
        let free = broker.disk().free.load(Ordering::Relaxed);
        families.disk_free.set(gauge(free));
        families.disk_needed.set(gauge(needed));
        let state = broker.cluster_state();
        let change = state.running.as_ref();
        let count = |operations: usize| i64::try_from(operations).unwrap_or(i64::MAX);
        let pending = change.map_or(0, |change| change.pending.len());
        families.operations_pending.set(count(pending));
        let completed = change.map_or(0, |change| change.completed.len());
        families.operations_completed.set(count(completed));
        for (port, file) in &self.certificates {
            // One that cannot be read has been told of in the log, and the one before it is still in use.
            if let Some(end) = expiry::of_file(file) {
                families.certificate.of(OfPort { port }).set(end);
            }
        }
    }
}
