//! A rig for engine specifications: one or several partitions in one process, a network between them, a clock that only the test advances,
//! and job streams with credit. After every command each partition's twin applies the batch, and both must have the same state; also no
//! element may be stuck.

mod migrations;
mod modification;
mod names;
mod places;
mod play;
mod resources;
mod store;
mod streams;
mod stuck;
mod user_tasks;

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use skep_engine::state::State;
use skep_engine::state::table::EmptyStore;
use skep_engine::{Engine, EngineConfig, JobsAvailable, Prepared, RemoteCommand, RequestId, Sent};
use skep_model::builder::Bpmn;
use skep_protocol::batch::BatchReader;
use skep_protocol::command::*;
use skep_protocol::json::{Lineage, render};
use skep_protocol::origin::Claims;
use skep_protocol::record::RecordType;
use skep_protocol::{ActivatedJob, Document, Key, Rejection, Response, Routing, TenantId};

pub use modification::Modify;
use names::Names;
use places::Requests;
pub use resources::{decision, decisions};
pub use store::{MemoryStore, Pending};
pub use streams::Streams;

/// 2026-01-01T00:00:00Z
pub const START: i64 = 1_767_225_600_000;
pub const MINUTE: i64 = 60_000;

/// A written record, with element ids in place of indices.
#[derive(Clone, Debug)]
pub struct Seen {
    pub partition: u32,
    pub record_type: RecordType,
    pub value_type: &'static str,
    pub intent: &'static str,
    pub key: Key,
    pub json: Value,
}

impl Seen {
    pub fn is_event(&self) -> bool {
        self.record_type == RecordType::Event
    }
    pub fn field(&self, name: &str) -> &Value {
        &self.json["value"][name]
    }
    pub fn text(&self, name: &str) -> &str {
        self.field(name).as_str().unwrap_or("")
    }
    pub fn element(&self) -> &str {
        match self.text("elementId") {
            "" => self.text("targetElementId"),
            id => id,
        }
    }
    pub fn instance(&self) -> Key {
        Key(self.field("processInstanceKey").as_i64().unwrap_or(-1))
    }
}

/// The network's treatment of a command between partitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Arrives,
    Lost,
    Twice,
    /// Arrives after some time.
    Late,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OpenIncident {
    pub key: Key,
    pub kind: String,
    pub message: String,
    pub element: String,
}

pub struct Partition {
    pub engine: Engine,
    /// Applies the batches, as a follower does.
    pub twin: Engine,
}

pub struct Rig {
    pub partitions: Vec<Partition>,
    pub now: i64,
    pub streams: Streams,
    pub seen: Vec<Seen>,
    pub fate: Box<dyn FnMut(&RemoteCommand) -> Fate + Send>,
    pub network: VecDeque<(u32, Sent)>,
    late: Vec<(u32, Sent)>,
    requests: Requests,
    /// Job types announced to long-polling clients, each with its tenant if that is not the default one: `work of acme`.
    pub announced: Vec<String>,
    /// The batches by partition, if recorded.
    pub batches: Vec<(u32, Vec<u8>)>,
    keep_batches: bool,
    /// Deferred work does not run by itself: the test runs it by [`Rig::run_work`].
    pub interrupted: bool,
    /// The tenant that owns what commands create.
    pub tenant: TenantId,
    /// The claims of the caller.
    pub claims: Claims,
    /// Whether commands are prepared, as in the broker.
    pub prepares: bool,
}

pub fn config(partition: u32, partitions: u32) -> EngineConfig {
    EngineConfig {
        partition,
        routing: Arc::new(Routing::new(partitions)),
        max_process_depth: 8,
        max_due: 20,
        ..EngineConfig::default()
    }
}

fn engine(config: EngineConfig) -> Engine {
    let state = State::open(config.partition, Arc::new(EmptyStore)).unwrap();
    Engine::new(config, state, 1)
}

impl Default for Rig {
    fn default() -> Self {
        Rig::new()
    }
}

impl Rig {
    pub fn new() -> Rig {
        Rig::with_partitions(1)
    }

