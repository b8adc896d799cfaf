//! A broker that tests can inspect and control, and a gateway in front of it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use skep_gateway::{Gateway, GatewayConfig, GatewayMetrics};
use skep_identity::Directory;
use skep_protocol::command::{ActivateJobs, Held, IdentityCommand, Request};
use skep_protocol::origin::Claims;
use skep_protocol::response::{JobActivation, ProcessInstanceCreated};
use skep_protocol::value::{JobKind, ParentValue, PasswordHash, UserValue};
use skep_protocol::{ActivatedJob, Command, Failure, Key, Rejection, RejectionType, Response};
use skep_query::entities::DECISION_INSTANCE;
use skep_query::{
    Answer as StoreAnswer, Condition, Consistency, Groups, Kind, MAX_LIMIT, Op, Query, QueryError,
    ResultPage, Search, Storage, Value as StoreValue,
};
use skep_service::{
    Answer, BoxFuture, Broker, BrokerInfo, JobReceiver, NodeStates, PartitionHealth, PartitionInfo,
    PartitionRole, Reply, Responder, Timings, Topology, Work, reply_channel,
};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::keeper::Keeper;
use crate::{decisions, documents};

pub const KEY: Key = Key(2251799813685249);

#[derive(Default)]
pub struct FakeBroker {
    pub requests: Mutex<Vec<Request>>,
    /// Users, groups and their permissions.
    pub directory: Mutex<Arc<Directory>>,
    /// The answers to the next commands; without any, the answer that fits the command.
    answers: Mutex<VecDeque<Result<Response, Failure>>>,
    /// Whether commands are held until they are released.
    holding: Mutex<bool>,
    held: Mutex<Vec<(Responder, Response)>>,
    /// If set, held commands wait in it unread.
    inbox: Mutex<Option<Vec<Held>>>,
    /// Reported waiting time of commands in the inbox, in nanoseconds; 0: as in [`TIMINGS`].
    pub inbox_wait: AtomicU64,
    /// Maximum number of commands held at a time.
    pub peak: Mutex<usize>,
    pub activations: Mutex<Vec<(ActivateJobs, Duration)>>,
    pub jobs: Mutex<Vec<ActivatedJob>>,
    /// Jobs returned because they did not reach their client.
    pub given_back: Mutex<Vec<Key>>,
    pub streams: Mutex<Vec<Stream>>,
    pub no_leader: Mutex<bool>,
    /// Number of partitions of which this node knows nothing.
    pub lost_partitions: Mutex<u32>,
    pub reports: NodeReports,
    changed: Notify,
}

/// Reports of all nodes: waiting jobs, workers, and the state of partitions.
#[derive(Default)]
pub struct NodeReports {
    pub work: Mutex<Arc<Work>>,
    pub states: Mutex<Arc<NodeStates>>,
    pub measured: Mutex<Arc<NodeStates>>,
    /// Start of the last requested period of measurements.
    pub measured_from: AtomicI64,
    pub waiting_jobs: AtomicUsize,
    /// The keeper of browser sessions.
    pub keeper: Mutex<Arc<Keeper>>,
    pub directory_age: Mutex<Duration>,
}

/// The broker's end of a job stream.
pub struct Stream {
    pub spec: ActivateJobs,
    pub jobs: mpsc::Sender<ActivatedJob>,
    pub closed: oneshot::Receiver<()>,
}

struct Receiver {
    jobs: mpsc::Receiver<ActivatedJob>,
    _closed: oneshot::Sender<()>,
}

impl JobReceiver for Receiver {
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<ActivatedJob>> {
        self.jobs.poll_recv(cx)
    }
}

impl FakeBroker {
    pub fn answer(&self, answer: Result<Response, Failure>) {
        self.answers.lock().push_back(answer);
    }

    pub fn hold(&self) {
        *self.holding.lock() = true;
    }

    /// Holds commands unread, like a busy partition.
    pub fn be_busy(&self) {
        *self.inbox.lock() = Some(Vec::new());
        self.hold();
    }

    /// Takes the commands out of the inbox without answering them.
    pub fn take_inbox(&self) {
        *self.inbox.lock() = None;
    }

    /// Answers the held commands and stops holding.
    pub fn release(&self) {
        self.take_inbox();
        *self.holding.lock() = false;
        for (responder, natural) in self.held.lock().drain(..) {
            let _ = responder.send(Answer {
                result: Ok(natural),
                timings: self.timings(),
            });
        }
    }

    fn timings(&self) -> Timings {
        match self.inbox_wait.load(Ordering::Relaxed) {
            0 => TIMINGS,
            inbox_wait => Timings {
                inbox_wait,
                ..TIMINGS
            },
        }
    }

