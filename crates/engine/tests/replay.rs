//! Replay equality over random processes: for any commands in any order, with checkpoints, evictions, lost commands and restarts in
//! between, a state that applies the batches equals the state that wrote them.
//!
//! `SKEP_SEEDS=1000 cargo test -p skep-engine --test replay` tries more processes; `SKEP_SEED=7` only this one.

#[path = "replay/batches.rs"]
mod batches;

#[path = "replay/migrations.rs"]
mod migrations;
#[path = "replay/modifications.rs"]
mod modifications;
#[path = "replay/tokens.rs"]
mod tokens;
#[path = "replay/undo.rs"]
mod undo;

use std::sync::Arc;

use skep_engine::state::State;
use skep_engine::{Ban, Engine};
use skep_model::builder::{Bpmn, random};
use skep_model::{Element, ElementKind};
use skep_protocol::command::*;
use skep_protocol::value::{
    ActivateElement, Corrections, ExporterPosition, ExporterValue, ExportingPhase, JobResult,
};
use skep_protocol::{Document, Key, TenantId};
use skep_random::Random;
use skep_testkit::rig::*;

fn called() -> Bpmn {
    Bpmn::process("called")
        .start("cs")
        .service_task("cjob", "job")
        .exclusive("cchoice")
        .when("=b = 2")
        .end_error("cerror", "error")
        .from("cchoice")
        .otherwise()
        .end("ce")
}

/// A process that is also started by messages and timers.
fn started() -> Bpmn {
    Bpmn::process("started")
        .start_message("by-message", "message")
        .service_task("task", "job")
        .end("e")
        .start_cycle("by-timer", "R/PT2M")
        .to("task")
        .start_signal("by-signal", "signal")
        .to("task")
        .start_condition("by-condition", "=b = 3")
        .to("task")
}

/// Ids of elements at which a modification may start or end an instance.
fn elements(bpmn: &Bpmn) -> Vec<String> {
    let process = bpmn.clone().compile();
    let is_in_multi_instance = |element: &Element| {
        let parent = process.element(element.parent);
        matches!(parent.kind, ElementKind::MultiInstanceBody(_))
    };
    let elements = process.elements.iter().filter(|element| {
        !is_in_multi_instance(element)
            && !matches!(
                element.kind,
                ElementKind::Process
                    | ElementKind::SequenceFlow(_)
                    | ElementKind::StartEvent(_)
                    | ElementKind::BoundaryEvent(_)
                    | ElementKind::AdHocSubProcessInnerInstance
            )
    });
    elements.map(|element| element.id.to_string()).collect()
}

/// The follower of one partition: it keeps its rows in a store and only some of them in memory.
struct Follower {
    store: MemoryStore,
    engine: Engine,
    /// A checkpoint that has not reached the store, with the position it belongs to.
    pending: Option<(Pending, u64)>,
    stored_position: u64,
    /// Batches since the last stored checkpoint.
    since: Vec<(u64, Vec<u8>)>,
}

impl Follower {
    fn new(partition: u32, partitions: u32) -> Follower {
        let store = MemoryStore::default();
        let state = State::open_to_replay(partition, Arc::new(store.clone())).unwrap();
        Follower {
            store,
            engine: Engine::new(config(partition, partitions), state, 1),
            pending: None,
            stored_position: 1,
            since: Vec::new(),
        }
    }

    fn apply(&mut self, batch: &[u8]) {
        self.since
            .push((self.engine.next_position(), batch.to_vec()));
        self.engine.apply(batch).unwrap();
    }

    fn checkpoint(&mut self) {
        if self.pending.is_none() {
            let mut pending = Pending::default();
            self.engine.state.checkpoint(&mut pending);
            self.pending = Some((pending, self.engine.next_position()));
        }
    }

    fn store_checkpoint(&mut self) {
        if let Some((pending, position)) = self.pending.take() {
            self.store.write(pending);
            self.stored_position = position;
            self.since.retain(|(at, _)| *at >= position);
        }
    }

    fn evict(&mut self) {
        if self.pending.is_none() {
            // Twice: recently used rows get a second chance.
            self.engine.state.evict(0);
            self.engine.state.evict(0);
        }
    }

