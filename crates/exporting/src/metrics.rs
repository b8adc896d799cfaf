//! Metrics of exporters, under the names of the reference (docs/metrics.md lists them all).
//!
//! Records are counted in plain integers while an entry is processed, and added to the public counters once per entry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_metrics::{
    Bounds, Computed, Counter, Declared, Family, Gauge, Histogram, Registry, labels, metrics,
};
use skep_protocol::ValueType;

/// Buckets for the number of items in a flush.
const BULK: Bounds = Bounds::amounts(&[1, 2, 5, 10, 25, 50, 100, 500, 1000, 5000, 10_000, 20_000]);

labels! {
    struct EventLabels { partition: u32, action: &'static str, valueType: &'static str }
    struct LatencyLabels { partition: u32, valueType: &'static str }
    struct DurationLabels { partition: u32, valueType: &'static str, exporter: Arc<str> }
    struct FlushLabels { partition: u32 }
    struct StatementLabels { partition: u32, statementId: &'static str }
    pub struct OfExporter { pub partition: u32, pub exporter: Arc<str> }
}

impl From<u32> for FlushLabels {
    fn from(partition: u32) -> Self {
        FlushLabels { partition }
    }
}

metrics! {
    /// Metrics of every exporter.
    pub struct ExporterFamilies {
        events: Family<EventLabels, Counter> = "zeebe_exporter_events", "records handled by exporters, by action";
        latency: Family<LatencyLabels, Histogram> = "zeebe_exporting_latency_seconds", "time from writing a record until an exporter picks it up";
        duration: Family<DurationLabels, Histogram> = "zeebe_exporter_exporting_duration_seconds", "time to export a record: its share of the time for its log entry";
        available: Family<OfExporter, Histogram> = "skep_data_availability_seconds", "time from writing a batch until the exporter has stored it";
        failures: Family<OfExporter, Counter> = "skep_exporter_failures", "failures of an exporter";
        pub exported: Computed<OfExporter> = "zeebe_exporter_last_exported_position", "newest exported position";
        pub updated: Computed<OfExporter> = "zeebe_exporter_last_updated_exported_position", "newest acknowledged position";
        pub failing: Computed<OfExporter> = "skep_exporter_failing", "1 while an exporter is failing";
    }
}

metrics! {
    /// Metrics of secondary storage in a SQL database.
    struct RdbmsFamilies, handles RdbmsMetrics of u32 {
        duration: Family<FlushLabels, Histogram> = "zeebe_rdbms_exporter_flush_duration_seconds", "duration of a flush";
        latency: Family<FlushLabels, Histogram> = "zeebe_rdbms_exporter_flush_latency_seconds", "time from the first record of a flush until it is flushed";
        bulk: Family<FlushLabels, Histogram> = "zeebe_rdbms_exporter_bulk_size", "rows per flush", BULK;
        enqueued: Family<FlushLabels, Counter> = "zeebe_rdbms_exporter_enqueued_statements", "row changes";
        executed: Family<FlushLabels, Counter> = "zeebe_rdbms_exporter_executed_statements", "rows written";
    }
}

metrics! {
    /// Outcome of the changes of each table.
    struct StatementFamilies {
        executed: Family<StatementLabels, Counter> = "zeebe_rdbms_exporter_executed_queue_item", "rows written";
        merged: Family<StatementLabels, Counter> = "zeebe_rdbms_exporter_merged_queue_item", "row changes merged into another change of the same row";
    }
}

metrics! {
    /// Metrics of record exporters to search servers.
    struct BulkFamilies, handles BulkMetrics of u32 {
        duration: Family<FlushLabels, Histogram> = "zeebe_elasticsearch_exporter_flush_duration_seconds", "duration of a flush";
        failed: Family<FlushLabels, Counter> = "zeebe_elasticsearch_exporter_failed_flush", "failed flushes";
        bulk: Family<FlushLabels, Histogram> = "zeebe_elasticsearch_exporter_bulk_size", "documents per flush", BULK;
        memory: Family<FlushLabels, Gauge> = "zeebe_elasticsearch_exporter_bulk_memory_size", "size of the last flush in bytes";
    }
}

/// The metrics of all exporters of a node.
#[derive(Clone, Debug, Default)]
pub struct ExportMetrics {
    pub exporters: ExporterFamilies,
    rdbms: RdbmsFamilies,
    statements: StatementFamilies,
    bulks: BulkFamilies,
}

/// The kind of target an exporter writes to, as far as the reference has specific metrics for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    Sql,
    Bulks,
    Other,
}

impl ExportMetrics {
    /// All declared metrics.
    pub fn declared() -> impl Iterator<Item = &'static Declared> {
        let all = ExporterFamilies::DECLARED.iter();
        all.chain(RdbmsFamilies::DECLARED)
            .chain(StatementFamilies::DECLARED)
            .chain(BulkFamilies::DECLARED)
    }

    /// Registers all metrics under their public names.
    pub fn register(&self, registry: &mut Registry) {
        self.exporters.register(registry);
        self.rdbms.register(registry);
        self.statements.register(registry);
        self.bulks.register(registry);
    }

    /// The metrics of one exporter.
    pub fn of(&self, partition: u32, exporter: &str, sink: Sink) -> ExporterMetrics {
        let labels = OfExporter {
            partition,
            exporter: exporter.into(),
        };
        ExporterMetrics {
            available: self.exporters.available.of(labels.clone()),
            failures: self.exporters.failures.of(labels.clone()),
            rdbms: (sink == Sink::Sql).then(|| self.rdbms.of(partition)),
            bulks: (sink == Sink::Bulks).then(|| self.bulks.of(partition)),
            families: self.exporters.clone(),
            statements: self.statements.clone(),
            labels,
        }
    }
}

/// The metrics of one exporter.
#[derive(Clone, Debug)]
pub struct ExporterMetrics {
    families: ExporterFamilies,
    statements: StatementFamilies,
    labels: OfExporter,
    available: Histogram,
    pub failures: Counter,
    rdbms: Option<RdbmsMetrics>,
    bulks: Option<BulkMetrics>,
}

/// Items taken in but not flushed yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Rows or documents.
    pub items: usize,
    pub bytes: usize,
}