    pub fn with_partitions(count: u32) -> Rig {
        Rig::with_configs(count, |id| config(id, count))
    }

    /// A rig of partitions with these configurations.
    pub fn with_configs(count: u32, config: impl Fn(u32) -> EngineConfig) -> Rig {
        let partitions = (1..=count).map(|id| Partition {
            engine: engine(config(id)),
            twin: engine(config(id)),
        });
        Rig {
            partitions: partitions.collect(),
            now: START,
            streams: Streams::default(),
            seen: Vec::new(),
            fate: Box::new(|_| Fate::Arrives),
            network: VecDeque::new(),
            late: Vec::new(),
            requests: Requests::default(),
            announced: Vec::new(),
            batches: Vec::new(),
            keep_batches: false,
            interrupted: false,
            tenant: TenantId::default(),
            claims: Claims::Anonymous,
            prepares: true,
        }
    }

    /// Sets the number of steps that a command may take before others get their turn.
    pub fn turn_steps(&mut self, steps: u32) {
        for partition in &mut self.partitions {
            for engine in [&mut partition.engine, &mut partition.twin] {
                engine.set_turn_steps(steps);
            }
        }
    }

    /// Keeps batches for the test from now on.
    pub fn record_batches(&mut self) {
        self.keep_batches = true;
    }

    /// Root instances that have not ended, read from the state.
    pub fn open_instances(&self) -> Vec<Key> {
        let mut open = Vec::new();
        for partition in &self.partitions {
            open.extend(stuck::roots(&partition.engine));
        }
        open
    }

    /// Instances started by call activities, read from the log: some may have ended.
    pub fn called_instances(&self) -> Vec<Key> {
        self.events("PROCESS_INSTANCE")
            .filter(|r| r.key == r.instance() && r.intent == "ELEMENT_ACTIVATING")
            .filter(|r| r.field("parentElementInstanceKey").as_i64() != Some(-1))
            .map(|r| r.key)
            .collect()
    }

    /// A rig with this process deployed.
    pub fn with(bpmn: Bpmn) -> Rig {
        let mut rig = Rig::new();
        rig.deploy(bpmn);
        rig
    }

    pub fn engine(&mut self, partition: u32) -> &mut Engine {
        &mut self.partitions[partition as usize - 1].engine
    }

    // ---- commands

    /// Sends a command to its partition and waits for the answer.
    pub fn send(&mut self, command: Command) -> Result<Response, Rejection> {
        let request = self.send_async(command);
        self.answer(request).expect("the command is answered")
    }

    /// Sends a command; the answer may come later.
    pub fn send_async(&mut self, command: Command) -> RequestId {
        let partition = self.partition_of(&command);
        self.send_to(partition, command)
    }

    pub fn send_to(&mut self, partition: u32, command: Command) -> RequestId {
        self.requests.last += 1;
        let request = self.requests.last;
        let command = Request {
            tenant: self.tenant.clone(),
            ..Draft::from(command).by(self.claims.clone())
        };
        self.ask(partition, request, command);
        self.thaw();
        request
    }

    /// Lets the follower, which has only seen the events, take over.
    pub fn change_leader(&mut self, partition: u32) {
        let partition = &mut self.partitions[partition as usize - 1];
        let deposed = &mut partition.engine;
        deposed.keep_undo(true);
        assert!(deposed.undo(deposed.next_position()));
        deposed.keep_undo(false);
        std::mem::swap(&mut partition.engine, &mut partition.twin);
    }

    /// Returns the answer without removing it.
    pub fn look_at_answer(&self, request: RequestId) -> Option<&Result<Response, Rejection>> {
        self.requests.answers.get(&request)
    }

    pub fn answer(&mut self, request: RequestId) -> Option<Result<Response, Rejection>> {
        self.requests.answers.remove(&request)
    }

    /// The partition of a command. Commands that any partition can carry out go to the first, and so do keys of unknown entities.
    fn partition_of(&self, command: &Command) -> u32 {
        let routing = Routing::new(self.partitions.len() as u32);
        routing.partition_of(command.at()).unwrap_or(1)
    }

