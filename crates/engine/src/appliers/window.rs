//! Recovery that skips finished instances. A process instance that was created by a client and ended within the same window
//! of the log leaves nothing behind, so its events need not be applied.
//!
//! A first pass over the headers of the records and the first fields of their bodies finds these instances; a second pass
//! applies everything else. An instance is skipped only if the log has nothing but events of its own rows (elements,
//! variables, plain jobs). An instance with a timer, an incident, a subscription, a user task, a caller or anything else
//! that might touch other rows is applied as usual. The resulting state is the same, bit by bit; `tests/window.rs` checks
//! that.

use rustc_hash::FxHashMap;
use skep_model::ElementIndex;
use skep_protocol::batch::{BatchReader, Offset};
use skep_protocol::header_view::{HeaderView, HeaderViews, Skim};
use skep_protocol::intent::{
    Intent, JobIntent, ProcessInstanceCreationIntent, ProcessInstanceIntent,
};
use skep_protocol::record::{DecodeError, RecordType};
use skep_protocol::{Key, ValueType};

use super::apply_next;
use crate::state::State;

/// The only body version whose fields are read here.
const VERSION: u8 = 1;

/// Approximate log bytes of a small instance.
const BYTES_PER_INSTANCE: usize = 1024;

/// Findings about one process instance within a window.
#[derive(Clone, Copy)]
struct Instance {
    key: Key,
    /// The process definition, from the creation by a client.
    created: Option<Key>,
    begun: bool,
    ended: bool,
    /// It affects more than its own rows.
    kept: bool,
    /// Number of events before it that may concern any instance.
    doubts: u32,
}

impl Instance {
    fn is_over(&self) -> bool {
        self.created.is_some() && self.begun && self.ended && !self.kept
    }
}

/// The owner of the records in a block.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Nobody,
    One(u32),
    Several,
}

/// The records of one command.
struct Block {
    owner: Owner,
    /// The highest key of this partition in the block. The key counts as used even if its entity is gone.
    highest: Key,
    /// Position after its last record.
    end: Offset,
}

/// The effect of an event on process instances.
enum Meaning {
    /// It changes rows of this instance, and no others.
    Own(Key),
    /// It changes rows that are not those of instances, or none.
    Nothing,
    /// It changes more than rows of this instance.
    More(Key),
    /// Jobs are activated by workers.
    Handed,
    /// It may concern any instance.
    Doubt,
}

/// A window of the log, with the instances whose records need not be applied.
#[derive(Default)]
pub(crate) struct Window {
    partition: u32,
    instances: Vec<Instance>,
    by_key: FxHashMap<Key, u32>,
    /// The blocks of all batches, in order.
    blocks: Vec<Block>,
    doubts: u32,
    /// The instance that was looked up last: records of one instance usually follow each other.
    last: (Key, u32),
    /// The element of the last life-cycle event, and its instance.
    element: (Key, u32),
    /// State of the block being read: its highest key, the instances that end in it, and the jobs created in it.
    highest: Key,
    ending: Vec<u32>,
    jobs: Vec<Key>,
}

impl Window {
    /// Creates a window for this many bytes of log.
    pub fn of_bytes(partition: u32, bytes: usize) -> Window {
        let mut window = Window {
            partition,
            ..Window::default()
        };
        window.by_key.reserve(bytes / BYTES_PER_INSTANCE);
        window
    }

    /// Reads a batch in the first pass. Returns the position of the record after it. `None`: the batch cannot be read, or
    /// has no header view.
    pub fn look(&mut self, batch: &[u8]) -> Option<u64> {
        let start = BatchReader::new(batch).ok()?.offset();
        let mut records = HeaderViews::new(batch, start);
        let mut owner = Owner::Nobody;
        let mut doubts = self.doubts;
        let mut end = start;
        while !records.is_at_end() {
            let record = records.next()?;
            if record.head[0] == RecordType::Command as u8 {
                self.close(owner, end);
                (owner, doubts) = (Owner::Nobody, self.doubts);
            } else if record.head[0] == RecordType::Event as u8 {
                if record.key > self.highest && record.key.partition() == Some(self.partition) {
                    self.highest = record.key;
                }
                owner = self.note(&record, owner, doubts)?;
                for intent in record.more {
                    owner = self.note(&record.with_intent(*intent), owner, doubts)?;
                }
            }
            end = records.offset();
        }
        self.close(owner, end);
        Some(end.position())
    }

