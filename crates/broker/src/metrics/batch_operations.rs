//! Counters of batch operations, from the notes of the engine.

use rustc_hash::FxHashMap;
use skep_engine::NotedBatch;
use skep_metrics::{Bounds, Counter, Family, Histogram, labels, metrics};
use skep_protocol::Key;

const ITEMS: Bounds = Bounds::amounts(&[1, 10, 100, 1000, 10_000, 100_000, 1_000_000]);
/// Bounds in milliseconds, those of the reference.
const DURATION: Bounds = Bounds::milliseconds(&[
    10, 100, 500, 1000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000,
    18_000_000, 36_000_000,
]);
const LATENCY: Bounds = Bounds::milliseconds(&[
    5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000,
]);

/// Maximum number of operations whose start is remembered; there are never that many unfinished ones.
const MAX_KNOWN: usize = 4 * skep_engine::batch_operation::MAX_UNFINISHED;

/// For an operation that was created before this leader began.
const UNKNOWN: &str = "UNKNOWN";

labels! {
    struct EventLabels { partition: u32, action: &'static str, r#type: &'static str, organizationId: &'static str }
    struct QueryLabels { partition: u32, queryStatus: &'static str, organizationId: &'static str }
    struct TypeLabels { partition: u32, r#type: &'static str, organizationId: &'static str }
    struct PartLabels { partition: u32, batchOperationLatency: &'static str, r#type: &'static str, organizationId: &'static str }
}

metrics! {
    /// Metrics of batch operations.
    pub(super) struct BatchFamilies {
        events: Family<EventLabels, Counter> = "zeebe_batchoperations_events", "batch operations by event";
        queries: Family<QueryLabels, Counter> = "zeebe_batchoperations_queries", "queries to secondary storage for items";
        items: Family<TypeLabels, Histogram> = "zeebe_batchoperations_items", "items that the partition has selected for an operation", ITEMS;
        duration: Family<TypeLabels, Histogram> = "zeebe_batchoperations_duration_seconds", "time from creation to end of an operation", DURATION;
        parts: Family<PartLabels, Histogram> = "zeebe_batchoperations_execution_latency_seconds", "duration of the parts of an operation", LATENCY;
    }
}

/// Known facts about an operation; times are epoch milliseconds.
#[derive(Clone, Copy, Debug)]
struct Known {
    kind: &'static str,
    created: i64,
    initialized: Option<i64>,
    executed: Option<i64>,
    items: u64,
}

/// The counts of one partition.
#[derive(Debug)]
pub struct BatchCounter {
    partition: u32,
    families: BatchFamilies,
    known: FxHashMap<Key, Known>,
}

impl BatchCounter {
    pub(super) fn new(families: &BatchFamilies, partition: u32) -> BatchCounter {
        BatchCounter {
            partition,
            families: families.clone(),
            known: FxHashMap::default(),
        }
    }

    /// Secondary storage was queried for items.
    pub fn queried(&self, operation: Key, done: bool) {
        let labels = QueryLabels {
            partition: self.partition,
            queryStatus: if done { "completed" } else { "failed" },
            organizationId: "",
        };
        self.families.queries.of(labels).inc();
        let kind = self
            .known
            .get(&operation)
            .map_or(UNKNOWN, |known| known.kind);
        self.event("query", kind);
    }

    /// A change of the operation was committed, in a batch of this time.
    pub(super) fn committed(&mut self, operation: Key, noted: &NotedBatch, now: i64) {
        if let NotedBatch::Created(kind) = noted {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            let known = Known {
                kind: kind.as_str(),
                created: now,
                initialized: None,
                executed: None,
                items: 0,
            };
            self.known.insert(operation, known);
        }
        let known = self.known.get(&operation).copied();
        let kind = known.map_or(UNKNOWN, |known| known.kind);
        self.event(action(noted), kind);
        let Some(mut known) = known else {
            return;
        };
        match noted {
            NotedBatch::Chunk { items } => known.items += *items as u64,
            NotedBatch::Initialized => {
                known.initialized = Some(now);
                self.families
                    .items
                    .of(self.of_type(kind))
                    .observe(known.items);
                self.part("totalQueryLatency", kind, known.created, now);
            }
            NotedBatch::Executing => {
                match (known.executed, known.initialized) {
                    (Some(before), _) => self.part("executeCycleLatency", kind, before, now),
                    (None, Some(ready)) => self.part("startExecuteLatency", kind, ready, now),
                    (None, None) => {}
                }
                known.executed = Some(now);
            }
            NotedBatch::Completed | NotedBatch::Failed | NotedBatch::Canceled => {
                let duration = self.families.duration.of(self.of_type(kind));
                duration.observe(between(known.created, now));
                if let Some(ready) = known.initialized {
                    self.part("totalExecutionLatency", kind, ready, now);
                }
                self.known.remove(&operation);
                return;
            }
            NotedBatch::Created(_) | NotedBatch::Suspended | NotedBatch::Resumed => {}
        }
        self.known.insert(operation, known);
    }

    fn of_type(&self, kind: &'static str) -> TypeLabels {
        TypeLabels {
            partition: self.partition,
            r#type: kind,
            organizationId: "",
        }
    }

    fn event(&self, action: &'static str, kind: &'static str) {
        let labels = EventLabels {
            partition: self.partition,
            action,
            r#type: kind,
            organizationId: "",
        };
        self.families.events.of(labels).inc();
    }

    fn part(&self, part: &'static str, kind: &'static str, from: i64, to: i64) {
        let labels = PartLabels {
            partition: self.partition,
            batchOperationLatency: part,
            r#type: kind,
            organizationId: "",
        };
        self.families.parts.of(labels).observe(between(from, to));
    }
}

/// The action's name in the reference.
fn action(noted: &NotedBatch) -> &'static str {
    match noted {
        NotedBatch::Created(_) => "created",
        NotedBatch::Chunk { .. } => "chunkCreated",
        NotedBatch::Initialized => "initialized",
        NotedBatch::Executing => "execute",
        NotedBatch::Completed => "completed",
        NotedBatch::Failed => "failed",
        NotedBatch::Canceled => "cancelled",
        NotedBatch::Suspended => "suspended",
        NotedBatch::Resumed => "resumed",
    }
}

fn between(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}
