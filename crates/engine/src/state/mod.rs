//! The state of a partition: typed tables in memory, written behind to a store at checkpoints.
//!
//! Only appliers change it. Rows that are cold may be evicted and are read back on demand; indices over jobs, timers,
//! messages and subscriptions stay in memory and are rebuilt from the store at recovery.

pub mod banned;
pub mod compensations;
pub mod continuations;
pub mod decisions;
pub mod definitions;
pub mod distributions;
pub mod element_instances;
pub mod global_listeners;
pub mod incidents;
pub mod input_collections;
pub mod jobs;
pub mod joins;
pub mod messages;
mod names;
pub mod processes;
pub mod subscriptions;
pub mod table;
pub mod timers;
pub mod triggers;
pub mod user_tasks;
mod variables;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{FormValue, ResourceValue};

pub use banned::{Banned, BannedInstance};
pub use compensations::{Compensation, Compensations};
pub use continuations::Continuations;
pub use decisions::{Decisions, DeployedDecisions};
pub use definitions::{Definitions, Pin, Versioned};
pub use distributions::Distributions;
pub use element_instances::{ElementInstance, ElementInstances, ElementState, Ended, Loop};
pub use global_listeners::GlobalListeners;
pub use incidents::Incidents;
pub use input_collections::{InputCollection, InputCollections};
pub use jobs::{Job, JobState, Jobs};
pub use joins::Joins;
pub use messages::Messages;
pub(crate) use names::Names;
pub use processes::{DeployedProcess, Processes};
pub use subscriptions::{
    MessageStarts, MessageSubscriptions, ProcessMessageSubscriptions, SignalSubscriptions,
};
pub use table::{
    CheckpointWriter, EncodeLater, Row, RowStore, StoreError, Table, Tables, read_row, write_row,
};
pub use timers::{Timer, Timers};
pub use triggers::{Trigger, Triggers};
pub use user_tasks::{UserTask, UserTaskState, UserTasks};
pub use variables::{ScopeVariables, Variable, VariableNames};

/// The few numbers that are state themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Counter part of the newest key that this partition made.
    pub last_key: u64,
    /// `Some` while the clock is pinned (CLOCK PINNED), epoch milliseconds.
    pub pinned_clock: Option<i64>,
    /// By partition, the key of the last of its distributed commands that was carried out here. They come in rising order, so
    /// that what is not above it is a duplicate.
    pub received: BTreeMap<u32, Key>,
}

impl Row for Counters {
    const TABLE: u8 = 0;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.received.len() * size_of::<(u32, Key)>()
    }
}

pub struct State {
    pub partition: u32,
    pub counters: Counters,
    pub processes: Processes,
    pub decisions: Decisions,
    pub forms: Definitions<FormValue>,
    pub resources: Definitions<ResourceValue>,
    pub elements: ElementInstances,
    pub jobs: Jobs,
    pub timers: Timers,
    pub incidents: Incidents,
    pub messages: Messages,
    pub message_subscriptions: MessageSubscriptions,
    pub process_subscriptions: ProcessMessageSubscriptions,
    pub message_starts: MessageStarts,
    pub signals: SignalSubscriptions,
    pub distributions: Distributions,
    pub banned: Banned,
    pub triggers: Triggers,
    pub continuations: Continuations,
    pub input_collections: InputCollections,
    pub user_tasks: UserTasks,
    pub global_listeners: GlobalListeners,
    pub compensations: Compensations,
    pub(crate) names: Names,
    tables: Arc<Tables>,
}

