//! The endpoints over real sockets, against a real broker in a temporary directory.

use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use skep_broker::BrokerConfig;
use skep_broker::clock::Clock;
use skep_broker::config::DiskConfig;
use skep_gateway::{Gateway, GatewayConfig, GatewayMetrics};
use skep_protocol::command::{ActivateJobs, Command, Request as BrokerRequest};
use skep_protocol::origin::Claims;
use skep_service::Broker as _;
use skep_testkit::scenario::Scenario;
use tempfile::TempDir;

use super::*;
use crate::config::{self, ManagementLogin, Settings};

mod clock;
mod cluster;
mod other_sites;
mod over_rest;
mod rollout;

struct Server {
    address: SocketAddr,
    management: Arc<Management>,
    broker: Option<Arc<Broker>>,
    gateways: Arc<GatewayMetrics>,
    directory: TempDir,
    revision: Option<&'static str>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(broker) = &self.broker {
            broker.stop();
        }
    }
}

impl Server {
    /// A management port whose broker has not started yet.
    async fn starting(clock_controlled: bool) -> Server {
        let effective = config::resolve(&[]).unwrap().effective;
        let logs = Logs::detached();
        let open = ("/actuator".to_string(), ManagementLogin::None);
        let management = Management::new(open, clock_controlled, effective, logs);
        let any = "127.0.0.1:0".parse().unwrap();
        Server {
            address: listen(any, None, management.clone()).await.unwrap(),
            management,
            broker: None,
            gateways: Arc::new(GatewayMetrics::new()),
            directory: tempfile::tempdir().unwrap(),
            revision: None,
        }
    }

    async fn started() -> Server {
        let mut server = Server::starting(true).await;
        server.start(2).await;
        server
    }

    fn config(&self, partitions: u32) -> BrokerConfig {
        BrokerConfig {
            partitions,
            directory: self.directory.path().join("data"),
            disk: DiskConfig {
                processing: 0,
                replication: 0,
                ..DiskConfig::default()
            },
            ..BrokerConfig::default()
        }
    }

    async fn start(&mut self, partitions: u32) {
        let config = self.config(partitions);
        self.start_with(config).await;
    }

    async fn start_with(&mut self, config: BrokerConfig) {
        let directory = config.directory.clone();
        let open = move || Broker::open(config, Arc::new(Clock::default())).unwrap();
        let broker = tokio::task::spawn_blocking(open).await.unwrap();
        let mut registry = Registry::default();
        broker.metrics().register(&mut registry);
        self.gateways.register(&mut registry);
        let process = ProcessMetrics::register(&mut registry, Instant::now());
        let node = NodeMetrics::register(
            &mut registry,
            &Default::default(),
            None,
            None,
            Arc::default(),
        );
        let for_operators = ForOperators {
            rollout: Rollout::start(self.revision, &directory, 0, &broker),
            ..Default::default()
        };
        self.management
            .started(broker.clone(), registry, process, node, for_operators);
        self.broker = Some(broker);
        while self.get("/ready").await.0 != 200 {
            tokio::task::yield_now().await;
        }
    }

    fn ask(&self, command: Command) -> skep_service::Reply {
        self.broker().execute(BrokerRequest::internal(command))
    }

    fn broker(&self) -> &Arc<Broker> {
        self.broker.as_ref().unwrap()
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        send(self.address, method, path, body).await
    }

    /// Starts the gateways as well. Returns the address of REST.
    async fn serve(&self) -> SocketAddr {
        let any = "127.0.0.1:0".parse().unwrap();
        let config = GatewayConfig {
            rest_addr: any,
            grpc_addr: any,
            hooks: skep_gateway::Hooks {
                operators: Some(self.management.clone()),
                ..Default::default()
            },
            ..GatewayConfig::default()
        };
        let gateway = Gateway::bind(
            config,
            self.broker().clone(),
            self.broker().clone(),
            Arc::new(Settings::default().documents().unwrap()),
            self.gateways.clone(),
        );
        let gateway = gateway.await.unwrap();
        let address = gateway.rest_addr();
        tokio::spawn(gateway.serve(std::future::pending()));
        address
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.send("GET", path, "").await
    }

