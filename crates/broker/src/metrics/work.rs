//! Counts the work in the records of committed batches: instances, elements, jobs, incidents.
//!
//! The engine notes what it writes ([`Noted`]), and the partition's leader counts the notes of a batch when the batch is committed. So only
//! work that happened is counted, a replay counts nothing twice, and evaluation does no counting. Counts are plain integers of the
//! partition's thread and go to the public counters once per batch.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_engine::state::State;
use skep_engine::{Note, Noted, NotedElement, RemoteCommand};
use skep_metrics::{Counter, Gauge, Histogram, LabelValues, Registry};
use skep_protocol::Key;
use skep_protocol::batch::Kind;
use skep_protocol::intent::{
    CommandDistributionIntent, IncidentIntent, JobIntent, ProcessInstanceIntent, ValueType,
};
use skep_protocol::record::RecordType;

use super::batch_operations::{BatchCounter, BatchFamilies};
use super::distributions::Distributing;
use super::families::{
    ActionLabels, CacheLabels, CodeLabels, CommandLabels, CreationLabels, DecisionLabels,
    ElementLabels, FlowLabels, InstanceLabels, JobLabels, PartitionMetrics, RecordLabels,
    TargetLabels, VariableLabels, WorkFamilies,
};
use super::nanos;
use super::starts::Starts;
use super::tally::Tally;
use super::totals::{ByPartition, Totals};

/// The process ids used as labels, over all partitions: these have the same definitions.
#[derive(Clone, Debug, Default)]
struct ProcessIds(Arc<Mutex<LabelValues>>);

impl ProcessIds {
    fn of(&self, id: &str) -> Arc<str> {
        let mut known = self.0.lock();
        let number = known.number(id);
        known.name(number)
    }
}

/// Metrics of the processed work: instances, elements, jobs, incidents.
#[derive(Clone, Debug, Default)]
pub struct WorkMetrics {
    families: WorkFamilies,
    batches: BatchFamilies,
    process_ids: ProcessIds,
    totals: ByPartition,
}

impl WorkMetrics {
    /// A partition's totals on this node.
    pub fn totals(&self, partition: u32) -> Arc<Totals> {
        self.totals.of(partition)
    }

    /// Client commands that the request limit refused.
    pub(super) fn refused(&self, partition: u32) -> Counter {
        self.kept_out(partition, "requestLimitExhausted")
    }

    /// Client commands refused because their tenant had its share of the request limit.
    pub(super) fn beyond_share(&self, partition: u32) -> Counter {
        self.kept_out(partition, "tenantShareExhausted")
    }

    /// Client commands refused by the write rate limit.
    pub(super) fn throttled(&self, partition: u32) -> Counter {
        self.kept_out(partition, "writeRateLimitExhausted")
    }

    fn kept_out(&self, partition: u32, outcome: &'static str) -> Counter {
        let labels = FlowLabels {
            partition,
            context: name(&CONTEXTS, Context::UserCommand as usize),
            outcome,
        };
        self.families.flow.of(labels)
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        self.families.register(registry);
        self.batches.register(registry);
    }
}

/// Metrics that other parts of the node read or write too.
#[derive(Debug)]
struct Shared {
    process_ids: ProcessIds,
    totals: Arc<Totals>,
}

/// On whose behalf something is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Context {
    UserCommand,
    InterPartition,
    Scheduled,
    Internal,
}

const CONTEXTS: [&str; 4] = ["userCommand", "interPartition", "scheduled", "internal"];

const UNKNOWN: &str = "UNKNOWN";

const CREATION_MODES: [&str; 2] = [
    "creation_at_default_start_event",
    "creation_at_given_element",
];

/// Life cycle events of elements and instances.
const LIFE: [&str; 3] = ["activated", "completed", "terminated"];

const JOB_ACTIONS: [&str; 9] = [
    "created",
    "activated",
    "timed out",
    "completed",
    "failed",
    "canceled",
    "error thrown",
    "workers notified",
    "pushed",
];
const ACTIVATED: usize = 1;
const WORKERS_NOTIFIED: usize = 7;
const PUSHED: usize = 8;

