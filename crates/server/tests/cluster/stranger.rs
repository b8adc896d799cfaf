//! A program that reaches the port between nodes of a cluster without TLS, and sends what only members of its metadata group may say.

use std::sync::Mutex;

use bytes::Bytes;
use skep_cluster::{Entry, FIRST_GATEWAY, Layout, Left, Operation, State, member};
use skep_protocol::record::encode;
use skep_replication::Members;
use skep_transport::{Class, Config, Greeting, OLDEST_VERSION, Owner, PROTOCOL_VERSION, Transport};

use super::faults::Clients;
use super::lost_files::health;
use super::*;

/// The number that it gives itself: of no node of the cluster.
const NUMBER: u32 = 7;
/// More revisions than the cluster's state has had in such a short time.
const REVISIONS: u64 = 64;

/// Names itself a node, and takes the cluster id from whoever answers.
struct Stranger {
    cluster_id: Mutex<String>,
}

impl Owner for Stranger {
    fn greeting(&self) -> Greeting {
        let cluster_id = self.cluster_id.lock().unwrap().clone();
        Greeting {
            version: PROTOCOL_VERSION,
            formed: !cluster_id.is_empty(),
            cluster_id,
            node: NUMBER,
            incarnation: 1,
            address: String::new(),
            layout: skep_transport::Layout {
                size: SIZE as u32,
                replication_factor: SIZE as u32,
                partitions: 1,
            },
            members: Vec::new(),
            known: Vec::new(),
            oldest_version: OLDEST_VERSION,
        }
    }

    fn meets(&self, other: &Greeting) -> Result<(), String> {
        self.cluster_id
            .lock()
            .unwrap()
            .clone_from(&other.cluster_id);
        Ok(())
    }

    fn is_settled(&self) -> bool {
        false
    }

    fn expects(&self, _: u32) -> bool {
        true
    }

    fn received(self: &Arc<Self>, _: u32, _: Class, _: u32, _: Bytes) {}
}

async fn connect(nodes: &Nodes) -> (Arc<Stranger>, Transport) {
    let ports = nodes.ports.iter().take(SIZE);
    let config = Config {
        node: NUMBER,
        size: FIRST_GATEWAY,
        first_gateway: FIRST_GATEWAY,
        listen: "127.0.0.1:0".parse().unwrap(),
        contact_points: ports.map(|port| format!("127.0.0.1:{port}")).collect(),
        tls: None,
    };
    let stranger = Arc::new(Stranger {
        cluster_id: Mutex::default(),
    });
    let owner = stranger.clone();
    // It waits for a runtime of its own.
    let open = tokio::task::spawn_blocking(|| Transport::open(config, owner).unwrap());
    let transport = open.await.unwrap();
    eventually("all nodes to let it in", async || {
        let to = |node| transport.is_connected(node, Class::Requests);
        (0..SIZE as u32).all(to)
    })
    .await;
    (stranger, transport)
}

/// A message about the cluster: the kinds of messages by their numbers, see `NodeMessage` and `ClusterMessage` in the broker.
fn about_the_cluster(kind: u32, content: impl serde::Serialize) -> Bytes {
    const ABOUT_THE_CLUSTER: u32 = 17;
    encode(&(ABOUT_THE_CLUSTER, (kind, content))).into()
}

fn admit(own: u64, members: &[u8], state: &State) -> Bytes {
    about_the_cluster(0, (own, members.to_vec(), state.encode()))
}

fn join_replica(partition: u32, own: u64, members: &[u8]) -> Bytes {
    about_the_cluster(1, (partition, own, members.to_vec()))
}

fn propose(entry: &Entry) -> Bytes {
    about_the_cluster(2, entry.encode())
}

fn state_is(state: &State) -> Bytes {
    about_the_cluster(5, state.encode())
}