impl State {
    /// Opens the state that `store` holds; an empty store gives the empty state.
    ///
    /// Reads every row of the indexed tables once, without keeping them in memory.
    pub fn open(partition: u32, store: Arc<dyn RowStore>) -> Result<State, StoreError> {
        let tables = Arc::new(Tables::new(store));
        let mut counters = Counters::default();
        tables.scan::<Counters>(&mut |_, row| counters = row)?;
        let mut state = State {
            partition,
            counters,
            processes: Processes::open(&tables)?,
            decisions: Decisions::open(&tables)?,
            forms: Definitions::open(&tables, |_, _| ())?,
            resources: Definitions::open(&tables, |_, _| ())?,
            elements: ElementInstances::open(&tables)?,
            jobs: Jobs::open(&tables)?,
            timers: Timers::open(&tables)?,
            incidents: Incidents::open(&tables)?,
            messages: Messages::open(&tables)?,
            message_subscriptions: MessageSubscriptions::open(&tables)?,
            process_subscriptions: ProcessMessageSubscriptions::open(&tables)?,
            message_starts: MessageStarts::open(&tables)?,
            signals: SignalSubscriptions::open(&tables)?,
            distributions: Distributions::open(&tables)?,
            banned: Banned::open(&tables)?,
            triggers: Triggers::open(&tables)?,
            continuations: Continuations::open(&tables)?,
            input_collections: InputCollections::open(&tables)?,
            user_tasks: UserTasks::open(&tables)?,
            global_listeners: GlobalListeners::open(&tables)?,
            compensations: Compensations::open(&tables)?,
            names: Names::default(),
            tables,
        };
        state.hold_work_of_banned();
        Ok(state)
    }

    /// The key that the next event of a new thing gets. It counts once that event is applied.
    pub fn next_key(&self) -> Key {
        Key::new(self.partition, self.counters.last_key + 1)
    }

    /// Every applied event reports its key, so that a replayed state goes on counting where the leader stopped.
    pub fn observe_key(&mut self, key: Key) {
        if key.partition() == Some(self.partition) {
            self.counters.last_key = self.counters.last_key.max(key.counter());
        }
    }

    /// Hands every changed row to `out` and marks it clean. The store may be written later, while the state goes on; if it
    /// cannot be written at all the partition must stop, as the changes are not handed out again.
    pub fn checkpoint(&mut self, out: &mut dyn CheckpointWriter) {
        out.put(Counters::TABLE, &[], write_row(&self.counters));
        self.processes.definitions.checkpoint(out);
        self.decisions.checkpoint(out);
        self.forms.checkpoint(out);
        self.resources.checkpoint(out);
        self.elements.table.checkpoint(out);
        self.elements.running.checkpoint(out);
        self.jobs.table.checkpoint(out);
        self.timers.table.checkpoint(out);
        self.incidents.table.checkpoint(out);
        self.messages.checkpoint(out);
        self.message_subscriptions.table.checkpoint(out);
        self.process_subscriptions.table.checkpoint(out);
        self.message_starts.table.checkpoint(out);
        self.message_starts.started.checkpoint(out);
        self.signals.table.checkpoint(out);
        self.signals.on_their_way.checkpoint(out);
        self.distributions.table.checkpoint(out);
        self.triggers.table.checkpoint(out);
        self.continuations.table.checkpoint(out);
        self.input_collections.table.checkpoint(out);
        self.user_tasks.table.checkpoint(out);
        self.global_listeners.table.checkpoint(out);
        self.compensations.table.checkpoint(out);
        self.banned.table.checkpoint(out);
    }

    /// Drops clean rows until about `limit` bytes of rows stay resident: first those that were not used since the last call,
    /// then, if that is not enough, any. Call it when the last checkpoint has reached the store. Returns the number of
    /// evicted rows.
    pub fn evict(&mut self, limit: usize) -> usize {
        let evicted = self.evict_unused(limit);
        if self.resident_bytes() <= limit {
            return evicted;
        }
        // The first pass has taken the mark of use from all rows.
        evicted + self.evict_unused(limit)
    }