impl ExporterMetrics {
    /// Records a flush, successful or not. `began`: when the flush began, and when the window it covers began.
    pub fn flushed(&self, began: (Instant, Option<Instant>), bulk: Bulk, done: bool) {
        let (flush, window) = began;
        let duration = nanos(flush.elapsed());
        if let Some(rdbms) = self.rdbms.as_ref().filter(|_| done) {
            rdbms.duration.observe(duration);
            if let Some(window) = window {
                rdbms.latency.observe(nanos(window.elapsed()));
            }
            rdbms.bulk.observe(bulk.items as u64);
        }
        if let Some(bulks) = &self.bulks {
            bulks.duration.observe(duration);
            bulks.bulk.observe(bulk.items as u64);
            bulks
                .memory
                .set(i64::try_from(bulk.bytes).unwrap_or(i64::MAX));
            bulks.failed.inc_by(u64::from(!done));
        }
    }

    /// Records how long after they were written batches were stored, in milliseconds each.
    pub fn available(&self, after: impl Iterator<Item = u64>) {
        after.for_each(|millis| self.available.observe(millis.saturating_mul(1_000_000)));
    }

    /// Records that rows of a table were written, and the number of changes merged into them.
    pub fn rows(&self, table: &'static str, changes: u64, rows: u64) {
        let Some(rdbms) = self.rdbms.as_ref().filter(|_| changes > 0) else {
            return;
        };
        rdbms.enqueued.inc_by(changes);
        rdbms.executed.inc_by(rows);
        let labels = StatementLabels {
            partition: self.labels.partition,
            statementId: table,
        };
        let merged = self.statements.merged.of(labels.clone());
        merged.inc_by(changes.saturating_sub(rows));
        self.statements.executed.of(labels).inc_by(rows);
    }
}

/// Counts the records given to an exporter, by outcome.
#[derive(Debug)]
pub struct Tally {
    /// Indexed by the ID of the value type.
    slots: Box<[Slot; 256]>,
    /// Indices of the slots that are not zero.
    touched: Vec<u8>,
    count: u64,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    exported: u32,
    skipped: u32,
    series: Option<TypeSeries>,
}

