//! Metrics that are read from a partition's status at each scrape.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use skep_exporting::{OfExporter, Phase, Status};
use skep_metrics::{Counter, Gauge};
use skep_service::{PartitionHealth, PartitionRole};

use super::families::{BrokerMetrics, HealthNode};
use crate::local::Local;
use crate::partition::PartitionHandle;

impl BrokerMetrics {
    /// Exporters come and go, so they are read at each scrape.
    pub fn follow_exporters(&self, local: &Arc<Local>) {
        let read = |value: fn(&Status) -> u64| {
            let local = Arc::downgrade(local);
            move || {
                local
                    .upgrade()
                    .map_or_else(Vec::new, |local| exporters(&local, value))
            }
        };
        let families = &self.exporting.exporters;
        families.exported.read_from(read(Status::exported_position));
        families
            .updated
            .read_from(read(|status| status.durable().record));
        families
            .failing
            .read_from(read(|status| u64::from(status.fault().is_some())));
    }

    pub fn refresh(&self, handle: &PartitionHandle, node_id: u32) {
        let (status, metrics) = (&handle.status, &handle.metrics);
        let partition = status.partition;
        let set = |gauge: &Gauge, value: u64| {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        let position = |gauge: &Gauge, value: &AtomicU64| set(gauge, value.load(Ordering::Relaxed));
        let number = |gauge: &Gauge, value: &AtomicUsize| {
            set(gauge, value.load(Ordering::Relaxed) as u64);
        };
        set(&metrics.inflight, u64::from(status.limit.inflight()));
        set(&metrics.limit, u64::from(status.limit.limit()));
        position(&metrics.processed_position, &status.processed_position);
        position(&metrics.committed_position, &status.committed_position);
        position(&metrics.appended_position, &status.processed_position);
        number(&metrics.pending_incidents, &status.open_incidents);
        number(&metrics.banned_instances, &status.banned_instances);
        number(&metrics.buffered_messages, &status.buffered_messages);
        number(&metrics.element_instances, &status.live_element_instances);
        number(&metrics.waiting_jobs, &status.jobs.waiting);
        number(&metrics.activated_jobs, &status.jobs.activated);
        number(&metrics.slots_to_move, &status.scaling.slots_to_move);
        number(&metrics.state_bytes, &status.state_bytes);
        set(&metrics.stored_bytes, handle.stored_bytes().unwrap_or(0));
        let paused = status.processing_paused.load(Ordering::Relaxed);
        metrics.processor_state.set(i64::from(!paused));
        let rate = |rate: Option<u64>| rate.map_or(-1, |rate| i64::try_from(rate).unwrap_or(-1));
        metrics.write_limit.set(rate(status.writes.limit()));
        metrics.write_maximum.set(rate(status.writes.maximum()));
        metrics.partition_load.set(status.writes.load());
        set(&metrics.exporting_rate, status.writes.exporting_rate());
        metrics.exporter_state.set(exporter_state(handle));
        metrics.role.set(match status.role() {
            PartitionRole::Leader => 3,
            PartitionRole::Follower => 1,
            PartitionRole::Inactive => 0,
        });
        let (health, node) = match status.health() {
            PartitionHealth::Healthy => (1, 1),
            PartitionHealth::Unhealthy => (0, -1),
            PartitionHealth::Dead => (-1, -2),
        };
        metrics.health.set(health);
        let id = format!("Partition-{partition}");
        let path = format!("Broker-{node_id}/{id}");
        let named = HealthNode {
            partition,
            id,
            path,
        };
        self.node.health_nodes.of(named).set(node);
        let copy = |counter: &Counter, value: u64| {
            counter.inner().store(value, Ordering::Relaxed);
        };
        let dropped = status.limit.dropped.load(Ordering::Relaxed);
        copy(
            &metrics.received,
            status.limit.received.load(Ordering::Relaxed),
        );
        copy(&metrics.dropped, dropped);
        let of_tenants = status.limit.of_tenants_refused.load(Ordering::Relaxed);
        copy(
            &self.work.refused(partition),
            dropped.saturating_sub(of_tenants),
        );
        copy(&self.work.beyond_share(partition), of_tenants);
        copy(&self.work.throttled(partition), status.writes.refused());
        copy(&metrics.appended_kib, metrics.appended_bytes.get() / 1024);
    }
}

/// One value for each exporter on this node.
fn exporters(local: &Local, value: fn(&Status) -> u64) -> Vec<(OfExporter, i64)> {
    let mut values = Vec::new();
    for handle in local.partitions() {
        for status in handle.exporters.working() {
            let labels = OfExporter {
                partition: handle.status.partition,
                exporter: status.id.as_str().into(),
            };
            values.push((labels, i64::try_from(value(&status)).unwrap_or(i64::MAX)));
        }
    }
    values
}

fn exporter_state(handle: &PartitionHandle) -> i64 {
    let exporters = &handle.exporters;
    match (exporters.working().is_empty(), exporters.phase()) {
        (true, _) => 3,
        (false, Phase::Exporting) => 0,
        (false, Phase::Paused) => 1,
        (false, Phase::SoftPaused) => 2,
    }
}
