//! Three nodes of one cluster in one process, over real connections: any node accepts any request, and acknowledged work survives the loss
//! of the leader.

mod changes;
mod damaged;
mod exporters;
mod failed;
mod first_rows;
mod identity;
mod leaders;
mod lost;
mod measured;
mod moments;
mod pulses;
mod purge;
mod questions;
mod reads;
mod scaling;
mod shared_stores;
mod slots;
mod stores;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod work;

use skep_protocol::origin::Claims;
use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use skep_broker::backup::BackupConfig;
use skep_broker::clock::Clock;
use skep_broker::partition::Report;
use skep_broker::partition::Secondary;
use skep_broker::{Broker, BrokerConfig, ClusterConfig, OpenError, REBALANCE_PACE};
use skep_exporting::ExporterConfig;
use skep_model::builder::Bpmn;
use skep_protocol::command::{ActivateJobs, AwaitResult, Command, Request};
use skep_protocol::{ActivatedJob, Failure, Key, Response};
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{Answer, Consistency, Query, QueryError, Search, Storage};
use skep_secondary::{Documents, DocumentsSettings, Rdbms, RdbmsSettings, StoreLocation};
use skep_service::{Broker as _, JobReceiver, PartitionRole};
use skep_testbed::Proxy;
use support::{PATIENCE, Rig, create, jobs, one_task, publish};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(180);

struct Nodes {
    ports: Vec<SocketAddr>,
    directories: Vec<Arc<TempDir>>,
    partitions: u32,
    /// Number of nodes that bootstrap the cluster.
    initial_nodes: u32,
    /// Copies of each partition; `None`: one per initial node.
    copies: Option<u32>,
    /// Secondary storage of each node.
    store: fn(&Nodes) -> skep_secondary::Config,
    database: Option<&'static skep_testbed::Postgres>,
    search_server: Option<&'static skep_testbed::SearchServer>,
    prefix: String,
    exporters: Vec<ExporterConfig>,
    /// Interval after which a partition repeats commands that another one has not acknowledged.
    retry_interval: Duration,
    backup: Option<BackupConfig>,
    rebalance_pace: Duration,
    /// Proxies from one node to another. If there are any, they are the only connections.
    links: BTreeMap<(usize, usize), Proxy>,
}

/// In a shared database.
fn in_database(nodes: &Nodes) -> skep_secondary::Config {
    let Some(server) = nodes.database else {
        return skep_secondary::Config::default();
    };
    let settings = RdbmsSettings {
        url: server.url(),
        username: Some("skep".to_string()),
        password: Some("secret".to_string()),
        prefix: nodes.prefix.clone(),
        auto_ddl: true,
        tenants: false,
    };
    skep_secondary::Config {
        location: StoreLocation::Rdbms(Arc::new(Rdbms::new(&settings).unwrap())),
        max_wait: DEADLINE,
        ..skep_secondary::Config::default()
    }
}

/// In indices of a shared search server.
fn in_indices(nodes: &Nodes) -> skep_secondary::Config {
    let Some(server) = nodes.search_server else {
        return skep_secondary::Config::default();
    };
    let mut settings = DocumentsSettings::new("opensearch");
    settings.urls = vec![server.url()];
    settings.index_prefix = nodes.prefix.clone();
    skep_secondary::Config {
        location: StoreLocation::Documents(Arc::new(Documents::new(settings).unwrap())),
        max_wait: DEADLINE,
        ..skep_secondary::Config::default()
    }
}

impl Nodes {
    fn new(size: usize, partitions: u32) -> Nodes {
        let ports = skep_testbed::free_ports(size).unwrap();
        Nodes {
            ports: ports
                .iter()
                .map(|port| (Ipv4Addr::LOCALHOST, *port).into())
                .collect(),
            directories: ports
                .iter()
                .map(|_| Arc::new(tempfile::tempdir().unwrap()))
                .collect(),
            partitions,
            initial_nodes: size as u32,
            copies: None,
            store: |_| skep_secondary::Config::default(),
            database: None,
            search_server: None,
            prefix: String::new(),
            exporters: Vec::new(),
            retry_interval: Duration::from_millis(100),
            backup: None,
            rebalance_pace: REBALANCE_PACE,
            links: BTreeMap::new(),
        }
    }

    /// With rows in a shared database. `None`: there is no PostgreSQL here.
    fn with_database(self) -> Option<Nodes> {
        let server = skep_testbed::shared_postgres()?;
        Some(Nodes {
            store: in_database,
            database: Some(server),
            prefix: server.prefix(),
            ..self
        })
    }

