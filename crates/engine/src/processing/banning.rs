//! Banning: an instance on which the engine failed, or which an operator stopped, is left alone from then on.
//!
//! All code that starts work for an instance calls [`Context::begin_work_of`] first. The call also remembers the instance,
//! so the broker knows which one to ban if the engine fails.

use skep_model::ElementIndex;
use skep_protocol::command::{About, Class, Command};
use skep_protocol::intent::ErrorIntent;
use skep_protocol::value::{ErrorValue, Step};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::deployment::delete_resource;
use super::{Context, Outcome, reject};
use crate::remote::RemoteCommand;

/// Reason for a ban.
#[derive(Clone, Debug, PartialEq)]
pub struct Ban {
    pub process_instance_key: Key,
    /// Message of the failure.
    pub message: String,
    /// Stack trace, as far as it is known.
    pub stacktrace: String,
}

/// Bans an instance for an operator. A banned instance stays banned; if the engine had failed on its cancellation, that is
/// tried again.
pub(crate) fn by_operator(cx: &mut Context<'_>, key: Key) -> Outcome {
    if !exists(cx, key) {
        return Err(not_found(key));
    }
    if !cx.state.banned.contains(key) || cx.state.banned.is_frozen(key) {
        let ban = Ban {
            process_instance_key: key,
            message: "banned by an operator".to_string(),
            stacktrace: String::new(),
        };
        write(cx, &ban);
    }
    Ok(Some(Response::Empty))
}

/// Bans an instance on which the engine failed. False if that cannot be a reason to ban it (again): the instance does not
/// exist because it began with the failed command, or nothing in it is tried any longer.
pub(crate) fn after_failure(cx: &mut Context<'_>, ban: &Ban) -> bool {
    let key = ban.process_instance_key;
    let home = cx.config.routing.home(key);
    let elsewhere = home.is_some_and(|home| home != cx.state.partition);
    if !(elsewhere || exists(cx, key)) || cx.state.banned.is_frozen(key) {
        return false;
    }
    write(cx, ban);
    true
}

fn write(cx: &mut Context<'_>, ban: &Ban) {
    let key = cx.next_key();
    let instance = ban.process_instance_key;
    let value = ErrorValue {
        // The failed work left no record.
        error_event_position: -1,
        exception_message: ban.message.as_str().into(),
        process_instance_key: instance,
        stacktrace: ban.stacktrace.as_str().into(),
    };
    let migration = cx.state.migrations.get(instance);
    let target = migration.map(|migration| migration.target);
    cx.event(key, ErrorIntent::Created, &value);
    // Its migration is abandoned, and a deleted definition may have waited for that.
    if let Some(target) = target {
        delete_resource::released(cx, target);
    }
    if let Some((request, _)) = cx.volatile.awaiting_results.remove(&instance) {
        let refusal = refused("CREATE_WITH_AWAITING_RESULT", instance);
        cx.respond(request, Err(refusal));
    }
}

fn exists(cx: &mut Context<'_>, key: Key) -> bool {
    let row = cx.state.elements.get(key);
    row.is_some_and(|row| row.element == ElementIndex::PROCESS.0)
}

pub(crate) fn not_found(key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        "BAN",
        format!(
            "Expected to ban a process instance with key '{key}', but no such process instance was found"
        ),
    )
}

fn refused(intent: &'static str, instance: Key) -> Rejection {
    reject(
        RejectionType::InvalidState,
        intent,
        format!(
            "Expected to work on process instance with key '{instance}', but it is banned: the engine failed on it, or an \
             operator stopped it (GET /actuator/banning says why). It can only be cancelled"
        ),
    )
}

impl Context<'_> {
    /// Declares that what follows is work of this process instance ([`Key::NONE`]: of none). False if the instance is
    /// banned: then nothing may be done.
    pub fn begin_work_of(&mut self, instance: Key) -> bool {
        *self.working_for = instance;
        if self.state.banned.contains(instance) {
            return false;
        }
        self.look_on(instance);
        true
    }

    /// Like [`Context::begin_work_of`], for work that ends the instance: tried even if it is banned, unless the engine has
    /// failed on that as well.
    fn begin_end_of(&mut self, instance: Key) -> bool {
        *self.working_for = instance;
        if self.state.banned.is_frozen(instance) {
            return false;
        }
        self.look_on(instance);
        true
    }

    fn look_on(&mut self, instance: Key) {
        if let Some(look) = self.config.on_work {
            look(self.state, instance);
        }
    }

    /// Like [`Context::begin_work_of`], for a job's instance.
    pub fn begin_work_of_job(&mut self, job: Key) -> bool {
        let job = self.state.jobs.get(job);
        let instance = job.map_or(Key::NONE, |job| job.process_instance_key);
        self.begin_work_of(instance)
    }

    /// Like [`Context::begin_work_of`], for a client's command.
    pub fn begin_command(
        &mut self,
        command: &Command,
        intent: &'static str,
    ) -> Result<(), Rejection> {
        let instance = instance_of(self, command);
        let begun = match command.class() {
            Class::Ending => self.begin_end_of(instance),
            Class::New | Class::NewMany | Class::Evaluating | Class::Polling | Class::Finishing => {
                self.begin_work_of(instance)
            }
        };
        if begun {
            self.check_not_migrating(instance, intent)
        } else {
            Err(refused(intent, instance))
        }
    }

    /// Like [`Context::begin_work_of`], for a command of another partition.
    pub fn begin_remote(&mut self, command: &RemoteCommand) -> bool {
        let instance = instance_of_remote(self, command);
        match command {
            // The instance's answer to a message also concerns others.
            RemoteCommand::CloseMessageSubscription { .. }
            | RemoteCommand::CloseMessageSubscriptionByKey { .. }
            | RemoteCommand::MessageCorrelated { .. }
            | RemoteCommand::RejectCorrelation { .. } => self.begin_end_of(instance),
            _ => self.begin_work_of(instance),
        }
    }

    /// Whether a step is skipped because its instance is banned. Ending such an instance is tried once.
    pub fn is_held_back(&mut self, step: &Step) -> bool {
        if self.state.banned.is_empty() {
            return false;
        }
        let Some(instance) = instance_of_step(self, step) else {
            return false;
        };
        match step {
            Step::Terminate(_) | Step::TerminateChildren { .. } | Step::Terminated(_) => {
                self.state.banned.is_frozen(instance)
            }
            _ => self.state.banned.contains(instance),
        }
    }

    /// Declares that what follows is the rest of an earlier command: work of the first instance in it that is not held
    /// back.
    pub fn begin_continuation(&mut self, key: Key) {
        let mut instance = Key::NONE;
        for index in 0.. {
            let Some(next) = self.state.continuations.step(key, index) else {
                break;
            };
            if !self.is_held_back(&next.step) {
                instance = instance_of_step(self, &next.step).unwrap_or(Key::NONE);
                break;
            }
        }
        *self.working_for = instance;
        self.look_on(instance);
    }
}