    fn something_happens(&mut self, what: u64) {
        match what {
            0 | 1 => self.checkpoint(),
            2 | 3 => self.store_checkpoint(),
            4 => self.evict(),
            5 => self.restart(),
            _ => {}
        }
    }

    /// Restarts as after a crash: changes missing in the store come from the log.
    fn restart(&mut self) {
        self.pending = None;
        let config = self.engine.config().clone();
        let state = State::open_to_replay(config.partition, Arc::new(self.store.clone())).unwrap();
        self.engine = Engine::new(config, state, self.stored_position);
        for (_, batch) in &self.since {
            self.engine.apply(batch).unwrap();
        }
        self.engine.promote().unwrap();
    }
}

/// The most frequent kind of change to instances.
#[derive(Clone, Copy)]
enum Change {
    Modify,
    Migrate,
}

/// Counters of a run.
#[derive(Default)]
struct Tally {
    runs: usize,
    /// Instances that were modified or migrated.
    changed: usize,
    /// Instances left open at the end: those that could be played to their end, and those that had to be cancelled.
    played: usize,
    cancelled: usize,
}

impl Tally {
    fn add(&mut self, run: Tally) {
        self.runs += run.runs;
        self.changed += run.changed;
        self.played += run.played;
        self.cancelled += run.cancelled;
    }
}

/// Modifies or migrates an instance, more often the way this run focuses on. Returns true on success.
fn change_one(rig: &mut Rig, random: &mut Random, change: Change, ids: &[String]) -> bool {
    match (change, random.below(4)) {
        (Change::Migrate, 1..) | (Change::Modify, 0) => migrations::migrate(rig, random),
        _ => modifications::modify(rig, random, ids),
    }
}

/// Deploys a random process and others that it interacts with. Returns the elements at which an instance may begin or end, and all element
/// ids.
fn prepared(rig: &mut Rig, random_source: &mut Random, seed: u64) -> (Vec<String>, Vec<String>) {
    rig.deploy(called());
    rig.deploy(started());
    let renamed = migrations::renamed(&started().xml());
    rig.deployed(vec![("started-renamed.bpmn", renamed)]);
    rig.deployed(vec![("decided.dmn", decided("3"))]);
    let size = 4 + random_source.below(30) as usize;
    let bpmn = random("random", seed, size);
    let elements = elements(&bpmn);
    let ids = modifications::all_ids(&bpmn);
    rig.deployed(vec![(
        "renamed.bpmn",
        migrations::renamed(&bpmn.clone().xml()),
    )]);
    rig.deploy(bpmn);
    (elements, ids)
}

/// `share`: one in this many commands modifies or migrates an instance.
fn run(seed: u64, share: u64, change: Change) -> Tally {
    let mut changed = 0;
    let mut random_source = Random(seed);
    let partitions = 1 + random_source.below(3) as u32;
    let mut rig = Rig::with_partitions(partitions);
    let mut followers: Vec<Follower> = (1..=partitions)
        .map(|id| Follower::new(id, partitions))
        .collect();
    rig.record_batches();
    let mut log = Vec::new();
    let mut tokens = tokens::Tokens::default();
    let (elements, ids) = prepared(&mut rig, &mut random_source, seed);
    let mut fates = Random(seed ^ 0xfa7e);
    rig.fate = Box::new(move |_| match fates.below(12) {
        0 => Fate::Lost,
        1 => Fate::Twice,
        _ => Fate::Arrives,
    });
    rig.turn_steps([1, 2, 7, 1000][random_source.below(4) as usize]);
    let mut exports = Random(seed ^ 0xe4b0);
    for _ in 0..40 {
        // Deferred work may wait while other commands arrive.
        rig.interrupted = random_source.below(3) != 0;
        match random_source.below(share) {
            0 => changed += usize::from(change_one(&mut rig, &mut random_source, change, &ids)),
            _ => command(&mut rig, &mut random_source, partitions, &elements),
        }
        exporting(&mut rig, &mut exports);
        for _ in 0..random_source.below(5) {
            rig.run_work();
        }
        let batches = std::mem::take(&mut rig.batches);
        for (partition, batch) in &batches {
            followers[*partition as usize - 1].apply(batch);
        }
        log.extend(batches);
        for (follower, partition) in followers.iter_mut().zip(&rig.partitions) {
            follower.something_happens(random_source.below(12));
            assert!(
                follower.engine.state.dump() == partition.engine.state.dump(),
                "seed {seed}: the follower's state differs"
            );
            assert_eq!(follower.engine.fault(), None);
        }
        migrations::check_message_starts(&mut rig, seed);
        tokens.check(&mut rig, seed);
    }
    recover(&rig, &log, &mut random_source, seed);
    let (played, cancelled) = finish(&mut rig, seed);
    log.append(&mut rig.batches);
    recover(&rig, &log, &mut random_source, seed);
    Tally {
        runs: 1,
        changed,
        played,
        cancelled,
    }
}

