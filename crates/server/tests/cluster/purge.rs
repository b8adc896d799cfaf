//! A purge under load, while nodes are killed.

use std::collections::HashSet;

use serde_json::Value;

use super::faults::Clients;
use super::*;

fn begin(server: &Server) -> u32 {
    let answer = server.management("POST", &format!("{CLUSTER}/purge"));
    let Some((202, body)) = &answer else {
        panic!("{answer:?}");
    };
    let planned: Value = serde_json::from_str(body).unwrap();
    u32::try_from(planned["changeId"].as_u64().unwrap()).unwrap()
}

/// Number of completed operations of the running change.
fn steps(server: &Server) -> usize {
    let answer = server.management("GET", CLUSTER);
    let shown: Value = answer
        .and_then(|(_, body)| serde_json::from_str(&body).ok())
        .unwrap_or_default();
    let completed = shown["pendingChange"]["completed"].as_array();
    completed.map_or(usize::MAX, Vec::len)
}

/// Number of instances found.
fn total(server: &Server) -> Option<u64> {
    let path = "/v2/process-instances/search";
    let (200, body) = server.ask(server.rest, "POST", path, "{}")? else {
        return None;
    };
    let found: Value = serde_json::from_str(&body).ok()?;
    found["page"]["totalItems"].as_u64()
}

/// Creates instances whatever the answers. Returns their keys.
async fn insist(client: Client, stop: Arc<AtomicBool>) -> Vec<i64> {
    let request = CreateInstance::latest("one-task");
    let mut given = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match client.create_instance(&request).await {
            Ok(instance) => given.push(instance.process_instance_key),
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
    given
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn all_is_purged_under_load_though_a_node_is_killed_at_each_stage() {
    let nodes = Nodes::new(3);
    let mut servers = nodes.all().await;
    let mut old: HashSet<i64> = HashSet::new();
    // Copies are deleted first, then recreated.
    for (n, stage) in [1, 4, 9, 12].into_iter().enumerate() {
        let victim = n % SIZE;
        let ledger = Shared::default();
        ledger::deploy_one_task(&servers[victim].client()).await;
        let clients = Clients::start(std::iter::once(&servers[victim]), &ledger);
        eventually("work", async || ledger.created() > 20).await;
        clients.end().await;
        let stop = Arc::new(AtomicBool::new(false));
        let client = |server: &Server| server.client();
        let load = servers
            .iter()
            .map(client)
            .map(|client| insist(client, stop.clone()));
        let load: Vec<_> = load.map(tokio::spawn).collect();
        let change = begin(&servers[(n + 1) % SIZE]);
        let other = (n + 2) % SIZE;
        eventually("that stage", async || steps(&servers[other]) >= stage).await;
        servers[victim].kill();
        servers[victim] = nodes.start(victim).await.unwrap();
        eventually("the end of the purge", async || {
            servers.iter().all(|server| is_over(server, change))
        })
        .await;
        stop.store(true, Ordering::Relaxed);
        let mut known = ledger.with(|ledger| ledger.created.clone());
        for client in load {
            for key in client.await.unwrap() {
                assert!(known.insert(key), "key {key} was given twice");
            }
        }
        for server in &servers {
            eventually("searches that find nothing", async || {
                total(server) == Some(0)
            })
            .await;
        }
        assert!(known.is_disjoint(&old), "keys were given twice");
        old.extend(known);
    }
    let ledger = Shared::default();
    ledger::deploy_one_task(&servers[0].client()).await;
    let clients = Clients::start(servers.iter(), &ledger);
    eventually("new work", async || ledger.created() > 50).await;
    clients.end().await;
    for server in &servers {
        ledger::expect_everything_acknowledged(server, &ledger).await;
    }
    ledger.with(|ledger| {
        assert!(ledger.created.is_disjoint(&old), "keys were given twice");
        let instances = ledger.instance_of.values();
        let new = instances.filter(|it| old.contains(it)).count();
        assert_eq!(new, 0, "jobs of what was purged");
    });
}
