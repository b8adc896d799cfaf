//! Work acknowledged by one node is found at once on every other one, or the answer is marked as possibly incomplete.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use super::*;

/// The status, whether the answer is marked as possibly incomplete, and the body.
type Read = (u16, bool, Value);

/// Sends a request without a body.
fn ask(server: &Server, path: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.rest)).ok()?;
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    Some(stream)
}

fn answer(mut stream: TcpStream) -> Option<Read> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let behind = head.to_ascii_lowercase().contains("skep-behind-ms");
    Some((
        status,
        behind,
        serde_json::from_str(body).unwrap_or_default(),
    ))
}

fn get(server: &Server, path: &str) -> Option<Read> {
    answer(ask(server, path)?)
}

/// False if the answer is marked as possibly incomplete, or if there is none at the moment.
pub fn finds(server: &Server, key: i64) -> bool {
    is_found(get(server, &instance(key)), key)
}

fn instance(key: i64) -> String {
    format!("/v2/process-instances/{key}")
}

fn is_found(read: Option<Read>, key: i64) -> bool {
    match read {
        Some((200, _, instance)) => {
            assert_eq!(instance["processInstanceKey"], key.to_string());
            true
        }
        Some((404, false, problem)) => panic!("an acknowledged instance is not found: {problem}"),
        Some((404, true, _)) | Some((503, ..)) | None => false,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn acknowledged_instances_are_found_at_once_on_all_nodes_and_after_a_restart() {
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    ledger::deploy_one_task(&servers[0].client()).await;
    let request = CreateInstance::latest("one-task");
    let (mut found, mut keys) = (0, Vec::new());
    for n in 0..100 {
        let client = servers[n % SIZE].client();
        let Ok(instance) = client.create_instance(&request).await else {
            continue;
        };
        let key = instance.process_instance_key;
        keys.push(key);
        found += servers.iter().filter(|server| finds(server, key)).count();
    }
    assert!(found > 250, "{found} of 300");
    for node in 0..SIZE {
        servers[node].kill();
        // Work that the others acknowledge meanwhile.
        let client = servers[(node + 1) % SIZE].client();
        eventually("an instance", async || {
            let instance = client.create_instance(&request).await;
            instance.is_ok_and(|instance| {
                keys.push(instance.process_instance_key);
                true
            })
        })
        .await;
        servers[node] = nodes.start(node).await.unwrap();
        eventually("the node to find everything", async || {
            keys.iter().all(|key| finds(&servers[node], *key))
        })
        .await;
    }
}

/// A gateway has no rows, and asks one node now and another one the next time.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn what_was_acknowledged_is_found_through_any_gateway_while_brokers_are_killed() {
    const EACH: usize = 20;
    let nodes = Nodes::new(2);
    let mut servers = nodes.all().await;
    let gateways = [
        nodes.gateway(0).await.unwrap(),
        nodes.gateway(1).await.unwrap(),
    ];
    ledger::deploy_one_task(&gateways[0].client()).await;
    let request = CreateInstance::latest("one-task");
    let mut keys = Vec::new();
    let all = |keys: &[i64]| {
        let found = keys.iter().flat_map(|key| {
            let through = gateways.iter();
            through.map(move |gateway| finds(gateway, *key))
        });
        found.filter(|found| *found).count() == 2 * keys.len()
    };
    for (node, server) in servers.iter_mut().enumerate() {
        for n in 0..EACH {
            let client = gateways[n % 2].client();
            if let Ok(instance) = client.create_instance(&request).await {
                keys.push(instance.process_instance_key);
            }
            all(&keys[keys.len().saturating_sub(1)..]);
        }
        server.kill();
        // Found or marked: `finds` refuses anything else.
        all(&keys[keys.len().saturating_sub(5)..]);
        *server = nodes.start(node).await.unwrap();
        eventually("all of them to be found", async || all(&keys)).await;
    }
    assert!(keys.len() > EACH, "{} were created", keys.len());
}

/// Requests that arrive while it is paused are answered when it wakes, before it hears of its successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_leader_that_was_paused_shows_nothing_stale() {
    const SEARCHES: usize = 60;
    let nodes = Nodes::new(1);
    let servers = nodes.all().await;
    ledger::deploy_one_task(&servers[0].client()).await;
    let request = CreateInstance::latest("one-task");
    let mut found = 0;
    for _ in 0..4 {
        let paused = leader(&servers[0]).await;
        servers[paused].stop();
        let client = servers[(paused + 1) % SIZE].client();
        let mut created = None;
        eventually("another leader", async || {
            created = client.create_instance(&request).await.ok();
            created.is_some()
        })
        .await;
        let key = created.unwrap().process_instance_key;
        let asked = || ask(&servers[paused], &instance(key)).unwrap();
        let searches: Vec<TcpStream> = (0..SEARCHES).map(|_| asked()).collect();
        servers[paused].resume();
        let answers = searches.into_iter().map(answer);
        found += answers.filter(|it| is_found(it.clone(), key)).count();
        eventually("all nodes to find it", async || {
            servers.iter().all(|server| finds(server, key))
        })
        .await;
    }
    println!("{found} of {} were found at once", 4 * SEARCHES);
}
