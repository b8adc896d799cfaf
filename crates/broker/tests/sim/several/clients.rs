//! Clients' requests and the answers they received. All answers must be true.

use std::collections::{BTreeMap, BTreeSet};

use skep_engine::RequestId;
use skep_protocol::command::*;
use skep_protocol::origin::Claims;
use skep_protocol::response::ProcessInstanceCreated;
use skep_protocol::value::ClusterVariableValue;
use skep_protocol::{ActivatedJob, Document, Key, Rejection, RejectionType, Response, Routing};

use super::super::Random;
use super::super::clients::JOB_TYPE;
use super::chronicle::Chronicle;
use super::models::{self, BEGIN, CREATED, HOLD, PAID, PING, SIGNAL, VERSIONED};
use super::reads::Reads;
use super::rights::{self, Known, Rights};
use super::streams::Streams;
use super::world::World;

/// Name of a cluster variable.
const COUNT: &str = "count";
/// Longer than any jump of a clock.
const FOR_EVER: i64 = 10 * 365 * 24 * 3_600_000;
/// Correlation keys of messages that start instances.
const BEGINNINGS: u64 = 6;

/// Content of a request.
#[derive(Clone, Debug)]
pub enum Pending {
    Deploy,
    /// Creates an instance of at least this version of the process, which all partitions have.
    Create {
        order: u64,
        least: i32,
        /// By the user, who may be forbidden it: what was known of her rights.
        user: Option<Known>,
    },
    /// Creates the user.
    Prepare,
    /// Changes the user's permission; the number of the change.
    Rights(u64),
    Activate,
    Complete(Key),
    Fail,
    /// Cancels an instance, which exists unless its end was requested before.
    Cancel {
        key: Key,
        lives: bool,
    },
    /// Publishes a message to an order, which is buffered until it is correlated.
    Pay(u64),
    Ping(u64),
    Begin,
    /// Publishes a message that may expire before it is correlated.
    Short,
    Correlate(u64),
    Signal,
    /// Sets a cluster variable to this value. Later values are greater.
    Count(u64),
    /// Reads that variable by an expression, which must find at least this value.
    Look {
        partition: u32,
        least: u64,
    },
    /// Adds partitions.
    Scale,
}

/// An instance, as far as its client knows.
#[derive(Debug)]
struct Order {
    process: &'static str,
    instance: Option<Key>,
    paid: bool,
}

/// The cluster variable, which counts.
#[derive(Default)]
struct Variable {
    counts: u64,
    /// The greatest acknowledged count.
    counted: u64,
    /// By partition: the greatest count read there.
    seen: BTreeMap<u32, u64>,
}

/// Acknowledged messages.
#[derive(Default)]
struct Published {
    /// With their orders.
    pings: BTreeMap<Key, u64>,
    beginnings: BTreeSet<Key>,
}

#[derive(Debug, Default)]
struct Deployed {
    count: u32,
    /// The newest version that all partitions have.
    version: i32,
}

#[derive(Default)]
pub struct Clients {
    next_request: RequestId,
    /// Open requests, with the partition if the client has chosen it.
    asked: BTreeMap<RequestId, (Pending, Option<u32>)>,
    deployed: Deployed,
    orders: BTreeMap<u64, Order>,
    contents: u64,
    /// Instances whose end was requested, with the number of requests: requests overtake each other.
    touched: BTreeMap<Key, u32>,
    cancelled: BTreeSet<Key>,
    completed: BTreeSet<Key>,
    published: Published,
    variable: Variable,
    pub rights: Rights,
    pub reads: Reads,
    pub streams: Streams,
    pub jobs: Vec<ActivatedJob>,
    /// Number of answers by kind of request.
    pub answers: BTreeMap<&'static str, u64>,
    /// Acknowledged work was lost: answers need not agree with earlier ones.
    has_lost: bool,
}

impl Clients {
    /// The request, with its caller.
    fn request(&self, id: RequestId, command: Command) -> Request {
        let claims = match self.asked[&id].0 {
            Pending::Create { user: Some(_), .. } => rights::claims(),
            _ => Claims::Internal,
        };
        Request {
            claims,
            ..Request::internal(command)
        }
    }