    /// Ends a block. An event in the same block, after the end of an instance, may still concern that instance.
    fn close(&mut self, owner: Owner, end: Offset) {
        for at in self.ending.drain(..) {
            if let Some(instance) = self.instances.get_mut(at as usize) {
                instance.ended = true;
                instance.kept |= instance.doubts != self.doubts;
            }
        }
        self.jobs.clear();
        let highest = std::mem::take(&mut self.highest);
        self.blocks.push(Block {
            owner,
            highest,
            end,
        });
    }

    /// Returns the owner of the block with this event included.
    #[inline]
    fn note(&mut self, record: &HeaderView<'_>, owner: Owner, doubts: u32) -> Option<Owner> {
        let at = if self.goes_on(record) {
            self.element.1
        } else {
            match meaning(record)? {
                Meaning::Own(key) => {
                    let at = self.find(key, doubts);
                    self.live(record, at)?;
                    at
                }
                other => return self.note_other(record, other, owner, doubts),
            }
        };
        if at == self.element.1 && record.key == self.instance_key(at) {
            self.may_end(record, at);
        }
        Some(match owner {
            Owner::Nobody => Owner::One(at),
            Owner::One(before) if before == at => owner,
            _ => Owner::Several,
        })
    }

    fn note_other(
        &mut self,
        record: &HeaderView<'_>,
        meaning: Meaning,
        owner: Owner,
        doubts: u32,
    ) -> Option<Owner> {
        match meaning {
            Meaning::More(key) => {
                let at = self.find(key, doubts);
                self.keep(at);
            }
            Meaning::Handed => {
                if self.are_new(record)? {
                    return Some(owner);
                }
            }
            Meaning::Doubt => self.doubts += 1,
            Meaning::Own(_) | Meaning::Nothing => {}
        }
        Some(Owner::Several)
    }

    /// Whether the record continues the life cycle of the element of the previous record, so that its instance is known.
    #[inline]
    fn goes_on(&self, record: &HeaderView<'_>) -> bool {
        let [_, value_type, intent, version] = record.head;
        value_type == ValueType::ProcessInstance as u8
            && version == VERSION
            && record.key == self.element.0
            && intent != ProcessInstanceIntent::ElementActivating.id()
            && is_plain_life(intent)
    }

    /// Records the effect of the event on the life cycle of the instance.
    fn live(&mut self, record: &HeaderView<'_>, at: u32) -> Option<()> {
        let instance = self.instances.get_mut(at as usize)?;
        let [_, value_type, intent, _] = record.head;
        let mut body = record.body;
        match ValueType::from_id(value_type)? {
            ValueType::ProcessInstanceCreation => instance.created = Some(body.key()?),
            ValueType::Job if intent == JobIntent::Created.id() => self.jobs.push(record.key),
            ValueType::ProcessInstance => {
                if intent == ProcessInstanceIntent::ElementActivating.id() {
                    body.skip_number()?; // definition
                    let key = body.key()?;
                    let element = body.number()?;
                    instance.begun |=
                        element == u64::from(ElementIndex::PROCESS.0) && record.key == key;
                    body.skip_number()?; // flow scope
                    let caller = body.key()?;
                    if caller.some().is_some() {
                        self.keep(at);
                        let caller = self.find(caller, self.doubts);
                        self.keep(caller);
                    }
                }
                self.element = (record.key, at);
            }
            _ => {}
        }
        Some(())
    }

    fn instance_key(&self, at: u32) -> Key {
        let instance = self.instances.get(at as usize);
        instance.map_or(Key::NONE, |instance| instance.key)
    }