    async fn json(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, text) = self.send(method, path, body).await;
        assert_eq!(status, 200, "{method} {path}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }
}

async fn send(to: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let stream = tokio::net::TcpStream::connect(to).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .header("host", "localhost")
        .body(Full::<Bytes>::from(body.to_string()))
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

/// The first line of the answer to these bytes.
async fn status_line(to: SocketAddr, head: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(to).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut line = vec![0; 12];
    stream.read_exact(&mut line).await.unwrap();
    String::from_utf8(line).unwrap()
}

#[tokio::test]
async fn a_request_names_its_host_once() {
    let server = Server::started().await;
    for (hosts, status) in [
        ("host: a\r\n", "200"),
        ("", "400"),
        ("host: a\r\nhost: a\r\n", "400"),
    ] {
        let head = format!("GET /actuator HTTP/1.1\r\n{hosts}\r\n");
        let line = status_line(server.address, &head).await;
        assert!(line.ends_with(status), "{hosts}: {line}");
    }
}

/// Partitions are stopped before they lead: they must not wait for a checkpoint without any changes.
#[test]
fn a_broker_stops_right_after_its_start() {
    for _ in 0..5 {
        let directory = tempfile::tempdir().unwrap();
        let config = BrokerConfig {
            partitions: 2,
            directory: directory.path().join("data"),
            ..BrokerConfig::default()
        };
        Broker::open(config, Arc::new(Clock::default()))
            .unwrap()
            .stop();
    }
}

#[tokio::test]
async fn a_server_that_starts_is_alive_and_not_ready() {
    let mut server = Server::starting(false).await;
    for (path, status) in [
        ("/actuator/health/liveness", 200),
        ("/actuator/health/startup", 503),
        ("/actuator/health/readiness", 503),
        ("/actuator/health/status", 503),
        ("/actuator/health", 503),
        ("/ready", 503),
        ("/startup", 503),
        ("/health", 503),
        ("/actuator/partitions", 503),
        ("/actuator/prometheus", 503),
        ("/actuator/loggers", 200),
        ("/actuator/info", 200),
    ] {
        assert_eq!(server.get(path).await.0, status, "{path}");
    }
    server.start(1).await;
    for path in [
        "/actuator/health/liveness",
        "/actuator/health/startup",
        "/actuator/health/readiness",
        "/actuator/health/status",
        "/actuator/health",
        "/ready",
        "/startup",
        "/health",
    ] {
        let (status, body) = server.get(path).await;
        assert_eq!(status, 200, "{path}");
        assert!(body.contains("\"status\":\"UP\""), "{path}: {body}");
    }
    server.management.stopping();
    assert_eq!(server.get("/actuator/health/readiness").await.0, 503);
    assert_eq!(server.get("/actuator/health/liveness").await.0, 200);
}

#[tokio::test]
async fn health_shows_partitions_and_disk() {
    let server = Server::started().await;
    let health = server.json("GET", "/actuator/health", "").await;
    assert_eq!(health["status"], "UP");
    assert_eq!(
        health["groups"],
        json!(["liveness", "readiness", "startup", "status"])
    );
    let components = &health["components"];
    assert_eq!(components["diskSpace"]["status"], "UP");
    assert_eq!(components["clusterState"]["status"], "UP");
    for id in ["1", "2"] {
        let partition = &components["partitions"]["components"][id];
        assert_eq!(partition["details"]["role"], "LEADER");
        assert_eq!(partition["details"]["health"], "HEALTHY");
    }
    // Groups hide details.
    let group = server.json("GET", "/actuator/health/readiness", "").await;
    assert_eq!(group, json!({ "status": "UP" }));
}

#[tokio::test]
async fn metrics_are_text_under_their_documented_names() {
    let server = Server::started().await;
    let (status, text) = server.get("/actuator/prometheus").await;
    assert_eq!(status, 200);
    for line in [
        "atomix_role{partition=\"1\",partitionGroupName=\"raft-partition\"} 3",
        "zeebe_health{partition=\"2\"} 1",
        "process_cpu_usage ",
        "process_files_open_files ",
        "# TYPE zeebe_received_request_count_total counter",
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
}

#[tokio::test]
async fn partitions_have_the_documented_shape() {
    let server = Server::started().await;
    let partitions = server.json("GET", "/actuator/partitions", "").await;
    let one = &partitions["1"];
    assert_eq!(one["role"], "LEADER");
    assert_eq!(one["streamProcessorPhase"], "PROCESSING");
    assert_eq!(one["exporterPhase"], "EXPORTING");
    assert_eq!(one["clock"]["modificationType"], "None");
    assert_eq!(one["health"]["status"], "HEALTHY");
    assert_eq!(one["health"]["children"][0]["id"], "StreamProcessor-1");
    for field in [
        "committedPosition",
        "processedPosition",
        "snapshotId",
        "processedPositionInSnapshot",
        "exportedPosition",
        "busiestInstances",
        "liveElementInstances",
    ] {
        assert!(one.get(field).is_some(), "{field} not in {one}");
    }
    assert!(partitions["2"].is_object());
}

#[tokio::test]
async fn paused_partitions_take_commands_up_when_they_are_resumed() {
    let server = Server::started().await;
    let path = |operation: &str| format!("/actuator/partitions/{operation}");
    let paused = server.json("POST", &path("pauseProcessing"), "").await;
    assert_eq!(paused["1"]["streamProcessorPhase"], "PAUSED");
    let reply = server.ask(Command::ResetClock);
    let resumed = server.json("POST", &path("resumeProcessing"), "").await;
    assert_eq!(resumed["2"]["streamProcessorPhase"], "PROCESSING");
    assert!(reply.await.result.is_ok());
}

#[tokio::test]
async fn a_snapshot_is_taken_when_it_is_asked_for() {
    let server = Server::started().await;
    let reply = server.ask(Command::ResetClock);
    assert!(reply.await.result.is_ok());
    let taken = server
        .json("POST", "/actuator/partitions/takeSnapshot", "")
        .await;
    let snapshot = taken["1"]["snapshotId"].as_str().unwrap_or_default();
    assert_eq!(snapshot.split('-').count(), 5, "{taken}");
    assert!(taken["1"]["processedPositionInSnapshot"].as_u64() > Some(0));
    let prepared = server
        .json("POST", "/actuator/partitions/prepareUpgrade", "")
        .await;
    assert_eq!(prepared["1"]["streamProcessorPhase"], "PAUSED");
    assert_eq!(prepared["1"]["exporterPhase"], "PAUSED");
}

#[tokio::test]
async fn exporting_is_paused_softly_paused_and_resumed() {
    let server = Server::started().await;
    for (path, phase) in [
        ("partitions/softPauseExporting", "SOFT_PAUSED"),
        ("partitions/pauseExporting", "PAUSED"),
        ("partitions/resumeExporting", "EXPORTING"),
        ("exporting/pause", "PAUSED"),
        ("exporting/pause?soft=true", "SOFT_PAUSED"),
        ("exporting/resume", "EXPORTING"),
    ] {
        let (status, body) = server.send("POST", &format!("/actuator/{path}"), "").await;
        assert_eq!(status, 200, "{path}");
        if path.starts_with("exporting") {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["status"], 204, "{path}: {body}");
        }
        let partitions = server.json("GET", "/actuator/partitions", "").await;
        assert_eq!(partitions["1"]["exporterPhase"], phase, "{path}");
    }
}

#[tokio::test]
async fn exporters_are_listed_disabled_and_enabled_on_all_partitions() {
    let server = Server::started().await;
    let id = "secondary-storage";
    let listed = |status: &str| json!([{ "exporterId": id, "status": status }]);
    let exporters = || server.json("GET", "/actuator/exporters", "");
    assert_eq!(exporters().await, listed("ENABLED"));
    let path = |operation: &str| format!("/actuator/exporters/{id}/{operation}");
    let (status, body) = server.send("POST", &path("disable?dryRun=true"), "").await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 202, "{body}");
    let change = &body["plannedChanges"][1];
    assert_eq!(change["operation"], "PARTITION_DISABLE_EXPORTER");
    assert_eq!(
        (&change["partitionId"], &change["exporterId"]),
        (&json!(2), &json!(id))
    );
    let state = |topology: &str| {
        body[topology][0]["partitions"][0]["config"]["exporting"]["exporters"][0]["state"].clone()
    };
    assert_eq!(
        (state("currentTopology"), state("expectedTopology")),
        (json!("ENABLED"), json!("DISABLED"))
    );
    assert_eq!(
        exporters().await,
        listed("ENABLED"),
        "a dry run changes nothing"
    );
    assert_eq!(server.send("POST", &path("disable"), "").await.0, 202);
    assert_eq!(exporters().await, listed("DISABLED"));
    let partitions = server.json("GET", "/actuator/partitions", "").await;
    assert_eq!(partitions["2"]["exporters"][id]["state"], "DISABLED");
    assert_eq!(server.send("POST", &path("enable"), "").await.0, 202);
    assert_eq!(exporters().await, listed("ENABLED"));
}

#[tokio::test]
async fn impossible_exporter_operations_are_refused_with_the_reason() {
    let server = Server::started().await;
    let one = "/actuator/exporters/secondary-storage";
    let other = "/actuator/exporters/other";
    for (method, path, body, expected, said) in [
        (
            "POST",
            format!("{other}/enable"),
            "",
            400,
            "there are secondary-storage",
        ),
        ("DELETE", one.to_string(), "", 400, "is configured"),
        (
            "POST",
            format!("{one}/enable"),
            r#"{"initializeFrom": 1}"#,
            400,
            "initializeFrom",
        ),
        ("POST", format!("{one}/pause"), "", 404, "'pause'"),
        ("GET", format!("{one}/enable"), "", 405, "POST"),
    ] {
        let (status, text) = server.send(method, &path, body).await;
        assert_eq!(status, expected, "{method} {path}: {text}");
        assert!(text.contains(said), "{method} {path}: {text}");
    }
}

#[tokio::test]
async fn log_levels_are_read_changed_and_reset() {
    let server = Server::starting(false).await;
    let path = "/actuator/loggers/skep_broker";
    let levels = server.json("GET", "/actuator/loggers", "").await;
    assert_eq!(levels["loggers"]["ROOT"]["effectiveLevel"], "INFO");
    assert_eq!(levels["levels"][0], "OFF");
    let set = |body: &'static str| server.send("POST", path, body);
    assert_eq!(set(r#"{"configuredLevel":"DEBUG"}"#).await.0, 204);
    assert_eq!(
        server.json("GET", path, "").await,
        json!({ "configuredLevel": "DEBUG", "effectiveLevel": "DEBUG" })
    );
    assert_eq!(set(r#"{"configuredLevel":null}"#).await.0, 204);
    assert_eq!(
        server.json("GET", path, "").await,
        json!({ "configuredLevel": null, "effectiveLevel": "INFO" })
    );
    assert_eq!(set(r#"{"configuredLevel":"LOUD"}"#).await.0, 400);
    let (status, body) = set(r#"{"level":"INFO"}"#).await;
    assert_eq!(status, 400, "an unknown field must not reset the level");
    assert!(body.contains("configuredLevel"), "{body}");
    let (status, _) = server
        .send(
            "POST",
            "/actuator/loggers/io.camunda.zeebe",
            r#"{"configuredLevel":"TRACE"}"#,
        )
        .await;
    assert_eq!(status, 204);
    let ours = server
        .json("GET", "/actuator/loggers/skep_engine", "")
        .await;
    assert_eq!(ours["effectiveLevel"], "TRACE");
}

#[tokio::test]
async fn flow_control_changes_at_once() {
    let server = Server::started().await;
    let body = r#"{"request":{"algorithm":"FIXED","fixed":{"limit":7}},"write":null}"#;
    let changed = server.json("POST", "/actuator/flowControl", body).await;
    for id in ["1", "2"] {
        assert_eq!(changed[id]["requestLimiter"]["limit"], 7);
        assert_eq!(changed[id]["requestLimiter"]["algorithm"], "FIXED");
        assert_eq!(changed[id]["writeRateLimit"]["throttling"]["minRate"], 100);
    }
    assert_eq!(server.broker().partitions()[0].status.limit.limit(), 7);
    for (body, expected) in [
        (r#"{"request":{"fixed":{"limit":0}}}"#, 400),
        (r#"{"request":5}"#, 400),
        (r#"{"reqest":{}}"#, 400),
        (r#"{"write":{"enabled":true,"limit":5}}"#, 501),
    ] {
        let (status, text) = server.send("POST", "/actuator/flowControl", body).await;
        assert_eq!(status, expected, "{body}: {text}");
    }
    assert_eq!(server.broker().partitions()[0].status.limit.limit(), 7);
}

#[tokio::test]
async fn open_job_streams_are_listed() {
    let server = Server::started().await;
    let spec = ActivateJobs {
        job_type: "charge".into(),
        worker: "w".into(),
        timeout: 300_000,
        max_jobs: 4,
        fetch_variables: vec!["a".into()],
        tenants: skep_protocol::Tenants::default(),
    };
    let streams = [
        server
            .broker()
            .open_job_stream(spec.clone(), Claims::Internal),
        server.broker().open_job_stream(spec, Claims::Internal),
    ];
    let listed = server.json("GET", "/actuator/jobstreams", "").await;
    let remote = &listed["remote"];
    assert_eq!(remote.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(remote[0]["jobType"], "charge");
    assert_eq!(remote[0]["metadata"]["timeout"], "PT5M");
    assert_eq!(remote[0]["consumers"].as_array().map(Vec::len), Some(2));
    let client = server.json("GET", "/actuator/jobstreams/client", "").await;
    assert_eq!(client.as_array().map(Vec::len), Some(2));
    assert_eq!(client[0]["connectedTo"], json!(["0"]));
    assert_eq!(server.get("/actuator/jobstreams/other").await.0, 400);
    drop(streams);
    let none = server.json("GET", "/actuator/jobstreams/remote", "").await;
    assert_eq!(none, json!([]));
}

#[tokio::test]
async fn settings_are_shown_with_their_sources() {
    let server = Server::starting(false).await;
    let shown = server.json("GET", "/actuator/configprops", "").await;
    let bean = &shown["contexts"]["skep"]["beans"]["camunda.cluster"];
    assert_eq!(bean["properties"]["partition-count"], "1");
    assert_eq!(bean["inputs"]["partition-count"]["origin"], "default");
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_are_refused_with_a_message() {
    let server = Server::started().await;
    for (method, path, expected) in [
        ("GET", "/", 404),
        ("GET", "/actuator", 200),
        ("GET", "/actuator/nothing", 404),
        ("GET", "/actuatorhealth", 404),
        ("GET", "/actuator/health/other", 404),
        ("GET", "/actuator/cluster/purge", 405),
        ("GET", "/actuator/cluster/changes/7", 404),
        ("DELETE", "/actuator/cluster", 405),
        ("POST", "/actuator/backupRuntime", 400),
        ("POST", "/actuator/banning/5", 404),
        ("POST", "/actuator/banning/five", 400),
        ("POST", "/actuator/banning", 405),
        ("GET", "/actuator/banning/5", 405),
        ("POST", "/actuator/partitions/explode", 404),
        ("GET", "/actuator/partitions/1", 404),
        ("POST", "/actuator/rebalance", 200),
        ("POST", "/actuator/health", 405),
        ("DELETE", "/actuator/loggers", 405),
        ("GET", "/actuator/partitions/takeSnapshot", 405),
        ("PUT", "/actuator/flowControl", 405),
        ("GET", "/actuator/flamegraph?seconds=0", 400),
    ] {
        let (status, body) = server.send(method, path, "").await;
        assert_eq!(status, expected, "{method} {path}: {body}");
        assert!(status < 400 || body.contains("\"message\""), "{body}");
    }
}

#[tokio::test]
async fn a_large_body_is_refused() {
    let server = Server::started().await;
    let body = "x".repeat(70_000);
    let (status, _) = server.send("POST", "/actuator/flowControl", &body).await;
    assert_eq!(status, 413);
}

#[tokio::test]
async fn a_flame_graph_is_an_svg() {
    let server = Server::starting(false).await;
    let (status, body) = server.get("/debug/pprof/flamegraph?seconds=1").await;
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("<svg"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_banned_and_shown_with_the_reason() {
    let server = Server::started().await;
    let xml = r#"<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
      <bpmn:process id="p" isExecutable="true">
        <bpmn:startEvent id="s"/><bpmn:sequenceFlow id="f" sourceRef="s" targetRef="t"/>
        <bpmn:serviceTask id="t"><bpmn:extensionElements><zeebe:taskDefinition type="work"/></bpmn:extensionElements></bpmn:serviceTask>
      </bpmn:process></bpmn:definitions>"#;
    let resources = vec![skep_protocol::command::Resource {
        name: "p.bpmn".into(),
        content: bytes::Bytes::from_static(xml.as_bytes()),
    }];
    let deploy = Command::Deploy(skep_protocol::command::Deploy { resources });
    server.ask(deploy).await.result.unwrap();
    let create = Command::CreateProcessInstance(skep_protocol::command::CreateProcessInstance {
        process: skep_protocol::command::ProcessRef::Id {
            bpmn_process_id: "p".into(),
            version: -1,
        },
        variables: Default::default(),
        start_instructions: vec![],
        terminate_after: vec![],
        tags: vec![],
        business_id: None,
        await_result: None,
    });
    let created = server.ask(create).await.result;
    let Ok(skep_protocol::Response::ProcessInstanceCreated(created)) = created else {
        panic!("{created:?}")
    };
    let key = created.process_instance_key;
    let nobody = json!({ "items": [] });
    assert_eq!(server.json("GET", "/actuator/banning", "").await, nobody);
    let path = format!("/actuator/banning/{key}");
    assert_eq!(server.send("POST", &path, "").await, (204, String::new()));
    let deadline = Instant::now() + Duration::from_secs(180);
    let listed = loop {
        let listed = server.json("GET", "/actuator/banning", "").await;
        if listed != nobody {
            break listed;
        }
        assert!(Instant::now() < deadline, "not listed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let partition = key.partition().unwrap();
    assert_eq!(
        listed["items"],
        json!([{
            "processInstanceKey": key.to_string(),
            "partitionId": partition,
            "reason": "banned by an operator",
        }])
    );
    let health = server.json("GET", "/actuator/health", "").await;
    let partitions = &health["components"]["partitions"]["components"];
    let details = &partitions[partition.to_string()]["details"];
    assert_eq!(
        (&details["bannedInstances"], &details["health"]),
        (&json!(1), &json!("HEALTHY"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn open_incidents_are_listed_by_page_with_the_remedy() {
    let server = Server::started().await;
    let xml = r#"<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace="t">
      <bpmn:process id="stuck" isExecutable="true">
        <bpmn:startEvent id="s"/><bpmn:sequenceFlow id="f" sourceRef="s" targetRef="t"/>
        <bpmn:serviceTask id="t"><bpmn:extensionElements><zeebe:taskDefinition type="=missing"/></bpmn:extensionElements></bpmn:serviceTask>
      </bpmn:process></bpmn:definitions>"#;
    let resources = vec![skep_protocol::command::Resource {
        name: "stuck.bpmn".into(),
        content: bytes::Bytes::from_static(xml.as_bytes()),
    }];
    let deploy = Command::Deploy(skep_protocol::command::Deploy { resources });
    server.ask(deploy).await.result.unwrap();
    assert_eq!(
        server.json("GET", "/actuator/incidents", "").await,
        json!({ "items": [], "hasMore": false })
    );
    for _ in 0..5 {
        let create =
            Command::CreateProcessInstance(skep_protocol::command::CreateProcessInstance {
                process: skep_protocol::command::ProcessRef::Id {
                    bpmn_process_id: "stuck".into(),
                    version: -1,
                },
                variables: Default::default(),
                start_instructions: vec![],
                terminate_after: vec![],
                tags: vec![],
                business_id: None,
                await_result: None,
            });
        server.ask(create).await.result.unwrap();
    }
    let mut seen = Vec::new();
    let mut path = "/actuator/incidents?limit=2".to_string();
    loop {
        let page = server.json("GET", &path, "").await;
        let items = page["items"].as_array().unwrap();
        assert!((1..=2).contains(&items.len()), "{page}");
        for item in items {
            assert_eq!(item["errorType"], "EXTRACT_VALUE_ERROR");
            assert_eq!(item["elementId"], "t");
            assert_eq!(item["processDefinitionId"], "stuck");
            assert_eq!(item["jobKey"], Value::Null);
            seen.push(item["incidentKey"].as_str().unwrap().to_string());
        }
        if page["hasMore"] == false {
            break;
        }
        path = format!("/actuator/incidents?limit=2&after={}", seen.last().unwrap());
    }
    let different: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), different.len()), (5, 5), "{seen:?}");
    let resolve = Command::ResolveIncident {
        incident_key: skep_protocol::Key(seen[0].parse().unwrap()),
    };
    server.ask(resolve).await.result.unwrap();
    let all = server.json("GET", "/actuator/incidents", "").await;
    assert!(!all.to_string().contains(&seen[0]), "{all}");
    assert_eq!(
        all["items"].as_array().unwrap().len(),
        5,
        "its cause is still there: {all}"
    );
    for wrong in ["limit=0", "limit=5000", "limit=x", "after=x"] {
        let (status, text) = server.get(&format!("/actuator/incidents?{wrong}")).await;
        assert_eq!(status, 400, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_that_the_documentation_promises_is_in_a_scrape() {
    let server = Server::started().await;
    let rest = server.serve().await;
    let (status, text) = send(rest, "GET", "/v2/topology", "").await;
    assert_eq!(status, 200, "{text}");
    server.broker().streams().streams();
    let resource = |name: &str, content: &str| skep_protocol::command::Resource {
        name: name.into(),
        content: content.to_string().into(),
    };
    let one_decision = Scenario::named("decision/delete-one-version-and-run-task");
    let deploy = Command::Deploy(skep_protocol::command::Deploy {
        resources: vec![
            resource(
                "order.bpmn",
                include_str!("../../../../examples/first-process.bpmn"),
            ),
            resource("one.dmn", one_decision.part("a.dmn")),
        ],
    });
    let answer = server.ask(deploy).await;
    assert!(answer.result.is_ok(), "{answer:?}");
    let evaluate = "{\"decisionDefinitionId\": \"d\"}";
    let path = "/v2/decision-definitions/evaluation";
    assert_eq!(send(rest, "POST", path, evaluate).await.0, 200);
    let create = "{\"processDefinitionId\": \"order\", \"variables\": {\"amount\": 1}}";
    for _ in 0..2 {
        assert_eq!(
            send(rest, "POST", "/v2/process-instances", create).await.0,
            200
        );
    }
    let cancel = "{\"filter\": {\"processDefinitionId\": \"none\"}}";
    let answer = send(rest, "POST", "/v2/process-instances/cancellation", cancel).await;
    assert_eq!(answer.0, 200, "{}", answer.1);
    // Without a worker the gateway stops waiting and counts a failure.
    let create =
        "{\"processDefinitionId\": \"order\", \"awaitCompletion\": true, \"requestTimeout\": 1}";
    let answer = send(rest, "POST", "/v2/process-instances", create).await;
    assert_eq!(answer.0, 504, "{}", answer.1);
    // Metrics of search servers, clusters and backups: see broker/tests/cluster/measured.rs, tests/cluster/{backups,scaling}.rs.
    let elsewhere = [
        "zeebe_backup_",
        "zeebe_cluster_changes_operation_",
        "zeebe_elasticsearch_",
        "zeebe_messaging_",
        "atomix_append_entries_",
        "atomix_raft_messages_",
        "atomix_non_replicated_entries",
    ];
    let deadline = Instant::now() + std::time::Duration::from_secs(180); // Counting follows.
    loop {
        let (_, text) = server.get("/actuator/prometheus").await;
        let polled = [
            "zeebe_long_polling_queued_current",
            "grpc_server_processing_duration_seconds",
        ];
        let missing: Vec<&str> = crate::documented_metrics::documented("yes")
            .into_iter()
            .filter(|name| !polled.contains(name))
            .filter(|name| !elsewhere.iter().any(|part| name.starts_with(part)))
            .filter(|name| !text.contains(&format!("# TYPE {name} ")))
            .collect();
        if missing.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "{missing:?} not in\n{text}");
        tokio::task::yield_now().await;
    }
}