    /// The partition chosen by the client for its request.
    pub fn partition_of(&self, id: RequestId) -> Option<u32> {
        self.asked.get(&id)?.1
    }

    pub fn asks(&mut self, asked: Pending, partition: Option<u32>) -> RequestId {
        self.next_request += 1;
        self.asked.insert(self.next_request, (asked, partition));
        self.next_request
    }

    /// Everything was purged. Numbers of requests and contents are not used again.
    pub fn forget(&mut self) {
        self.reads.forget();
        *self = Clients {
            reads: std::mem::take(&mut self.reads),
            streams: std::mem::take(&mut self.streams),
            next_request: self.next_request,
            contents: self.contents,
            answers: std::mem::take(&mut self.answers),
            ..Clients::default()
        };
    }

    /// Acknowledged work was lost, and clients begin again.
    pub fn lose(&mut self) {
        self.forget();
        self.has_lost = true;
    }

    fn content(&mut self) -> u64 {
        self.contents += 1;
        self.contents
    }

    fn choose(&mut self, random: &mut Random, routing: &Routing) -> (RequestId, Command) {
        let any = 1 + random.below(u64::from(routing.count())) as u32;
        if self.deployed.version == 0 {
            return match random.below(3) {
                0 => self.deploy(),
                _ => self.count(),
            };
        }
        match random.below(40) {
            0 => self.deploy(),
            1..4 => self.count(),
            4..7 if self.variable.counted > 0 => self.look(any),
            7..10 => self.activate(any, JOB_TYPE),
            10..18 if !self.jobs.is_empty() => self.finish(random),
            18 => self.cancel(random),
            19..23 => self.pay(random),
            23..27 => self.ping(random),
            27..30 => self.begin(random),
            30 => self.short(random),
            31 => self.broadcast(),
            32 => self.correlate(random),
            33 | 34 => self.change_rights(random, any),
            35..38 => self.create_as_user(any),
            _ => {
                let process = CREATED[random.below(CREATED.len() as u64) as usize];
                self.create(process, any)
            }
        }
    }

    fn deploy(&mut self) -> (RequestId, Command) {
        self.deployed.count += u32::from(self.deployed.version > 0);
        let deploy = models::deployment(self.deployed.count);
        (self.asks(Pending::Deploy, None), Command::Deploy(deploy))
    }

    fn create(&mut self, process: &'static str, partition: u32) -> (RequestId, Command) {
        let least = if process == VERSIONED {
            self.deployed.version
        } else {
            1
        };
        let (order, command) = self.order(process);
        let user = None;
        let asked = Pending::Create { order, least, user };
        (self.asks(asked, Some(partition)), command)
    }

    pub fn create_as_user(&mut self, partition: u32) -> (RequestId, Command) {
        let (least, user) = (self.deployed.version, Some(self.rights.known()));
        let (order, command) = self.order(VERSIONED);
        let asked = Pending::Create { order, least, user };
        (self.asks(asked, Some(partition)), command)
    }

    /// A new order, and the command that creates its instance.
    fn order(&mut self, process: &'static str) -> (u64, Command) {
        let order = self.orders.len() as u64;
        let asked = Order {
            process,
            instance: None,
            paid: false,
        };
        self.orders.insert(order, asked);
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
        (order, Command::CreateProcessInstance(create))
    }

    pub fn activate(&mut self, partition: u32, job_type: &str) -> (RequestId, Command) {
        let activate = ActivateJobs {
            job_type: job_type.into(),
            worker: "worker".into(),
            timeout: 600,
            max_jobs: 5,
            ..ActivateJobs::default()
        };
        let id = self.asks(Pending::Activate, Some(partition));
        (id, Command::ActivateJobs(activate))
    }

    fn finish(&mut self, random: &mut Random) -> (RequestId, Command) {
        let at = random.below(self.jobs.len() as u64) as usize;
        let job = self.jobs.swap_remove(at);
        if random.below(5) > 0 {
            return self.complete(&job);
        }
        let fail = FailJob {
            job_key: job.key,
            retries: 2,
            retry_back_off: 100,
            error_message: "again".into(),
            variables: Document::new(),
        };
        (self.asks(Pending::Fail, None), Command::FailJob(fail))
    }