    pub fn held(&self) -> usize {
        self.held.lock().len()
    }

    /// Waits until the condition holds; it is checked after each call of the gateway.
    pub async fn until(&self, condition: impl Fn(&FakeBroker) -> bool) {
        loop {
            let changed = self.changed.notified();
            if condition(self) {
                return;
            }
            changed.await;
        }
    }

    pub fn last(&self) -> Request {
        self.requests
            .lock()
            .last()
            .expect("no request came")
            .clone()
    }
}

pub const TIMINGS: Timings = Timings {
    route: 100_000,
    inbox_wait: 200_000,
    evaluation: 300_000,
    append: 400_000,
    fsync: 500_000,
    commit: 600_000,
    // The reply sets it.
    wake: 0,
};

impl Broker for FakeBroker {
    fn is_known_everywhere(&self, _: &Request) -> bool {
        self.reports.keeper.lock().knows()
    }

    fn execute(&self, mut request: Request) -> Reply {
        if let Command::Session(command) = &request.command {
            let keeper = self.reports.keeper.lock().clone();
            return Reply::ready(keeper.ask(command));
        }
        let natural = natural_answer(&request.command);
        let occupied = std::mem::take(&mut request.held);
        if let Some(inbox) = &mut *self.inbox.lock() {
            inbox.push(occupied);
        }
        self.requests.lock().push(request);
        let (responder, reply) = reply_channel();
        if *self.holding.lock() {
            let mut held = self.held.lock();
            held.push((responder, natural));
            let mut peak = self.peak.lock();
            *peak = held.len().max(*peak);
        } else {
            let result = self.answers.lock().pop_front().unwrap_or(Ok(natural));
            let _ = responder.send(Answer {
                result,
                timings: self.timings(),
            });
        }
        self.changed.notify_waiters();
        reply
    }

    fn activate_jobs(
        &self,
        command: ActivateJobs,
        _claims: Claims,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Vec<ActivatedJob>, Failure>> {
        let max_jobs = command.max_jobs as usize;
        self.activations.lock().push((command, wait));
        self.changed.notify_waiters();
        Box::pin(async move {
            if let Some(Err(failure)) = self.answers.lock().pop_front() {
                return Err(failure);
            }
            if !wait.is_zero() {
                let _ = tokio::time::timeout(wait, self.until(|b| !b.jobs.lock().is_empty())).await;
            }
            let mut jobs = self.jobs.lock();
            let n = jobs.len().min(max_jobs);
            Ok(jobs.drain(..n).collect())
        })
    }

    fn give_back(&self, jobs: Vec<JobActivation>) {
        let keys = jobs.into_iter().map(|job| job.key);
        self.given_back.lock().extend(keys);
        self.changed.notify_waiters();
    }

    fn directory(&self) -> Arc<Directory> {
        self.directory.lock().clone()
    }

    fn directory_age(&self) -> Duration {
        *self.reports.directory_age.lock()
    }

    fn open_job_stream(&self, spec: ActivateJobs, _claims: Claims) -> Box<dyn JobReceiver> {
        let (jobs, receiver) = mpsc::channel(spec.max_jobs as usize);
        let (closed_tx, closed) = oneshot::channel();
        self.streams.lock().push(Stream { spec, jobs, closed });
        self.changed.notify_waiters();
        Box::new(Receiver {
            jobs: receiver,
            _closed: closed_tx,
        })
    }

    fn waiting_jobs(&self) -> usize {
        self.reports.waiting_jobs.load(Ordering::Relaxed)
    }

    fn work(&self) -> BoxFuture<'_, Arc<Work>> {
        Box::pin(std::future::ready(Arc::clone(&self.reports.work.lock())))
    }

    fn node_states(&self) -> BoxFuture<'_, Arc<NodeStates>> {
        Box::pin(std::future::ready(Arc::clone(&self.reports.states.lock())))
    }

    fn measured(&self, from: i64) -> BoxFuture<'_, Arc<NodeStates>> {
        self.reports.measured_from.store(from, Ordering::Relaxed);
        Box::pin(std::future::ready(Arc::clone(
            &self.reports.measured.lock(),
        )))
    }

    fn topology(&self) -> Topology {
        let role = if *self.no_leader.lock() {
            PartitionRole::Follower
        } else {
            PartitionRole::Leader
        };
        Topology {
            cluster_id: "c-1".into(),
            cluster_size: 1,
            partitions_count: 1 + *self.lost_partitions.lock(),
            replication_factor: 1,
            gateway_version: "0.1.0".into(),
            last_completed_change_id: "-1".into(),
            brokers: Arc::from([BrokerInfo {
                node_id: 0,
                host: "localhost".into(),
                port: 26501,
                version: "0.1.0".into(),
                partitions: vec![PartitionInfo {
                    partition_id: 1,
                    role,
                    health: PartitionHealth::Healthy,
                }],
            }]),
        }
    }
}