    /// With rows in a shared search server. `None`: there is none here.
    fn with_search_server(self) -> Option<Nodes> {
        let server = skep_testbed::shared_search_server(skep_testbed::Product::OpenSearch)?;
        Some(Nodes {
            store: in_indices,
            search_server: Some(server),
            prefix: server.prefix(),
            ..self
        })
    }

    /// Nodes connected by links that can be cut.
    fn linked(size: usize, partitions: u32) -> Nodes {
        let mut nodes = Nodes::new(size, partitions);
        let pairs = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
        for (from, to) in pairs.filter(|(from, to)| from != to) {
            let link = Proxy::start(nodes.ports[to].port(), Duration::ZERO).unwrap();
            nodes.links.insert((from, to), link);
        }
        nodes
    }

    fn address(&self, from: usize, to: usize) -> String {
        match self.links.get(&(from, to)) {
            Some(link) => format!("127.0.0.1:{}", link.port()),
            None => self.ports[to].to_string(),
        }
    }

    fn config(&self, node: usize) -> BrokerConfig {
        let size = self.initial_nodes;
        BrokerConfig {
            node_id: node as u32,
            partitions: self.partitions,
            directory: self.directories[node].path().to_path_buf(),
            check_interval: Duration::from_millis(20),
            retry_interval: self.retry_interval,
            export_interval: Duration::from_millis(100),
            secondary_storage: Some((self.store)(self)),
            exporters: self.exporters.clone(),
            backup: self.backup.clone(),
            cluster: Some(ClusterConfig {
                gateway: false,
                size,
                replication_factor: self.copies.unwrap_or(size),
                listen: self.ports[node],
                // With links no node is reachable at this address: others connect by their contact points alone.
                advertised: if self.links.is_empty() {
                    self.ports[node].to_string()
                } else {
                    "127.0.0.1:1".to_string()
                },
                contact_points: (0..self.ports.len())
                    .map(|to| self.address(node, to))
                    .collect(),
                election_timeout: Duration::from_millis(1500),
                rebalance_pace: self.rebalance_pace,
                tls: None,
            }),
            ..BrokerConfig::default()
        }
    }

    fn opening(&self, node: usize) -> std::thread::JoinHandle<Result<Arc<Broker>, OpenError>> {
        let config = self.config(node);
        std::thread::spawn(move || Broker::open(config, Arc::new(Clock::default())))
    }

    async fn open(&self, node: usize) -> Rig {
        let opening = self.opening(node);
        self.rig(node, opening).await
    }

    async fn rig(
        &self,
        node: usize,
        opening: std::thread::JoinHandle<Result<Arc<Broker>, OpenError>>,
    ) -> Rig {
        wait_until("the node to open", || opening.is_finished()).await;
        Rig {
            broker: opening.join().unwrap().unwrap(),
            clock: Arc::default(),
            directory: self.directories[node].clone(),
        }
    }

    /// Starts all of them at about the same time, and waits for a leader of every partition.
    async fn all(&self) -> Vec<Rig> {
        let opening: Vec<_> = (0..self.initial_nodes as usize)
            .map(|node| self.opening(node))
            .collect();
        let mut rigs = Vec::new();
        for (node, opening) in opening.into_iter().enumerate() {
            rigs.push(self.rig(node, opening).await);
        }
        for rig in &rigs {
            wait_until("leaders", || knows_all_leaders(rig)).await;
        }
        rigs
    }
}

async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "waited for {what} in vain");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether every partition is led by a node that this one reaches.
fn knows_all_leaders(rig: &Rig) -> bool {
    let topology = rig.broker.topology();
    (1..=topology.partitions_count).all(|partition| leader(&topology, partition).is_some())
}

/// Whether the node reaches no other, and its replica of partition 1 has no leader any more.
fn is_alone(rig: &Rig) -> bool {
    let leader = rig.broker.partitions()[0].status.leader();
    leader.is_none() && rig.broker.topology().brokers.len() == 1
}

async fn expect_no_quorum(rig: &Rig) {
    let refused = rig.create("one-task", "{}").await;
    assert!(
        matches!(&refused, Err(Failure::Unavailable(why)) if why.contains("only 1 of 3 nodes can be reached")),
        "{refused:?}"
    );
}

/// Whether the node's own replicas know their leaders.
fn reaches_all_leaders(rig: &Rig) -> bool {
    let mut partitions = rig.broker.partitions().into_iter();
    partitions.all(|partition| partition.status.leader().is_some())
}

