//! Clients of gateways: `skep serve --role gateway` in front of three brokers.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use skep_client::StreamJobs;

use super::faults::Clients;
use super::*;

impl Nodes {
    /// Starts a gateway with this number and its own port, in a thread, as it blocks: it waits for a cluster.
    pub fn gateway(&self, number: usize) -> tokio::task::JoinHandle<Server> {
        let points: Vec<String> = self
            .ports
            .iter()
            .take(SIZE)
            .map(|p| format!("127.0.0.1:{p}"))
            .collect();
        let points = format!(
            "camunda.cluster.initial-contact-points={}",
            points.join(",")
        );
        let port = skep_testbed::free_port().unwrap();
        let (id, port) = (
            format!("camunda.cluster.node-id={number}"),
            format!("camunda.cluster.network.internal-api.port={port}"),
        );
        let arguments = [
            "--role", "gateway", "--set", &id, "--set", &points, "--set", &port,
        ];
        let arguments = arguments.iter().map(ToString::to_string);
        let arguments: Vec<String> = arguments.chain(self.more.iter().cloned()).collect();
        let directory = self.data.path().join("nothing");
        let log = self.data.path().join(format!("gateway-{number}.log"));
        tokio::spawn(async move {
            let server = start(&directory, &arguments, log).await;
            assert!(!directory.exists(), "a gateway writes nothing");
            server
        })
    }
}

/// Completes jobs from a stream.
async fn work_by_stream(client: Client, ledger: Shared, stop: Arc<AtomicBool>) {
    let request = StreamJobs {
        timeout: Duration::from_secs(2),
        ..StreamJobs::new("work")
    };
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut stream) = client.stream_jobs(&request).await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // The stream ends with the gateway. The time-out allows for regular checks.
        while let Ok(Ok(Some(job))) =
            tokio::time::timeout(Duration::from_millis(500), stream.next()).await
        {
            ledger.with(|ledger| ledger.instance_of.insert(job.key, job.process_instance_key));
            if client.complete_job(job.key, None).await.is_ok() {
                ledger.with(|ledger| ledger.complete(&job));
            }
        }
    }
}

/// Answer to a search on the REST port.
fn search(server: &Server, path: &str) -> Option<Value> {
    let (status, body) = server.ask(server.rest, "POST", path, "{}")?;
    (status == 200).then(|| serde_json::from_str(&body).unwrap_or_default())
}