/// Everything that would give a cluster with this id another state, or a node another place in it.
fn lies(cluster_id: &str, node: u32) -> Vec<Bytes> {
    let layout = Layout {
        nodes: (0..SIZE as u32).collect(),
        copies: SIZE as u32,
        partitions: 1,
    };
    let mut known = State::bootstrapped(cluster_id.to_string(), &layout, 0);
    known.revision = 1_000_000;
    let mut removed = known.clone();
    removed.nodes.remove(&node);
    let mut without_copies = known.clone();
    for node in without_copies.nodes.values_mut() {
        node.partitions.clear();
    }
    let mut another_member = known;
    for node in another_member.nodes.values_mut() {
        node.generation += 1;
    }
    let own = member(node, 1);
    let mut members = Vec::new();
    Members::bootstrap(vec![own]).encode_into(&mut members);

    let mut lies = vec![propose(&Entry::Bootstrap(Box::new(removed.clone())))];
    for revision in 0..REVISIONS {
        lies.push(propose(&Entry::Begin {
            revision,
            operations: vec![Operation::UpdateIncarnationNumber],
            now: 0,
        }));
        lies.push(propose(&Entry::UnsafeRecovery {
            revision,
            state: Box::new(removed.clone()),
        }));
    }
    lies.push(join_replica(1, own, &members));
    lies.push(admit(own, &members, &another_member));
    lies.push(state_is(&without_copies));
    lies.push(state_is(&removed));
    lies
}

/// Reports that a step of a running change was carried out.
fn false_reports(change: u64, operation: &Operation) -> [Bytes; 2] {
    let (operation, now) = (operation.clone(), 0);
    let done = Entry::Done {
        change,
        operation: operation.clone(),
        now,
    };
    let left = Entry::Left {
        change,
        operation,
        left: Left::default(),
        now,
    };
    [propose(&done), propose(&left)]
}

/// The cluster as each node shows it.
fn shown(servers: &[Server]) -> Vec<String> {
    let show = |server: &Server| server.management("GET", CLUSTER).expect("an answer").1;
    servers.iter().map(show).collect()
}

/// Waits until the nodes have worked for a while.
async fn go_on(ledger: &Shared) {
    let wanted = ledger.created() + 200;
    eventually("work", async || ledger.created() > wanted).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_stranger_without_tls_changes_nothing_in_a_cluster_that_has_leaders() {
    let nodes = Nodes::new(1);
    let servers = nodes.all().await;
    nodes.are_formed().await;
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    for server in &servers {
        let level = r#"{"configuredLevel":"WARN"}"#;
        let set = server.manage("POST", "/actuator/loggers/skep_broker", level);
        assert!(matches!(set, Some((204, _))), "{set:?}");
    }
    let clients = Clients::start(servers.iter(), &ledger);
    go_on(&ledger).await;
    let before = shown(&servers);
    let (stranger, transport) = connect(&nodes).await;
    let cluster_id = stranger.cluster_id.lock().unwrap().clone();
    let tell = |node: u32, lies: &[Bytes]| {
        for lie in lies {
            transport.send(node, Class::Requests, lie.clone()).unwrap();
        }
    };
    for node in 0..SIZE as u32 {
        tell(node, &lies(&cluster_id, node));
    }
    eventually("all nodes to name it", async || {
        let named = |server: &Server| {
            let log = server.log();
            let mut lines = log.lines();
            lines.any(|line| line.contains("NODE_REFUSED") && line.contains("node=7"))
        };
        servers.iter().all(named)
    })
    .await;
    go_on(&ledger).await;
    assert_eq!(shown(&servers), before);

    // A change that waits for a node which does not come.
    change(&servers[0], "", r#"{"brokers":{"add":[3]}}"#);
    let begun = || -> bool {
        let shown = shown(&servers);
        shown.iter().all(|shown| shown.contains("pendingChange"))
    };
    eventually("the change to begin", async || begun()).await;
    let before = shown(&servers);
    let operation = Operation::BrokerAdd { broker_id: 3 };
    for node in 0..SIZE as u32 {
        tell(node, &false_reports(1, &operation));
    }
    go_on(&ledger).await;
    assert_eq!(shown(&servers), before);

    println!("without an answer for {:?}", clients.end().await);
    for (node, server) in servers.iter().enumerate() {
        assert_eq!(health(server), "HEALTHY");
        let partitions = nodes.directory(node).join("partitions");
        assert!(partitions.join("1/log").is_dir());
        assert!(!partitions.join("1.given-up").exists());
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
}
