//! The measurements of each step: rates from counters, and values of gauges.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use skep_broker::Broker;
use skep_broker::partition::PartitionHandle;
use skep_gateway::GatewayMetrics;
use skep_metrics::Histogram;

use super::rings::{Measured, Unit, Value};

/// Number of the node itself among the partitions, which are numbered from 1.
const NODE: u32 = 0;

const NANOS: f64 = 1e6;

/// Remembers the previous values of counters.
pub struct Samples {
    broker: Arc<Broker>,
    gateway: Arc<GatewayMetrics>,
    before: HashMap<(u32, String), u64>,
    now: HashMap<(u32, String), u64>,
}

/// The values of a partition, or of the node, in one step.
struct Step<'a> {
    partition: u32,
    seconds: f64,
    before: &'a HashMap<(u32, String), u64>,
    now: &'a mut HashMap<(u32, String), u64>,
    values: Vec<Value>,
}

impl Step<'_> {
    fn value(&mut self, name: &str, unit: Unit, value: f64) {
        self.values.push(Value {
            name: name.to_string(),
            unit,
            value: value as f32,
        });
    }

    /// The growth of a counter. `None`: it was not read before, or was reset.
    fn growth(&mut self, name: &str, count: u64) -> Option<u64> {
        let key = (self.partition, name.to_string());
        let before = self.before.get(&key).copied();
        self.now.insert(key, count);
        count.checked_sub(before?)
    }

    fn rate(&mut self, name: &str, unit: Unit, count: u64) {
        if let Some(growth) = self.growth(name, count) {
            self.value(name, unit, growth as f64 / self.seconds);
        }
    }

    fn per_second(&mut self, name: &str, count: u64) {
        self.rate(name, Unit::PerSecond, count);
    }

    fn count(&mut self, name: &str, count: &AtomicUsize) {
        self.value(name, Unit::Count, count.load(Relaxed) as f64);
    }

    /// Adds the mean duration of an operation; nothing if none happened.
    fn mean(&mut self, name: &str, count: u64, nanos: u64) {
        let times = self.growth(&format!("{name} times"), count);
        let sum = self.growth(&format!("{name} sum"), nanos);
        if let (Some(times @ 1..), Some(sum)) = (times, sum) {
            self.value(name, Unit::Milliseconds, sum as f64 / times as f64 / NANOS);
        }
    }

    fn mean_of(&mut self, name: &str, histogram: &Histogram) {
        self.mean(name, histogram.count(), histogram.sum());
    }
}

impl Samples {
    pub fn new(broker: Arc<Broker>, gateway: Arc<GatewayMetrics>) -> Samples {
        Samples {
            broker,
            gateway,
            before: HashMap::new(),
            now: HashMap::new(),
        }
    }

    /// Measures the time since the last call.
    pub fn take(&mut self, seconds: f64) -> Measured {
        let mut measured = BTreeMap::new();
        let broker = Arc::clone(&self.broker);
        let gateway = Arc::clone(&self.gateway);
        measured.insert(
            NODE,
            self.step(NODE, seconds, |step| node(step, &broker, &gateway)),
        );
        for handle in broker.partitions().iter() {
            let number = handle.status.partition;
            let values = self.step(number, seconds, |step| partition(step, &broker, handle));
            measured.insert(number, values);
        }
        // Forget counters of partitions that are gone.
        self.before = std::mem::take(&mut self.now);
        measured
    }

    fn step(
        &mut self,
        partition: u32,
        seconds: f64,
        measure: impl FnOnce(&mut Step<'_>),
    ) -> Vec<Value> {
        let mut step = Step {
            partition,
            seconds: seconds.max(0.001),
            before: &self.before,
            now: &mut self.now,
            values: Vec::new(),
        };
        measure(&mut step);
        step.values
    }
}

fn node(step: &mut Step<'_>, broker: &Broker, gateway: &GatewayMetrics) {
    let stages = gateway.stage_totals();
    if let Some((_, requests, _)) = stages.last() {
        step.per_second("requests", *requests);
    }
    for (stage, count, nanos) in stages {
        step.mean(&format!("stage.{stage}"), count, nanos);
    }
    let disk = &broker.config().disk;
    if disk.monitoring_enabled {
        let free = broker.disk().free.load(Relaxed);
        step.value("disk.free", Unit::Bytes, free as f64);
        step.value("disk.needed", Unit::Bytes, disk.processing as f64);
        let is_low = broker.disk().low.load(Relaxed);
        step.value("refusing.disk", Unit::Share, f64::from(u8::from(is_low)));
    }
}

fn partition(step: &mut Step<'_>, broker: &Broker, handle: &PartitionHandle) {
    let (status, metrics) = (&handle.status, &handle.metrics);
    let leads = handle.leads();
    step.value("leads", Unit::Share, f64::from(u8::from(leads)));
    step.rate(
        "log.bytes",
        Unit::BytesPerSecond,
        metrics.appended_bytes.get(),
    );
    step.mean_of("log.flush", &metrics.flush);
    step.value(
        "state.bytes",
        Unit::Bytes,
        status.state_bytes.load(Relaxed) as f64,
    );
    let committed = status.committed();
    for exporter in handle.exporters.working() {
        if exporter.is_enabled() {
            let lag = committed.saturating_sub(exporter.exported_position());
            step.value(
                &format!("export.lag.{}", exporter.id),
                Unit::Count,
                lag as f64,
            );
        }
    }
    // Counters keep their values while another node leads the partition and continue from there once it is led here again.
    let totals = broker.metrics().work.totals(status.partition);
    let limit = &status.limit;
    let load = |count: &AtomicU64| count.load(Relaxed);
    let (refused, of_tenants) = (load(&limit.dropped), load(&limit.of_tenants_refused));
    let rates = [
        ("instances.created", load(&totals.instances_created)),
        ("instances.completed", load(&totals.instances_completed)),
        ("instances.terminated", load(&totals.instances_terminated)),
        ("jobs.created", load(&totals.jobs_created)),
        ("jobs.completed", load(&totals.jobs_completed)),
        ("jobs.failed", load(&totals.jobs_failed)),
        ("commands", load(&limit.received)),
        ("refused.requestLimit", refused.saturating_sub(of_tenants)),
        ("refused.tenantShare", of_tenants),
        ("refused.writeRate", status.writes.refused()),
        ("records", load(&status.committed_position)),
    ];
    for (name, count) in rates {
        if leads {
            step.per_second(name, count);
        } else {
            step.growth(name, count);
        }
    }
    if !leads {
        return;
    }
    step.mean_of("commit", &metrics.commit);
    step.value("inFlight", Unit::Count, f64::from(limit.inflight()));
    step.value("inFlight.limit", Unit::Count, f64::from(limit.limit()));
    step.value("writeRate.load", Unit::Share, status.writes.load());
    step.count("jobs.waiting", &status.jobs.waiting);
    step.count("jobs.atWork", &status.jobs.activated);
    step.count("elements", &status.live_element_instances);
    step.count("incidents", &status.open_incidents);
}