/// Waits until the gateway shows the measurements of all brokers.
async fn shows_the_measurements_of_brokers(gateway: &Server) {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let (_, history) = gateway
            .ask(gateway.rest, "GET", "/skep/v1/monitor", "")
            .unwrap();
        let history: Value = serde_json::from_str(&history).unwrap();
        let series = history["series"].as_array().unwrap().iter();
        let measured = |one: &&Value| {
            let mut points = one["points"].as_array().into_iter().flatten();
            one["name"] == "state.bytes" && points.any(|point| !point.is_null())
        };
        let nodes: BTreeSet<u64> = series
            .filter(measured)
            .filter_map(|one| one["node"].as_u64())
            .collect();
        if nodes == BTreeSet::from([0, 1, 2]) {
            assert_eq!(
                (&history["missing"], &history["stepMs"]),
                (&json!([]), &json!(5_000))
            );
            return;
        }
        assert!(Instant::now() < patience, "{nodes:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// All operations of clients work on a gateway, which has no data.
async fn serves_as_a_broker_does(gateway: &Server) {
    let client = gateway.client();
    let topology = client.topology().await.unwrap();
    let nodes: Vec<i32> = topology.brokers.iter().map(|b| b.node_id).collect();
    assert_eq!((nodes, topology.cluster_size), (vec![0, 1, 2], 3));
    let (status, health) = gateway.management("GET", "/actuator/health").unwrap();
    assert!(
        status == 200 && health.contains("gatewayPartitionLeaderAwareness"),
        "{health}"
    );
    let (status, cluster) = gateway.management("GET", CLUSTER).unwrap();
    let cluster: Value = serde_json::from_str(&cluster).unwrap();
    assert_eq!(
        (status, cluster["brokers"].as_array().unwrap().len()),
        (200, 3)
    );
    // A client may wait across nodes for the end of an instance.
    let waiting = gateway.client();
    let waiting = tokio::spawn(async move {
        let request = CreateInstance::latest("one-task");
        let patience = Duration::from_secs(60);
        waiting
            .create_instance_with_result(&request, patience, &[])
            .await
    });
    let request = ActivateJobs {
        long_poll: Some(Duration::from_secs(60)),
        ..ActivateJobs::new("work", 1)
    };
    let jobs = client.activate_jobs(&request).await.unwrap();
    let (_, types) = gateway
        .ask(gateway.rest, "GET", "/skep/v1/job-types", "")
        .unwrap();
    let types: Value = serde_json::from_str(&types).unwrap();
    let worker = &types["items"][0]["workers"][0];
    let nodes = worker["nodes"].to_string();
    assert!(
        nodes.contains("gateway ") && worker["inFlight"] == 1,
        "{types}"
    );
    client.complete_job(jobs[0].key, None).await.unwrap();
    let ended = waiting.await.unwrap().unwrap();
    // After the answer, a search finds the completed instance.
    let key = ended.instance.process_instance_key.to_string();
    let found = search(gateway, "/v2/process-instances/search").unwrap();
    let found = found["items"].as_array().unwrap().iter();
    assert!(
        found
            .filter(|it| it["processInstanceKey"].as_str() == Some(&key))
            .any(|it| it["state"].as_str() == Some("COMPLETED"))
    );
}

/// A node without copies of a partition pauses its exporters all the same.
async fn pauses_exporting_everywhere(gateway: &Server, brokers: &[Server]) {
    for (operation, phase) in [("pause", "PAUSED"), ("resume", "EXPORTING")] {
        let path = format!("/actuator/exporting/{operation}");
        let (_, answer) = gateway.management("POST", &path).unwrap();
        assert!(answer.contains(r#""status":204"#), "{answer}");
        for broker in brokers {
            eventually("all partitions follow", async || {
                let (_, partitions) = broker.management("GET", "/actuator/partitions").unwrap();
                let partitions: Value = serde_json::from_str(&partitions).unwrap();
                let mut partitions = partitions.as_object().unwrap().values();
                partitions.all(|partition| partition["exporterPhase"] == phase)
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn gateways_serve_clients_while_brokers_and_gateways_are_killed() {
    let nodes = Nodes::new(3);
    // The gateway may start before there is a cluster.
    let gateway = nodes.gateway(0);
    let mut servers = nodes.all().await;
    let gateway = gateway.await.unwrap();
    ledger::deploy_one_task(&gateway.client()).await;
    serves_as_a_broker_does(&gateway).await;
    shows_the_measurements_of_brokers(&gateway).await;
    pauses_exporting_everywhere(&gateway, &servers).await;
    let mut other = nodes.gateway(1).await.unwrap();
    let ledger = Shared::default();
    let clients = Clients::start([&gateway, &other].into_iter(), &ledger);
    let stop = Arc::new(AtomicBool::new(false));
    let streaming = tokio::spawn(work_by_stream(
        gateway.client(),
        ledger.clone(),
        stop.clone(),
    ));
    eventually("work", async || ledger.completed() > 50).await;

    // One of the brokers.
    servers[1].kill();
    let before = ledger.created();
    eventually("the others to lead", async || {
        let topology = gateway.client().topology().await;
        topology.is_ok_and(|t| (1..=3).all(|p| leader_of(&t, p).is_some_and(|it| it != 1)))
    })
    .await;
    eventually("work without a broker", async || {
        ledger.created() > before + 50
    })
    .await;
    servers[1] = nodes.start(1).await.unwrap();

    // A gateway, which comes back on other ports.
    other.kill();
    let (before, done) = (ledger.created(), ledger.completed());
    eventually("work without a gateway", async || {
        ledger.created() > before + 50 && ledger.completed() > done + 50
    })
    .await;
    other = nodes.gateway(1).await.unwrap();
    let client = other.client();
    let request = CreateInstance::latest("one-task");
    let instance = client.create_instance(&request).await.unwrap();
    ledger.with(|ledger| ledger.created.insert(instance.process_instance_key));
    println!("without an answer for {:?}", clients.end().await);
    stop.store(true, Ordering::Relaxed);
    streaming.await.unwrap();
    ledger::expect_everything_acknowledged(&other, &ledger).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_gateway_accepts_changes_of_operators_and_needs_a_unique_number() {
    let nodes = Nodes::new(1);
    let servers = nodes.all().await;
    let gateway = nodes.gateway(7).await.unwrap();
    let path = "/actuator/cluster/brokers/2/partitions/1";
    eventually("a change by way of the gateway", async || {
        let answer = gateway.manage("POST", path, r#"{"priority":7}"#);
        matches!(answer, Some((202, _)))
    })
    .await;
    eventually("the gateway to know of the change", async || {
        is_over(&gateway, 1) && is_over(&servers[1], 1)
    })
    .await;
    let (_, known) = gateway.management("GET", "/actuator/nodes").unwrap();
    let known: Value = serde_json::from_str(&known).unwrap();
    assert_eq!(known.as_object().unwrap().len(), 3, "{known}");
    // Another one with the same number waits, and logs the reason.
    let points = format!(
        "camunda.cluster.initial-contact-points=127.0.0.1:{}",
        nodes.ports[0]
    );
    let log = nodes.data.path().join("twin.log");
    let twin = std::process::Command::new(env!("CARGO_BIN_EXE_skep"))
        .args(["serve", "--role", "gateway", "--set", &points])
        .args(["--set", "camunda.cluster.node-id=7"])
        .args(["--set", "camunda.cluster.network.internal-api.port=0"])
        .args(crate::support::FREE_PORTS)
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn();
    let mut twin = twin.unwrap();
    eventually("the reason", async || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("two gateways have the number 7")
    })
    .await;
    twin.kill().unwrap();
    support::end(&mut twin);
}