    pub fn complete(&mut self, job: &ActivatedJob) -> (RequestId, Command) {
        self.touch(job.process_instance_key);
        let complete = Command::CompleteJob {
            job_key: job.key,
            variables: Document::new(),
            result: None,
        };
        (self.asks(Pending::Complete(job.key), None), complete)
    }

    /// True if the end of this instance was not requested before.
    fn touch(&mut self, instance: Key) -> bool {
        let times = self.touched.entry(instance).or_default();
        *times += 1;
        *times == 1
    }

    fn cancel(&mut self, random: &mut Random) -> (RequestId, Command) {
        let instances = self.orders.values().filter_map(|order| {
            let key = order.instance?;
            Some((key, order.process))
        });
        let instances: Vec<_> = instances.collect();
        if instances.is_empty() {
            return self.count();
        }
        let (key, process) = instances[random.below(instances.len() as u64) as usize];
        let lives = self.touch(key) && matches!(process, "task" | "pings");
        let cancel = Command::CancelProcessInstance {
            process_instance_key: key,
        };
        (self.asks(Pending::Cancel { key, lives }, None), cancel)
    }

    /// One of the orders of a process: mostly one of the newest.
    fn order_of(&mut self, process: &str, random: &mut Random) -> Option<u64> {
        let orders = self.orders.iter().rev();
        let all: Vec<u64> = orders
            .filter(|(_, order)| order.process == process)
            .map(|(number, _)| *number)
            .take(6)
            .collect();
        all.get(random.below(6) as usize).copied()
    }

    fn pay(&mut self, random: &mut Random) -> (RequestId, Command) {
        let Some(order) = self.order_of("message", random) else {
            return self.create("message", 1);
        };
        self.pays(order, random.below(2) == 0)
    }

    /// Messages with an id are published once, however often they are sent.
    fn pays(&mut self, order: u64, has_id: bool) -> (RequestId, Command) {
        let content = self.content();
        let key = format!("order-{order}");
        let mut message = models::message(PAID, &key, FOR_EVER, content);
        if has_id {
            message.message_id = format!("payment of {order}").into();
        }
        let id = self.asks(Pending::Pay(order), None);
        (id, Command::PublishMessage(message))
    }

    fn ping(&mut self, random: &mut Random) -> (RequestId, Command) {
        let Some(order) = self.order_of("pings", random) else {
            return self.create("pings", 1);
        };
        let content = self.content();
        let message = models::message(PING, &format!("order-{order}"), FOR_EVER, content);
        let id = self.asks(Pending::Ping(order), None);
        (id, Command::PublishMessage(message))
    }

    fn begin(&mut self, random: &mut Random) -> (RequestId, Command) {
        let content = self.content();
        let key = format!("beginning-{}", random.below(BEGINNINGS));
        let message = models::message(BEGIN, &key, FOR_EVER, content);
        (
            self.asks(Pending::Begin, None),
            Command::PublishMessage(message),
        )
    }

    fn short(&mut self, random: &mut Random) -> (RequestId, Command) {
        let Some(order) = self.order_of("pings", random) else {
            return self.create("pings", 1);
        };
        let content = self.content();
        let time_to_live = random.below(2) as i64 * 60;
        let message = models::message(PING, &format!("order-{order}"), time_to_live, content);
        (
            self.asks(Pending::Short, None),
            Command::PublishMessage(message),
        )
    }

    fn correlate(&mut self, random: &mut Random) -> (RequestId, Command) {
        let Some(order) = self.order_of("message", random) else {
            return self.create("message", 1);
        };
        let content = self.content();
        let message = models::message(PAID, &format!("order-{order}"), 0, content);
        let correlate = CorrelateMessage {
            name: message.name,
            correlation_key: message.correlation_key,
            variables: message.variables,
        };
        let id = self.asks(Pending::Correlate(order), None);
        (id, Command::CorrelateMessage(correlate))
    }

    fn broadcast(&mut self) -> (RequestId, Command) {
        let signal = BroadcastSignal {
            signal_name: SIGNAL.into(),
            variables: Document::new(),
        };
        let id = self.asks(Pending::Signal, None);
        (id, Command::BroadcastSignal(signal))
    }

