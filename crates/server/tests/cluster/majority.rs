//! One of three nodes is left: operations that still work on it, and its answers to all others.

use serde_json::Value;

use super::*;

const CAUSE: &str = "only 1 of 3 nodes can be reached from node 2, and a majority has to agree";

/// Status and body of a request at the REST port.
fn rest(server: &Server, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (status, body) = server.ask(server.rest, method, path, body).unwrap();
    (status, serde_json::from_str(&body).unwrap_or_default())
}

/// Commands are refused with the cause on both interfaces.
async fn refuses_commands(left: &Server) {
    let request = CreateInstance::latest("one-task");
    let client = left.client();
    // A node led a moment ago: it takes an election timeout to find out.
    eventually("the cause over gRPC", async || {
        let error = client.create_instance(&request).await.unwrap_err();
        assert!(error.is_ambiguous() || error.is_retryable(), "{error}");
        error.code() == Some(Code::Unavailable) && error.to_string().contains(CAUSE)
    })
    .await;
    let create = r#"{"processDefinitionId":"one-task"}"#;
    let (status, problem) = rest(left, "POST", "/v2/process-instances", create);
    assert_eq!(status, 503, "{problem}");
    assert_eq!(problem["title"], "UNAVAILABLE", "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains(CAUSE) && detail.contains("Nothing was done"),
        "{problem}"
    );
}

/// Reads are answered from this node's knowledge.
async fn answers_reads(left: &Server, key: i64) {
    let (status, topology) = rest(left, "GET", "/v2/topology", "");
    assert_eq!((status, &topology["clusterSize"]), (200, &3.into()));
    assert!(!topology.to_string().contains("leader"), "{topology}");
    let (status, cluster) = left.management("GET", CLUSTER).unwrap();
    let cluster: Value = serde_json::from_str(&cluster).unwrap();
    let nodes = cluster["brokers"].as_array().unwrap().len();
    assert_eq!((status, nodes), (200, 3));
    eventually("a search to be answered", async || {
        finds(left, key) == (200, true)
    })
    .await;
    let change = left.manage("PATCH", CLUSTER, r#"{"brokers":{"remove":[0]}}"#);
    let (status, text) = change.unwrap();
    assert_eq!(status, 502, "{text}");
    assert!(text.contains("1 of 3 nodes can be reached"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn without_a_majority_commands_are_refused_with_the_cause_and_reads_are_answered() {
    let nodes = Nodes::new(1);
    let mut servers = nodes.all().await;
    let client = servers[2].client();
    ledger::deploy_one_task(&client).await;
    let request = CreateInstance::latest("one-task");
    let key = client
        .create_instance(&request)
        .await
        .unwrap()
        .process_instance_key;
    eventually("the instance to be found", async || {
        finds(&servers[2], key) == (200, true)
    })
    .await;
    // Any node may have taken it: wait until all copies are equal.
    eventually("copies to be abreast", async || {
        let mut positions = servers.iter().map(exported);
        let first = positions.next().flatten();
        first.is_some() && positions.all(|position| position == first)
    })
    .await;
    servers[0].kill();
    servers[1].kill();
    refuses_commands(&servers[2]).await;
    answers_reads(&servers[2], key).await;
    servers[0] = nodes.start(0).await.unwrap();
    eventually("commands with a majority", async || {
        client.create_instance(&request).await.is_ok()
    })
    .await;
}

/// Position of the node's copy of partition 1 in its store.
pub fn exported(server: &Server) -> Option<u64> {
    let (_, body) = server.management("GET", "/actuator/partitions")?;
    let partitions: Value = serde_json::from_str(&body).ok()?;
    partitions["1"]["exportedPosition"].as_u64()
}

/// Status of a search, and whether it finds the instance.
fn finds(server: &Server, key: i64) -> (u16, bool) {
    let search = format!(r#"{{"filter":{{"processInstanceKey":"{key}"}}}}"#);
    let (status, found) = rest(server, "POST", "/v2/process-instances/search", &search);
    let one = &found["items"][0]["processInstanceKey"];
    (status, one.as_str() == Some(key.to_string().as_str()))
}
