//! The state of a partition: typed tables in memory, written behind to a store at checkpoints.
//!
//! Only appliers change it: its mutators are visible to them alone ([`crate::appliers`] contains this module).
//!
//! ```
//! fn read(state: &mut skep_engine::state::State, key: skep_protocol::Key) -> bool {
//!     state.jobs.get(key).is_some()
//! }
//! ```
//!
//! ```compile_fail
//! fn change(state: &mut skep_engine::state::State, key: skep_protocol::Key) -> bool {
//!     state.jobs.remove(key).is_some()
//! }
//! ```
//!
//! Cold rows may be evicted and are read back on demand. Indices over jobs, timers, messages and subscriptions stay in
//! memory and are rebuilt from the store at recovery.

mod cells;
mod cluster;
mod events;
mod index;
mod instances;
mod long_list;
mod names;
mod resources;
pub mod table;
mod tasks;
mod undo;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{FormValue, ResourceValue};

pub use banned::{Banned, BannedInstance};
pub(crate) use batch_operations::RESOURCES_SINCE;
pub use batch_operations::{BatchChunk, BatchOperation, BatchOperations, BatchPart, BatchPhase};
pub use cluster::{batch_operations, cluster_variables, distributions};
use cluster::{exporting, identity, kept, scaling, sessions, slots};
pub use cluster_variables::ClusterVariables;
pub use compensations::{Compensation, Compensations};
pub use continuations::Continuations;
pub use decisions::{Decisions, DeployedDecisions};
pub use definitions::{Definitions, Pin, Versioned};
pub use distributions::Distributions;
pub use element_instances::{Called, ElementInstance, ElementInstances, ElementState, Ended, Loop};
pub use events::{messages, subscriptions, timers};
pub use exporting::Exporting;
pub use global_listeners::GlobalListeners;
pub use identity::Identity;
pub use incidents::Incidents;
pub use input_collections::{InputCollection, InputCollections};
use instances::variables;
pub use instances::{
    banned, compensations, continuations, element_instances, input_collections, joins, migrations,
    modifications, triggers,
};
pub use jobs::{Job, JobState, Jobs};
pub use joins::Joins;
pub use kept::{Kept, KeptObjects};
pub use messages::{Messages, Rank};
pub use migrations::{Migration, Migrations};
pub use modifications::{Modification, Modifications};
pub(crate) use names::Names;
pub use processes::{DeployedProcess, Processes};
pub use resources::{decisions, definitions, processes};
pub use scaling::{Scaling, ScalingRow};
pub use sessions::{Session, Sessions};
pub use slots::{Arrival, Departure, Holder, Slots, StartedElsewhere};
pub use subscriptions::{
    ConditionalSubscriptions, MessageStarts, MessageSubscriptions, ProcessMessageSubscriptions,
    SignalSubscriptions,
};
pub use table::{
    CheckpointWriter, EncodeLater, Row, RowStore, Rows, StoreError, Table, Tables, read_row,
    write_row,
};
pub use tasks::{global_listeners, incidents, jobs, user_tasks};
pub use timers::{Timer, Timers};
pub use triggers::{Trigger, Triggers};
pub use user_tasks::{UserTask, UserTaskState, UserTasks};
pub use variables::{ScopeVariables, Variable, VariableNames};

/// Counters that are part of the state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Counter part of the newest key created by this partition.
    pub last_key: u64,
    /// `Some` while the clock is pinned (CLOCK PINNED), epoch milliseconds.
    pub pinned_clock: Option<i64>,
    /// The key of the last distributed command carried out here, by partition. The commands arrive in ascending order, so
    /// any key not above it is a duplicate.
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
    pub(in crate::appliers) counters: Counters,
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
    pub conditions: ConditionalSubscriptions,
    pub distributions: Distributions,
    pub banned: Banned,
    pub triggers: Triggers,
    pub continuations: Continuations,
    pub input_collections: InputCollections,
    pub user_tasks: UserTasks,
    pub global_listeners: GlobalListeners,
    pub cluster_variables: ClusterVariables,
    pub compensations: Compensations,
    pub batch_operations: BatchOperations,
    pub migrations: Migrations,
    pub modifications: Modifications,
    pub exporting: Exporting,
    pub scaling: ScalingRow,
    pub identity: Identity,
    pub sessions: Sessions,
    pub kept: KeptObjects,
    pub slots: Slots,
    pub(crate) names: Names,
    /// See [`State::keys_are_above`].
    least_key: u64,
    undo: undo::CountersBefore,
    tables: Arc<Tables>,
}

/// Number of tables in [`State::rows`].
const TABLES: usize = 43;

impl State {
    /// Opens the state in `store`; an empty store yields an empty state.
    ///
    /// Reads every row of the indexed tables once, without keeping them in memory.
    pub fn open(partition: u32, store: Arc<dyn RowStore>) -> Result<State, StoreError> {
        let mut state = State::open_to_replay(partition, store)?;
        state.promote()?;
        Ok(state)
    }