/// The metrics of a value type.
#[derive(Clone, Debug)]
struct TypeSeries {
    exported: Counter,
    skipped: Counter,
    latency: Histogram,
    duration: Histogram,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            slots: Box::new(std::array::from_fn(|_| Slot::default())),
            touched: Vec::new(),
            count: 0,
        }
    }
}

impl Tally {
    /// Counts a record as exported or skipped.
    #[inline]
    pub fn record(&mut self, value_type: ValueType, exported: bool) {
        let id = value_type as u8;
        let Some(slot) = self.slots.get_mut(usize::from(id)) else {
            return;
        };
        if slot.exported == 0 && slot.skipped == 0 {
            self.touched.push(id);
        }
        slot.exported += u32::from(exported);
        slot.skipped += u32::from(!exported);
        self.count += 1;
    }

    /// Adds the counts to the public metrics. `took`: the time to take in the records. `late`: milliseconds since they were
    /// written.
    pub fn publish(&mut self, metrics: &ExporterMetrics, took: Duration, late: u64) {
        let each = nanos(took) / self.count.max(1);
        for id in self.touched.drain(..) {
            let Some(slot) = self.slots.get_mut(usize::from(id)) else {
                continue;
            };
            let series = slot.series.get_or_insert_with(|| series(metrics, id));
            let (exported, skipped) = (u64::from(slot.exported), u64::from(slot.skipped));
            (slot.exported, slot.skipped) = (0, 0);
            series.exported.inc_by(exported);
            series.skipped.inc_by(skipped);
            let count = exported + skipped;
            series
                .latency
                .observe_many(late.saturating_mul(1_000_000), count);
            series.duration.observe_many(each, count);
        }
        self.count = 0;
    }

    /// Discards the counts, because the records will be taken in again.
    pub fn forget(&mut self) {
        for id in self.touched.drain(..) {
            if let Some(slot) = self.slots.get_mut(usize::from(id)) {
                (slot.exported, slot.skipped) = (0, 0);
            }
        }
        self.count = 0;
    }
}

fn series(metrics: &ExporterMetrics, id: u8) -> TypeSeries {
    let families = &metrics.families;
    let OfExporter {
        partition,
        exporter,
    } = metrics.labels.clone();
    let value_type = ValueType::from_id(id).map_or("UNKNOWN", ValueType::name);
    let events = |action| {
        families.events.of(EventLabels {
            partition,
            action,
            valueType: value_type,
        })
    };
    TypeSeries {
        exported: events("exported"),
        skipped: events("skipped"),
        latency: families.latency.of(LatencyLabels {
            partition,
            valueType: value_type,
        }),
        duration: families.duration.of(DurationLabels {
            partition,
            valueType: value_type,
            exporter,
        }),
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_by_type_and_by_what_becomes_of_them() {
        let all = ExportMetrics::default();
        let metrics = all.of(3, "search", Sink::Other);
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.record(ValueType::Job, true);
        }
        tally.record(ValueType::Job, false);
        tally.record(ValueType::Variable, true);
        tally.publish(&metrics, Duration::from_nanos(500), 7);
        tally.record(ValueType::Timer, true);
        tally.forget();
        tally.publish(&metrics, Duration::ZERO, 0);
        let mut registry = Registry::default();
        all.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            r#"zeebe_exporter_events_total{partition="3",action="exported",valueType="JOB"} 3"#,
            r#"zeebe_exporter_events_total{partition="3",action="skipped",valueType="JOB"} 1"#,
            r#"zeebe_exporter_events_total{partition="3",action="exported",valueType="VARIABLE"} 1"#,
            r#"zeebe_exporting_latency_seconds_count{partition="3",valueType="JOB"} 4"#,
            r#"zeebe_exporter_exporting_duration_seconds_count{partition="3",valueType="JOB",exporter="search"} 4"#,
            r#"zeebe_exporting_latency_seconds_sum{partition="3",valueType="JOB"} 0.028"#,
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
        assert!(!text.contains("TIMER"), "{text}");
    }
}