    /// Handles a record of the process element itself.
    fn may_end(&mut self, record: &HeaderView<'_>, at: u32) {
        use ProcessInstanceIntent as Life;
        let [_, value_type, intent, _] = record.head;
        let ends = [Life::ElementCompleted.id(), Life::ElementTerminated.id()];
        if value_type == ValueType::ProcessInstance as u8 && ends.contains(&intent) {
            self.ending.push(at);
        }
    }

    /// Whether all of these jobs were created in this block: activating them then says nothing about other instances.
    fn are_new(&self, record: &HeaderView<'_>) -> Option<bool> {
        let mut body = record.body;
        body.skip_text()?; // job type
        body.skip_text()?; // worker
        body.skip_number()?; // time-out
        body.skip_number()?; // deadline
        body.skip_number()?; // jobs asked for
        for _ in 0..body.number()? {
            if !self.jobs.contains(&body.key()?) {
                return Some(false);
            }
        }
        Some(true)
    }

    fn find(&mut self, key: Key, doubts: u32) -> u32 {
        if self.last.0 == key && !self.instances.is_empty() {
            return self.last.1;
        }
        let instances = &mut self.instances;
        let at = *self.by_key.entry(key).or_insert_with(|| {
            instances.push(Instance {
                key,
                created: None,
                begun: false,
                ended: false,
                kept: false,
                doubts,
            });
            (instances.len() - 1) as u32
        });
        self.last = (key, at);
        at
    }

    fn keep(&mut self, at: u32) {
        if let Some(instance) = self.instances.get_mut(at as usize) {
            instance.kept = true;
        }
    }

    fn of(&self, key: Key) -> Option<&Instance> {
        let at = self.by_key.get(&key)?;
        self.instances.get(*at as usize).filter(|i| i.is_over())
    }

    /// Applies the batches that were read ahead, in order.
    pub fn apply(&self, state: &mut State, batches: &[&[u8]]) -> Result<(), (usize, DecodeError)> {
        let mut blocks = self.blocks.iter();
        for (number, batch) in batches.iter().enumerate() {
            self.apply_batch(state, batch, &mut blocks)
                .map_err(|e| (number, e))?;
        }
        Ok(())
    }

    /// Number of process instances that were skipped.
    pub fn passed_over(&self) -> usize {
        self.instances.iter().filter(|i| i.is_over()).count()
    }

    fn apply_batch<'b>(
        &self,
        state: &mut State,
        batch: &[u8],
        blocks: &mut impl Iterator<Item = &'b Block>,
    ) -> Result<(), DecodeError> {
        let mut reader = BatchReader::new(batch)?;
        while !reader.is_at_end() {
            let Some(block) = blocks.next() else {
                return super::apply_batch(state, &mut reader);
            };
            if let Owner::One(at) = block.owner
                && let Some(instance) = self.instances.get(at as usize)
                && instance.is_over()
            {
                state.observe_key(block.highest);
                // It counts as an instance that has run.
                if let Some(definition) = instance.created {
                    state.elements.has_run(definition);
                }
                reader.go_to(block.end);
                continue;
            }
            let some_are_over = block.owner == Owner::Several;
            while reader.offset() < block.end && !reader.is_at_end() {
                apply_next(state, &mut reader, |state, event| {
                    some_are_over && self.passes_over(state, event)
                })?;
            }
        }
        Ok(())
    }

    fn passes_over(&self, state: &mut State, event: &HeaderView<'_>) -> bool {
        let Some(Meaning::Own(key)) = meaning(event) else {
            return false;
        };
        let Some(instance) = self.of(key) else {
            return false;
        };
        state.observe_key(event.key);
        let [_, value_type, ..] = event.head;
        if value_type == ValueType::ProcessInstanceCreation as u8
            && let Some(definition) = instance.created
        {
            state.elements.has_run(definition);
        }
        true
    }
}