/// Applies the whole log in windows, like recovery: what begins and ends within a window may be skipped.
fn recover(rig: &Rig, log: &[(u32, Vec<u8>)], random: &mut Random, seed: u64) {
    for (id, partition) in (1..).zip(&rig.partitions) {
        let own = log.iter().filter(|(of, _)| *of == id);
        let batches: Vec<&[u8]> = own.map(|(_, batch)| &batch[..]).collect();
        for longest in [3, 40, 1000] {
            let mut recovered = Follower::new(id, rig.partitions.len() as u32);
            let mut rest = &batches[..];
            while !rest.is_empty() {
                let length = 1 + random.below(longest) as usize;
                let (window, after) = rest.split_at(length.min(rest.len()));
                recovered.engine.apply_window(window).unwrap();
                rest = after;
            }
            let (state, written) = (&recovered.engine.state, &partition.engine);
            assert!(
                state.dump() == written.state.dump(),
                "seed {seed}: the state recovered in windows of up to {longest} batches differs"
            );
            assert_eq!(recovered.engine.next_position(), written.next_position());
        }
    }
}

/// Exporters report their positions occasionally, and operators change exporters.
fn exporting(rig: &mut Rig, random: &mut Random) {
    let id: Arc<str> = ["a", "b"][random.below(2) as usize].into();
    let position = ExporterPosition {
        entry: random.below(100),
        ..ExporterPosition::default()
    };
    let change = match random.below(12) {
        0 => {
            let now = rig.now;
            let report = ExporterValue {
                id,
                is_enabled: true,
                position,
                metadata: Vec::new(),
            };
            rig.engine(1).report_exported(now, &[report]);
            return rig.settle(1);
        }
        1 => ExportingChange::Disable { id },
        2 => ExportingChange::Enable {
            id,
            initialize_from: None,
            end: position,
        },
        3 => ExportingChange::Phase(ExportingPhase::Paused),
        _ => return,
    };
    let partition = 1;
    rig.send_to(partition, Command::ChangeExporting { partition, change });
}

