//! An instance and the world around it: random actions, and what follows from each.

use std::collections::BTreeMap;

use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, ThrowError};
use skep_protocol::{ActivatedJob, Document, Key};
use skep_random::Random;
use skep_testkit::rig::*;

use crate::between::fail;
use crate::models::ADDED;

/// Id of the process under test.
pub const PROCESS: &str = "random";
const MOST_ACTIONS: usize = 40;

/// An action, and how often each thing happened after it.
pub struct Step {
    pub action: String,
    pub happened: BTreeMap<String, u32>,
}

pub struct World {
    pub rig: Rig,
    random: Random,
    jobs: Vec<ActivatedJob>,
    /// Ids of all element instances.
    elements: BTreeMap<Key, String>,
    /// Number of records before the last action.
    before: usize,
    steps: Vec<Step>,
}

/// Fails when `b` is 2.
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

impl World {
    pub fn new(seed: u64, turn_steps: u32) -> World {
        let mut rig = Rig::new();
        if turn_steps > 0 {
            rig.turn_steps(turn_steps);
        }
        rig.deploy(called());
        let other = Bpmn::process("other").start("other-start");
        rig.deploy(other.service_task("other-task", "other").end("other-end"));
        let decided = decision("decided", "decided", "assert(a, a != 3) + 1");
        rig.deployed(vec![("decided.dmn", decided)]);
        World {
            rig,
            random: Random(seed),
            jobs: Vec::new(),
            elements: BTreeMap::new(),
            before: 0,
            steps: Vec::new(),
        }
    }

    pub fn deploy(&mut self, xml: String) {
        self.rig.deployed(vec![("random.bpmn", xml)]);
    }