pub fn created(business_id: Option<&str>) -> ProcessInstanceCreated {
    ProcessInstanceCreated {
        process_definition_key: KEY,
        bpmn_process_id: "order".into(),
        version: 3,
        process_instance_key: Key(KEY.0 + 1),
        tags: Arc::from(["a".to_string()]),
        business_id: business_id.map(str::to_string),
    }
}

fn natural_answer(command: &Command) -> Response {
    match command {
        Command::Deploy(deploy) => Response::Deployed(decisions::deployed(deploy)),
        Command::CheckDeployment(deploy) => {
            Response::DeploymentChecked(Ok(decisions::deployed(deploy)))
        }
        Command::EvaluateDecision(evaluate) => Response::DecisionEvaluated {
            key: KEY,
            evaluation: Box::new(decisions::evaluated(evaluate)),
        },
        Command::CreateProcessInstance(create) => match &create.await_result {
            None => Response::ProcessInstanceCreated(created(create.business_id.as_deref())),
            Some(_) => Response::ProcessInstanceResult {
                created: created(create.business_id.as_deref()),
                variables: r#"{"sum": 1.50}"#.to_string(),
            },
        },
        Command::BroadcastSignal(_) => Response::SignalBroadcast { signal_key: KEY },
        Command::PublishMessage(_) => Response::MessagePublished { message_key: KEY },
        Command::CorrelateMessage(_) => Response::MessageCorrelated {
            message_key: KEY,
            process_instance_key: Key(KEY.0 + 1),
        },
        Command::SetVariables { .. } => Response::VariablesSet { key: KEY },
        Command::CreateGlobalListener(listener) | Command::UpdateGlobalListener(listener) => {
            Response::GlobalListener(listener.clone())
        }
        Command::EvaluateConditionals(_) => {
            Response::ConditionalsEvaluated(skep_protocol::response::ConditionalsEvaluated {
                key: KEY,
                tenant: Default::default(),
                started: vec![(KEY, Key(KEY.0 + 1))],
            })
        }
        Command::CreateClusterVariable(value) | Command::UpdateClusterVariable(value) => {
            Response::ClusterVariable(value.clone())
        }
        Command::EvaluateExpression { .. } => Response::ExpressionEvaluated {
            result: "[1, 2.50]".to_string(),
            warnings: vec!["no variable 'x'".to_string()],
        },
        Command::Identity(command) => of_identity(command),
        _ => Response::Empty,
    }
}

fn of_identity(command: &IdentityCommand) -> Response {
    let parent = |id: &Arc<str>, name: &Arc<str>, description: &str| {
        Response::Parent(ParentValue {
            key: KEY,
            id: id.clone(),
            name: name.clone(),
            description: description.into(),
            member: None,
        })
    };
    match command {
        IdentityCommand::CreateUser(user) | IdentityCommand::CreateInitialAdmin(user) => {
            Response::User(user.clone())
        }
        IdentityCommand::UpdateUser(update) => Response::User(UserValue {
            user_key: KEY,
            username: update.username.clone(),
            name: update.name.clone().unwrap_or_else(|| "Anna".into()),
            email: update.email.clone().unwrap_or_default(),
            password: PasswordHash::default(),
        }),
        IdentityCommand::CreateGroup(new)
        | IdentityCommand::CreateRole(new)
        | IdentityCommand::CreateTenant(new) => parent(&new.id, &new.name, &new.description),
        IdentityCommand::UpdateGroup(update)
        | IdentityCommand::UpdateRole(update)
        | IdentityCommand::UpdateTenant(update) => {
            let description = update.description.as_deref().unwrap_or("as it was");
            parent(&update.id, &update.name, description)
        }
        IdentityCommand::CreateMappingRule(rule) | IdentityCommand::UpdateMappingRule(rule) => {
            Response::MappingRule(rule.clone())
        }
        IdentityCommand::CreateAuthorization(_) => Response::AuthorizationCreated {
            authorization_key: KEY,
        },
        _ => Response::Empty,
    }
}

pub fn rejection(kind: RejectionType) -> Failure {
    Rejection::new(kind, "COMPLETE", "it is so").into()
}

