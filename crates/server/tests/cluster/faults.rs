//! Networks cut in one or both directions, slow or failing disks, rolling restarts: under load, with the same ledger.

use std::collections::BTreeMap;

use skep_client::StreamJobs;
use skep_testbed::Proxy;

use super::*;
use skep_testkit::sandbox;

/// Connections from one node to another, one for each message class.
const CLASSES: usize = 3;

/// Three nodes that reach each other through proxies only, with TLS.
struct Net {
    nodes: Nodes,
    /// Proxies by source and destination.
    links: BTreeMap<(usize, usize), Proxy>,
}

impl Net {
    fn new() -> Net {
        let nodes = Nodes::new(1);
        let pairs = (0..SIZE).flat_map(|from| (0..SIZE).map(move |to| (from, to)));
        let links = pairs.filter(|(from, to)| from != to).map(|pair| {
            let proxy = Proxy::start(nodes.ports[pair.1], Duration::ZERO).unwrap();
            (pair, proxy)
        });
        let net = Net {
            links: links.collect(),
            nodes,
        };
        let names: Vec<String> = (0..SIZE).map(|node| node.to_string()).collect();
        secured::make_certificates(net.nodes.data.path(), "authority.pem", &names);
        net
    }

    fn path(&self, name: &str) -> PathBuf {
        self.nodes.data.path().join(name)
    }

    fn arguments(&self, node: usize) -> Vec<String> {
        let port = |to: usize| match self.links.get(&(node, to)) {
            Some(proxy) => proxy.port(),
            None => self.nodes.ports[to],
        };
        let points: Vec<String> = (0..SIZE)
            .map(|to| format!("127.0.0.1:{}", port(to)))
            .collect();
        let directory = self.nodes.data.path();
        let tls = secured::settings(directory, "authority.pem", &node.to_string());
        let mut arguments = self.nodes.arguments(node);
        for (name, value) in [
            (
                "camunda.cluster.initial-contact-points".to_string(),
                points.join(","),
            ),
            // Nobody listens on this port: others reach the node by their contact points alone.
            (
                "camunda.cluster.network.internal-api.advertised-port".to_string(),
                "1".to_string(),
            ),
        ]
        .into_iter()
        .chain(tls)
        {
            arguments.extend(["--set".to_string(), format!("{name}={value}")]);
        }
        arguments
    }

    async fn all(&self) -> Vec<Server> {
        let starting: Vec<_> = (0..SIZE)
            .map(|node| {
                let (directory, arguments) = (self.nodes.directory(node), self.arguments(node));
                let log = self.path(&format!("{node}.log"));
                tokio::spawn(async move { start(&directory, &arguments, log).await })
            })
            .collect();
        let mut servers = Vec::new();
        for server in starting {
            servers.push(server.await.unwrap());
        }
        self.let_each_go_its_own_way().await;
        servers
    }

    /// Waits until every node uses its own links. A node that has learned the address of a third one from another node connects over that
    /// node's link, until it queries its own contact point and reconnects.
    async fn let_each_go_its_own_way(&self) {
        eventually("each node to go its own way to each other", async || {
            let elsewhere = |link: &Proxy| link.connections() < CLASSES;
            if !self.links.values().any(elsewhere) {
                return true;
            }
            self.links.values().for_each(Proxy::cut);
            tokio::time::sleep(Duration::from_secs(1)).await;
            false
        })
        .await;
    }

