//! Clients' requests and the answers they received. All answers must hold on every node in the end.

use std::collections::{BTreeMap, BTreeSet};

use skep_engine::{Engine, RequestId};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::value::ClusterVariableValue;
use skep_protocol::{ActivatedJob, Document, Key, Rejection, RejectionType, Response};

use super::Random;

pub const JOB_TYPE: &str = "work";
/// Name of a cluster variable.
const COUNT: &str = "count";
pub const HOUR: i64 = 3_600_000;
const PROCESSES: [&str; 4] = ["task", "timer", "message", "parallel"];

/// Content of a request.
#[derive(Clone, Debug)]
enum Sent {
    Deploy,
    /// Process and order number.
    Create(&'static str, u64),
    Activate,
    Complete(Key),
    /// Cancels an instance, which exists unless its end was requested before.
    Cancel {
        key: Key,
        lives: bool,
    },
    Publish(u64),
    /// Sets a cluster variable to this value. Later values are greater.
    Count(u64),
    /// Reads that variable by an expression, and writes nothing. It must find at least this value.
    Look {
        least: u64,
    },
    Other,
}

#[derive(Default)]
pub struct Clients {
    next_request: RequestId,
    asked: BTreeMap<RequestId, Sent>,
    deployed: bool,
    next_order: u64,
    /// Orders of instances whose wait for a message was acknowledged.
    waiting_orders: Vec<u64>,
    /// Acknowledged instances: process and order.
    created: BTreeMap<Key, (&'static str, u64)>,
    /// Instances whose end was requested.
    touched: BTreeSet<Key>,
    cancelled: BTreeSet<Key>,
    completed: BTreeSet<Key>,
    published: BTreeSet<u64>,
    next_count: u64,
    /// The greatest count that was acknowledged or read.
    pub counted: u64,
    pub jobs: Vec<ActivatedJob>,
    pub acknowledged: u64,
    pub pushed: u64,
    pub remote: u64,
}

fn processes() -> Vec<Resource> {
    let all = [
        Bpmn::process("task")
            .start("s")
            .service_task("t", JOB_TYPE)
            .end("e"),
        Bpmn::process("timer")
            .start("s")
            .catch_duration("t", "PT0.5S")
            .end("e"),
        Bpmn::process("message")
            .start("s")
            .catch_message("m", "paid", "=order")
            .end("e"),
        Bpmn::process("parallel")
            .start("s")
            .parallel("fork")
            .service_task("a", JOB_TYPE)
            .parallel("join")
            .end("e")
            .from("fork")
            .service_task("b", JOB_TYPE)
            .to("join"),
    ];
    let resource = |(bpmn, name): (Bpmn, &str)| Resource {
        name: format!("{name}.bpmn"),
        content: bpmn.xml().into(),
    };
    all.into_iter().zip(PROCESSES).map(resource).collect()
}

fn activate() -> (Sent, Command) {
    let activate = ActivateJobs {
        job_type: JOB_TYPE.into(),
        worker: "worker".into(),
        timeout: 600,
        max_jobs: 3,
        ..ActivateJobs::default()
    };
    (Sent::Activate, Command::ActivateJobs(activate))
}

impl Clients {
    /// The next command, with the number of its request.
    pub fn command(&mut self, random: &mut Random) -> (RequestId, Command) {
        let chosen = self.choose(random);
        self.asks(chosen)
    }

    /// The command of a reading client.
    pub fn looks(&mut self, random: &mut Random) -> (RequestId, Command) {
        let chosen = if self.counted > 0 {
            self.look()
        } else {
            self.choose(random)
        };
        self.asks(chosen)
    }

    /// The command of a counting client.
    pub fn counts(&mut self) -> (RequestId, Command) {
        let chosen = self.count();
        self.asks(chosen)
    }

    /// A command of which nothing is checked but that it is answered once.
    pub fn other(&mut self, command: Command) -> (RequestId, Command) {
        self.asks((Sent::Other, command))
    }

    fn asks(&mut self, (asked, command): (Sent, Command)) -> (RequestId, Command) {
        self.next_request += 1;
        self.asked.insert(self.next_request, asked);
        (self.next_request, command)
    }