    /// Commits the writes of `partition`, delivers messages between partitions, and runs all deferred work to its end.
    pub fn settle(&mut self, partition: u32) {
        self.commit(partition);
        self.deliver();
        if self.interrupted {
            return;
        }
        while self.run_work() {}
        self.check_nothing_is_stuck();
    }

    /// Pushes waiting jobs of this type into streams with credit; returns the pushed jobs.
    pub fn push_waiting(&mut self, job_type: &str) -> Vec<ActivatedJob> {
        let now = self.now;
        let engine = &mut self.partitions[0].engine;
        engine.push_waiting_jobs(now, job_type, 9, &mut self.streams);
        self.settle(1);
        self.streams.take()
    }

    /// Lets each partition continue deferred work for one turn. `false` if there was none.
    pub fn run_work(&mut self) -> bool {
        let now = self.now;
        let mut worked = false;
        for id in 1..=self.partitions.len() as u32 {
            let engine = &mut self.partitions[id as usize - 1].engine;
            if engine.has_work() {
                worked = true;
                engine.run_work(now, &mut self.streams);
                self.commit(id);
                self.deliver();
            }
        }
        worked
    }

    fn commit(&mut self, id: u32) {
        let partition = &mut self.partitions[id as usize - 1];
        let (batch, effects) = partition.engine.take_batch();
        if let Some(batch) = &batch {
            let mut reader = BatchReader::new(batch).unwrap();
            let names = Names {
                state: &partition.engine.state,
                lineage: Lineage::default(),
            };
            for record in reader.by_ref() {
                let record = record.unwrap();
                self.seen.push(Seen {
                    partition: id,
                    record_type: record.record_type,
                    value_type: record.value_type.name(),
                    intent: record.intent_name(),
                    key: record.key,
                    json: render(&record, &names).unwrap(),
                });
            }
            partition.twin.apply(batch).unwrap();
            if self.keep_batches {
                self.batches.push((id, batch.clone()));
            }
            assert_eq!(
                partition.twin.next_position(),
                partition.engine.next_position()
            );
        }
        assert!(
            partition.engine.state.dump() == partition.twin.state.dump(),
            "replay gives another state than processing; the last records: {:#?}",
            self.seen.iter().rev().take(20).collect::<Vec<_>>()
        );
        assert_eq!(partition.engine.fault(), None);
        self.requests.answers.extend(effects.responses);
        self.requests.aborted.extend(effects.aborted);
        for (stream, job) in effects.pushes {
            self.streams.pushed.push((stream, job));
        }
        for JobsAvailable { job_type, tenant } in effects.jobs_available {
            self.announced.push(if tenant.is_default() {
                job_type.to_string()
            } else {
                format!("{job_type} of {tenant}")
            });
        }
        for (to, command) in effects.sends {
            match (self.fate)(&command.command) {
                Fate::Arrives => self.network.push_back((to, command)),
                Fate::Lost => {}
                Fate::Late => self.late.push((to, command)),
                Fate::Twice => {
                    self.network.push_back((to, command.clone()));
                    self.network.push_back((to, command));
                }
            }
        }
    }

    fn deliver(&mut self) {
        let mut delivered = 0;
        while let Some((to, command)) = self.network.pop_front() {
            delivered += 1;
            assert!(
                delivered < 10_000,
                "the partitions talk for ever: {command:?}"
            );
            // Commands travel as bytes.
            let command: Sent =
                skep_protocol::record::decode(&skep_protocol::record::encode(&command)).unwrap();
            let target = &mut self.partitions[to as usize - 1];
            if self.prepares {
                target.engine.prepare(Prepared::of_sent(&command));
            }
            target
                .engine
                .process_remote(self.now, &command, &mut self.streams);
            self.commit(to);
        }
    }

    // ---- time

    /// Lets time pass and fires due timers.
    pub fn advance(&mut self, millis: i64) {
        self.now += millis;
        self.run_due();
        self.network.extend(self.late.drain(..));
        self.deliver();
        self.thaw();
    }

    pub fn run_due(&mut self) {
        self.run_due_under_pressure(false);
    }

