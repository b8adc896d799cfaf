//! `/actuator/cluster`.

use skep_broker::config::ClusterConfig;

use super::*;

/// The first node of a cluster that grew from a single node.
async fn first_of_several() -> Server {
    let mut server = Server::starting(false).await;
    let mut config = server.config(2);
    let alone = config.clone();
    let make = move || {
        Broker::open(alone, Arc::new(Clock::default()))
            .unwrap()
            .stop()
    };
    tokio::task::spawn_blocking(make).await.unwrap();
    config.cluster = Some(ClusterConfig {
        gateway: false,
        size: 3,
        replication_factor: 3,
        listen: "127.0.0.1:0".parse().unwrap(),
        advertised: "127.0.0.1:1".to_string(),
        contact_points: Vec::new(),
        election_timeout: Duration::from_millis(200),
        rebalance_pace: skep_broker::REBALANCE_PACE,
        tls: None,
    });
    server.start_with(config).await;
    server
}

#[tokio::test]
async fn a_node_that_is_alone_is_a_cluster_of_one_and_stays_so() {
    let server = Server::started().await;
    let shown = server.json("GET", "/actuator/cluster", "").await;
    assert_eq!(shown["version"], 1);
    assert!(shown["clusterId"].as_str().is_some_and(|id| id.len() == 36));
    assert!(shown.get("lastChange").is_none() && shown.get("pendingChange").is_none());
    let broker = &shown["brokers"][0];
    assert_eq!(
        (&broker["id"], &broker["state"]),
        (&0.into(), &"ACTIVE".into())
    );
    let second = json!({
        "id": 2,
        "state": "ACTIVE",
        "priority": 1,
        "config": { "exporting": { "exporters": [{ "id": "secondary-storage", "state": "ENABLED" }] } },
    });
    assert_eq!(broker["partitions"][1], second);
    assert_eq!(
        shown["routing"]["requestHandling"],
        json!({ "strategy": "AllPartitions", "partitionCount": 2 })
    );
    assert_eq!(
        shown["routing"]["messageCorrelation"]["strategy"],
        "HashMod"
    );
    let add = r#"{"brokers":{"add":[1]}}"#;
    let (status, why) = server.send("PATCH", "/actuator/cluster", add).await;
    assert_eq!(status, 501);
    assert!(why.contains("this node is alone"), "{why}");
    assert!(why.contains(r#""isAlone":true"#), "{why}");
}

#[tokio::test]
async fn a_node_that_is_alone_is_purged_and_says_how_far_it_is() {
    let server = Server::started().await;
    let purge = "/actuator/cluster/purge";
    for path in ["/actuator/cluster/purge?dryRun=true", purge] {
        let (status, answer) = server.send("POST", path, "").await;
        assert_eq!(status, 202, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["changeId"], 1);
        let planned = json!([
            { "operation": "PARTITION_LEAVE", "brokerId": 0, "partitionId": 1 },
            { "operation": "PARTITION_LEAVE", "brokerId": 0, "partitionId": 2 },
            { "operation": "DELETE_HISTORY", "brokerId": 0 },
            { "operation": "UPDATE_INCARNATION_NUMBER" },
            { "operation": "PARTITION_BOOTSTRAP", "brokerId": 0, "partitionId": 1, "priority": 1 },
            { "operation": "PARTITION_BOOTSTRAP", "brokerId": 0, "partitionId": 2, "priority": 1 },
        ]);
        assert_eq!(answer["plannedChanges"], planned);
        assert_eq!(
            answer["expectedTopology"][0]["partitions"][1]["state"],
            "ACTIVE"
        );
    }
    let change = "/actuator/cluster/changes/1";
    let deadline = Instant::now() + Duration::from_secs(120);
    while server.json("GET", change, "").await["status"] != "COMPLETED" {
        assert!(Instant::now() < deadline, "it does not end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.send("DELETE", change, "").await.0, 404, "it is over");
    let shown = server.json("GET", "/actuator/cluster", "").await;
    assert_eq!(shown["lastChange"]["status"], "COMPLETED");
    assert_eq!(shown["brokers"][0]["partitions"][1]["state"], "ACTIVE");
}

#[tokio::test]
async fn a_plan_names_the_slots_that_move() {
    let server = Server::started().await;
    let path = "/actuator/cluster?dryRun=true";
    let body = r#"{"partitions":{"count":4}}"#;
    let (status, answer) = server.send("PATCH", path, body).await;
    assert_eq!(status, 202, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let planned = answer["plannedChanges"].as_array().unwrap();
    let move_of = |from: u32, to: u32| {
        json!({
            "fromPartitionId": from,
            "toPartitionId": to,
            "slots": 512,
            "estimatedRows": 0,
        })
    };
    let moves = [move_of(1, 3), move_of(1, 4), move_of(2, 3), move_of(2, 4)];
    let relocation = json!({ "operation": "AWAIT_RELOCATION", "moves": moves });
    assert_eq!(planned.last(), Some(&relocation), "{planned:?}");
}

#[tokio::test]
async fn a_change_of_the_cluster_is_planned_begun_and_shown() {
    let server = first_of_several().await;
    let body = r#"{"brokers":{"add":[1]},"partitions":{"replicationFactor":2}}"#;
    let cluster = "/actuator/cluster";
    let operations = |shown: &Value| -> Vec<String> {
        let operations = shown.as_array().unwrap().iter();
        let name = |it: &Value| it["operation"].as_str().unwrap().to_string();
        operations.map(name).collect()
    };
    let planned = [
        "BROKER_ADD",
        "PARTITION_JOIN",
        "PARTITION_RECONFIGURE_PRIORITY",
        "PARTITION_JOIN",
    ];
    let dry = format!("{cluster}?dryRun=true");
    for path in [&*dry, cluster] {
        let (status, answer) = server.send("PATCH", path, body).await;
        assert_eq!(status, 202, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["changeId"], 1);
        assert_eq!(operations(&answer["plannedChanges"]), planned);
        assert_eq!(
            answer["plannedChanges"][1],
            json!({ "operation": "PARTITION_JOIN", "brokerId": 1, "partitionId": 1, "priority": 1 })
        );
        assert_eq!(answer["currentTopology"].as_array().unwrap().len(), 1);
        let expected = &answer["expectedTopology"];
        assert_eq!(expected[1]["partitions"][1]["priority"], 2);
        let pending = server
            .json("GET", cluster, "")
            .await
            .get("pendingChange")
            .cloned();
        assert_eq!(pending.is_some(), path == cluster, "{pending:?}");
    }
    let shown = server.json("GET", cluster, "").await;
    assert_eq!(shown["brokers"][1]["state"], "JOINING");
    let pending = &shown["pendingChange"];
    assert_eq!(
        (&pending["id"], &pending["status"]),
        (&1.into(), &"IN_PROGRESS".into())
    );
    assert_eq!(operations(&pending["pending"]), planned);
    assert_eq!(
        server.json("GET", "/actuator/cluster/changes/1", "").await["status"],
        "IN_PROGRESS"
    );
}

#[tokio::test]
async fn a_change_is_given_up_and_there_is_one_at_a_time() {
    let server = first_of_several().await;
    let cluster = "/actuator/cluster";
    let body = r#"{"brokers":{"add":[1]}}"#;
    assert_eq!(server.send("PATCH", cluster, body).await.0, 202);
    let (status, why) = server.send("POST", "/actuator/cluster/brokers/2", "").await;
    assert!(
        status == 409 && why.contains("change 1 is in progress"),
        "{status} {why}"
    );
    assert_eq!(
        server
            .send("DELETE", "/actuator/cluster/changes/2", "")
            .await
            .0,
        404
    );
    assert_eq!(
        server
            .send("DELETE", "/actuator/cluster/changes/1?dryRun=true", "")
            .await
            .0,
        501
    );
    let (status, shown) = server
        .send("DELETE", "/actuator/cluster/changes/1", "")
        .await;
    assert_eq!(status, 200, "{shown}");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["lastChange"]["status"], "CANCELLED");
    assert!(shown.get("pendingChange").is_none());
    let changes = server.json("GET", "/actuator/cluster/changes", "").await;
    assert_eq!(
        (&changes[0]["id"], changes.as_array().unwrap().len()),
        (&1.into(), 1)
    );
    // A change that involves no other node completes at once.
    let priority = r#"{"priority":7}"#;
    let path = "/actuator/cluster/partitions/1/brokers/0";
    assert_eq!(server.send("POST", path, priority).await.0, 202);
    let shown = server.json("GET", cluster, "").await;
    assert_eq!(shown["lastChange"]["status"], "COMPLETED");
    assert_eq!(shown["brokers"][0]["partitions"][0]["priority"], 7);
}

#[tokio::test]
async fn a_change_that_cannot_be_is_refused_with_the_reason() {
    let server = first_of_several().await;
    let cluster = "/actuator/cluster";
    for (method, path, body, status) in [
        ("PATCH", "", r#"{"brokers":{"add":[1],"count":2}}"#, 400),
        ("PATCH", "", r#"{"brokers":{"zone":"a"}}"#, 400),
        ("PATCH", "", r#"{"partitions":{"count":1}}"#, 400),
        ("PATCH", "", r#"{"partitions":{"count":1025}}"#, 400),
        ("PATCH", "?force=true", r#"{"brokers":{"add":[2]}}"#, 400),
        ("PATCH", "?dryRun=perhaps", "{}", 400),
        ("POST", "/brokers", "{}", 400),
        ("POST", "/brokers?replicationFactor=9", "[0]", 400),
        ("DELETE", "/brokers/0", "", 400),
        ("POST", "/brokers/0/partitions/3", r#"{"priority":1}"#, 400),
        ("POST", "/partitions/1/brokers/0", "{}", 400),
        ("DELETE", "/partitions/1/brokers/0", "", 400),
        ("DELETE", "/brokers/x", "", 400),
        ("POST", "/partitions", "", 501),
        ("PATCH", "/routing-state", "", 501),
    ] {
        let (found, why) = server.send(method, &format!("{cluster}{path}"), body).await;
        assert_eq!(found, status, "{method} {path} {body}: {why}");
    }
    assert_eq!(server.json("GET", cluster, "").await["version"], 1);
}
