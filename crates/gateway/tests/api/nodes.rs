//! Knowledge of all nodes, combined for a caller: job types with their workers, and the partitions of nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use skep_gateway::{GatewayConfig, Tenancy};
use skep_identity::{Directory, Entry};
use skep_model::builder::Bpmn;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentValue, ResourceMatcher,
};
use skep_protocol::{Key, TenantId};
use skep_service::Work;
use skep_service::work::{Asker, JobsInFlight, NodeWork, PartitionWork, WaitingJobs, Way};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start, start_over, start_with};
use crate::http::send;
use crate::login::{ask, basic, directory, protect};
use crate::searches::Stored;

const JOB_TYPES: &str = "/skep/v1/job-types";
const NODES: &str = "/skep/v1/management/nodes";
const MONITOR: &str = "/skep/v1/monitor";
/// 20 November 2026, noon.
const NOON: i64 = 1_795_176_000_000;

fn asker(job_type: &str, worker: &str, node: &str, tenants: Option<&[&str]>, seen: i64) -> Asker {
    Asker {
        job_type: job_type.into(),
        worker: worker.into(),
        node: node.into(),
        way: Way::Poll,
        tenants: tenants.map(|ids| ids.iter().map(|id| TenantId::new(id)).collect()),
        seen: NOON + seen,
    }
}

fn waiting(job_type: &str, tenant: &str, count: u64, oldest: Key) -> WaitingJobs {
    WaitingJobs {
        job_type: job_type.into(),
        tenant: TenantId::new(tenant),
        count,
        oldest,
    }
}

fn in_flight(job_type: &str, worker: &str, tenant: &str, count: u64) -> JobsInFlight {
    JobsInFlight {
        job_type: job_type.into(),
        worker: worker.into(),
        tenant: TenantId::new(tenant),
        count,
    }
}

const DEFAULT: &str = "<default>";

/// Two nodes, each leading a partition, with jobs and workers of two tenants.
fn work(oldest: Key) -> Work {
    let one = NodeWork {
        since: NOON - 60_000,
        askers: vec![
            asker("pay", "a", "0", Some(&[DEFAULT]), 1_000),
            asker("ship", "hidden", "0", Some(&["acme"]), 2_000),
        ],
        partitions: vec![PartitionWork {
            partition: 1,
            waiting: vec![
                waiting("pay", DEFAULT, 2, oldest),
                waiting("pay", "acme", 40, Key(7)),
                waiting("nobody", DEFAULT, 5, Key(8)),
            ],
            in_flight: vec![
                in_flight("pay", "a", DEFAULT, 3),
                in_flight("pay", "a", "acme", 30),
                in_flight("pay", "gone", DEFAULT, 1),
            ],
            is_incomplete: false,
        }],
        is_incomplete: false,
    };
    let other = NodeWork {
        since: NOON - 30_000,
        askers: vec![
            asker("pay", "a", "gateway 3", None, 5_000),
            Asker {
                way: Way::Stream,
                ..asker("pay", "b", "1", Some(&[DEFAULT]), 9_000)
            },
        ],
        partitions: vec![PartitionWork {
            partition: 2,
            waiting: vec![waiting("pay", DEFAULT, 4, Key(9))],
            in_flight: vec![in_flight("pay", "a", DEFAULT, 2)],
            is_incomplete: false,
        }],
        is_incomplete: false,
    };
    Work {
        nodes: vec![one, other],
        is_incomplete: true,
    }
}

fn of_type<'v>(answer: &'v Value, job_type: &str) -> &'v Value {
    let items = answer["items"].as_array().expect("items");
    let found = items.iter().find(|item| item["type"] == job_type);
    found.unwrap_or(&Value::Null)
}

