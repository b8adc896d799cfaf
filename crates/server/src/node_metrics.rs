//! Metrics of a node that alerts need besides those of its partitions: disk space, its CPU limit, changes of the cluster, expiry of
//! certificates.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use skep_broker::Broker;
use skep_cluster::State;
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
    struct OfStatus {
        zeebe_cluster_changes_status: &'static str,
    }
}

metrics! {
    /// Gauges that are updated when metrics are scraped.
    pub struct NodeFamilies {
        disk_free: Gauge = "skep_disk_free_bytes", "free bytes on the disk of the data directory";
        disk_needed: Gauge = "skep_disk_needed_bytes", "free bytes below which new work is refused";
        cpu_periods: Counter = "skep_cpu_periods", "periods of the CPU limit in which the process ran";
        cpu_throttled: Counter = "skep_cpu_throttled_periods", "periods in which the process used up its CPU limit and was stopped for the rest";
        topology_version: Gauge = "zeebe_cluster_topology_version", "grows with each change of the cluster that has ended";
        change: Gauge = "zeebe_cluster_changes_id", "number of the current cluster change, or of the last one";
        change_version: Gauge = "zeebe_cluster_changes_version", "grows with each step of the current cluster change";
        change_status: Family<OfStatus, Gauge> = "zeebe_cluster_changes_status", "1 for the status of the current cluster change, or of the last one";
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
        show_changes(families, &broker.cluster_state());
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

fn gauge(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

const IN_PROGRESS: &str = "IN_PROGRESS";
/// The statuses that a change may have. None fails: its steps are repeated until they succeed or it is cancelled.
const STATUSES: [&str; 4] = [IN_PROGRESS, "COMPLETED", "CANCELLED", "FAILED"];

/// Sets the metrics of the change in progress, and without one those of the last change.
fn show_changes(families: &NodeFamilies, state: &State) {
    families.topology_version.set(gauge(state.version));
    let (id, status) = match (&state.running, state.last_change()) {
        (Some(running), _) => (running.id, IN_PROGRESS),
        (None, Some(last)) => (last.change.id, last.outcome.status()),
        (None, None) => (0, ""),
    };
    families.change.set(gauge(id));
    for one in STATUSES {
        let labels = OfStatus {
            zeebe_cluster_changes_status: one,
        };
        let is_current = i64::from(one == status);
        families.change_status.of(labels).set(is_current);
    }
    let change = state.running.as_ref();
    let version = change.map_or(0, |_| state.revision);
    families.change_version.set(gauge(version));
    let pending = change.map_or(0, |change| change.pending.len());
    families.operations_pending.set(gauge(pending));
    let completed = change.map_or(0, |change| change.completed.len());
    families.operations_completed.set(gauge(completed));
}

/// Counts up to a number that the kernel counts. In another control group it begins again.
fn grow(counter: &Counter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use skep_cluster::{Finished, Outcome, Running};

    use super::*;

    /// Number, version, and the status that is 1.
    fn shown(state: &State) -> (i64, i64, Vec<&'static str>) {
        let families = NodeFamilies::default();
        // A status that is over does not stay.
        for status in STATUSES {
            let labels = OfStatus {
                zeebe_cluster_changes_status: status,
            };
            families.change_status.of(labels).set(1);
        }
        show_changes(&families, state);
        let is_current = |status: &&'static str| {
            let labels = OfStatus {
                zeebe_cluster_changes_status: status,
            };
            families.change_status.of(labels).get() == 1
        };
        let current = STATUSES.into_iter().filter(is_current);
        let version = families.change_version.get();
        (families.change.get(), version, current.collect())
    }

    #[test]
    fn the_current_change_is_shown_and_then_how_it_ended() {
        let mut state = State {
            revision: 40,
            ..State::default()
        };
        assert_eq!(shown(&state), (0, 0, vec![]));
        let change = Running {
            id: 7,
            started_at: 0,
            completed: Vec::new(),
            pending: VecDeque::new(),
        };
        state.running = Some(change.clone());
        assert_eq!(shown(&state), (7, 40, vec![IN_PROGRESS]));
        state.running = None;
        for (outcome, status) in [
            (Outcome::Completed, "COMPLETED"),
            (Outcome::Cancelled, "CANCELLED"),
        ] {
            state.finished.push_back(Finished {
                change: change.clone(),
                outcome,
                finished_at: 0,
            });
            assert_eq!(shown(&state), (7, 0, vec![status]));
        }
    }
}