    fn count(&mut self) -> (RequestId, Command) {
        self.variable.counts += 1;
        let value = ClusterVariableValue {
            name: COUNT.into(),
            value: self.variable.counts.to_string().into(),
            tenant: None,
        };
        // The variable may exist though no client was told.
        let command = if self.variable.counted == 0 && self.variable.counts % 2 == 1 {
            Command::CreateClusterVariable(value)
        } else {
            Command::UpdateClusterVariable(value)
        };
        (
            self.asks(Pending::Count(self.variable.counts), None),
            command,
        )
    }

    /// A client reads a value that another one has written.
    fn look(&mut self, partition: u32) -> (RequestId, Command) {
        let seen = self
            .variable
            .seen
            .get(&partition)
            .copied()
            .unwrap_or_default();
        let least = self.variable.counted.max(seen);
        let read = Command::EvaluateExpression {
            expression: format!("=camunda.vars.cluster.{COUNT}"),
            variables: Document::new(),
        };
        let id = self.asks(Pending::Look { partition, least }, Some(partition));
        (id, read)
    }

    /// Handles the answer to a client's request.
    pub fn answered(
        &mut self,
        id: RequestId,
        answer: Result<Response, Rejection>,
        chronicle: &Chronicle,
    ) {
        if self.has_lost {
            return self.answered_after_loss(id, answer);
        }
        let asked = self.asked.remove(&id);
        let (asked, _) =
            asked.unwrap_or_else(|| panic!("request {id} was answered twice: {answer:?}"));
        let response = match answer {
            Ok(response) => response,
            Err(answer) => return self.rejected(&asked, &answer),
        };
        *self.answers.entry(name_of(&asked)).or_default() += 1;
        match (asked, response) {
            (Pending::Deploy, Response::Deployed(deployed)) => {
                let mut versions = deployed.processes.iter();
                let ours = versions.find(|process| &*process.id == VERSIONED).unwrap();
                self.deployed.version = self.deployed.version.max(ours.version);
            }
            (Pending::Create { order, least, user }, Response::ProcessInstanceCreated(created)) => {
                self.rights.check(user, None);
                self.begins(order, least, &created, chronicle)
            }
            (Pending::Prepare, _) => self.is_prepared(),
            (Pending::Rights(change), response) => self.rights_changed(change, &response),
            (Pending::Activate, Response::JobsActivated { jobs, .. }) => self.jobs.extend(jobs),
            (Pending::Complete(key), _) => assert!(
                self.completed.insert(key),
                "job {key:?} was completed twice"
            ),
            (Pending::Cancel { key, .. }, _) => {
                assert!(self.cancelled.insert(key), "{key:?} was cancelled twice");
            }
            (Pending::Pay(order), _) => self.orders.get_mut(&order).unwrap().paid = true,
            (Pending::Ping(order), Response::MessagePublished { message_key }) => {
                self.published.pings.insert(message_key, order);
            }
            (Pending::Begin, Response::MessagePublished { message_key }) => {
                self.published.beginnings.insert(message_key);
            }
            (
                Pending::Correlate(order),
                Response::MessageCorrelated {
                    message_key,
                    process_instance_key: instance,
                },
            ) => {
                let taken = chronicle
                    .correlated
                    .to
                    .get(&(message_key, "message".into()));
                assert_eq!(taken, Some(&instance), "the client is told who took it");
                let known = self.orders[&order].instance;
                assert!(known.is_none_or(|known| known == instance));
            }
            (Pending::Count(count), _) => self.variable.counted = self.variable.counted.max(count),
            (Pending::Look { partition, least }, Response::ExpressionEvaluated { result, .. }) => {
                self.reads(partition, least, result.parse().unwrap());
            }
            (Pending::Fail | Pending::Signal | Pending::Short | Pending::Scale, _) => {}
            (asked, response) => panic!("{asked:?} was answered with {response:?}"),
        }
    }