pub fn job(n: i64) -> ActivatedJob {
    ActivatedJob {
        key: Key(KEY.0 + n),
        job_type: "pay".into(),
        process_instance_key: KEY,
        root_process_instance_key: KEY,
        bpmn_process_id: "order".into(),
        process_definition_version: 3,
        process_definition_key: KEY,
        element_id: "pay-task".into(),
        element_instance_key: KEY,
        custom_headers: r#"{"h":"1"}"#.into(),
        worker: "w".into(),
        retries: 3,
        deadline: 1_700_000_000_000,
        variables: r#"{"amount": 1.50}"#.into(),
        tags: Arc::from([]),
        business_id: None,
        kind: JobKind::BpmnElement,
        user_task: None,
        tenant: skep_protocol::TenantId::default(),
    }
}

/// A group with some value in each of its columns, and 7 for each measure.
fn group(groups: &Groups) -> Vec<StoreValue> {
    let by = groups
        .by
        .iter()
        .map(|at| match groups.search.entity.field(*at).kind {
            Kind::Text | Kind::Json | Kind::Enum(_) => StoreValue::text("x"),
            Kind::Key | Kind::Int | Kind::Bool | Kind::Time => StoreValue::Int(5),
        });
    let measures = groups.measures.iter().map(|_| StoreValue::Int(7));
    by.chain(measures).collect()
}

/// Whether the rows of one evaluation are looked up for its deletion.
fn asks_for_an_evaluation(search: &Search) -> bool {
    const KEY: usize = DECISION_INSTANCE.column("decisionEvaluationKey");
    let is_of_one = matches!(
        search.filter[..],
        [Condition::Field {
            field: KEY,
            op: Op::Eq(_)
        }]
    );
    is_of_one && search.page.limit == MAX_LIMIT && std::ptr::eq(search.entity, &DECISION_INSTANCE)
}

/// A store where searches find nothing, and every key has a row with empty columns.
struct FakeStorage;

impl Storage for FakeStorage {
    fn query(
        &self,
        query: Query,
        _consistency: Consistency,
    ) -> skep_query::BoxFuture<'_, Result<(StoreAnswer, u64), QueryError>> {
        let answer = match query {
            // Rows to be deleted exist.
            Query::Search(search) if asks_for_an_evaluation(&search) => {
                StoreAnswer::Page(ResultPage {
                    rows: vec![vec![Default::default(); search.entity.fields.len()]],
                    total: 1,
                    ..ResultPage::default()
                })
            }
            Query::Search(_) => StoreAnswer::Page(ResultPage::default()),
            Query::Get { entity, .. } => {
                StoreAnswer::Row(Some(vec![Default::default(); entity.fields.len()]))
            }
            Query::Groups(groups) => StoreAnswer::Rows(vec![group(&groups)]),
            Query::SequenceFlows { .. }
            | Query::DefinitionStatistics { .. }
            | Query::ElementStatistics { .. } => StoreAnswer::Rows(Vec::new()),
        };
        Box::pin(async move { Ok((answer, 0)) })
    }
}

/// A running gateway on free ports.
pub struct Running {
    pub broker: Arc<FakeBroker>,
    pub metrics: Arc<GatewayMetrics>,
    pub rest: SocketAddr,
    pub grpc: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
}

pub async fn start() -> Running {
    start_with(|_| {}).await
}

pub async fn start_with(change: impl FnOnce(&mut GatewayConfig)) -> Running {
    start_over(Arc::new(FakeStorage), change).await
}

/// Starts a gateway in front of this store.
pub async fn start_over(
    storage: Arc<dyn Storage>,
    change: impl FnOnce(&mut GatewayConfig),
) -> Running {
    let mut config = GatewayConfig {
        rest_addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        grpc_addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        ..GatewayConfig::default()
    };
    change(&mut config);
    let broker = Arc::new(FakeBroker::default());
    let metrics = Arc::new(GatewayMetrics::new());
    let gateway = Gateway::bind(
        config,
        Arc::clone(&broker) as Arc<dyn Broker>,
        storage,
        Arc::new(documents::stores()),
        Arc::clone(&metrics),
    )
    .await
    .expect("no free port");
    let (stop, stopped) = oneshot::channel();
    let (rest, grpc) = (gateway.rest_addr(), gateway.grpc_addr());
    let served = tokio::spawn(gateway.serve(async {
        let _ = stopped.await;
    }));
    Running {
        broker,
        metrics,
        rest,
        grpc,
        stop: Some(stop),
        served,
    }
}

impl Running {
    /// Tells the gateway to stop.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    pub async fn stopped(self) {
        self.served.await.expect("the gateway panicked");
    }
}
