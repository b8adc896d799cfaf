//! The context that every processor works with.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use skep_protocol::batch::BatchWriter;
use skep_protocol::command::AwaitResult;
use skep_protocol::intent::Intent;
use skep_protocol::origin::Origin;
use skep_protocol::{Key, Rejection, Response, TenantId};

use super::authorization::GrantsCache;
use super::bpmn::{Budget, Steps};
use crate::appliers::Event;
use crate::effects::{Effects, JobStreams, RequestId};
use crate::engine::EngineConfig;
use crate::evaluation::Evaluation;
use crate::prepared::Prepared;
use crate::remote::{GlobalPlace, RemoteCommand, Sent};
use crate::state::State;

/// What the leader remembers of waiting clients. It is no state: a client whose leader is gone asks again.
#[derive(Debug, Default)]
pub struct Volatile {
    pub(crate) grants: GrantsCache,
    /// Creations that wait for the end of their instance.
    pub awaiting_results: HashMap<Key, (RequestId, AwaitResult)>,
    /// Deployments and deletions that wait for all partitions.
    pub awaiting_distribution: HashMap<Key, (RequestId, Response)>,
    /// Message correlations that wait for the instance's partition, by message key.
    pub awaiting_correlation: HashMap<Key, RequestId>,
    /// Commands to user tasks that wait for the task's listeners, by user task.
    pub awaiting_user_tasks: HashMap<Key, RequestId>,
    /// Migrations that go on in later turns, by process instance.
    pub awaiting_migration: HashMap<Key, RequestId>,
    /// Evaluations of start conditions that go on in later turns.
    pub awaiting_evaluations: HashMap<Key, RequestId>,
    /// For which the last command was put off.
    pub evaluation: Option<Evaluation>,
    /// How far this partition, which is new, has got with what every partition has.
    pub pulled: GlobalPlace,
    /// New partitions that have all of it but for what was decided meanwhile and is on its way to them.
    pub nearly_bootstrapped: BTreeSet<u32>,
    /// How far the sweeps over unanswered commands have come: message side, process side.
    pub retried: [Key; 2],
}

pub(crate) struct Context<'a> {
    pub state: &'a mut State,
    pub out: &'a mut BatchWriter,
    pub effects: &'a mut Effects,
    pub streams: &'a mut dyn JobStreams,
    pub volatile: &'a mut Volatile,
    pub config: &'a EngineConfig,
    /// Epoch milliseconds; the time stamp of the batch.
    pub now: i64,
    /// The client that waits for this command, if any.
    pub request: Option<RequestId>,
    /// For which tenant the command makes something new.
    pub tenant: TenantId,
    /// Where this command comes from.
    pub origin: Origin,
    /// What was found out about this command before its turn.
    pub prepared: Option<Prepared>,
    /// Life-cycle steps still to do for this command.
    pub steps: &'a mut Steps,
    /// What this turn may still cost.
    pub budget: &'a mut Budget,
    /// The instance whose work is done; see [`super::banning`].
    pub working_for: &'a mut Key,
    /// Jobs that became activatable in this command.
    pub new_jobs: &'a mut Vec<Key>,
}

impl Context<'_> {
    /// Writes an event and applies it.
    #[inline]
    pub fn event<V: Event>(&mut self, key: Key, intent: V::Intent, value: &V) {
        self.effects.noted.event(key, intent.id(), value);
        value.emit(self.out, self.state, key, intent, self.now);
    }

    /// The turn has cost what it may: what is left waits for a later batch.
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent(self.out.size())
    }

    /// Bytes of variables that one step may copy: several of the largest message, and far less than a batch may hold.
    pub fn max_step_bytes(&self) -> usize {
        4 * self.config.max_message_size
    }

    /// The key for the next new thing. It is taken once an event with it is emitted.
    pub fn next_key(&self) -> Key {
        self.state.new_key()
    }

    /// A key that is taken at once: that of a thing whose first event stands behind others.
    pub fn new_key(&mut self) -> Key {
        let key = self.state.new_key();
        self.state.observe_key(key);
        key
    }

    /// Sends a command to another partition, or to this one, once the batch is committed.
    pub fn send(&mut self, partition: u32, command: RemoteCommand) {
        let sent = Sent::new(&self.origin, command);
        self.effects.sends.push((partition, sent));
    }

    pub fn respond(&mut self, request: RequestId, answer: Result<Response, Rejection>) {
        self.effects.responses.push((request, answer));
    }

    /// A rule that the engine itself upholds does not hold: whatever it did next would be wrong. That ends the command with a
    /// panic, which the broker takes for a bug in the work of one instance: what the command did is undone, and the instance
    /// is banned. Returns only when the cause is a row that the store did not give: the partition stops for that anyway.
    #[cold]
    #[track_caller]
    pub fn broken(&self, what: impl std::fmt::Display) {
        if self.state.fault().is_none() {
            panic!(
                "a rule of the engine is broken: {what} (work of instance {})",
                self.working_for
            );
        }
    }

    /// What runs belongs to the tenant of its definition.
    pub fn tenant_of(&self, process_definition_key: Key) -> TenantId {
        let process = self.state.processes.get(process_definition_key);
        process.map_or_else(TenantId::default, |process| process.tenant.clone())
    }

    pub fn process(&self, key: Key) -> Option<Arc<crate::state::DeployedProcess>> {
        self.state.processes.get(key).cloned()
    }
}