    pub fn run_due_under_pressure(&mut self, under_pressure: bool) {
        for id in 1..=self.partitions.len() as u32 {
            loop {
                let now = self.now;
                let due = self.partitions[id as usize - 1].engine.run_due(
                    now,
                    under_pressure,
                    &mut self.streams,
                );
                self.settle(id);
                // A late cycle is due again at once.
                if !due.more && due.next.is_none_or(|next| next > now) {
                    break;
                }
            }
        }
    }

    // ---- shorthands of commands

    pub fn deploy(&mut self, bpmn: Bpmn) -> Response {
        self.deploy_files(vec![("process.bpmn", bpmn.xml())])
            .unwrap()
    }

    pub fn deploy_files(&mut self, files: Vec<(&str, String)>) -> Result<Response, Rejection> {
        let resources = files
            .into_iter()
            .map(|(name, xml)| Resource {
                name: name.to_string(),
                content: xml.into(),
            })
            .collect();
        self.send(Command::Deploy(Deploy { resources }))
    }

    pub fn create(&mut self, process: &str, variables: &str) -> Key {
        self.create_on(1, process, variables)
    }

    pub fn create_on(&mut self, partition: u32, process: &str, variables: &str) -> Key {
        let request = self.send_to(partition, Self::creation(process, variables).into_command());
        match self.answer(request) {
            Some(Ok(Response::ProcessInstanceCreated(created))) => created.process_instance_key,
            other => panic!("no instance was created: {other:?}"),
        }
    }

    pub fn creation(process: &str, variables: &str) -> CreateProcessInstance {
        CreateProcessInstance {
            process: ProcessRef::Id {
                bpmn_process_id: process.into(),
                version: -1,
            },
            variables: Document::parse(variables).unwrap(),
            start_instructions: vec![],
            terminate_after: vec![],
            tags: vec![],
            business_id: None,
            await_result: None,
        }
    }

    /// Takes all waiting jobs of a type, oldest first, over all partitions.
    pub fn jobs(&mut self, job_type: &str) -> Vec<ActivatedJob> {
        let command = ActivateJobs {
            job_type: job_type.into(),
            worker: "tester".into(),
            timeout: 10 * MINUTE,
            max_jobs: 1000,
            fetch_variables: vec![],
            tenants: skep_protocol::Tenants::provided([self.tenant.as_str()]),
        };
        let mut jobs = Vec::new();
        for partition in 1..=self.partitions.len() as u32 {
            let request = self.send_to(partition, Command::ActivateJobs(command.clone()));
            match self.answer(request) {
                Some(Ok(Response::JobsActivated { jobs: found, .. })) => jobs.extend(found),
                other => panic!("no jobs: {other:?}"),
            }
        }
        jobs
    }

    /// The one waiting job of a type.
    pub fn job(&mut self, job_type: &str) -> ActivatedJob {
        let mut jobs = self.jobs(job_type);
        assert_eq!(jobs.len(), 1, "one job of type {job_type} waits");
        jobs.remove(0)
    }

    pub fn complete(&mut self, job: &ActivatedJob, variables: &str) {
        self.send(Command::CompleteJob {
            job_key: job.key,
            variables: Document::parse(variables).unwrap(),
            result: None,
        })
        .unwrap();
    }

    /// Takes the one waiting job of a type and completes it.
    pub fn work(&mut self, job_type: &str, variables: &str) {
        let job = self.job(job_type);
        self.complete(&job, variables);
    }

    pub fn fail(&mut self, job: &ActivatedJob, retries: i32, back_off: i64) {
        self.send(Command::FailJob(FailJob {
            job_key: job.key,
            retries,
            retry_back_off: back_off,
            error_message: "it broke".into(),
            variables: Document::new(),
        }))
        .unwrap();
    }

    pub fn throw(&mut self, job: &ActivatedJob, code: &str, variables: &str) {
        self.send(Command::ThrowError(ThrowError {
            job_key: job.key,
            error_code: code.into(),
            error_message: "no way".into(),
            variables: Document::parse(variables).unwrap(),
        }))
        .unwrap();
    }