fn command(rig: &mut Rig, random: &mut Random, partitions: u32, elements: &[String]) {
    let b = random.below(4);
    match random.below(22) {
        17 => {
            let variables = Document::parse(r#"{"s":1}"#).unwrap();
            rig.send_async(Command::BroadcastSignal(BroadcastSignal {
                signal_name: "signal".into(),
                variables,
            }));
        }
        18 => {
            let partition = 1 + random.below(u64::from(partitions)) as u32;
            let variables = Document::parse(&format!(r#"{{"b":{b}}}"#)).unwrap();
            let evaluate = EvaluateConditionals {
                process_definition_key: None,
                variables,
            };
            rig.send_to(partition, Command::EvaluateConditionals(evaluate));
        }
        15 => activities(rig, random),
        16 => batches::command(rig, random, elements),
        0 | 1 => {
            let partition = 1 + random.below(u64::from(partitions)) as u32;
            let variables = format!(r#"{{"a":{},"b":{b}}}"#, random.below(4));
            let mut creation = Rig::creation("random", &variables);
            if random.below(4) == 0 {
                creation.tags = vec!["t".into()];
            }
            let mut some = |chosen: &mut Vec<String>| {
                for _ in 0..random.below(4).saturating_sub(1) {
                    let index = random.below(elements.len() as u64) as usize;
                    chosen.push(elements[index].clone());
                }
            };
            some(&mut creation.start_instructions);
            some(&mut creation.terminate_after);
            rig.send_to(partition, creation.into_command());
        }
        2..=4 => {
            for job in rig.jobs("job") {
                // An earlier command may have ended the instance of this job.
                let partition = job.key.partition().unwrap();
                let state = &mut rig.engine(partition).state;
                // An instance under migration takes no commands.
                if state.jobs.get(job.key).is_none() || !state.migrations.is_empty() {
                    continue;
                }
                match random.below(8) {
                    0 => rig.fail(&job, random.below(3) as i32, 1000 * random.below(2) as i64),
                    1 if !job.kind.is_listener() => {
                        let code = ["error", "unknown"][random.below(2) as usize];
                        rig.throw(&job, code, r#"{"thrown":1}"#);
                    }
                    1 | 2 => {}
                    _ => {
                        let text = "y".repeat(b as usize);
                        rig.complete(&job, &format!(r#"{{"b":{b},"x":"{text}"}}"#));
                    }
                }
            }
        }
        5 => {
            let time_to_live = 30_000 * random.below(3) as i64;
            rig.publish("message", "key", time_to_live, r#"{"m":1}"#);
        }
        6 => {
            let time_to_live = 30_000 * random.below(2) as i64;
            rig.publish("other-message", "key", time_to_live, "{}");
        }
        7 | 8 => rig.advance(1 + 30_000 * random.below(5) as i64),
        9 => resolve_incidents(rig),
        12 => users(rig, random),
        13 => listeners(rig, random),
        14 => definitions(rig, random),
        10 => {
            let mut open: Vec<Key> = rig.open_instances();
            open.extend(rig.called_instances());
            if let Some(key) = open.get(random.below(open.len().max(1) as u64) as usize) {
                let _ = match random.below(9) {
                    0..=3 => rig.cancel(*key),
                    4 => rig.ban(*key),
                    5 => {
                        fail(rig, *key);
                        rig.cancel(*key)
                    }
                    _ => rig.send(Command::SetVariables {
                        element_instance_key: *key,
                        variables: Document::parse(&format!(r#"{{"b":{b}}}"#)).unwrap(),
                        local: random.below(2) == 0,
                    }),
                };
            }
        }
        _ => {
            rig.streams.open("job", random.below(3) as usize);
            for job in rig.streams.take() {
                match random.below(3) {
                    0 => {
                        let partition = job.key.partition().unwrap();
                        let now = rig.now;
                        rig.partitions[partition as usize - 1].engine.yield_job(
                            now,
                            job.key,
                            job.deadline,
                            &mut rig.streams,
                        );
                        rig.settle(partition);
                    }
                    _ => {
                        let _ = rig.send(Command::CompleteJob {
                            job_key: job.key,
                            variables: Document::new(),
                            result: None,
                        });
                    }
                }
            }
        }
    }
}

/// Users act on each task; many answers come later.
fn users(rig: &mut Rig, random: &mut Random) {
    let created = rig.events("USER_TASK").filter(|r| r.intent == "CREATING");
    let tasks: Vec<(Key, Key)> = created
        .map(|r| (r.key, Key(r.field("elementInstanceKey").as_i64().unwrap())))
        .collect();
    for (task, element) in tasks {
        let b = random.below(4);
        let variables = format!(r#"{{"b":{b}}}"#);
        rig.send_async(match random.below(8) {
            0 => Rig::assignment(task, "bert", false),
            1 => Rig::assignment(task, "carl", true),
            2 => {
                let changes = Corrections {
                    priority: Some(b as i32),
                    ..Corrections::default()
                };
                Rig::task_update(task, changes)
            }
            3 => Command::SetVariables {
                element_instance_key: element,
                variables: Document::parse(&variables).unwrap(),
                local: b == 0,
            },
            4 | 5 => Rig::completion(task, &variables),
            _ => continue,
        });
    }
}

/// A decision: the next value of `a`; it fails beyond a limit.
fn decided(limit: &str) -> String {
    decision(
        "decided",
        "decided",
        &format!("assert(a, a != {limit}) + 1"),
    )
}

/// Deploys and deletes definitions while instances of them run.
fn definitions(rig: &mut Rig, random: &mut Random) {
    let state = &mut rig.engine(1).state;
    let (tenant, latest) = (TenantId::default(), random.below(2) == 0);
    let deployed = if latest {
        state.processes.definitions.latest(&tenant, "called")
    } else {
        state.decisions.requirements.latest(&tenant, "decided")
    };
    let command = match (random.below(4), deployed) {
        (0, Some(resource_key)) => Command::DeleteResource {
            resource_key,
            delete_history: false,
        },
        (1, _) => Command::EvaluateDecision(EvaluateDecision {
            decision: DecisionRef::Id("decided".into()),
            variables: Document::parse(r#"{"a":1}"#).unwrap(),
        }),
        _ => {
            // The same file again is a duplicate, another limit a new version.
            let limit = random.below(2).to_string();
            let files = [
                ("called.bpmn", called().xml()),
                ("decided.dmn", decided(&limit)),
            ];
            let resources = files.map(|(name, content)| Resource {
                name: name.to_string(),
                content: content.into(),
            });
            Command::Deploy(Deploy {
                resources: resources.to_vec(),
            })
        }
    };
    rig.send_async(command);
}

/// Answers the jobs of listeners in every possible way.
fn listeners(rig: &mut Rig, random: &mut Random) {
    for job in rig.jobs("listener") {
        let mut result = JobResult::default();
        match random.below(6) {
            // Some transitions cannot be denied: their jobs come again.
            0 => result.denied = true,
            1 => result.corrections.assignee = Some("dora".into()),
            2 => result.corrections.priority = Some(random.below(100) as i32),
            _ => {}
        }
        if random.below(8) == 0 {
            let _ = rig.send(Command::FailJob(FailJob {
                job_key: job.key,
                retries: random.below(2) as i32,
                retry_back_off: 0,
                error_message: String::new(),
                variables: Document::new(),
            }));
            continue;
        }
        let _ = rig.send(Command::CompleteJob {
            job_key: job.key,
            variables: Document::new(),
            result: Some(Box::new(result)),
        });
    }
}

/// A client activates an element in an ad-hoc sub-process, which may have ended.
fn activities(rig: &mut Rig, random: &mut Random) {
    let began = |record: &&Seen| {
        record.intent == "ELEMENT_ACTIVATED"
            && record.text("bpmnElementType") == "AD_HOC_SUB_PROCESS"
    };
    let keys: Vec<Key> = rig
        .events("PROCESS_INSTANCE")
        .filter(began)
        .map(|r| r.key)
        .collect();
    let chosen = keys.get(random.below(keys.len().max(1) as u64) as usize);
    let Some((key, partition)) = chosen.and_then(|key| Some((*key, key.partition()?))) else {
        return;
    };
    // Sub-processes activated by start instructions do not describe their elements.
    let described = rig.variable(key, "adHocSubProcessElements");
    let described: serde_json::Value =
        serde_json::from_str(described.as_deref().unwrap_or("[]")).unwrap();
    let elements = described.as_array().into_iter().flatten();
    // With none, nothing may be left in a sub-process whose job is open.
    let most = if random.below(3) == 0 { 0 } else { usize::MAX };
    let elements = elements.take(most).map(|element| ActivateElement {
        element_id: element["elementId"].as_str().unwrap().into(),
        variables: vec![("a".into(), random.below(4).to_string().into())],
    });
    let command = ActivateAdHoc {
        ad_hoc_sub_process_instance_key: key,
        elements: elements.collect(),
        cancel_remaining_instances: random.below(2) == 0,
    };
    rig.send_to(partition, Command::ActivateAdHoc(command));
}

/// Cancels all instances but one twice while that one is banned, which lets terminations begin again: listeners of the first
/// time are at work then.
fn cancel_beside_a_banned_one(rig: &mut Rig) {
    let open = rig.open_instances();
    let Some((banned, others)) = open.split_first() else {
        return;
    };
    let _ = rig.ban(*banned);
    for key in others {
        let _ = rig.cancel(*key);
        let _ = rig.cancel(*key);
    }
}

/// Makes the engine fail on this instance.
fn fail(rig: &mut Rig, instance: Key) {
    let partition = instance.partition().unwrap();
    let ban = Ban {
        process_instance_key: instance,
        message: "it failed".into(),
        stacktrace: String::new(),
    };
    let now = rig.now;
    rig.engine(partition).ban(now, &ban);
    rig.settle(partition);
}

/// Finishes cancellations whose listeners have failed, or are with a worker that was refused.
fn end_cancellations(rig: &mut Rig) {
    for _ in 0..10 {
        rig.advance(11 * MINUTE);
        resolve_incidents(rig);
        for job in rig.jobs("listener") {
            let _ = rig.send(Command::CompleteJob {
                job_key: job.key,
                variables: Document::new(),
                result: None,
            });
        }
    }
}

/// Gives failed jobs new retries, and resolves all incidents.
fn resolve_incidents(rig: &mut Rig) {
    for incident in rig.incidents() {
        let job = rig.events("INCIDENT").find(|r| r.key == incident.key);
        let job = job
            .and_then(|r| r.field("jobKey").as_i64())
            .map(Key)
            .and_then(Key::some);
        if let Some(job) = job {
            let _ = rig.set_retries(job, 2);
        }
        let _ = rig.resolve(incident.key);
    }
}

/// Brings all running instances to an end, and checks that nothing is left. Returns the number of instances played to their end, and the
/// number of those that had to be cancelled.
fn finish(rig: &mut Rig, seed: u64) -> (usize, usize) {
    rig.fate = Box::new(|_| Fate::Arrives);
    rig.interrupted = false;
    rig.settle(1);
    batches::finish(rig);
    if seed.is_multiple_of(5) {
        cancel_beside_a_banned_one(rig);
    }
    // Commands lost on the way to another partition are resent, one after the other.
    let unfinished = |rig: &mut Rig| rig.engine(1).state.distributions.table.len();
    while unfinished(rig) > 0 {
        rig.advance(10_000);
    }
    // Otherwise its timer would start more instances.
    for process in ["started", "started-renamed"] {
        rig.deploy(Bpmn::process(process).start("s").end("e"));
    }
    let banned = rig.partitions.iter_mut();
    let banned: Vec<_> = banned
        .flat_map(|partition| partition.engine.state.banned.list(usize::MAX))
        .collect();
    for (key, _) in banned {
        // Retries instances that the engine failed on.
        let _ = rig.ban(key);
    }
    let open = rig.open_instances().len();
    // Instances that wait for ever, or loop for ever, are cancelled.
    let left = rig.play("{}", 12);
    let cancelled = left.len();
    for key in left {
        let _ = rig.cancel(key);
    }
    for _ in 0..4 {
        rig.advance(60_000);
    }
    end_cancellations(rig);
    assert_eq!(rig.open_instances(), [], "seed {seed}");
    rig.assert_nothing_left();
    for partition in &rig.partitions {
        let processes = &partition.engine.state.processes;
        let kept = processes.iter().filter(|p| processes.is_draining(p.key));
        assert_eq!(kept.count(), 0, "seed {seed}: deleted definitions are gone");
    }
    (open.saturating_sub(cancelled), cancelled)
}

#[test]
fn a_replayed_state_is_the_state_that_wrote_the_log() {
    let mut all = Tally::default();
    skep_sim::each(25, |seed| all.add(run(seed, 8, Change::Modify)));
    let enough = all.runs < 25 || all.played > all.cancelled;
    assert!(
        enough,
        "{} instances were played to their end, {} had to be cancelled",
        all.played, all.cancelled
    );
}

#[test]
fn replaying_random_modifications_leads_to_the_same_state() {
    let mut all = Tally::default();
    skep_sim::each(25, |seed| all.add(run(seed, 2, Change::Modify)));
    // A single run may have none.
    let enough = all.runs < 25 || all.changed > all.runs;
    assert!(enough, "{} modifications in {} runs", all.changed, all.runs);
}

#[test]
fn replaying_random_migrations_leads_to_the_same_state() {
    let mut all = Tally::default();
    skep_sim::each(25, |seed| all.add(run(seed, 2, Change::Migrate)));
    let enough = all.runs < 25 || all.changed > all.runs;
    assert!(enough, "{} migrations in {} runs", all.changed, all.runs);
}