/// Returns the effect of a record. Value types not listed here count as doubtful, so adding one does not require a change
/// in this file.
#[inline]
fn meaning(record: &HeaderView<'_>) -> Option<Meaning> {
    let [_, value_type, intent, version] = record.head;
    if version != VERSION {
        return Some(Meaning::Doubt);
    }
    let mut body = record.body;
    Some(match ValueType::from_id(value_type)? {
        ValueType::ProcessInstance => {
            body.skip_number()?; // definition
            let instance = body.key()?;
            if is_plain_life(intent) {
                Meaning::Own(instance)
            } else {
                Meaning::More(instance)
            }
        }
        ValueType::Variable => {
            body.skip_text()?;
            body.skip_text()?;
            body.skip_number()?; // scope
            Meaning::Own(body.key()?)
        }
        ValueType::Job => return of_job(body, intent),
        ValueType::ProcessInstanceCreation => {
            body.skip_number()?; // definition
            let instance = body.key()?;
            if intent == ProcessInstanceCreationIntent::Created.id() {
                Meaning::Own(instance)
            } else {
                Meaning::Doubt
            }
        }
        ValueType::JobBatch => Meaning::Handed,
        ValueType::Timer => {
            body.skip_number()?; // element instance
            more(body.key()?)
        }
        ValueType::Incident => {
            body.skip_number()?; // error type
            body.skip_text()?; // message
            body.skip_number()?; // definition
            more(body.key()?)
        }
        ValueType::ProcessMessageSubscription => {
            body.skip_number()?; // partition
            more(body.key()?)
        }
        value_type if is_apart(value_type) => Meaning::Nothing,
        _ => Meaning::Doubt,
    })
}

fn of_job(mut body: Skim<'_>, intent: u8) -> Option<Meaning> {
    body.skip_text()?; // type
    body.skip_number()?; // definition
    let instance = body.key()?;
    body.skip_number()?; // root
    body.skip_number()?; // element
    body.skip_number()?; // element instance
    body.skip_number()?; // retries
    let has_extra = body.number()? != 0;
    Some(if !has_extra && is_plain_job(intent) {
        Meaning::Own(instance)
    } else {
        Meaning::More(instance)
    })
}

/// Whether events of this type never change a row of an instance.
fn is_apart(value_type: ValueType) -> bool {
    matches!(
        value_type,
        ValueType::Deployment
            | ValueType::Process
            | ValueType::Decision
            | ValueType::DecisionRequirements
            | ValueType::DecisionEvaluation
            | ValueType::Form
            | ValueType::Resource
            | ValueType::ResourceDeletion
            | ValueType::HistoryDeletion
            | ValueType::Message
            | ValueType::MessageSubscription
            | ValueType::MessageCorrelation
            | ValueType::ProcessInstanceResult
            | ValueType::Escalation
            | ValueType::CommandDistribution
            | ValueType::Continuation
            | ValueType::GlobalListener
            | ValueType::Clock
            | ValueType::Exporting
            | ValueType::Scale
            | ValueType::Session
            | ValueType::Kept
            | ValueType::User
            | ValueType::Group
            | ValueType::Role
            | ValueType::Tenant
            | ValueType::MappingRule
            | ValueType::Authorization
            | ValueType::IdentitySetup
    )
}

/// The meaning of an event that changes more than the rows of this instance. A timer that starts an instance names none.
fn more(instance: Key) -> Meaning {
    match instance.some() {
        Some(instance) => Meaning::More(instance),
        None => Meaning::Doubt,
    }
}

fn is_plain_life(intent: u8) -> bool {
    use ProcessInstanceIntent as Life;
    matches!(
        Life::from_id(intent),
        Some(
            Life::ElementActivating
                | Life::ElementActivated
                | Life::ElementCompleting
                | Life::ElementCompleted
                | Life::ElementTerminating
                | Life::ElementTerminated
                | Life::SequenceFlowTaken
                | Life::SequenceFlowDeleted
                | Life::Canceling
        )
    )
}

fn is_plain_job(intent: u8) -> bool {
    matches!(
        JobIntent::from_id(intent),
        Some(
            JobIntent::Created
                | JobIntent::Completed
                | JobIntent::Canceled
                | JobIntent::TimedOut
                | JobIntent::Failed
                | JobIntent::Yielded
                | JobIntent::RecurredAfterBackoff
                | JobIntent::ErrorThrown
                | JobIntent::RetriesUpdated
                | JobIntent::TimeoutUpdated
                | JobIntent::Updated
        )
    )
}
