//! What the records of committed batches say about the work: instances, elements, jobs, incidents.
//!
//! A partition's leader reads each of its own batches once, when it is committed. So nothing is counted that did not happen,
//! nothing is counted twice by a replay, and counting is no part of evaluation. Counts are plain integers of the partition's
//! thread and go to the public counters once per batch.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::registry::Registry;
use rustc_hash::FxHashMap;
use skep_engine::state::State;
use skep_metrics::{Bounds, Counter, FINE_BOUNDS, Gauge, Histogram, LabelValues, Measure, Named};
use skep_protocol::Key;
use skep_protocol::batch::BatchReader;
use skep_protocol::intent::*;
use skep_protocol::record::{DecodeError, Record, RecordType};

use super::families::PartitionMetrics;
use super::nanos;
use super::starts::Starts;
use super::tally::Tally;

macro_rules! labels {
    ($($name:ident { $($field:ident: $type:ty),+ })+) => {$(
        #[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
        #[allow(non_snake_case)]
        pub struct $name { partition: u32, $($field: $type),+ }
    )+};
}

labels! {
    RecordLabels { recordType: &'static str, valueType: &'static str, intent: &'static str }
    CommandLabels { valueType: &'static str, intent: &'static str }
    ElementLabels { action: &'static str, r#type: &'static str, eventType: &'static str }
    InstanceLabels { action: &'static str, r#type: &'static str, organizationId: &'static str }
    JobLabels { action: &'static str, r#type: Arc<str>, job_kind: &'static str }
    ActionLabels { action: &'static str }
    CreationLabels { creation_mode: &'static str }
    FlowLabels { context: &'static str, outcome: &'static str }
    CacheLabels { r#type: &'static str, exporterId: &'static str }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
#[allow(non_snake_case)]
pub struct VariableLabels {
    bpmnProcessId: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct CodeLabels {
    code: &'static str,
}

/// The process ids that are labels, over all partitions: these have the same definitions.
#[derive(Clone, Debug, Default)]
struct ProcessIds(Arc<Mutex<LabelValues>>);

impl ProcessIds {
    fn of(&self, id: &str) -> Arc<str> {
        let mut known = self.0.lock();
        let number = known.number(id);
        known.name(number)
    }
}

const VARIABLE_SIZE: Bounds = Bounds::amounts(&[
    64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 2_097_152,
]);
const NONE: Bounds = Bounds::amounts(&[]);

macro_rules! work_families {
    ($($field:ident: $kind:ident<$label:ty> $bounds:ident $name:literal $help:literal;)+) => {
        /// The families that have more labels than the partition.
        #[derive(Clone, Debug)]
        pub struct WorkMetrics {
            $($field: <$kind as Measure<$label>>::Family,)+
            pub pushed: Counter,
            pub push_failed: Counter,
            distributions: Counter,
            distributions_active: Gauge,
            acknowledged: Counter,
            process_ids: ProcessIds,
        }

        impl Default for WorkMetrics {
            fn default() -> Self {
                WorkMetrics {
                    $($field: <$kind as Measure<$label>>::family(Named {
                        name: $name,
                        help: $help,
                        bounds: $bounds,
                    }),)+
                    pushed: Counter::default(),
                    push_failed: Counter::default(),
                    distributions: Counter::default(),
                    distributions_active: Gauge::default(),
                    acknowledged: Counter::default(),
                    process_ids: ProcessIds::default(),
                }
            }
        }

        impl WorkMetrics {
            fn register_families(&self, registry: &mut Registry) {
                $(<$kind as Measure<$label>>::register(
                    &self.$field,
                    Named { name: $name, help: $help, bounds: $bounds },
                    registry,
                );)+
            }
        }
    };
}

work_families! {
    flow: Counter<FlowLabels> NONE "zeebe_flow_control" "what passed flow control, and what did not";
    appended: Counter<RecordLabels> NONE "zeebe_log_appender_record_appended" "records written and committed";
    processing: Histogram<CommandLabels> FINE_BOUNDS "zeebe_stream_processor_processing_duration_seconds" "evaluation of one command";
    records: Counter<ActionLabels> NONE "zeebe_stream_processor_records" "records through the partition";
    creations: Counter<CreationLabels> NONE "zeebe_process_instance_creations" "root instances created by command";
    instances: Counter<InstanceLabels> NONE "zeebe_executed_instances" "root instances by life-cycle";
    elements: Counter<ElementLabels> NONE "zeebe_element_instance_events" "element instances by life-cycle";
    jobs: Counter<JobLabels> NONE "zeebe_job_events" "jobs by event";
    incidents: Counter<ActionLabels> NONE "zeebe_incident_events" "incidents by event";
    cached: Gauge<CacheLabels> NONE "zeebe_execution_latency_current_cached_instances" "start times remembered to measure how long things take";
    variable_size: Histogram<VariableLabels> VARIABLE_SIZE "zeebe_variable_created_size" "bytes of created variables";
    push_tries: Counter<CodeLabels> NONE "zeebe_broker_jobs_fail_try_count" "failed push tries";
}

impl WorkMetrics {
    /// Client commands that the request limit refused.
    pub(super) fn refused(&self, partition: u32) -> Counter {
        let labels = FlowLabels {
            partition,
            context: CONTEXTS[Context::UserCommand as usize],
            outcome: "requestLimitExhausted",
        };
        Counter::of(&self.flow, labels)
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        self.register_families(registry);
        for (name, help, counter) in [
            (
                "zeebe_broker_jobs_pushed_count",
                "jobs pushed into streams",
                &self.pushed,
            ),
            (
                "zeebe_broker_jobs_push_fail_count",
                "jobs whose stream was gone",
                &self.push_failed,
            ),
            (
                "zeebe_command_distributions",
                "commands spread over partitions",
                &self.distributions,
            ),
            (
                "zeebe_command_distributions_acknowledged_received",
                "acknowledgements received",
                &self.acknowledged,
            ),
        ] {
            registry.register(name, help, counter.clone());
        }
        registry.register(
            "zeebe_command_distributions_active",
            "spreads not finished",
            self.distributions_active.clone(),
        );
    }
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

/// Of elements and instances.
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

/// Definitions of which the elements are remembered; all are learned anew when there are more.
const MAX_DEFINITIONS: usize = 10_000;

/// Above all ids of intents and of value types.
const INTENTS: usize = 24;
const VALUE_TYPES: usize = 67;

/// The counts of one partition; it belongs to the partition's thread.
#[derive(Debug)]
pub struct WorkCounter {
    partition: u32,
    metrics: WorkMetrics,
    flow: Tally,
    records: Tally,
    elements: Tally,
    instances: Tally,
    jobs: Tally,
    /// Small sets: incidents created and resolved, instances created by command.
    incidents: Tally,
    creations: Tally,
    processed: Counter,
    written: Counter,
    processing: Vec<((u8, u8), Histogram)>,
    definitions: Vec<Definition>,
    by_key: FxHashMap<Key, usize>,
    /// The definition asked for last.
    last_definition: usize,
    /// Pairs of element type and event type that occurred.
    kinds: Vec<(&'static str, &'static str)>,
    job_types: LabelValues,
    instance_starts: Starts,
    job_starts: Starts,
    cached: [Gauge; 2],
    active_distributions: i64,
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
        let records = |action| Counter::of(&metrics.records, ActionLabels { partition, action });
        // There from the start: a rate needs its zero.
        for action in ["created", "resolved"] {
            Counter::of(&metrics.incidents, ActionLabels { partition, action });
        }
        let _skipped = records("skipped");
        let _tries = push_tries(metrics);
        let cached = |r#type| {
            let labels = CacheLabels {
                partition,
                r#type,
                exporterId: "",
            };
            Gauge::of(&metrics.cached, labels)
        };
        WorkCounter {
            partition,
            metrics: metrics.clone(),
            flow: Tally::default(),
            records: Tally::default(),
            elements: Tally::default(),
            instances: Tally::default(),
            jobs: Tally::default(),
            incidents: Tally::default(),
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
            active_distributions: 0,
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
                let histogram = Histogram::of(&self.metrics.processing, labels);
                self.processing.push((id, histogram));
                self.processing.len() - 1
            }
        };
        self.processing[at].1.observe(nanos(time));
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

    /// The stream of a job was gone.
    pub fn push_failed(&self) {
        self.metrics.push_failed.inc();
        push_tries(&self.metrics).inc();
    }

    /// Long polls were told that jobs wait.
    pub fn workers_notified(&mut self, job_type: &str) {
        let slot = self.job_slot(job_type);
        self.jobs.add(slot + WORKERS_NOTIFIED, 1);
    }

    /// Gauges that are looked at once in a while. `distributions`: unfinished ones of this partition.
    pub fn look(&mut self, distributions: usize) {
        self.cached[0].set(self.job_starts.len() as i64);
        self.cached[1].set(self.instance_starts.len() as i64);
        let now = i64::try_from(distributions).unwrap_or(i64::MAX);
        let change = now - std::mem::replace(&mut self.active_distributions, now);
        self.metrics.distributions_active.inc_by(change);
    }

    /// A batch of this leader was committed. `state` knows its definitions.
    ///
    /// # Errors
    /// The batch cannot be read, which is a bug: this node wrote it.
    pub fn committed(
        &mut self,
        batch: &[u8],
        state: &State,
        metrics: &PartitionMetrics,
    ) -> Result<(), DecodeError> {
        let mut reader = BatchReader::new(batch)?;
        let first = reader.position();
        let mut commands = 0;
        for record in reader.by_ref() {
            let record = record?;
            let kind = record.record_type as usize * VALUE_TYPES + record.value_type as usize;
            let intent = usize::from(record.intent).min(INTENTS - 1);
            self.records.add(kind * INTENTS + intent, 1);
            match record.record_type {
                RecordType::Event => self.event(&record, state, metrics)?,
                RecordType::Command => commands += 1,
                RecordType::CommandRejection => {}
            }
        }
        let records = reader.position() - first;
        self.processed.inc_by(commands);
        self.written.inc_by(records);
        metrics.batch_records.observe(records);
        metrics.batch_kib.observe(batch.len() as u64 * 1000 / 1024);
        self.publish();
        Ok(())
    }

    #[inline]
    fn event(
        &mut self,
        record: &Record<'_>,
        state: &State,
        metrics: &PartitionMetrics,
    ) -> Result<(), DecodeError> {
        match record.value_type {
            ValueType::ProcessInstance => self.element(record, state, metrics)?,
            ValueType::Job => self.job(record, metrics)?,
            ValueType::JobBatch => {
                let mut fields = record.fields();
                let slot = self.job_slot(fields.text()?);
                fields.skip_text()?; // worker
                fields.signed()?; // time-out
                fields.signed()?; // deadline
                fields.unsigned()?; // jobs asked for
                let keys = fields.length()?;
                self.jobs.add(slot + ACTIVATED, keys as u32);
                for _ in 0..keys {
                    if let Some(time) = self.job_starts.since(fields.key()?, record.timestamp) {
                        metrics.job_activation.observe(time);
                    }
                }
            }
            ValueType::Variable if record.intent == VariableIntent::Created as u8 => {
                let mut fields = record.fields();
                fields.skip_text()?; // name
                let size = fields.skip_text()?;
                fields.key()?; // scope
                fields.key()?; // process instance
                if let Some(definition) = self.definition(fields.key()?, state) {
                    definition.variable_size.observe(size as u64);
                }
            }
            ValueType::ProcessInstanceCreation => {
                let mut fields = record.fields();
                fields.key()?; // process definition
                fields.key()?; // process instance
                fields.skip_text()?; // process id
                fields.i32()?; // version
                let start_elements = fields.length()?;
                self.creations.add(usize::from(start_elements > 0), 1);
            }
            ValueType::Incident if record.intent == IncidentIntent::Created as u8 => {
                self.incidents.add(0, 1);
            }
            ValueType::Incident if record.intent == IncidentIntent::Resolved as u8 => {
                self.incidents.add(1, 1);
            }
            ValueType::CommandDistribution => {
                match CommandDistributionIntent::from_id(record.intent) {
                    Some(CommandDistributionIntent::Started) => self.metrics.distributions.inc(),
                    Some(CommandDistributionIntent::Acknowledged) => {
                        self.metrics.acknowledged.inc()
                    }
                    _ => 0,
                };
            }
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn element(
        &mut self,
        record: &Record<'_>,
        state: &State,
        metrics: &PartitionMetrics,
    ) -> Result<(), DecodeError> {
        const ACTIVATED: u8 = ProcessInstanceIntent::ElementActivated as u8;
        const COMPLETED: u8 = ProcessInstanceIntent::ElementCompleted as u8;
        const TERMINATED: u8 = ProcessInstanceIntent::ElementTerminated as u8;
        let life = match record.intent {
            ACTIVATED => 0,
            COMPLETED => 1,
            TERMINATED => 2,
            _ => return Ok(()),
        };
        let mut fields = record.fields();
        let definition = fields.key()?;
        fields.key()?; // process instance
        let element = fields.u32()?;
        let known = self.definition(definition, state);
        if let Some(slot) = known.and_then(|known| known.slots.get(element as usize).copied()) {
            self.elements.add(slot + life, 1);
        }
        if element == 0 {
            fields.key()?; // flow scope
            if fields.key()?.is_none() {
                self.instances.add(life, 1);
            }
            if life == 0 {
                self.instance_starts.begin(record.key, record.timestamp);
            } else if let Some(time) = self.instance_starts.end(record.key, record.timestamp) {
                metrics.instance_time.observe(time);
            }
        }
        Ok(())
    }

    #[inline]
    fn job(&mut self, record: &Record<'_>, metrics: &PartitionMetrics) -> Result<(), DecodeError> {
        let action = match JobIntent::from_id(record.intent) {
            Some(JobIntent::Created) => 0,
            Some(JobIntent::TimedOut) => 2,
            Some(JobIntent::Completed) => 3,
            Some(JobIntent::Failed) => 4,
            Some(JobIntent::Canceled) => 5,
            Some(JobIntent::ErrorThrown) => 6,
            _ => return Ok(()),
        };
        let slot = self.job_slot(record.fields().text()?);
        self.jobs.add(slot + action, 1);
        match action {
            0 => self.job_starts.begin(record.key, record.timestamp),
            3 | 5 | 6 => {
                if let Some(time) = self.job_starts.end(record.key, record.timestamp) {
                    metrics.job_life.observe(time);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What is known of a definition.
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
            bpmnProcessId: self.metrics.process_ids.of(&process.bpmn_process_id),
        };
        self.definitions.push(Definition {
            key,
            slots: process.graph.elements.iter().map(slot_of).collect(),
            variable_size: Histogram::of(&self.metrics.variable_size, labels),
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
                context: CONTEXTS[slot],
                outcome: "accepted",
            };
            Counter::of(&metrics.flow, labels)
        });
        self.records.publish(|slot| {
            let (kind, intent) = (slot / INTENTS, (slot % INTENTS) as u8);
            let value_type = ValueType::from_id((kind % VALUE_TYPES) as u8);
            let labels = RecordLabels {
                partition,
                recordType: [RecordType::Event, RecordType::Command]
                    .get(kind / VALUE_TYPES)
                    .unwrap_or(&RecordType::CommandRejection)
                    .name(),
                valueType: value_type.map_or("UNKNOWN", ValueType::name),
                intent: value_type.map_or("UNKNOWN", |v| v.intent_name(intent)),
            };
            Counter::of(&metrics.appended, labels)
        });
        let kinds = &self.kinds;
        self.elements.publish(|slot| {
            let (r#type, event_type) = kinds[slot / LIFE.len()];
            let labels = ElementLabels {
                partition,
                action: LIFE[slot % LIFE.len()],
                r#type,
                eventType: event_type,
            };
            Counter::of(&metrics.elements, labels)
        });
        self.instances.publish(|slot| {
            let labels = InstanceLabels {
                partition,
                action: LIFE[slot],
                r#type: "ROOT_PROCESS_INSTANCE",
                organizationId: "",
            };
            Counter::of(&metrics.instances, labels)
        });
        let job_types = &self.job_types;
        self.jobs.publish(|slot| {
            let labels = JobLabels {
                partition,
                action: JOB_ACTIONS[slot % JOB_ACTIONS.len()],
                r#type: job_types.name(slot / JOB_ACTIONS.len()),
                job_kind: "BPMN_ELEMENT",
            };
            Counter::of(&metrics.jobs, labels)
        });
        self.incidents.publish(|slot| {
            let action = ["created", "resolved"][slot];
            Counter::of(&metrics.incidents, ActionLabels { partition, action })
        });
        self.creations.publish(|slot| {
            let creation_mode = [
                "creation_at_default_start_event",
                "creation_at_given_element",
            ][slot];
            Counter::of(
                &metrics.creations,
                CreationLabels {
                    partition,
                    creation_mode,
                },
            )
        });
    }
}

fn push_tries(metrics: &WorkMetrics) -> Counter {
    Counter::of(&metrics.push_tries, CodeLabels { code: "NOT_FOUND" })
}