    /// Notes what later requests are about. The request may be from before the loss.
    fn answered_after_loss(&mut self, id: RequestId, answer: Result<Response, Rejection>) {
        let (Some((asked, _)), Ok(response)) = (self.asked.remove(&id), answer) else {
            return;
        };
        *self.answers.entry(name_of(&asked)).or_default() += 1;
        match (asked, response) {
            (Pending::Deploy, Response::Deployed(_)) => {
                self.deployed.version = self.deployed.version.max(1)
            }
            (Pending::Create { order, .. }, Response::ProcessInstanceCreated(created)) => {
                if let Some(order) = self.orders.get_mut(&order) {
                    order.instance = Some(created.process_instance_key);
                }
            }
            (Pending::Activate, Response::JobsActivated { jobs, .. }) => self.jobs.extend(jobs),
            _ => {}
        }
    }

    fn begins(
        &mut self,
        order: u64,
        least: i32,
        created: &ProcessInstanceCreated,
        chronicle: &Chronicle,
    ) {
        let (version, key) = (created.version, created.process_instance_key);
        assert!(
            version >= least,
            "version {least} was acknowledged, and {key} begins with version {version}"
        );
        assert!(
            chronicle.begun.contains(&key),
            "{key} was acknowledged before it began"
        );
        self.orders.get_mut(&order).unwrap().instance = Some(key);
    }

    fn reads(&mut self, partition: u32, least: u64, found: u64) {
        assert!(
            found >= least,
            "{least} was acknowledged or read on partition {partition}, and {found} is read"
        );
        let seen = self.variable.seen.entry(partition).or_default();
        *seen = found.max(*seen);
    }

    fn rejected(&mut self, asked: &Pending, answer: &Rejection) {
        match asked {
            // It exists already, which is all its client needs to know.
            Pending::Pay(order) if answer.kind == RejectionType::AlreadyExists => {
                self.orders.get_mut(order).unwrap().paid = true;
            }
            Pending::Create { user, .. } if user.is_some() => {
                self.rights.check(*user, Some(answer));
                *self.answers.entry("forbidden").or_default() += 1;
            }
            Pending::Prepare => {
                assert_eq!(answer.kind, RejectionType::AlreadyExists, "{answer:?}");
                self.is_prepared();
            }
            // It was so already, but other partitions may not have it yet.
            Pending::Rights(_) => assert!(
                matches!(
                    answer.kind,
                    RejectionType::AlreadyExists | RejectionType::NotFound
                ),
                "{answer:?}"
            ),
            Pending::Create { .. }
            | Pending::Pay(_)
            | Pending::Ping(_)
            | Pending::Begin
            | Pending::Short
            | Pending::Signal
            | Pending::Deploy
            | Pending::Look { .. } => panic!("{asked:?} was rejected: {answer:?}"),
            Pending::Cancel { lives: true, key } => assert!(
                answer.kind != RejectionType::NotFound || self.touched[key] > 1,
                "{asked:?}: its instance was acknowledged before, and is not found: {answer:?}"
            ),
            Pending::Activate
            | Pending::Complete(_)
            | Pending::Fail
            | Pending::Cancel { .. }
            | Pending::Correlate(_)
            | Pending::Count(_)
            // A late request of an earlier change.
            | Pending::Scale => {}
        }
    }

    /// Checks that acknowledged work without further prerequisites is done.
    pub fn check_taken(&self, chronicle: &Chronicle) {
        for order in self.orders.values() {
            let Some(key) = order.instance.filter(|it| !self.touched.contains_key(it)) else {
                continue;
            };
            let has_ended = chronicle.ended.contains(&key);
            if order.process == "message" && order.paid {
                let took = chronicle.correlated.count.get(&key).copied();
                assert_eq!(took, Some(1), "{key} takes one payment");
                assert!(has_ended, "{key} was paid and did not go on");
            }
            let waits = matches!(order.process, "task" | "pings");
            assert!(!waits || !has_ended, "{order:?} has ended by itself");
        }
        for (message, order) in &self.published.pings {
            let instance = self.orders[order].instance;
            let Some(key) = instance.filter(|it| !self.touched.contains_key(it)) else {
                continue;
            };
            let by = chronicle.correlated.to.get(&(*message, "pings".into()));
            assert_eq!(by, Some(&key), "ping {message} of order {order} is lost");
        }
    }