fn instance_of(cx: &mut Context<'_>, command: &Command) -> Key {
    let state = &mut *cx.state;
    let found = match command.about() {
        About::ProcessInstance(key) => Some(key),
        About::ElementInstance(key) => instance_of_element(cx, key),
        About::Job(key) => state.jobs.get(key).map(|job| job.process_instance_key),
        About::Incident(key) => {
            let incident = state.incidents.get(key);
            incident.map(|incident| incident.process_instance_key)
        }
        About::UserTask(key) => {
            let task = state.user_tasks.get(key);
            task.map(|task| task.process_instance_key)
        }
        About::Nothing | About::BatchOperation(_) | About::Ended(_) => None,
    };
    found.unwrap_or(Key::NONE)
}

fn instance_of_remote(cx: &mut Context<'_>, command: &RemoteCommand) -> Key {
    match command {
        RemoteCommand::OpenMessageSubscription(value) => value.process_instance_key,
        RemoteCommand::CorrelateSubscription(command) => command.process_instance_key,
        RemoteCommand::RejectCorrelation {
            process_instance_key,
            ..
        } => *process_instance_key,
        RemoteCommand::MessageSubscriptionOpened {
            element_instance_key,
            message_name,
            ..
        }
        | RemoteCommand::MessageSubscriptionClosed {
            element_instance_key,
            message_name,
        } => {
            let subscriptions = &mut cx.state.process_subscriptions;
            let key = subscriptions.of_element(*element_instance_key, message_name);
            let row = key.and_then(|key| subscriptions.get(key));
            row.map_or(Key::NONE, |row| row.process_instance_key)
        }
        RemoteCommand::MessageCorrelated {
            element_instance_key,
            message_name,
            ..
        }
        | RemoteCommand::CloseMessageSubscription {
            element_instance_key,
            message_name,
            ..
        }
        | RemoteCommand::CloseMessageSubscriptionByKey {
            element_instance_key,
            message_name,
            ..
        } => {
            let subscriptions = &mut cx.state.message_subscriptions;
            let key = subscriptions.of_element(*element_instance_key, message_name);
            let row = key.and_then(|key| subscriptions.get(key));
            row.map_or(Key::NONE, |row| row.process_instance_key)
        }
        RemoteCommand::BatchPart { .. }
        | RemoteCommand::Distribute { .. }
        | RemoteCommand::AcknowledgeDistribution { .. }
        | RemoteCommand::Scaling(_)
        | RemoteCommand::Routing(_) => Key::NONE,
        RemoteCommand::SentOn { command, .. } => instance_of_remote(cx, command),
    }
}

pub(super) fn instance_of_step(cx: &mut Context<'_>, step: &Step) -> Option<Key> {
    match step {
        Step::Activate(activation) => instance_of_element(cx, activation.scope),
        Step::ActivateTriggered(key) => {
            let trigger = cx.state.triggers.get(*key)?;
            Some(trigger.process_instance_key)
        }
        Step::Complete(key)
        | Step::ThrowSignal(key)
        | Step::ActivateInner(key)
        | Step::Call { caller: key, .. }
        | Step::Terminate(key)
        | Step::TerminateChildren { scope: key, .. }
        | Step::Terminated(key)
        | Step::Migrate(key)
        | Step::Compensate { thrower: key, .. }
        | Step::ActivateHandlers { thrower: key, .. } => instance_of_element(cx, *key),
        Step::EvaluateCondition(key) => {
            let subscription = cx.state.conditions.get(*key)?;
            Some(subscription.process_instance_key)
        }
        Step::CheckConditions { check, .. } => {
            let check = cx.state.conditions.checks.get(*check)?;
            Some(check.0.process_instance_key)
        }
        Step::CorrelateMessage(_)
        | Step::DeliverSignal { .. }
        | Step::EvaluateStarts { .. }
        | Step::DeleteIdentity(_) => None,
        Step::Modify { instance, .. }
        | Step::ModifyTerminate { instance, .. }
        | Step::ModifyTerminated { instance, .. } => Some(*instance),
    }
}

fn instance_of_element(cx: &mut Context<'_>, key: Key) -> Option<Key> {
    let row = cx.state.elements.get(key)?;
    Some(row.process_instance_key)
}
