//! Metrics of a node that alerts need besides those of its partitions: disk space, its CPU limit, changes of the cluster, expiry of
//! certificates.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skep_broker::Broker;
use skep_metrics::{Counter, Family, Gauge, Registry, labels, metrics};
use skep_tls::{Certificate, ServerTls};

use crate::config::tls::Ports;
use crate::expiry;
use crate::lease::{Lease, Standing};
use crate::throttling::Throttling;

labels! {
    struct OfPort {
        port: &'static str,
    }
    struct OfNode {
        node: u32,
    }
}

metrics! {
    /// Gauges that are updated when metrics are scraped.
    pub struct NodeFamilies {
        disk_free: Gauge = "skep_disk_free_bytes", "free bytes on the disk of the data directory";
        disk_needed: Gauge = "skep_disk_needed_bytes", "free bytes below which new work is refused";
        cpu_periods: Counter = "skep_cpu_periods", "periods of the CPU limit in which the process ran";
        cpu_throttled: Counter = "skep_cpu_throttled_periods", "periods in which the process used up its CPU limit and was stopped for the rest";
        operations_pending: Gauge = "zeebe_cluster_changes_operations_pending", "pending operations of the current cluster change";
        operations_completed: Gauge = "zeebe_cluster_changes_operations_completed", "completed operations of the current cluster change";
        lease_age: Family<OfNode, Gauge> = "skep_lease_age_seconds", "time since the last successful renewal of the lease of the node's number was sent";
        certificate: Family<OfPort, Gauge> = "skep_certificate_expires_seconds", "expiry of the certificate that a port presents, in seconds since 1970";
    }
}

/// Read when metrics are scraped.
pub struct NodeMetrics {
    families: NodeFamilies,
    /// Each port with TLS. Its certificate may change while the server runs.
    ports: Vec<(&'static str, ServerTls)>,
    cluster: Option<OfCluster>,
    lease: Option<Arc<Lease>>,
    throttling: Arc<Throttling>,
}

/// The certificate presented to other nodes.
enum OfCluster {
    /// In a file, which is read each time.
    File(PathBuf),
    /// In a key store, which was opened at the start.
    Store(Option<i64>),
}

impl OfCluster {
    fn of(certificate: &Certificate) -> OfCluster {
        match certificate {
            Certificate::Pem { chain, .. } => OfCluster::File(chain.clone()),
            Certificate::KeyStore(store) => OfCluster::Store(expiry::of_store(store)),
        }
    }

    fn end(&self) -> Option<i64> {
        match self {
            OfCluster::File(file) => expiry::of_file(file),
            OfCluster::Store(end) => *end,
        }
    }
}

impl NodeMetrics {
    pub fn register(
        registry: &mut Registry,
        ports: &Ports,
        cluster: Option<&Certificate>,
        lease: Option<Arc<Lease>>,
        throttling: Arc<Throttling>,
    ) -> NodeMetrics {
        let families = NodeFamilies::default();
        families.register(registry);
        NodeMetrics {
            families,
            ports: ports.named().collect(),
            cluster: cluster.map(OfCluster::of),
            lease,
            throttling,
        }
    }

    /// The lease of the node's number, if it has one.
    pub fn lease(&self) -> Option<Standing> {
        self.lease.as_ref()?.standing()
    }

    /// Where [`NodeMetrics::lease`] comes from.
    pub fn leased(&self) -> Option<Arc<Lease>> {
        self.lease.clone()
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
        if let Some(quota) = self.throttling.quota() {
            grow(&families.cpu_periods, quota.periods);
            grow(&families.cpu_throttled, quota.throttled);
        }
        let state = broker.cluster_state();
        let change = state.running.as_ref();
        let count = |operations: usize| i64::try_from(operations).unwrap_or(i64::MAX);
        let pending = change.map_or(0, |change| change.pending.len());
        families.operations_pending.set(count(pending));
        let completed = change.map_or(0, |change| change.completed.len());
        families.operations_completed.set(count(completed));
        if let Some(standing) = self.lease() {
            let age = gauge(standing.confirmed.elapsed().as_secs());
            let node = standing.node;
            families.lease_age.of(OfNode { node }).set(age);
        }
        for (port, tls) in &self.ports {
            let end = tls.certificate().and_then(|it| expiry::not_after(&it));
            if let Some(end) = end {
                families.certificate.of(OfPort { port }).set(end);
            }
        }
        let cluster = self.cluster.as_ref();
        if let Some(end) = cluster.and_then(OfCluster::end) {
            families.certificate.of(OfPort { port: "cluster" }).set(end);
        }
    }
}

/// Counts up to a number that the kernel counts. In another control group it begins again.
fn grow(counter: &Counter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}