fn leader(topology: &skep_service::Topology, partition: u32) -> Option<usize> {
    let leads = |broker: &&skep_service::BrokerInfo| {
        let mut partitions = broker.partitions.iter();
        partitions.any(|p| p.partition_id == partition && p.role == PartitionRole::Leader)
    };
    let broker = topology.brokers.iter().find(leads)?;
    usize::try_from(broker.node_id).ok()
}

async fn stop(rig: Rig) {
    let broker = rig.broker.clone();
    tokio::task::spawn_blocking(move || broker.stop())
        .await
        .unwrap();
}

/// Sends the command until it is accepted: only refusals which say that nothing was done are retried.
async fn insist(rig: &Rig, command: Command) -> Result<Response, Failure> {
    let began = Instant::now();
    loop {
        match rig.send(command.clone()).await {
            Err(Failure::Unavailable(_)) if began.elapsed() < DEADLINE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other,
        }
    }
}

/// Asserts that each of these instances exists, by its job.
async fn all_are_there(rig: &Rig, mut created: HashSet<Key>) {
    let began = Instant::now();
    while !created.is_empty() {
        let left = created.len();
        assert!(began.elapsed() < DEADLINE, "{left} instances are lost");
        let found =
            rig.broker
                .activate_jobs(jobs(100), Claims::Internal, Duration::from_millis(50));
        for job in found.await.unwrap_or_default() {
            created.remove(&job.process_instance_key);
        }
    }
}

/// Creates exactly one instance.
async fn new_one(rig: &Rig) -> Key {
    match insist(rig, create("one-task", "{}", None)).await {
        Ok(Response::ProcessInstanceCreated(new)) => new.process_instance_key,
        other => panic!("{other:?}"),
    }
}