    pub fn message(name: &str, key: &str, time_to_live: i64, variables: &str) -> PublishMessage {
        PublishMessage {
            name: name.into(),
            correlation_key: key.into(),
            time_to_live,
            message_id: "".into(),
            variables: Document::parse(variables).unwrap(),
        }
    }

    pub fn publish(&mut self, name: &str, key: &str, time_to_live: i64, variables: &str) -> Key {
        let command = Rig::message(name, key, time_to_live, variables);
        match self.send(Command::PublishMessage(command)) {
            Ok(Response::MessagePublished { message_key }) => message_key,
            other => panic!("not published: {other:?}"),
        }
    }

    pub fn set_variables(&mut self, key: Key, variables: &str, local: bool) {
        self.send(Command::SetVariables {
            element_instance_key: key,
            variables: Document::parse(variables).unwrap(),
            local,
        })
        .unwrap();
    }

    pub fn resolve(&mut self, incident: Key) -> Result<Response, Rejection> {
        self.send(Command::ResolveIncident {
            incident_key: incident,
        })
    }

    pub fn cancel(&mut self, instance: Key) -> Result<Response, Rejection> {
        self.send(Command::CancelProcessInstance {
            process_instance_key: instance,
        })
    }

    pub fn ban(&mut self, instance: Key) -> Result<Response, Rejection> {
        self.send(Command::BanInstance {
            process_instance_key: instance,
        })
    }

    pub fn set_retries(&mut self, job: Key, retries: i32) -> Result<Response, Rejection> {
        self.send(Command::UpdateJob {
            job_key: job,
            retries: Some(retries),
            timeout: None,
            kind: UpdateJobKind::Retries,
        })
    }

    // ---- what happened

    pub fn events(&self, value_type: &str) -> impl Iterator<Item = &Seen> {
        let value_type = value_type.to_string();
        self.seen
            .iter()
            .filter(move |r| r.is_event() && r.value_type == value_type)
    }