    /// Checks that all acknowledged instances have ended, and in the announced way.
    pub fn check_ended(&self, chronicle: &Chronicle) {
        for order in self.orders.values() {
            let Some(key) = order.instance else { continue };
            assert!(
                chronicle.ended.contains(&key),
                "{order:?} was acknowledged and has not ended"
            );
        }
        for message in &self.published.beginnings {
            let began = chronicle
                .correlated
                .to
                .contains_key(&(*message, models::STARTS.into()));
            assert!(began, "message {message} started nothing");
        }
    }

    /// Orders that may still wait for a message: each is to get one.
    fn last_payments(&self) -> Vec<u64> {
        let waits = |order: &&Order| order.process == "message" && !order.paid;
        let orders = self.orders.iter();
        let waiting = orders.filter(|(_, order)| waits(order));
        waiting.map(|(number, _)| *number).collect()
    }
}

fn name_of(asked: &Pending) -> &'static str {
    match asked {
        Pending::Deploy => "deployed",
        Pending::Create { user: None, .. } => "created",
        Pending::Create { .. } => "permitted",
        Pending::Prepare => "prepared",
        Pending::Rights(_) => "rights",
        Pending::Activate => "polled",
        Pending::Complete(_) => "completed",
        Pending::Fail => "failed",
        Pending::Cancel { .. } => "cancelled",
        Pending::Pay(_) => "paid",
        Pending::Ping(_) => "pinged",
        Pending::Begin => "began",
        Pending::Short => "short",
        Pending::Correlate(_) => "correlated",
        Pending::Signal => "signalled",
        Pending::Count(_) => "counted",
        Pending::Look { .. } => "looked",
        Pending::Scale => "scaled",
    }
}

impl World {
    /// A burst of requests from one machine.
    pub fn clients_ask(&mut self) {
        let host = self.any_host();
        for _ in 0..=self.random.below(4) {
            let routing = self.hosts[host as usize].routing.clone();
            let (id, command) = self.clients.choose(&mut self.random, &routing);
            // Values are written and read, and rights are changed, in the order of the requests.
            let at_once = matches!(
                command,
                Command::CreateClusterVariable(_)
                    | Command::UpdateClusterVariable(_)
                    | Command::EvaluateExpression { .. }
                    | Command::Identity(_)
            );
            let request = self.clients.request(id, command);
            self.ask(host, id, request, at_once);
        }
    }

    /// Sends a request from any machine.
    fn ask_from_anywhere(&mut self, (id, command): (RequestId, Command)) {
        let host = self.any_host();
        self.ask(host, id, Request::internal(command), false);
    }

    /// Workers complete every job, and every instance that waits for a message or a signal gets one.
    pub fn finish_all(&mut self) {
        for partition in self.routing.partitions() {
            for job_type in [JOB_TYPE, HOLD] {
                let polled = self.clients.activate(partition, job_type);
                self.ask_from_anywhere(polled);
            }
        }
        for job in std::mem::take(&mut self.clients.jobs) {
            let completed = self.clients.complete(&job);
            self.ask_from_anywhere(completed);
        }
        for order in self.clients.last_payments() {
            let paid = self.clients.pays(order, true);
            self.ask_from_anywhere(paid);
        }
        let signalled = self.clients.broadcast();
        self.ask_from_anywhere(signalled);
    }

    /// Publishes an unbuffered message to every order that has ever waited for one.
    pub fn knock(&mut self) {
        let orders = self.clients.orders.iter();
        let waited = orders.filter_map(|(number, order)| match order.process {
            "message" => Some((PAID, *number)),
            "pings" => Some((PING, *number)),
            _ => None,
        });
        for (name, order) in waited.collect::<Vec<_>>() {
            let content = self.clients.content();
            let message = models::message(name, &format!("order-{order}"), 0, content);
            let id = self.clients.asks(Pending::Short, None);
            self.ask_from_anywhere((id, Command::PublishMessage(message)));
        }
    }

    /// A command of an anonymous client.
    pub fn any_command(&mut self) -> (RequestId, Request) {
        let (id, command) = self.clients.choose(&mut self.random, &self.routing);
        (id, self.clients.request(id, command))
    }
}
