//! The context of a processor.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use skep_protocol::batch::BatchWriter;
use skep_protocol::command::AwaitResult;
use skep_protocol::intent::Intent;
use skep_protocol::origin::Origin;
use skep_protocol::{Key, Rejection, Response, TenantId};

use super::authorization::GrantsCache;
use super::bpmn::{Budget, Steps};
use super::job::activate::{Places, Rounds, Turns};
use super::slots::Moving;
use crate::appliers::Event;
use crate::effects::{Effects, JobStreams, RequestId};
use crate::engine::EngineConfig;
use crate::evaluation::Evaluation;
use crate::prepared::Prepared;
use crate::remote::{GlobalLocation, RemoteCommand, Sent};
use crate::state::State;

/// The leader's memory of waiting clients. It is not state: a client whose leader is gone asks again.
#[derive(Debug, Default)]
pub struct Volatile {
    pub(crate) grants: GrantsCache,
    /// Where polls continue to look for jobs.
    pub(crate) places: Places,
    /// Which tenants the next polls begin with.
    pub(crate) turns: Turns,
    /// Searches for waiting jobs that streams may have.
    pub(crate) rounds: Rounds,
    /// Creations that wait for the end of their instance.
    pub awaiting_results: HashMap<Key, (RequestId, AwaitResult)>,
    /// Deployments and deletions that wait for all partitions.
    pub awaiting_distribution: HashMap<Key, (RequestId, Response)>,
    /// Message correlations that wait for the instance's partition, by message key, each with the slot of its correlation key.
    pub awaiting_correlation: HashMap<Key, (RequestId, u32)>,
    /// Commands to user tasks that wait for the task's listeners, by user task.
    pub awaiting_user_tasks: HashMap<Key, RequestId>,
    /// Migrations that continue in later turns, by process instance.
    pub awaiting_migration: HashMap<Key, RequestId>,
    /// Deletions of users, groups, roles, tenants and mapping rules that continue in later turns, by row.
    pub awaiting_deletion: HashMap<Key, RequestId>,
    /// Evaluations of start conditions that continue in later turns.
    pub awaiting_evaluations: HashMap<Key, RequestId>,
    /// The evaluation for which the last command was deferred.
    pub evaluation: Option<Evaluation>,
    /// Progress of this partition, if it is new, in pulling the global state.
    pub pulled: GlobalLocation,
    /// New partitions that have all of the global state except for recent decisions in transit to them.
    pub nearly_bootstrapped: BTreeSet<u32>,
    /// Slots that move.
    pub(crate) moving: Moving,
    /// Progress of the sweeps over unanswered commands: message side, process side.
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
    /// The tenant for which the command creates something.
    pub tenant: TenantId,
    /// The origin of this command.
    pub origin: Origin,
    /// Work on this command that was done before its turn.
    pub prepared: Option<Prepared>,
    /// Remaining life-cycle steps of this command.
    pub steps: &'a mut Steps,
    /// Remaining budget of this turn.
    pub budget: &'a mut Budget,
    /// The instance that the current work belongs to; see [`super::banning`].
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

    /// Whether the budget of the turn is spent: the rest waits for a later batch.
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent(self.out.size())
    }

    /// Maximum bytes of variables that one step may copy: several times the largest message, and far less than a batch may
    /// hold.
    pub fn max_step_bytes(&self) -> usize {
        4 * self.config.max_message_size
    }

    /// The key for the next new entity. It is taken once an event with it is emitted.
    pub fn next_key(&self) -> Key {
        self.state.new_key()
    }

    /// Takes a key immediately, for an entity whose first event comes after others.
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

    /// Reports a violated invariant of the engine: anything it did next would be wrong. The command ends with a panic,
    /// which the broker treats as a bug in the work of one instance: the effects of the command are undone, and the
    /// instance is banned. Returns only if the cause is a row that the store failed to return: the partition then stops
    /// anyway.
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

    /// The tenant of an instance, which is that of its definition. If the definition is not here, though it should be, the instance
    /// belongs to no tenant.
    pub fn tenant_of(&self, process_definition_key: Key) -> TenantId {
        let process = self.state.processes.get(process_definition_key);
        process.map_or_else(TenantId::unknown, |process| process.tenant.clone())
    }

    pub fn process(&self, key: Key) -> Option<Arc<crate::state::DeployedProcess>> {
        self.state.processes.get(key).cloned()
    }
}