/// Maximum number of definitions in the cache of elements; the cache is cleared when it is full.
const MAX_DEFINITIONS: usize = 10_000;

/// The counts of one partition; it belongs to the partition's thread.
#[derive(Debug)]
pub struct WorkCounter {
    partition: u32,
    metrics: WorkFamilies,
    shared: Shared,
    flow: Tally,
    records: Tally,
    record_slots: FxHashMap<Kind, usize>,
    elements: Tally,
    instances: Tally,
    jobs: Tally,
    /// Small sets: incidents created and resolved, decisions evaluated and failed, instances created by command.
    incidents: Tally,
    decisions: Tally,
    creations: Tally,
    processed: Counter,
    written: Counter,
    processing: Vec<((u8, u8), Histogram)>,
    definitions: Vec<Definition>,
    by_key: FxHashMap<Key, usize>,
    /// The most recently used definition.
    last_definition: usize,
    /// Pairs of element type and event type that occurred.
    kinds: Vec<(&'static str, &'static str)>,
    job_types: LabelValues,
    instance_starts: Starts,
    job_starts: Starts,
    cached: [Gauge; 2],
    distributions: Distributing,
    pub batches: BatchCounter,
}

#[derive(Debug)]
struct Definition {
    key: Key,
    /// By element index: the first slot of the element's kind.
    slots: Vec<usize>,
    variable_size: Histogram,
}