    /// The intents of all events of a value type.
    pub fn intents(&self, value_type: &str) -> Vec<&'static str> {
        self.events(value_type).map(|r| r.intent).collect()
    }

    /// `INTENT element` of all life-cycle events of an instance, without `ELEMENT_`.
    pub fn life(&self, instance: Key) -> Vec<String> {
        self.events("PROCESS_INSTANCE")
            .filter(|r| r.instance() == instance)
            .map(|r| format!("{} {}", r.intent.replace("ELEMENT_", ""), r.element()))
            .collect()
    }

    /// Ids of the elements of an instance with an event of this intent.
    pub fn elements(&self, instance: Key, intent: &str) -> Vec<String> {
        self.events("PROCESS_INSTANCE")
            .filter(|r| r.instance() == instance && r.intent == intent)
            .map(|r| r.element().to_string())
            .collect()
    }

    pub fn completed(&self, instance: Key) -> Vec<String> {
        self.elements(instance, "ELEMENT_COMPLETED")
    }

    pub fn terminated(&self, instance: Key) -> Vec<String> {
        self.elements(instance, "ELEMENT_TERMINATED")
    }

    /// Key of the newest instance of an element.
    pub fn element_key(&self, element: &str) -> Key {
        self.events("PROCESS_INSTANCE")
            .filter(|r| r.intent == "ELEMENT_ACTIVATING" && r.element() == element)
            .last()
            .unwrap_or_else(|| panic!("{element} was never activated"))
            .key
    }

    pub fn instance_of(&self, process: &str) -> Key {
        self.element_key(process)
    }

    pub fn is_running(&mut self, instance: Key) -> bool {
        let partition = instance.partition().unwrap();
        let state = &mut self.engine(partition).state;
        state.elements.get(instance).is_some()
    }

    #[track_caller]
    pub fn assert_completed(&mut self, instance: Key) {
        let root = self
            .events("PROCESS_INSTANCE")
            .any(|r| r.key == instance && r.intent == "ELEMENT_COMPLETED");
        assert!(root, "the instance completed: {:#?}", self.life(instance));
        self.assert_nothing_left();
    }

    #[track_caller]
    pub fn assert_terminated(&mut self, instance: Key) {
        let root = self
            .events("PROCESS_INSTANCE")
            .any(|r| r.key == instance && r.intent == "ELEMENT_TERMINATED");
        assert!(root, "the instance terminated: {:#?}", self.life(instance));
        self.assert_nothing_left();
    }

    /// Asserts that no instance, job, timer, incident, subscription or deferred work is left on any partition. Subscriptions of definitions
    /// stay.
    #[track_caller]
    pub fn assert_nothing_left(&mut self) {
        for partition in &self.partitions {
            let state = &partition.engine.state;
            let left = [
                ("element instances", state.elements.table.len()),
                ("counts of elements", state.elements.nested.len()),
                ("jobs", state.jobs.table.len()),
                (
                    "timers",
                    state.timers.table.len() - state.timers.of_definitions(),
                ),
                (
                    "instances started by messages",
                    state.message_starts.started.len(),
                ),
                ("incidents", state.incidents.table.len()),
                (
                    "message subscriptions",
                    state.message_subscriptions.table.len(),
                ),
                (
                    "instances started by messages that have moved",
                    state.slots.started.len(),
                ),
                (
                    "process subscriptions",
                    state.process_subscriptions.table.len(),
                ),
                (
                    "signal subscriptions",
                    state.signals.table.len() - state.signals.of_definitions(),
                ),
                ("signals", state.signals.on_their_way.len()),
                (
                    "conditional subscriptions",
                    state.conditions.table.len() - state.conditions.of_definitions(),
                ),
                ("checks of conditions", state.conditions.checks.len()),
                ("evaluations", state.conditions.evaluations.len()),
                ("triggers", state.triggers.table.len()),
                ("continuations", state.continuations.len()),
                ("bans", state.banned.len()),
                ("user tasks", state.user_tasks.table.len()),
                ("batch operations", state.batch_operations.len()),
                ("items", state.batch_operations.chunks.len()),
                ("modifications", state.modifications.table.len()),
                ("migrations", state.migrations.table.len()),
                ("compensations", state.compensations.table.len()),
            ];
            for (what, count) in left {
                assert_eq!(count, 0, "{what} left behind");
            }
        }
    }

    /// The last value set for a variable of this scope.
    pub fn variable(&self, scope: Key, name: &str) -> Option<String> {
        self.events("VARIABLE")
            .filter(|r| r.field("scopeKey") == scope.0 && r.text("name") == name)
            .last()
            .map(|r| r.text("value").to_string())
    }

    pub fn incidents(&self) -> Vec<OpenIncident> {
        let mut open: Vec<OpenIncident> = Vec::new();
        for record in self.events("INCIDENT") {
            match record.intent {
                "CREATED" => open.push(OpenIncident {
                    key: record.key,
                    kind: record.text("errorType").to_string(),
                    message: record.text("errorMessage").to_string(),
                    element: record.element().to_string(),
                }),
                "RESOLVED" => open.retain(|i| i.key != record.key),
                _ => {}
            }
        }
        open
    }

    #[track_caller]
    pub fn incident(&self) -> OpenIncident {
        let mut open = self.incidents();
        assert_eq!(open.len(), 1, "one incident is open: {open:#?}");
        open.remove(0)
    }

    /// Asserts that every active element waits for something, or has an incident.
    pub fn check_nothing_is_stuck(&mut self) {
        for partition in &mut self.partitions {
            stuck::check(&mut partition.engine);
        }
    }
}

/// Builds commands from their parts.
pub trait IntoCommand {
    fn into_command(self) -> Command;
}

impl IntoCommand for CreateProcessInstance {
    fn into_command(self) -> Command {
        Command::CreateProcessInstance(self)
    }
}

#[track_caller]
pub fn rejected(result: Result<Response, Rejection>) -> (String, String) {
    match result {
        Err(rejection) => (
            rejection.kind.as_str().to_string(),
            rejection.reason.to_string(),
        ),
        Ok(response) => panic!("the command was accepted: {response:?}"),
    }
}