#[tokio::test]
async fn the_knowledge_of_all_nodes_about_a_job_type_is_merged() {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("t", "pay")
            .end("e"),
    );
    rig.create("p", "{}");
    let oldest = rig.job("pay").key;
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    let began = std::time::Instant::now();
    while store.exported() < store.committed() {
        assert!(began.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let gateway = start_over(Arc::new(Stored(store)), |_| {}).await;
    *gateway.broker.reports.work.lock() = Arc::new(work(oldest));
    let answer = send(gateway.rest, "GET", JOB_TYPES, None, "").await.json();
    let items = answer["items"].as_array().expect("items").iter();
    let types: Vec<&Value> = items.map(|item| &item["type"]).collect();
    assert_eq!(types, ["nobody", "pay", "ship"]);
    assert_eq!(
        of_type(&answer, "pay"),
        &json!({
            "type": "pay",
            "waiting": 46,
            "oldest": "2026-01-01T00:00:00.000Z",
            "lastAsked": "2026-11-20T12:00:09.000Z",
            "workers": [
                {"name": "b", "nodes": ["1"], "ways": ["STREAM"], "inFlight": 0, "seen": "2026-11-20T12:00:09.000Z"},
                {"name": "a", "nodes": ["0", "gateway 3"], "ways": ["POLL"], "inFlight": 35, "seen": "2026-11-20T12:00:05.000Z"},
                {"name": "gone", "nodes": [], "ways": [], "inFlight": 1, "seen": null},
            ],
        })
    );
    assert_eq!(
        of_type(&answer, "nobody"),
        &json!({"type": "nobody", "waiting": 5, "oldest": null, "lastAsked": null, "workers": []})
    );
    assert_eq!(answer["isIncomplete"], true);
    // One of the nodes has no notes from before that time.
    assert_eq!(answer["since"], "2026-11-20T11:59:30.000Z");
}

#[tokio::test]
async fn a_cluster_in_which_nothing_happens_has_no_types() {
    let gateway = start().await;
    let answer = send(gateway.rest, "GET", JOB_TYPES, None, "").await.json();
    assert_eq!(
        answer,
        json!({"items": [], "since": null, "isIncomplete": false})
    );
}

#[tokio::test]
async fn an_answer_has_the_types_with_the_most_jobs() {
    let gateway = start().await;
    let jobs = (1..=1_005).map(|n| waiting(&format!("t{n:04}"), DEFAULT, n, Key(n as i64)));
    let partition = PartitionWork {
        waiting: jobs.collect(),
        ..PartitionWork::default()
    };
    let node = NodeWork {
        partitions: vec![partition],
        ..NodeWork::default()
    };
    *gateway.broker.reports.work.lock() = Arc::new(Work {
        nodes: vec![node],
        is_incomplete: false,
    });
    let answer = send(gateway.rest, "GET", JOB_TYPES, None, "").await.json();
    let items = answer["items"].as_array().expect("items");
    let ends = [&items[0]["type"], &items[999]["type"]];
    assert_eq!(
        (items.len(), ends),
        (1_000, [&json!("t0006"), &json!("t1005")])
    );
    assert_eq!(answer["isIncomplete"], true);
}

fn member(parent: &str, user: &str) -> Entry {
    Entry::TenantMember {
        parent: parent.into(),
        member: Member::new(EntityType::User, user),
    }
}

/// Anna belongs to the default tenant, bert to another.
async fn with_tenants() -> Directory {
    let mut directory = directory().await;
    for (n, (tenant, user)) in [(DEFAULT, "anna"), ("acme", "bert")].iter().enumerate() {
        let key = Key::new(1, 20 + n as u64);
        let value = ParentValue {
            key,
            id: (*tenant).into(),
            name: (*tenant).into(),
            description: "".into(),
            member: None,
        };
        directory.add(key, &Entry::Tenant(value));
        directory.add(Key::new(1, 30 + n as u64), &member(tenant, user));
    }
    directory
}

fn checked(config: &mut GatewayConfig) {
    protect(config);
    config.security.authorizations = false;
    config.security.tenancy = Tenancy::On;
}

async fn asked_by(gateway: &Running, user: &str, path: &'static str) -> (u16, Value) {
    let shown = basic(user, "right");
    let answer = ask(gateway, ("GET", path), &[("authorization", &shown)], "").await;
    let body = serde_json::from_str(&answer.text).unwrap_or_default();
    (answer.status, body)
}

#[tokio::test]
async fn jobs_and_workers_of_other_tenants_are_left_out() {
    let gateway = start_with(checked).await;
    *gateway.broker.directory.lock() = Arc::new(with_tenants().await);
    *gateway.broker.reports.work.lock() = Arc::new(work(Key(6)));
    let (status, anna) = asked_by(&gateway, "anna", JOB_TYPES).await;
    assert_eq!(status, 200, "{anna}");
    assert_eq!(of_type(&anna, "pay")["waiting"], 6);
    assert_eq!(of_type(&anna, "pay")["workers"][1]["inFlight"], 5);
    assert_eq!(of_type(&anna, "ship"), &Value::Null);
    let (_, bert) = asked_by(&gateway, "bert", JOB_TYPES).await;
    assert_eq!(of_type(&bert, "pay")["waiting"], 40);
    // The only worker for all tenants.
    let pay = of_type(&bert, "pay")["workers"].as_array().unwrap();
    assert_eq!((pay.len(), &pay[0]["nodes"]), (1, &json!(["gateway 3"])));
    assert_eq!(pay[0]["inFlight"], 30);
    assert_eq!(of_type(&bert, "ship")["workers"][0]["name"], "hidden");
    assert_eq!(of_type(&bert, "nobody"), &Value::Null);
}

fn granting(permission: PermissionType) -> Entry {
    Entry::Authorization(AuthorizationValue {
        authorization_key: Key::new(1, 40),
        owner_type: OwnerType::User,
        owner_id: "bert".into(),
        resource_type: ResourceType::System,
        matcher: ResourceMatcher::Any,
        permissions: vec![permission],
    })
}

#[tokio::test]
async fn each_needs_a_different_permission() {
    let gateway = start_with(protect).await;
    for (permission, allowed) in [
        (PermissionType::ReadJobMetric, [200, 403, 403]),
        (PermissionType::Read, [403, 200, 200]),
        (PermissionType::ReadUsageMetric, [403, 403, 403]),
    ] {
        let mut granted = directory().await;
        granted.add(Key::new(1, 40), &granting(permission));
        *gateway.broker.directory.lock() = Arc::new(granted);
        for (path, status) in [JOB_TYPES, NODES, MONITOR].into_iter().zip(allowed) {
            assert_eq!(asked_by(&gateway, "bert", path).await.0, status, "{path}");
            assert_eq!(asked_by(&gateway, "anna", path).await.0, 403, "{path}");
        }
    }
}

#[tokio::test]
async fn nodes_are_shown_with_the_state_they_report() {
    let gateway = start().await;
    let state = json!({"1": {"role": "LEADER", "isDraining": true, "liveElementInstances": 3, "more": [1]}});
    let reported = [
        (0, Some(state.to_string())),
        (1, None),
        (2, Some("?".into())),
    ];
    *gateway.broker.reports.states.lock() = Arc::new(BTreeMap::from(reported));
    let answer = send(gateway.rest, "GET", NODES, None, "").await.json();
    assert_eq!(answer, json!({"0": state, "1": null, "2": null}));
}

/// Measurements of a node, with the time of the first point.
fn measured(from: i64, points: &[f64]) -> Option<String> {
    let series = [
        json!({"name": "stage.fsync", "partition": 0, "unit": "ms", "points": points}),
        json!({"name": "records", "partition": 2, "unit": "1/s", "points": points}),
    ];
    Some(json!({"from": from, "series": series}).to_string())
}

#[tokio::test]
async fn measurements_of_all_nodes_stand_beside_each_other() {
    let gateway = start().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let minute_ago = (now.as_millis() as i64 - 60_000) / 5_000 * 5_000;
    *gateway.broker.reports.measured.lock() = Arc::new(BTreeMap::from([
        (0, measured(minute_ago, &[1.5, 2.0])),
        (1, None),
        // It started one step later.
        (2, measured(minute_ago + 5_000, &[4.0])),
    ]));
    let from = skep_query::render_time(minute_ago);
    let path = format!("{MONITOR}?from={from}");
    let answer = send(gateway.rest, "GET", &path, None, "").await.json();
    let asked = gateway.broker.reports.measured_from.load(Ordering::Relaxed);
    assert_eq!(asked, minute_ago);
    assert_eq!(
        (&answer["from"], &answer["stepMs"], &answer["missing"]),
        (&json!(from), &json!(5_000), &json!([1]))
    );
    assert_eq!(
        answer["series"],
        json!([
            {"name": "stage.fsync", "node": 0, "partition": null, "unit": "ms", "points": [1.5, 2.0]},
            {"name": "records", "node": 0, "partition": 2, "unit": "1/s", "points": [1.5, 2.0]},
            {"name": "stage.fsync", "node": 2, "partition": null, "unit": "ms", "points": [null, 4.0]},
            {"name": "records", "node": 2, "partition": 2, "unit": "1/s", "points": [null, 4.0]},
        ])
    );
}

#[tokio::test]
async fn measurements_go_back_an_hour_and_no_further() {
    let gateway = start().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let hour_ago = now.as_millis() as i64 - 3_600_000;
    for from in ["", "?from=2020-01-01T00:00:00Z"] {
        let answer = send(gateway.rest, "GET", &format!("{MONITOR}{from}"), None, "").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let asked = gateway.broker.reports.measured_from.load(Ordering::Relaxed);
        assert!((hour_ago..hour_ago + 60_000).contains(&asked), "{asked}");
        assert_eq!(asked % 5_000, 0);
    }
    let wrong = send(
        gateway.rest,
        "GET",
        &format!("{MONITOR}?from=noon"),
        None,
        "",
    )
    .await;
    assert_eq!(wrong.problem().0, 400, "{}", wrong.text);
    assert!(wrong.text.contains("'noon'"), "{}", wrong.text);
}