    /// Holds back data in the direction of the cut, or releases it.
    fn hold(&self, victim: usize, cut: Cut, held: bool) {
        for ((from, to), link) in &self.links {
            let out = *from == victim && cut != Cut::In;
            let into = *to == victim && cut != Cut::Out;
            if out || into {
                link.hold(held);
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    Both,
    /// It receives messages from the others, but they receive none from it.
    Out,
    /// They receive its messages, but it receives none from them.
    In,
}

/// Clients that work on some of the servers.
pub struct Clients {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    gap: Arc<std::sync::Mutex<Gap>>,
    stop: Arc<AtomicBool>,
}

impl Clients {
    pub fn start<'s>(servers: impl Iterator<Item = &'s Server>, ledger: &Shared) -> Clients {
        let gap = Gap {
            last: Instant::now(),
            longest: Duration::ZERO,
        };
        let gap = Arc::new(std::sync::Mutex::new(gap));
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for server in servers {
            let (ledger, stop) = (ledger.clone(), stop.clone());
            let creating = create(server.client(), ledger.clone(), gap.clone(), stop.clone());
            tasks.push(tokio::spawn(creating));
            tasks.push(tokio::spawn(work(server.client(), ledger, stop)));
        }
        Clients { tasks, gap, stop }
    }

    /// Ends them; returns the longest time without any answer.
    pub async fn end(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.gap.lock().unwrap().longest
    }
}

pub fn others(servers: &[Server], victim: usize) -> impl Iterator<Item = &Server> {
    let servers = servers.iter().enumerate();
    servers
        .filter(move |(node, _)| *node != victim)
        .map(|s| s.1)
}

/// Waits until the others have their own leader and accept work.
pub async fn others_continue_without(servers: &[Server], victim: usize, ledger: &Shared) {
    let before = ledger.created();
    let client = others(servers, victim).next().unwrap().client();
    eventually("the others to go on", async || {
        let topology = client.topology().await.ok();
        let leader = topology.and_then(|t| leader_of(&t, 1));
        leader.is_some_and(|leader| leader != victim) && ledger.created() > before + 20
    })
    .await;
}

/// Waits until the node has recovered by itself.
pub async fn takes_work(server: &Server, ledger: &Shared) {
    let request = CreateInstance::latest("one-task");
    let client = server.client();
    eventually("the node to be back", async || {
        match client.create_instance(&request).await {
            Ok(instance) => {
                ledger.with(|ledger| ledger.created.insert(instance.process_instance_key))
            }
            Err(_) => false,
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn acknowledged_commands_survive_leaders_cut_off_in_one_or_both_directions() {
    let net = Net::new();
    let servers = net.all().await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let ledger = Shared::default();
    let cuts = [Cut::Both, Cut::Out, Cut::In];
    for n in 0..rounds().div_ceil(2) {
        let cut = cuts[n % cuts.len()];
        let victim = leader(&servers[n % SIZE]).await;
        let clients = Clients::start(others(&servers, victim), &ledger);
        tokio::time::sleep(Duration::from_millis(400)).await;
        net.hold(victim, cut, true);
        others_continue_without(&servers, victim, &ledger).await;
        net.hold(victim, cut, false);
        takes_work(&servers[victim], &ledger).await;
        println!("{cut:?}: without an answer for {:?}", clients.end().await);
    }
    for server in &servers {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
    println!("{} acknowledged instances, nothing lost", ledger.created());
}

/// A connection has one direction, and both ends forget what they were told over it.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_job_stream_gets_jobs_after_connections_in_one_direction_broke() {
    let net = Net::new();
    let servers = net.all().await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let leads = leader(&servers[1]).await;
    let at = (leads + 1) % SIZE;
    let client = servers[at].client();
    let request = StreamJobs {
        // A job that was on the way comes again soon.
        timeout: Duration::from_secs(2),
        ..StreamJobs::new("work")
    };
    let mut stream = client.stream_jobs(&request).await.unwrap();
    for way in [(leads, at), (at, leads), (leads, at), (at, leads)] {
        let link = &net.links[&way];
        link.cut();
        // They come back too fast to be seen gone.
        tokio::time::sleep(Duration::from_millis(300)).await;
        eventually("the connections to be back", async || {
            link.connections() == CLASSES
        })
        .await;
        let mut created = None;
        eventually("an instance", async || {
            let one = CreateInstance::latest("one-task");
            let instance = client.create_instance(&one).await;
            created = instance.ok().map(|it| it.process_instance_key);
            created.is_some()
        })
        .await;
        loop {
            let job = tokio::time::timeout(support::PATIENCE, stream.next()).await;
            let job = job.expect("a job").unwrap().expect("the stream goes on");
            let is_it = Some(job.process_instance_key) == created;
            let completed = client.complete_job(job.key, None).await;
            if is_it && completed.is_ok() {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_leader_that_is_paused_for_half_a_minute_follows_when_it_is_back() {
    let nodes = Nodes::new(1);
    let servers = nodes.all().await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let ledger = Shared::default();
    let victim = leader(&servers[1]).await;
    // Clients of the leader wait for it: the outcome of their requests is unknown.
    let waiting = Clients::start(std::iter::once(&servers[victim]), &ledger);
    let clients = Clients::start(others(&servers, victim), &ledger);
    let before = ledger.created();
    eventually("work", async || ledger.created() > before + 50).await;
    servers[victim].stop();
    others_continue_without(&servers, victim, &ledger).await;
    // The duration of the fault; it has no influence on the result.
    tokio::time::sleep(Duration::from_secs(30)).await;
    servers[victim].resume();
    takes_work(&servers[victim], &ledger).await;
    println!("without an answer for {:?}", clients.end().await);
    waiting.end().await;
    for server in &servers {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
    println!("{} acknowledged instances, nothing lost", ledger.created());
}

/// Starts a node with faults injected into a system call, as `strace` specifies.
async fn start_disturbed(nodes: &Nodes, node: usize, call: &str, injection: &str) -> Server {
    let (trace, inject) = (
        format!("trace={call}"),
        format!("inject={call}:{injection}"),
    );
    let wrapper = [
        "strace",
        "-D",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "--seccomp-bpf",
        "-e",
        &trace,
        "-e",
        &inject,
    ];
    let (directory, arguments) = (nodes.directory(node), nodes.arguments(node));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let start = Start::new(&directory, &arguments).through(&wrapper);
    let log = nodes.data.path().join(format!("{node}.log"));
    start.log_to(log).ready().await
}

/// Expected effect on the partition of a leader with a faulty disk.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    GoesOn,
    /// Another node leads, and these words are in its log.
    IsReplaced(&'static str),
}

/// A node gets a faulty disk and leadership: the others take over if it cannot continue, and nothing is lost. Returns the longest time
/// without any answer.
async fn with_a_disk(injection: &str, then: Then) -> Duration {
    let nodes = Nodes::new(1);
    let mut servers = nodes.all().await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let ledger = Shared::default();
    servers[0].terminate();
    servers[0] = start_disturbed(&nodes, 0, "fdatasync", injection).await;
    let clients = Clients::start(others(&servers, 0), &ledger);
    // Leadership belongs to the first replica, which is this one.
    let says = |words| servers[0].log().contains(words);
    eventually("the node to lead, or to have given up", async || {
        servers[1].management("POST", "/actuator/rebalance");
        let gave_up = matches!(then, Then::IsReplaced(words) if says(words));
        gave_up || leader(&servers[1]).await == 0
    })
    .await;
    match then {
        Then::IsReplaced(words) => {
            eventually("it to give up", async || says(words)).await;
            others_continue_without(&servers, 0, &ledger).await;
        }
        Then::GoesOn => {
            let before = ledger.created();
            eventually("work to go on", async || ledger.created() > before + 20).await;
        }
    }
    let gap = clients.end().await;
    println!("{injection}: without an answer for {gap:?}");
    servers[0].kill();
    servers[0] = nodes.start(0).await.unwrap();
    takes_work(&servers[0], &ledger).await;
    for server in &servers {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
    gap
}

#[test]
fn a_slow_disk_of_the_leader_loses_nothing() {
    sandbox::run(
        "faults::a_slow_disk_of_the_leader_loses_nothing",
        |_| async {
            require_strace();
            with_a_disk("delay_exit=30000", Then::GoesOn).await;
        },
    );
}

#[test]
fn a_failing_disk_of_the_leader_lets_others_lead() {
    sandbox::run(
        "faults::a_failing_disk_of_the_leader_lets_others_lead",
        |_| async {
            require_strace();
            with_a_disk("error=EIO:when=40+", Then::IsReplaced("partition stops")).await;
        },
    );
}

#[test]
fn a_flush_of_the_leader_that_hangs_lets_others_lead() {
    sandbox::run(
        "faults::a_flush_of_the_leader_that_hangs_lets_others_lead",
        |_| async {
            require_strace();
            let hangs = Duration::from_secs(30);
            // Occasionally in each thread.
            let injection = format!("delay_exit={}:when=40+200", hangs.as_micros());
            let gap = with_a_disk(
                &injection,
                Then::IsReplaced("disk of the log does not respond"),
            )
            .await;
            assert!(gap < hangs, "{gap:?}");
        },
    );
}

fn require_strace() {
    let inject = "inject=fsync:error=EIO:when=1";
    sandbox::require("strace", &["-D", "-f", "-e", inject, "true"]);
}

/// Results of a client that sends requests to any node.
#[derive(Default)]
struct Met {
    /// Duration of each creation, including retries.
    took: Vec<Duration>,
    /// Number of refusals which say that nothing was done.
    again: usize,
    /// Requests with unknown outcome, which a client does not repeat by itself.
    unknown: Vec<String>,
}

async fn create_anywhere(
    clients: Arc<std::sync::Mutex<Vec<Client>>>,
    ledger: Shared,
    stop: Arc<AtomicBool>,
    first: usize,
) -> Met {
    let request = CreateInstance::latest("one-task");
    let (mut met, mut at) = (Met::default(), first);
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        loop {
            let client = clients.lock().unwrap()[at % SIZE].clone();
            match client.create_instance(&request).await {
                Ok(instance) => {
                    let key = instance.process_instance_key;
                    assert!(ledger.with(|ledger| ledger.created.insert(key)));
                    met.took.push(began.elapsed());
                    break;
                }
                Err(error) if error.is_retryable() => met.again += 1,
                Err(error) if error.is_ambiguous() => {
                    met.unknown.push(error.to_string());
                    break;
                }
                Err(error) => panic!("refused: {error}"),
            }
            at += 1;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    met
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn nodes_are_restarted_one_by_one_under_load() {
    let nodes = Nodes::new(3);
    let mut servers = nodes.all().await;
    ledger::deploy_one_task(&servers[1].client()).await;
    let ledger = Shared::default();
    let stop = Arc::new(AtomicBool::new(false));
    let clients = servers.iter().map(Server::client).collect();
    let clients: Arc<std::sync::Mutex<Vec<Client>>> = Arc::new(std::sync::Mutex::new(clients));
    let creating: Vec<_> = (0..SIZE)
        .map(|n| {
            let (clients, ledger, stop) = (clients.clone(), ledger.clone(), stop.clone());
            tokio::spawn(create_anywhere(clients, ledger, stop, n))
        })
        .collect();
    for node in 0..SIZE {
        let before = ledger.created();
        eventually("work", async || ledger.created() > before + 30).await;
        let mut server = servers.remove(node);
        let ended = tokio::task::spawn_blocking(move || server.terminate());
        assert_eq!(ended.await.unwrap(), Some(0));
        servers.insert(node, nodes.start(node).await.unwrap());
        clients.lock().unwrap()[node] = servers[node].client();
    }
    stop.store(true, Ordering::Relaxed);
    let mut met = Met::default();
    for one in creating {
        let one = one.await.unwrap();
        met.took.extend(one.took);
        met.again += one.again;
        met.unknown.extend(one.unknown);
    }
    met.took.sort();
    let p99 = met.took[met.took.len() * 99 / 100];
    println!(
        "{} instances created, p99 {p99:?}, longest {:?}; {} times sent again, {} outcomes unknown: {:?}",
        met.took.len(),
        met.took.last().unwrap(),
        met.again,
        met.unknown.len(),
        met.unknown
    );
    assert!(met.unknown.is_empty(), "{:?}", met.unknown);
    for server in &servers {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
}