    /// Creates an instance of the first version and performs random actions.
    pub fn play(mut self, between: fn(&mut World)) -> Vec<Step> {
        let (a, b) = (self.random.below(4), self.random.below(4));
        let mut creation = Rig::creation(PROCESS, &format!(r#"{{"a":{a},"b":{b}}}"#));
        creation.process = skep_protocol::command::ProcessRef::Id {
            bpmn_process_id: PROCESS.into(),
            version: 1,
        };
        self.before = self.rig.seen.len();
        self.rig
            .send(creation.into_command())
            .expect("an instance is created");
        self.keep(format!("create with a = {a}, b = {b}"));
        while !self.rig.open_instances().is_empty() && self.steps.len() < MOST_ACTIONS {
            let from = self.rig.seen.len();
            between(&mut self);
            self.remember_elements(from);
            self.before = self.rig.seen.len();
            let action = self.act();
            self.keep(action);
        }
        self.steps
    }

    /// The records of the last action.
    pub fn new_records(&self) -> &[Seen] {
        &self.rig.seen[self.before..]
    }

    /// Jobs that workers can have now.
    pub fn jobs_to_do(&mut self) -> Vec<ActivatedJob> {
        let mut jobs = self.rig.jobs("job");
        jobs.extend(self.rig.jobs("listener"));
        jobs
    }

    fn remember_elements(&mut self, from: usize) {
        for record in &self.rig.seen[from..] {
            if record.is_event() && record.value_type == "PROCESS_INSTANCE" {
                let id = record.element().to_string();
                self.elements.insert(record.key, id);
            }
        }
    }

    /// Keeps what happened since the action began.
    fn keep(&mut self, action: String) {
        self.remember_elements(self.before);
        let mut happened = BTreeMap::new();
        for what in self.new_records().iter().filter_map(|r| self.describe(r)) {
            *happened.entry(what).or_insert(0) += 1;
        }
        self.steps.push(Step { action, happened });
    }

    /// The record without keys. `None` for those of added elements and those that depend on the turn.
    fn describe(&self, record: &Seen) -> Option<String> {
        let kind = format!("{} {}", record.value_type, record.intent);
        if !record.is_event() || kind == "PROCESS_MESSAGE_SUBSCRIPTION CREATED" {
            return None;
        }
        let scope = |field: &str| {
            let key = Key(record.field(field).as_i64().unwrap_or(-1));
            let id = self.elements.get(&key).map_or("nothing", String::as_str);
            // The sub-process that stands for the process.
            id.strip_prefix(ADDED).unwrap_or(id)
        };
        let id = record.element();
        let what = match record.value_type {
            "PROCESS_INSTANCE" => format!("{id} in {}", scope("flowScopeKey")),
            "VARIABLE" => {
                let (name, value) = (record.text("name"), record.text("value"));
                format!("{name} = {value} in {}", scope("scopeKey"))
            }
            "JOB" => format!("{id} {} {}", record.text("type"), record.field("retries")),
            "INCIDENT" => {
                let kind = record.text("errorType");
                format!("{} {kind}", scope("elementInstanceKey"))
            }
            "TIMER" => {
                let target = record.text("targetElementId");
                format!("{target} of {}", scope("elementInstanceKey"))
            }
            "PROCESS_MESSAGE_SUBSCRIPTION" | "USER_TASK" => id.to_string(),
            "SIGNAL_SUBSCRIPTION" | "CONDITION_SUBSCRIPTION" => {
                record.text("catchEventId").to_string()
            }
            "DECISION_EVALUATION" | "SIGNAL" | "ESCALATION" => String::new(),
            _ => return None,
        };
        (!what.contains(ADDED)).then(|| format!("{kind} {what}"))
    }

    fn any_job(&mut self) -> Option<ActivatedJob> {
        for job in self.jobs_to_do() {
            self.jobs.retain(|known| known.key != job.key);
            self.jobs.push(job);
        }
        let state = &mut self.rig.engine(1).state;
        self.jobs.retain(|job| state.jobs.get(job.key).is_some());
        self.jobs
            .sort_by_key(|job| (job.element_id.to_string(), job.key));
        let chosen = self.random.below(self.jobs.len().max(1) as u64);
        self.jobs.get(chosen as usize).cloned()
    }

    /// One random action. What cannot be done is refused.
    fn act(&mut self) -> String {
        let job = self.any_job();
        let (choice, b) = (self.random.below(20), self.random.below(4));
        let variables = format!(r#"{{"b":{b},"x":{}}}"#, self.steps.len());
        match (choice, job) {
            (0..=7, Some(job)) => {
                self.rig.do_job(&job, &variables);
                format!("complete {} with {variables}", job.element_id)
            }
            (8, Some(job)) => {
                let _ = self.rig.send(fail(job.key));
                format!("fail {}", job.element_id)
            }
            (9, Some(job)) => {
                let code = ["error", "unknown"][(b % 2) as usize];
                let _ = self.rig.send(throw(job.key, code));
                format!("throw {code} from {}", job.element_id)
            }
            _ => self.act_outside(choice, &variables),
        }
    }

    /// An action of another client than a worker.
    fn act_outside(&mut self, choice: u64, variables: &str) -> String {
        let rig = &mut self.rig;
        let is_late = self.steps.len() > MOST_ACTIONS / 2;
        match choice {
            10 | 11 => {
                rig.publish("message", "key", 0, r#"{"m":1}"#);
                "publish message".into()
            }
            12 => {
                rig.publish("other-message", "key", 0, "{}");
                "publish other-message".into()
            }
            13 => {
                rig.broadcast("signal", r#"{"s":1}"#);
                "broadcast signal".into()
            }
            14 | 15 => {
                rig.advance(MINUTE);
                "a minute passes".into()
            }
            16 => {
                rig.resolve_all();
                "resolve incidents".into()
            }
            17 => {
                for instance in rig.open_instances() {
                    let _ = rig.send(set(instance, variables));
                }
                format!("set {variables}")
            }
            18 if is_late => {
                for instance in rig.open_instances() {
                    let _ = rig.cancel(instance);
                }
                "cancel".into()
            }
            _ => {
                for task in rig.waiting_user_tasks() {
                    rig.send_async(Rig::completion(task, variables));
                }
                format!("complete user tasks with {variables}")
            }
        }
    }
}

fn throw(job_key: Key, code: &str) -> Command {
    Command::ThrowError(ThrowError {
        job_key,
        error_code: code.into(),
        error_message: "".into(),
        variables: Document::parse(r#"{"thrown":1}"#).expect("it is an object"),
    })
}

/// A change of an instance's variables.
pub fn set(instance: Key, variables: &str) -> Command {
    Command::SetVariables {
        element_instance_key: instance,
        variables: Document::parse(variables).expect("they are an object"),
        local: false,
    }
}