/// Creates an instance that exists for certain. There may be a second one: on a busy machine a leader that is not heard is replaced.
async fn create_one(rig: &Rig) -> Key {
    let began = Instant::now();
    loop {
        match insist(rig, create("one-task", "{}", None)).await {
            Ok(Response::ProcessInstanceCreated(new)) => return new.process_instance_key,
            Err(Failure::Aborted(_)) if began.elapsed() < DEADLINE => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn next(stream: &mut Box<dyn JobReceiver>) -> Option<ActivatedJob> {
    let job = std::future::poll_fn(|cx| stream.poll_recv(cx));
    tokio::time::timeout(DEADLINE, job).await.expect("a job")
}

#[tokio::test(flavor = "multi_thread")]
async fn any_node_takes_any_request() {
    let nodes = Nodes::new(3, 3);
    let rigs = nodes.all().await;
    rigs[1].deploy(&one_task()).await;
    let mut created = HashSet::new();
    for n in 0..9 {
        created.insert(new_one(&rigs[n % 3]).await);
    }
    let partitions: HashSet<_> = created.iter().filter_map(|key| key.partition()).collect();
    assert_eq!(partitions, HashSet::from([1, 2, 3]));
    let mut done = HashSet::new();
    for rig in rigs.iter().cycle() {
        if done.len() == created.len() {
            break;
        }
        for job in rig.activate(2, Duration::from_secs(5)).await {
            rig.complete(job.key).await.unwrap();
            assert!(
                done.insert(job.process_instance_key),
                "a job was given out twice"
            );
        }
    }
    assert_eq!(done, created);
    let again = rigs[2].complete(Key::new(1, 999)).await;
    assert!(matches!(again, Err(Failure::Rejected(_))), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_instance_is_found_at_once_on_the_same_node() {
    let nodes = Nodes::new(3, 2);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    for n in 0..12 {
        let rig = &rigs[n % 3];
        let key = new_one(rig).await;
        let query = Query::Get {
            entity: &PROCESS_INSTANCE,
            key,
        };
        let answer = rig.broker.query(query, Consistency::ReadYourWrites).await;
        assert!(
            matches!(answer, Ok((Answer::Row(Some(_)), 0))),
            "{answer:?}"
        );
    }
    let all = Query::Search(Search::all(&PROCESS_INSTANCE, Vec::new(), 100));
    for rig in &rigs {
        // Another node may learn of it a little later.
        let began = Instant::now();
        loop {
            let found = rig
                .broker
                .query(all.clone(), Consistency::ReadYourWrites)
                .await;
            let Ok((Answer::Page(found), _)) = found else {
                panic!("{found:?}");
            };
            if found.rows.len() == 12 {
                break;
            }
            assert!(
                began.elapsed() < DEADLINE,
                "only {} are found",
                found.rows.len()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_results_and_waiting_workers_cross_nodes() {
    let nodes = Nodes::new(3, 3);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let waits = Bpmn::process("waits")
        .start("s")
        .catch_message("m", "paid", "=order")
        .end("e");
    rigs[2].deploy(&waits).await;
    for n in 0..6 {
        let variables = format!(r#"{{"order":"o-{n}"}}"#);
        let all = AwaitResult {
            fetch_variables: vec![],
        };
        let asked =
            rigs[n % 3]
                .broker
                .execute(Request::internal(create("waits", &variables, Some(all))));
        let publisher = &rigs[(n + 1) % 3];
        publisher
            .send(publish("paid", &format!("o-{n}"), r#"{"sum":7}"#))
            .await
            .unwrap();
        let result = tokio::time::timeout(DEADLINE, asked).await.unwrap().result;
        assert!(
            matches!(&result, Ok(Response::ProcessInstanceResult { variables, .. }) if variables.contains("sum")),
            "{result:?}"
        );
    }
    // A worker waits on one node, jobs are created on others.
    for n in 0..3 {
        let broker = rigs[n].broker.clone();
        let waiting = tokio::spawn(async move {
            broker
                .activate_jobs(jobs(1), Claims::Internal, DEADLINE)
                .await
        });
        let key = new_one(&rigs[(n + 1) % 3]).await;
        let found = waiting.await.unwrap().unwrap();
        assert_eq!(found[0].process_instance_key, key);
        rigs[(n + 2) % 3].complete(found[0].key).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_stream_gets_the_jobs_of_all_nodes_within_its_credit() {
    let nodes = Nodes::new(3, 3);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut stream = rigs[1].broker.open_job_stream(jobs(6), Claims::Internal);
    let mut created = HashSet::new();
    for n in 0..60 {
        created.insert(new_one(&rigs[n % 3]).await);
    }
    let mut got = HashSet::new();
    while got.len() < created.len() {
        let job = next(&mut stream).await.unwrap();
        assert!(
            got.insert(job.process_instance_key),
            "a job was pushed twice"
        );
        rigs[got.len() % 3].complete(job.key).await.unwrap();
    }
    assert_eq!(got, created);
    // Jobs pushed but not received when the client disconnects are offered to others at once.
    for n in 0..6 {
        new_one(&rigs[n % 3]).await;
    }
    wait_until("jobs to be pushed", || activated(&rigs) >= 2).await;
    drop(stream);
    let mut left = 0;
    let began = Instant::now();
    while left < 6 {
        assert!(began.elapsed() < DEADLINE, "only {left} jobs came back");
        left += rigs[0].activate(6, Duration::from_millis(100)).await.len();
    }
}

fn activated(rigs: &[Rig]) -> usize {
    let leading = rigs.iter().flat_map(|rig| rig.broker.partitions());
    let leading = leading.filter(|p| p.status.role() == PartitionRole::Leader);
    let activated = leading.map(|p| p.status.jobs.activated.load(Ordering::Relaxed));
    activated.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credit_of_a_stream_moves_to_the_node_that_has_jobs() {
    let nodes = Nodes::new(3, 1);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    // The client's node may be the leader or one of the two others.
    for rig in &rigs {
        let mut stream = rig.broker.open_job_stream(jobs(30), Claims::Internal);
        let mut created = HashSet::new();
        for _ in 0..40 {
            created.insert(new_one(rig).await);
        }
        // Each of the other nodes keeps a credit of one, though no jobs are created there.
        wait_until("credit to move", || activated(&rigs) == 28).await;
        for _ in 0..40 {
            let job = next(&mut stream).await.unwrap();
            assert!(created.remove(&job.process_instance_key));
            rig.complete(job.key).await.unwrap();
        }
        wait_until("all jobs to end", || activated(&rigs) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stops_is_replaced_and_comes_back() {
    let nodes = Nodes::new(3, 3);
    let mut rigs: Vec<Option<Rig>> = nodes.all().await.into_iter().map(Some).collect();
    rigs[0].as_ref().unwrap().deploy(&one_task()).await;
    let mut created = HashSet::new();
    for round in 0..3 {
        let gone = rigs[round].take().unwrap();
        stop(gone).await;
        let others: Vec<&Rig> = rigs.iter().flatten().collect();
        for n in 0..10 {
            let answer = insist(others[n % 2], create("one-task", "{}", None)).await;
            let Ok(Response::ProcessInstanceCreated(new)) = answer else {
                panic!("{answer:?}");
            };
            created.insert(new.process_instance_key);
        }
        let back = nodes.open(round).await;
        wait_until("the node to know the leaders", || knows_all_leaders(&back)).await;
        rigs[round] = Some(back);
    }
    let rigs: Vec<Rig> = rigs.into_iter().flatten().collect();
    wait_until("leaders", || rigs.iter().all(reaches_all_leaders)).await;
    let mut done = HashSet::new();
    let began = Instant::now();
    while done.len() < created.len() {
        assert!(
            began.elapsed() < DEADLINE,
            "{} of {}",
            done.len(),
            created.len()
        );
        for job in rigs[done.len() % 3]
            .activate(5, Duration::from_millis(50))
            .await
        {
            insist(
                &rigs[1],
                Command::CompleteJob {
                    job_key: job.key,
                    variables: skep_protocol::Document::new(),
                    result: None,
                },
            )
            .await
            .unwrap();
            assert!(
                done.insert(job.process_instance_key),
                "a job was given out twice"
            );
        }
    }
    assert_eq!(done, created);
}

/// There is no other node from which to learn how the cluster was bootstrapped.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_stopped_during_the_bootstrap_finish_it_later() {
    let nodes = Nodes::new(3, 3);
    for rig in nodes.all().await {
        stop(rig).await;
    }
    for directory in &nodes.directories {
        // The rest is kept: the member id and the cluster id. The node had not taken part in anything.
        let own = directory.path().join("cluster-state");
        std::fs::remove_file(directory.path().join("replicas/cluster-state")).unwrap();
        std::fs::remove_file(own.join("state")).unwrap();
        std::fs::remove_dir_all(own.join("log")).unwrap();
        assert!(own.join("replica").exists());
    }
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    new_one(&rigs[1]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_commands_are_refused_at_once_with_the_cause() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let left = rigs.pop().unwrap();
    for rig in rigs {
        stop(rig).await;
    }
    wait_until("no other node", || is_alone(&left)).await;
    let asked = Instant::now();
    expect_no_quorum(&left).await;
    assert!(asked.elapsed() < Duration::from_secs(5));
    // Nobody confirms its users and permissions, until a leader is heard again.
    let is_old = |rig: &Rig| rig.broker.directory_age() > Duration::from_secs(1);
    wait_until("an old directory", || is_old(&left)).await;
    let back = nodes.open(0).await;
    let answer = insist(&left, create("one-task", "{}", None)).await;
    assert!(
        matches!(answer, Ok(Response::ProcessInstanceCreated(_))),
        "{answer:?}"
    );
    wait_until("a confirmed directory", || !is_old(&left)).await;
    drop(back);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_move_to_their_first_replicas_and_no_command_is_lost_or_in_doubt() {
    let nodes = Nodes::new(3, 3);
    let rigs = Arc::new(nodes.all().await);
    rigs[0].deploy(&one_task()).await;
    let done = Arc::new(AtomicBool::new(false));
    let creating = (0..3).map(|node| {
        let (rigs, done) = (rigs.clone(), done.clone());
        tokio::spawn(async move {
            let mut created = Vec::new();
            while !done.load(Ordering::Relaxed) {
                match insist(&rigs[node], create("one-task", "{}", None)).await {
                    Ok(Response::ProcessInstanceCreated(new)) => {
                        created.push(new.process_instance_key)
                    }
                    other => panic!("{other:?}"),
                }
            }
            created
        })
    });
    let creating: Vec<_> = creating.collect();
    let in_place = |rig: &Rig| {
        let topology = rig.broker.topology();
        (1..=3).all(|partition| leader(&topology, partition) == Some(partition as usize - 1))
    };
    let began = Instant::now();
    while !rigs.iter().all(in_place) {
        assert!(
            began.elapsed() < DEADLINE,
            "{:?}",
            rigs[0].broker.topology()
        );
        rigs[1].broker.cluster().unwrap().rebalance();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    done.store(true, Ordering::Relaxed);
    let mut left = HashSet::new();
    for created in creating {
        left.extend(created.await.unwrap());
    }
    all_are_there(&rigs[2], left).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_belongs_to_its_node() {
    let nodes = Nodes::new(2, 1);
    for rig in nodes.all().await {
        stop(rig).await;
    }
    let mut config = nodes.config(0);
    config.directory = nodes.directories[1].path().to_path_buf();
    let clock = || Arc::new(Clock::default());
    let refused = Broker::open(config, clock()).err().unwrap().to_string();
    assert!(
        refused.contains("belongs to node 1") && refused.contains("this is node 0"),
        "{refused}"
    );
    let mut alone = nodes.config(0);
    alone.cluster = None;
    let refused = Broker::open(alone, clock()).err().unwrap().to_string();
    assert!(refused.contains("this is a single node"), "{refused}");
}