    fn evict_unused(&mut self, limit: usize) -> usize {
        let mut evicted = 0;
        let mut resident = self.resident_bytes();
        evicted += self.processes.definitions.table.evict(limit, &mut resident);
        evicted += self
            .decisions
            .requirements
            .table
            .evict(limit, &mut resident);
        evicted += self.decisions.decisions.table.evict(limit, &mut resident);
        evicted += self.forms.table.evict(limit, &mut resident);
        evicted += self.resources.table.evict(limit, &mut resident);
        evicted += self.elements.running.evict(limit, &mut resident);
        evicted += self.elements.table.evict(limit, &mut resident);
        evicted += self.jobs.table.evict(limit, &mut resident);
        evicted += self.timers.table.evict(limit, &mut resident);
        evicted += self.incidents.table.evict(limit, &mut resident);
        evicted += self.messages.table.evict(limit, &mut resident);
        evicted += self.message_subscriptions.table.evict(limit, &mut resident);
        evicted += self.process_subscriptions.table.evict(limit, &mut resident);
        evicted += self.message_starts.table.evict(limit, &mut resident);
        evicted += self.message_starts.started.evict(limit, &mut resident);
        evicted += self.signals.table.evict(limit, &mut resident);
        evicted += self.signals.on_their_way.evict(limit, &mut resident);
        evicted += self.distributions.table.evict(limit, &mut resident);
        evicted += self.triggers.table.evict(limit, &mut resident);
        evicted += self.continuations.table.evict(limit, &mut resident);
        evicted += self.input_collections.table.evict(limit, &mut resident);
        evicted += self.user_tasks.table.evict(limit, &mut resident);
        evicted += self.global_listeners.table.evict(limit, &mut resident);
        evicted += self.compensations.table.evict(limit, &mut resident);
        evicted += self.banned.table.evict(limit, &mut resident);
        evicted
    }

    /// Estimated bytes of rows in memory.
    pub fn resident_bytes(&self) -> usize {
        self.processes.definitions.table.resident_bytes()
            + self.decisions.requirements.table.resident_bytes()
            + self.decisions.decisions.table.resident_bytes()
            + self.forms.table.resident_bytes()
            + self.resources.table.resident_bytes()
            + self.elements.running.resident_bytes()
            + self.elements.table.resident_bytes()
            + self.jobs.table.resident_bytes()
            + self.timers.table.resident_bytes()
            + self.incidents.table.resident_bytes()
            + self.messages.table.resident_bytes()
            + self.distributions.table.resident_bytes()
            + self.triggers.table.resident_bytes()
            + self.continuations.table.resident_bytes()
            + self.input_collections.table.resident_bytes()
            + self.user_tasks.table.resident_bytes()
            + self.global_listeners.table.resident_bytes()
            + self.compensations.table.resident_bytes()
            + self.banned.table.resident_bytes()
            + self.message_subscriptions.table.resident_bytes()
            + self.process_subscriptions.table.resident_bytes()
            + self.message_starts.table.resident_bytes()
            + self.message_starts.started.resident_bytes()
            + self.signals.table.resident_bytes()
            + self.signals.on_their_way.resident_bytes()
    }

    /// A failed read of the store. The state can no longer be trusted: the partition must stop.
    pub fn fault(&self) -> Option<StoreError> {
        self.tables.fault()
    }

    /// Everything, as bytes per row: two states are equal if and only if their dumps are.
    pub fn dump(&self) -> BTreeMap<(u8, Vec<u8>), Vec<u8>> {
        let mut all = self.tables.dump();
        all.insert((Counters::TABLE, Vec::new()), write_row(&self.counters));
        self.processes.definitions.dump(&mut all);
        self.decisions.dump(&mut all);
        self.forms.dump(&mut all);
        self.resources.dump(&mut all);
        self.elements.running.dump(&mut all);
        self.elements.table.dump(&mut all);
        self.jobs.table.dump(&mut all);
        self.timers.table.dump(&mut all);
        self.incidents.table.dump(&mut all);
        self.messages.dump(&mut all);
        self.message_subscriptions.table.dump(&mut all);
        self.process_subscriptions.table.dump(&mut all);
        self.message_starts.table.dump(&mut all);
        self.message_starts.started.dump(&mut all);
        self.signals.table.dump(&mut all);
        self.signals.on_their_way.dump(&mut all);
        self.distributions.table.dump(&mut all);
        self.triggers.table.dump(&mut all);
        self.continuations.table.dump(&mut all);
        self.input_collections.table.dump(&mut all);
        self.user_tasks.table.dump(&mut all);
        self.global_listeners.table.dump(&mut all);
        self.compensations.table.dump(&mut all);
        self.banned.table.dump(&mut all);
        all
    }
}