    fn choose(&mut self, random: &mut Random) -> (Sent, Command) {
        if !self.deployed {
            let resources = processes();
            return (Sent::Deploy, Command::Deploy(Deploy { resources }));
        }
        match random.below(20) {
            16 | 17 => self.count(),
            18.. if self.counted > 0 => self.look(),
            0..6 => self.create(random),
            6..8 => activate(),
            8..12 if !self.jobs.is_empty() => {
                let job = self
                    .jobs
                    .swap_remove(random.below(self.jobs.len() as u64) as usize);
                self.touched.insert(job.process_instance_key);
                if random.below(5) == 0 {
                    let fail = FailJob {
                        job_key: job.key,
                        retries: 2,
                        retry_back_off: 100,
                        error_message: "again".into(),
                        variables: Document::new(),
                    };
                    return (Sent::Other, Command::FailJob(fail));
                }
                let variables = Document::parse(r#"{"done":true}"#).unwrap();
                let job_key = job.key;
                (
                    Sent::Complete(job_key),
                    Command::CompleteJob {
                        job_key,
                        variables,
                        result: None,
                    },
                )
            }
            12 if !self.created.is_empty() => {
                let at = random.below(self.created.len() as u64) as usize;
                let (&key, &(process, _)) = self.created.iter().nth(at).unwrap();
                let lives = self.touched.insert(key) && matches!(process, "task" | "parallel");
                let process_instance_key = key;
                (
                    Sent::Cancel { key, lives },
                    Command::CancelProcessInstance {
                        process_instance_key,
                    },
                )
            }
            13..16 if !self.waiting_orders.is_empty() => {
                let at = random.below(self.waiting_orders.len() as u64) as usize;
                let order = self.waiting_orders.swap_remove(at);
                let publish = PublishMessage {
                    name: "paid".into(),
                    correlation_key: format!("order-{order}").into(),
                    time_to_live: HOUR,
                    message_id: "".into(),
                    variables: Document::new(),
                };
                (Sent::Publish(order), Command::PublishMessage(publish))
            }
            _ => self.create(random),
        }
    }

    /// A client reads a value that another one has written.
    fn look(&self) -> (Sent, Command) {
        let least = self.counted;
        let read = Command::EvaluateExpression {
            expression: format!("=camunda.vars.cluster.{COUNT}"),
            variables: Document::new(),
        };
        (Sent::Look { least }, read)
    }

    fn count(&mut self) -> (Sent, Command) {
        self.next_count += 1;
        let value = ClusterVariableValue {
            name: COUNT.into(),
            value: self.next_count.to_string().into(),
            tenant: None,
        };
        // The variable may exist though no client was told.
        let command = if self.counted == 0 && self.next_count % 2 == 1 {
            Command::CreateClusterVariable(value)
        } else {
            Command::UpdateClusterVariable(value)
        };
        (Sent::Count(self.next_count), command)
    }

    fn create(&mut self, random: &mut Random) -> (Sent, Command) {
        let process = PROCESSES[random.below(PROCESSES.len() as u64) as usize];
        self.next_order += 1;
        let order = self.next_order;
        let variables = format!(r#"{{"order":"order-{order}"}}"#);
        let create = CreateProcessInstance {
            process: ProcessRef::Id {
                bpmn_process_id: process.into(),
                version: -1,
            },
            variables: Document::parse(&variables).unwrap(),
            start_instructions: vec![],
            terminate_after: vec![],
            tags: vec![],
            business_id: None,
            await_result: None,
        };
        (
            Sent::Create(process, order),
            Command::CreateProcessInstance(create),
        )
    }

    /// Handles the answer to a client's request.
    pub fn answered(&mut self, id: RequestId, answer: Result<Response, Rejection>) {
        let asked = self.asked.remove(&id);
        let asked = asked.unwrap_or_else(|| panic!("request {id} was answered twice: {answer:?}"));
        let response = match answer {
            Ok(response) => response,
            Err(answer) => return self.rejected(&asked, &answer),
        };
        self.acknowledged += 1;
        match (asked, response) {
            (Sent::Deploy, _) => self.deployed = true,
            (Sent::Create(process, order), Response::ProcessInstanceCreated(created)) => {
                let before = self
                    .created
                    .insert(created.process_instance_key, (process, order));
                assert_eq!(before, None, "an instance's key was given twice");
                if process == "message" {
                    self.waiting_orders.push(order);
                }
            }
            (Sent::Activate, Response::JobsActivated { jobs, .. }) => self.jobs.extend(jobs),
            (Sent::Complete(key), _) => assert!(
                self.completed.insert(key),
                "job {key:?} was completed twice"
            ),
            (Sent::Cancel { key, .. }, _) => {
                assert!(self.cancelled.insert(key), "{key:?} was cancelled twice")
            }
            (Sent::Publish(order), _) => {
                self.published.insert(order);
            }
            (Sent::Count(count), _) => self.counted = self.counted.max(count),
            (Sent::Look { least }, Response::ExpressionEvaluated { result, .. }) => {
                let found: u64 = result.parse().unwrap();
                assert!(
                    found >= least,
                    "{least} was acknowledged, and {found} is read"
                );
                // Later reads must not find less.
                self.counted = self.counted.max(found);
            }
            (Sent::Other, _) => {}
            (asked, response) => panic!("{asked:?} was answered with {response:?}"),
        }
    }

    fn rejected(&self, asked: &Sent, answer: &Rejection) {
        assert!(
            !matches!(asked, Sent::Create(..) | Sent::Publish(_)),
            "{asked:?} was rejected although the deployment was acknowledged: {answer:?}"
        );
        let lives = matches!(asked, Sent::Cancel { lives: true, .. });
        assert!(
            !lives || answer.kind != RejectionType::NotFound,
            "{asked:?}: its instance was acknowledged before, and is not found: {answer:?}"
        );
    }

    /// Checks that this state contains all acknowledged work. All timers must have fired.
    pub fn check(&self, node: u64, engine: &mut Engine) {
        let state = &mut engine.state;
        for process in PROCESSES {
            assert!(
                state
                    .processes
                    .latest(&Default::default(), process)
                    .is_some(),
                "{process} is not deployed on node {node}"
            );
        }
        for (key, (process, order)) in &self.created {
            let lives = state.elements.get(*key).is_some();
            let touched = self.touched.contains(key);
            match *process {
                "timer" => assert!(!lives, "the timer of {key:?} did not fire on node {node}"),
                "message" if self.published.contains(order) => {
                    assert!(!lives, "{key:?} did not get its message on node {node}");
                }
                // Only an acknowledged publication counts for certain.
                "message" if !self.waiting_orders.contains(order) => {}
                _ if !touched => assert!(
                    lives,
                    "{process} {key:?} was acknowledged and is lost on node {node}"
                ),
                _ => {}
            }
            if self.cancelled.contains(key) {
                assert!(!lives, "{key:?} was cancelled and lives on node {node}");
            }
        }
        for key in &self.completed {
            assert!(
                state.jobs.get(*key).is_none(),
                "job {key:?} was completed and is there on node {node}"
            );
        }
    }
}