    /// Opens the state for replaying a log. Nothing can be queried before [`State::promote`]: whatever replay does not need
    /// is not kept up to date.
    pub fn open_to_replay(partition: u32, store: Arc<dyn RowStore>) -> Result<State, StoreError> {
        let tables = Arc::new(Tables::new(store));
        let mut counters = Counters::default();
        tables.scan::<Counters>(&mut |_, row| counters = row)?;
        let state = State {
            partition,
            counters,
            least_key: 0,
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
            conditions: ConditionalSubscriptions::open(&tables)?,
            distributions: Distributions::open(&tables)?,
            banned: Banned::open(&tables)?,
            triggers: Triggers::open(&tables)?,
            continuations: Continuations::open(&tables)?,
            input_collections: InputCollections::open(&tables)?,
            user_tasks: UserTasks::open(&tables)?,
            global_listeners: GlobalListeners::open(&tables)?,
            cluster_variables: ClusterVariables::open(&tables)?,
            compensations: Compensations::open(&tables)?,
            batch_operations: BatchOperations::open(&tables)?,
            migrations: Migrations::open(&tables)?,
            modifications: Modifications::open(&tables)?,
            exporting: Exporting::open(&tables)?,
            scaling: ScalingRow::open(&tables)?,
            identity: Identity::open(&tables)?,
            sessions: Sessions::open(&tables)?,
            kept: KeptObjects::open(&tables)?,
            slots: Slots::open(&tables)?,
            names: Names::default(),
            undo: undo::CountersBefore::default(),
            tables,
        };
        let mut known = vec![Counters::TABLE];
        for rows in state.rows() {
            rows.tables(&mut known);
        }
        state.tables.expect_no_others(&known)?;
        Ok(state)
    }

    /// Prepares the state for commands.
    pub fn promote(&mut self) -> Result<(), StoreError> {
        self.jobs.build_indices()?;
        self.hold_work_of_banned();
        Ok(())
    }

    /// Every table of rows.
    fn rows(&self) -> [&dyn Rows; TABLES] {
        [
            &self.processes.definitions,
            &self.decisions.requirements,
            &self.decisions.decisions,
            &self.forms,
            &self.resources,
            &self.elements.running,
            &self.elements.nested,
            &self.elements.table,
            &self.jobs.table,
            &self.timers.table,
            &self.incidents.table,
            &self.messages.table,
            &self.message_subscriptions.table,
            &self.process_subscriptions.table,
            &self.message_starts.table,
            &self.message_starts.started,
            &self.signals.table,
            &self.signals.on_their_way,
            &self.conditions.table,
            &self.conditions.checks,
            &self.conditions.evaluations,
            &self.distributions.table,
            &self.triggers.table,
            &self.continuations.table,
            &self.input_collections.table,
            &self.user_tasks.table,
            &self.global_listeners.table,
            &self.cluster_variables.table,
            &self.compensations.table,
            &self.batch_operations.table,
            &self.batch_operations.chunks,
            &self.migrations.table,
            &self.modifications.table,
            &self.exporting.table,
            &self.scaling.table,
            &self.identity.table,
            &self.sessions.table,
            &self.kept.table,
            &self.slots.table,
            &self.slots.departures,
            &self.slots.arrivals,
            &self.slots.started,
            &self.banned.table,
        ]
    }

    fn rows_mut(&mut self) -> [&mut dyn Rows; TABLES] {
        [
            &mut self.processes.definitions,
            &mut self.decisions.requirements,
            &mut self.decisions.decisions,
            &mut self.forms,
            &mut self.resources,
            &mut self.elements.running,
            &mut self.elements.nested,
            &mut self.elements.table,
            &mut self.jobs.table,
            &mut self.timers.table,
            &mut self.incidents.table,
            &mut self.messages.table,
            &mut self.message_subscriptions.table,
            &mut self.process_subscriptions.table,
            &mut self.message_starts.table,
            &mut self.message_starts.started,
            &mut self.signals.table,
            &mut self.signals.on_their_way,
            &mut self.conditions.table,
            &mut self.conditions.checks,
            &mut self.conditions.evaluations,
            &mut self.distributions.table,
            &mut self.triggers.table,
            &mut self.continuations.table,
            &mut self.input_collections.table,
            &mut self.user_tasks.table,
            &mut self.global_listeners.table,
            &mut self.cluster_variables.table,
            &mut self.compensations.table,
            &mut self.batch_operations.table,
            &mut self.batch_operations.chunks,
            &mut self.migrations.table,
            &mut self.modifications.table,
            &mut self.exporting.table,
            &mut self.scaling.table,
            &mut self.identity.table,
            &mut self.sessions.table,
            &mut self.kept.table,
            &mut self.slots.table,
            &mut self.slots.departures,
            &mut self.slots.arrivals,
            &mut self.slots.started,
            &mut self.banned.table,
        ]
    }

    /// `Some` while the clock is pinned, epoch milliseconds.
    pub fn pinned_clock(&self) -> Option<i64> {
        self.counters.pinned_clock
    }

