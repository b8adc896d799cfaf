//! The endpoints through the REST port, for who the gateway lets in.

use skep_backup::Location;
use skep_broker::backup::BackupConfig;
use skep_broker::backup::schedule::Schedule;

use super::*;

const ROOT: &str = "/skep/v1/management";

async fn over_rest(rest: SocketAddr, method: &str, path: &str, body: &str) -> (u16, Value) {
    let (status, text) = send(rest, method, &format!("{ROOT}/{path}"), body).await;
    (status, serde_json::from_str(&text).unwrap_or_default())
}

#[tokio::test]
async fn what_is_read_is_what_the_management_port_shows() {
    let server = Server::started().await;
    let rest = server.serve().await;
    for path in ["cluster", "cluster/changes", "exporters", "configprops"] {
        let (status, shown) = over_rest(rest, "GET", path, "").await;
        assert_eq!(status, 200, "{path}: {shown}");
        let expected = server.json("GET", &format!("/actuator/{path}"), "").await;
        assert_eq!(shown, expected, "{path}");
    }
}

#[tokio::test]
async fn exporters_are_switched_and_paused() {
    let server = Server::started().await;
    let rest = server.serve().await;
    let state = async || server.json("GET", "/actuator/exporters", "").await[0]["status"].clone();
    let disable = "exporters/secondary-storage/disable";
    let dry_run = format!("{disable}?dryRun=true");
    let (status, planned) = over_rest(rest, "POST", &dry_run, "").await;
    assert_eq!((status, state().await), (202, "ENABLED".into()));
    let operation = &planned["plannedChanges"][0];
    assert_eq!(operation["operation"], "PARTITION_DISABLE_EXPORTER");
    assert_eq!(over_rest(rest, "POST", disable, "").await.0, 202);
    assert_eq!(state().await, "DISABLED");
    let enable = "exporters/secondary-storage/enable";
    assert_eq!(over_rest(rest, "POST", enable, "{}").await.0, 202);
    assert_eq!(state().await, "ENABLED");
    let (status, problem) = over_rest(rest, "POST", "exporters/nothing/enable", "").await;
    assert_eq!(
        (status, &problem["title"]),
        (400, &"INVALID_ARGUMENT".into())
    );

    let phase = async || {
        let partitions = server.json("GET", "/actuator/partitions", "").await;
        partitions["1"]["exporterPhase"].clone()
    };
    for (path, expected) in [
        ("exporting/pause", "PAUSED"),
        ("exporting/pause?soft=true", "SOFT_PAUSED"),
        ("exporting/resume", "EXPORTING"),
    ] {
        assert_eq!(over_rest(rest, "POST", path, "").await.0, 204, "{path}");
        assert_eq!(phase().await, expected, "{path}");
    }
}

#[tokio::test]
async fn a_node_that_is_alone_refuses_changes_as_a_problem() {
    let server = Server::started().await;
    let rest = server.serve().await;
    assert_eq!(over_rest(rest, "POST", "rebalance", "").await.0, 204);
    let add = r#"{"brokers":{"add":[1]}}"#;
    let (status, problem) = over_rest(rest, "PATCH", "cluster?dryRun=true", add).await;
    assert_eq!(
        (status, &problem["title"]),
        (501, &"NOT_IMPLEMENTED".into())
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("this node is alone"), "{detail}");
    let unknown = r#"{"brokers":{"plus":[1]}}"#;
    assert_eq!(over_rest(rest, "PATCH", "cluster", unknown).await.0, 400);
    let remove = r#"{"brokers":{"remove":[1]}}"#;
    let (status, problem) = over_rest(rest, "PATCH", "cluster?force=true", remove).await;
    assert_eq!(status, 400);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("management port only"), "{detail}");
}

#[tokio::test]
async fn backups_are_taken_listed_and_deleted() {
    let mut server = Server::starting(false).await;
    let store = server.directory.path().join("backups");
    let mut config = server.config(1);
    config.backup = Some(BackupConfig {
        location: Location::Directory(store),
        rate: 1 << 30,
        schedule: Schedule::default(),
        continuous: None,
        required: false,
        documents: Vec::new(),
    });
    server.start_with(config).await;
    let rest = server.serve().await;
    let backup = r#"{"backupId":7}"#;
    let (status, begun) = over_rest(rest, "POST", "backups", backup).await;
    assert_eq!((status, &begun["backupId"]), (202, &7.into()), "{begun}");
    loop {
        let (status, listed) = over_rest(rest, "GET", "backups", "").await;
        assert_eq!((status, &listed[0]["backupId"]), (200, &7.into()));
        assert_ne!(listed[0]["state"], "FAILED", "{listed}");
        if listed[0]["state"] == "COMPLETED" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (status, state) = over_rest(rest, "GET", "backups/state", "").await;
    assert_eq!(
        (status, &state["backupStates"][0]["checkpointId"]),
        (200, &7.into())
    );
    assert_eq!(over_rest(rest, "DELETE", "backups/8", "").await.0, 404);
    assert_eq!(over_rest(rest, "DELETE", "backups/7", "").await.0, 204);
    assert_eq!(
        over_rest(rest, "GET", "backups", "").await,
        (200, json!([]))
    );
}

#[tokio::test]
async fn without_a_store_for_backups_the_answer_says_what_to_set() {
    let server = Server::started().await;
    let rest = server.serve().await;
    let (status, problem) = over_rest(rest, "GET", "backups", "").await;
    assert_eq!(status, 400);
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("camunda.data.primary-storage.backup"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_server_that_starts_says_so() {
    let server = Server::starting(false).await;
    let request = http::Request::get("/").body(()).unwrap().into_parts().0;
    let answer = skep_gateway::Operators::answer(
        &*server.management,
        vec!["cluster".to_string()],
        &request,
        Bytes::new(),
    );
    assert_eq!(answer.await.status(), 503);
}