impl WorkCounter {
    pub fn new(metrics: &WorkMetrics, partition: u32) -> WorkCounter {
        let families = &metrics.families;
        let records = |action| families.records.of(ActionLabels { partition, action });
        // Present from the start: a rate needs its zero.
        for action in ["created", "resolved"] {
            families.incidents.of(ActionLabels { partition, action });
        }
        let _skipped = records("skipped");
        let _tries = push_tries(families);
        let cached = |r#type| {
            let labels = CacheLabels {
                partition,
                r#type,
                exporterId: "",
            };
            families.cached.of(labels)
        };
        WorkCounter {
            partition,
            metrics: families.clone(),
            shared: Shared {
                process_ids: metrics.process_ids.clone(),
                totals: metrics.totals(partition),
            },
            flow: Tally::default(),
            records: Tally::default(),
            record_slots: FxHashMap::default(),
            elements: Tally::default(),
            instances: Tally::default(),
            jobs: Tally::default(),
            incidents: Tally::default(),
            decisions: Tally::default(),
            creations: Tally::default(),
            processed: records("processed"),
            written: records("written"),
            processing: Vec::new(),
            definitions: Vec::new(),
            by_key: FxHashMap::default(),
            last_definition: 0,
            kinds: Vec::new(),
            job_types: LabelValues::default(),
            instance_starts: Starts::default(),
            job_starts: Starts::default(),
            cached: [cached("jobs"), cached("processInstances")],
            distributions: Distributing::new(&metrics.families),
            batches: BatchCounter::new(&metrics.batches, partition),
        }
    }

    /// Something is about to be evaluated.
    #[inline]
    pub fn accepted(&mut self, context: Context) {
        self.flow.add(context as usize, 1);
    }

    /// A client's command was evaluated.
    #[inline]
    pub fn evaluated(&mut self, value_type: ValueType, intent: u8, time: Duration) {
        let id = (value_type as u8, intent);
        let at = match self.processing.iter().position(|(known, _)| *known == id) {
            Some(at) => at,
            None => {
                let labels = CommandLabels {
                    partition: self.partition,
                    valueType: value_type.name(),
                    intent: value_type.intent_name(intent),
                };
                let histogram = self.metrics.processing.of(labels);
                self.processing.push((id, histogram));
                self.processing.len() - 1
            }
        };
        if let Some((_, histogram)) = self.processing.get(at) {
            histogram.observe(nanos(time));
        }
    }

    pub fn pushed(&mut self, job_type: &str) {
        self.metrics.pushed.inc();
        let slot = self.job_slot(job_type);
        self.jobs.add(slot + PUSHED, 1);
    }

    /// The first slot of a job type.
    #[inline]
    fn job_slot(&mut self, job_type: &str) -> usize {
        self.job_types.number(job_type) * JOB_ACTIONS.len()
    }

    /// The stream of a job no longer exists.
    pub fn push_failed(&self) {
        self.metrics.push_failed.inc();
        push_tries(&self.metrics).inc();
    }

    /// Long polls were notified of waiting jobs.
    pub fn workers_notified(&mut self, job_type: &str) {
        let slot = self.job_slot(job_type);
        self.jobs.add(slot + WORKERS_NOTIFIED, 1);
    }

    /// A command is sent to another partition.
    pub fn sent(&mut self, to: u32, command: &RemoteCommand) {
        self.distributions.sent(to, command);
    }

    /// Updates gauges that are read periodically. `led`: the state, where the partition is led.
    pub fn look(&mut self, led: Option<&State>) {
        self.cached[0].set(self.job_starts.len() as i64);
        self.cached[1].set(self.instance_starts.len() as i64);
        self.distributions.look(led);
    }

    /// A batch of this leader was committed. Takes the notes made while it was written, and its size in bytes. `state` knows the
    /// definitions.
    pub fn committed(
        &mut self,
        tally: &Noted,
        bytes: usize,
        state: &State,
        metrics: &PartitionMetrics,
    ) {
        let mut commands = 0;
        for kind in &tally.kinds {
            commands += u64::from(kind.record_type == RecordType::Command);
            let next = self.record_slots.len();
            let slot = *self.record_slots.entry(*kind).or_insert(next);
            self.records.add(slot, 1);
        }
        for note in &tally.notes {
            self.note(note, tally.timestamp, state, metrics);
        }
        let records = tally.kinds.len() as u64;
        self.processed.inc_by(commands);
        self.written.inc_by(records);
        metrics.batch_records.observe(records);
        metrics.batch_kib.observe(bytes as u64 * 1000 / 1024);
        self.publish();
    }

    #[inline]
    fn note(&mut self, note: &Note, now: i64, state: &State, metrics: &PartitionMetrics) {
        match note {
            Note::Element(element) => self.element(element, now, state, metrics),
            Note::Job {
                key,
                job_type,
                intent,
            } => self.job(*key, job_type, *intent, now, metrics),
            Note::JobActivated { key, job_type } => {
                let slot = self.job_slot(job_type);
                self.jobs.add(slot + ACTIVATED, 1);
                if let Some(time) = self.job_starts.since(*key, now) {
                    metrics.job_activation.observe(time);
                }
            }
            Note::VariableCreated {
                process_definition_key,
                bytes,
            } => {
                if let Some(definition) = self.definition(*process_definition_key, state) {
                    definition.variable_size.observe(*bytes as u64);
                }
            }
            Note::InstanceCreated { at_elements } => {
                self.creations.add(usize::from(*at_elements), 1);
            }
            Note::Incident(IncidentIntent::Created) => self.incidents.add(0, 1),
            Note::Incident(IncidentIntent::Resolved) => self.incidents.add(1, 1),
            Note::DecisionsEvaluated { succeeded, failed } => {
                self.decisions.add(0, *succeeded);
                self.decisions.add(1, *failed);
            }
            Note::Distribution { intent, partition } => match intent {
                CommandDistributionIntent::Started => {
                    self.metrics.distributions.inc();
                }
                CommandDistributionIntent::Acknowledged => {
                    let of_target = TargetLabels {
                        targetPartition: *partition,
                    };
                    self.metrics.acknowledged.of(of_target).inc();
                }
                CommandDistributionIntent::Distributing
                | CommandDistributionIntent::Acknowledge
                | CommandDistributionIntent::Finished
                | CommandDistributionIntent::Received => {}
            },
            Note::Batch(key, noted) => self.batches.committed(*key, noted, now),
            Note::Incident(_) => {}
        }
    }

    #[inline]
    fn element(
        &mut self,
        noted: &NotedElement,
        now: i64,
        state: &State,
        metrics: &PartitionMetrics,
    ) {
        let life = match noted.intent {
            ProcessInstanceIntent::ElementActivated => 0,
            ProcessInstanceIntent::ElementCompleted => 1,
            ProcessInstanceIntent::ElementTerminated => 2,
            ProcessInstanceIntent::Cancel
            | ProcessInstanceIntent::SequenceFlowTaken
            | ProcessInstanceIntent::ElementActivating
            | ProcessInstanceIntent::ElementCompleting
            | ProcessInstanceIntent::ElementTerminating
            | ProcessInstanceIntent::ActivateElement
            | ProcessInstanceIntent::CompleteElement
            | ProcessInstanceIntent::TerminateElement
            | ProcessInstanceIntent::ElementMigrated
            | ProcessInstanceIntent::AncestorMigrated
            | ProcessInstanceIntent::SequenceFlowDeleted
            | ProcessInstanceIntent::Canceling => return,
        };
        let known = self.definition(noted.process_definition_key, state);
        let slot = known.and_then(|known| known.slots.get(noted.element as usize).copied());
        if let Some(slot) = slot {
            self.elements.add(slot + life, 1);
        }
        if noted.root {
            self.instances.add(life, 1);
            Totals::add(match life {
                0 => &self.shared.totals.instances_created,
                1 => &self.shared.totals.instances_completed,
                _ => &self.shared.totals.instances_terminated,
            });
        }
        if noted.element == 0 {
            if life == 0 {
                self.instance_starts.begin(noted.key, now);
            } else if let Some(time) = self.instance_starts.end(noted.key, now) {
                metrics.instance_time.observe(time);
            }
        }
    }

    #[inline]
    fn job(
        &mut self,
        key: Key,
        job_type: &str,
        intent: JobIntent,
        now: i64,
        metrics: &PartitionMetrics,
    ) {
        let action = match intent {
            JobIntent::Created => 0,
            JobIntent::TimedOut => 2,
            JobIntent::Completed => 3,
            JobIntent::Failed => 4,
            JobIntent::Canceled => 5,
            JobIntent::ErrorThrown => 6,
            JobIntent::Complete
            | JobIntent::TimeOut
            | JobIntent::Fail
            | JobIntent::UpdateRetries
            | JobIntent::RetriesUpdated
            | JobIntent::ThrowError
            | JobIntent::RecurAfterBackoff
            | JobIntent::RecurredAfterBackoff
            | JobIntent::Yield
            | JobIntent::Yielded
            | JobIntent::UpdateTimeout
            | JobIntent::TimeoutUpdated
            | JobIntent::Migrated
            | JobIntent::Update
            | JobIntent::Updated => return,
        };
        let slot = self.job_slot(job_type);
        self.jobs.add(slot + action, 1);
        match action {
            0 => Totals::add(&self.shared.totals.jobs_created),
            3 => Totals::add(&self.shared.totals.jobs_completed),
            4 | 6 => Totals::add(&self.shared.totals.jobs_failed),
            _ => {}
        }
        match action {
            0 => self.job_starts.begin(key, now),
            3 | 5 | 6 => {
                if let Some(time) = self.job_starts.end(key, now) {
                    metrics.job_life.observe(time);
                }
            }
            _ => {}
        }
    }

    /// Known facts about a definition.
    #[inline]
    fn definition(&mut self, key: Key, state: &State) -> Option<&Definition> {
        let last = self.definitions.get(self.last_definition);
        if last.is_none_or(|last| last.key != key) {
            self.last_definition = match self.by_key.get(&key) {
                Some(index) => *index,
                None => self.learn(key, state)?,
            };
        }
        self.definitions.get(self.last_definition)
    }

    fn learn(&mut self, key: Key, state: &State) -> Option<usize> {
        let process = state.processes.get(key)?;
        if self.definitions.len() >= MAX_DEFINITIONS {
            self.definitions.clear();
            self.by_key.clear();
        }
        let kinds = &mut self.kinds;
        let slot_of = |element: &skep_model::Element| {
            let kind = (element.element_type.as_str(), element.event_type());
            let index = kinds.iter().position(|known| *known == kind);
            let index = index.unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            index * LIFE.len()
        };
        let labels = VariableLabels {
            bpmnProcessId: self.shared.process_ids.of(&process.bpmn_process_id),
        };
        self.definitions.push(Definition {
            key,
            slots: process.graph.elements.iter().map(slot_of).collect(),
            variable_size: self.metrics.variable_size.of(labels),
        });
        let index = self.definitions.len() - 1;
        self.by_key.insert(key, index);
        Some(index)
    }

    fn publish(&mut self) {
        let partition = self.partition;
        let metrics = &self.metrics;
        self.flow.publish(|slot| {
            let labels = FlowLabels {
                partition,
                context: name(&CONTEXTS, slot),
                outcome: "accepted",
            };
            metrics.flow.of(labels)
        });
        let record_slots = &self.record_slots;
        self.records.publish(|slot| {
            // Searched only once: the slot's counter is kept.
            let kind = record_slots.iter().find(|(_, known)| **known == slot);
            let of = |name: fn(Kind) -> &'static str| kind.map_or(UNKNOWN, |(kind, _)| name(*kind));
            let labels = RecordLabels {
                partition,
                recordType: of(|kind| kind.record_type.name()),
                valueType: of(|kind| kind.value_type.name()),
                intent: of(|kind| kind.value_type.intent_name(kind.intent)),
            };
            metrics.appended.of(labels)
        });
        self.publish_instances();
        self.publish_jobs();
    }

    fn publish_instances(&mut self) {
        let partition = self.partition;
        let metrics = &self.metrics;
        let kinds = &self.kinds;
        self.elements.publish(|slot| {
            let kind = kinds.get(slot / LIFE.len()).copied();
            let (r#type, event_type) = kind.unwrap_or((UNKNOWN, UNKNOWN));
            let labels = ElementLabels {
                partition,
                action: name(&LIFE, slot % LIFE.len()),
                r#type,
                eventType: event_type,
            };
            metrics.elements.of(labels)
        });
        self.instances.publish(|slot| {
            let labels = InstanceLabels {
                partition,
                action: name(&LIFE, slot),
                r#type: "ROOT_PROCESS_INSTANCE",
                organizationId: "",
            };
            metrics.instances.of(labels)
        });
        self.incidents.publish(|slot| {
            let action = name(&["created", "resolved"], slot);
            metrics.incidents.of(ActionLabels { partition, action })
        });
        self.decisions.publish(|slot| {
            let labels = DecisionLabels {
                partition,
                action: name(&["evaluated_successfully", "evaluated_failed"], slot),
                organizationId: "",
            };
            metrics.decisions.of(labels)
        });
        self.creations.publish(|slot| {
            let creation_mode = name(&CREATION_MODES, slot);
            metrics.creations.of(CreationLabels {
                partition,
                creation_mode,
            })
        });
    }

    fn publish_jobs(&mut self) {
        let partition = self.partition;
        let metrics = &self.metrics;
        let job_types = &self.job_types;
        self.jobs.publish(|slot| {
            let labels = JobLabels {
                partition,
                action: name(&JOB_ACTIONS, slot % JOB_ACTIONS.len()),
                r#type: job_types.name(slot / JOB_ACTIONS.len()),
                job_kind: "BPMN_ELEMENT",
            };
            metrics.jobs.of(labels)
        });
    }
}

/// The name of a slot.
fn name(names: &[&'static str], slot: usize) -> &'static str {
    names.get(slot).copied().unwrap_or(UNKNOWN)
}

fn push_tries(metrics: &WorkFamilies) -> Counter {
    metrics.push_tries.of(CodeLabels { code: "NOT_FOUND" })
}