    /// Whether anything was ever deployed for a tenant other than the default one.
    pub fn knows_other_tenants(&self) -> bool {
        self.processes.definitions.knows_other_tenants()
            || self.decisions.requirements.knows_other_tenants()
            || self.forms.knows_other_tenants()
            || self.resources.knows_other_tenants()
    }

    /// The last distributed command of this partition that was carried out here.
    pub fn last_received(&self, partition: u32) -> Option<Key> {
        self.counters.received.get(&partition).copied()
    }

    /// For tests of broken invariants: nothing else may change a row without an event.
    #[doc(hidden)]
    pub fn damage(&mut self, element: Key, change: impl FnOnce(&mut ElementInstance)) {
        if let Some(row) = self.elements.get_mut(element) {
            change(row);
        }
    }

    /// The key after all that were assigned so far.
    pub fn next_key(&self) -> Key {
        Key::new(self.partition, self.counters.last_key + 1)
    }

    /// The key for the next event of a new entity. It counts as used once that event is applied.
    pub fn new_key(&self) -> Key {
        let last = self.counters.last_key.max(self.least_key);
        Key::new(self.partition, last + 1)
    }

    /// Sets a lower bound for new keys, because lower ones may have been assigned by copies that were lost. The bound is
    /// not part of the state: a leader sets it at each start.
    pub(crate) fn keys_are_above(&mut self, least: u64) {
        self.least_key = least;
    }

    /// Records the key of an applied event, so that a replayed state continues counting where the leader stopped.
    pub fn observe_key(&mut self, key: Key) {
        if key.partition() == Some(self.partition) {
            self.counters.last_key = self.counters.last_key.max(key.counter());
        }
    }

    /// Hands every changed row to `out` and marks it clean. The store may be written later, while the state continues to
    /// change. If it cannot be written at all, the partition must stop, because the changes are not handed out again.
    pub fn checkpoint(&mut self, out: &mut dyn CheckpointWriter) {
        out.put(Counters::TABLE, &[], write_row(&self.counters));
        self.rows_mut()
            .into_iter()
            .for_each(|rows| rows.checkpoint(out));
    }

    /// Drops clean rows until about `limit` bytes of rows stay resident: first those not used since the last call, then, if
    /// that is not enough, any others. Call it when the last checkpoint has reached the store. Returns the number of
    /// evicted rows.
    pub fn evict(&mut self, limit: usize) -> usize {
        let evicted = self.evict_unused(limit);
        if self.resident_bytes() <= limit {
            return evicted;
        }
        // The first pass has cleared the usage mark of all rows.
        evicted + self.evict_unused(limit)
    }

    fn evict_unused(&mut self, limit: usize) -> usize {
        let mut resident = self.resident_bytes();
        let tables = self.rows_mut().into_iter();
        tables.map(|rows| rows.evict(limit, &mut resident)).sum()
    }

    /// Rows that move with correlation keys.
    pub fn correlation_rows(&self) -> usize {
        let subscriptions = self.message_subscriptions.table.len();
        self.messages.len() + subscriptions + self.message_starts.started.len()
    }

    /// Estimated bytes of rows in memory.
    pub fn resident_bytes(&self) -> usize {
        let tables = self.rows().into_iter();
        tables.map(|rows| rows.resident_bytes()).sum()
    }

    /// Estimated bytes of rows that the next checkpoint hands out.
    pub fn dirty_bytes(&self) -> usize {
        let tables = self.rows().into_iter();
        tables.map(|rows| rows.dirty_bytes()).sum()
    }

    /// A failed read of the store. The state can no longer be trusted: the partition must stop.
    pub fn fault(&self) -> Option<StoreError> {
        self.tables.fault()
    }

    /// All rows as bytes: two states are equal if and only if their dumps are.
    pub fn dump(&self) -> BTreeMap<(u8, Vec<u8>), Vec<u8>> {
        let mut all = self.tables.dump();
        all.insert((Counters::TABLE, Vec::new()), write_row(&self.counters));
        self.rows().into_iter().for_each(|rows| rows.dump(&mut all));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::cells::Cell;
    use super::table::EmptyStore;
    use super::*;

    /// There are millions of instances. Anyone who adds a field learns its cost per instance here, and can move it into optional data.
    #[test]
    fn state_that_every_instance_has_is_small() {
        assert_eq!(size_of::<Cell<ElementInstance>>(), 120);
        assert_eq!(size_of::<Cell<Job>>(), 104);
    }

    #[test]
    fn a_missing_row_that_must_exist_panics_with_its_key() {
        let tables = Arc::new(Tables::new(Arc::new(EmptyStore)));
        let mut table = Table::<Timer>::open(&tables).unwrap();
        assert!(table.must_get_mut(Key::NONE).is_none(), "it names nothing");
        let key = Key::new(1, 7);
        let missed = catch_unwind(AssertUnwindSafe(|| table.must_get_mut(key).is_none()));
        let panic = missed.expect_err("it is missing");
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains(&format!("has no row {key}")), "{text}");
        // This one stops the partition, which reports it itself.
        tables.fail(StoreError("the disk is gone".into()));
        assert!(table.must_get_mut(key).is_none());
    }
}
