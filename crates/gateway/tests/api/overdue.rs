//! Elements where tokens wait longer than usual.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use skep_gateway::{GatewayConfig, Tenancy};
use skep_identity::{Directory, Entry};
use skep_model::builder::Bpmn;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentValue, ResourceMatcher,
};
use skep_protocol::{DEFAULT_TENANT, Key};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::http::send;
use crate::login::{ask, basic, directory, protect};
use crate::searches::{BACKENDS, Stored};

const PATH: &str = "/skep/v1/element-instances/overdue";
const HOUR: i64 = 3_600_000;

/// A rig that starts three days ago.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.now = now() - 72 * HOUR;
    rig
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn deploy(rig: &mut Rig, process: &str) -> Key {
    let model = Bpmn::process(process)
        .start("placed")
        .service_task("charge", process)
        .end("done");
    rig.deploy(model);
    rig.events("PROCESS").last().expect("a definition").key
}

/// Completes this many instances, whose jobs take this long. The job type is the process id.
fn completed(rig: &mut Rig, process: &str, count: usize, ms: i64) {
    for _ in 0..count {
        rig.create(process, r#"{"items":[1]}"#);
    }
    rig.advance(ms);
    for job in rig.jobs(process) {
        rig.complete(&job, "{}");
    }
}

type Batches = Vec<(u32, Vec<u8>)>;

async fn over(
    batches: &Batches,
    backend: Backend,
    change: impl FnOnce(&mut GatewayConfig),
) -> Running {
    let location = backend.config().location;
    let store = Filled::at(location, 1, Duration::from_millis(5));
    store.follow(batches);
    start_over(Arc::new(Stored(store)), change).await
}

async fn found(gateway: &Running) -> Value {
    let answer = send(gateway.rest, "GET", PATH, None, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item[name].as_str().unwrap_or_default()
}

/// Process, element, and count.
fn listed(answer: &Value) -> Vec<(&str, &str, i64)> {
    let items = answer["items"].as_array().expect("items").iter();
    items
        .map(|it| {
            let count = it["overdue"].as_i64().unwrap_or(-1);
            (
                text(it, "processDefinitionId"),
                text(it, "elementId"),
                count,
            )
        })
        .collect()
}

#[tokio::test]
async fn the_most_overdue_element_comes_first_in_every_store() {
    let mut rig = rig();
    deploy(&mut rig, "slow");
    completed(&mut rig, "slow", 20, HOUR);
    let oldest = rig.create("slow", "{}");
    let since = skep_query::render_time(rig.now);
    rig.advance(HOUR);
    rig.create("slow", "{}");
    let quick = deploy(&mut rig, "quick");
    completed(&mut rig, "quick", 20, 1_000);
    rig.create("quick", "{}");
    // One completion too few for a usual duration.
    deploy(&mut rig, "rare");
    completed(&mut rig, "rare", 19, 1_000);
    rig.create("rare", "{}");
    // A day is usual here, so that this one exceeds its time by less.
    deploy(&mut rig, "long");
    completed(&mut rig, "long", 20, 24 * HOUR);
    rig.create("long", "{}");
    // It has not waited for the usual time yet.
    deploy(&mut rig, "young");
    completed(&mut rig, "young", 20, HOUR);
    rig.now = now() - HOUR / 2;
    rig.create("young", "{}");
    let batches = std::mem::take(&mut rig.batches);
    for backend in BACKENDS {
        let gateway = over(&batches, backend, |_| {}).await;
        let answer = found(&gateway).await;
        assert_eq!(
            listed(&answer),
            [
                ("slow", "charge", 2),
                ("quick", "charge", 1),
                ("long", "charge", 1)
            ],
            "{backend:?}"
        );
        let (first, second) = (&answer["items"][0], &answer["items"][1]);
        assert_eq!(first["oldest"], json!(since));
        assert_eq!(first["processInstanceKey"], json!(oldest.to_string()));
        assert_eq!(first["usualMs"], json!(HOUR));
        assert_eq!(first["type"], json!("SERVICE_TASK"));
        assert_eq!(second["processDefinitionKey"], json!(quick.to_string()));
        assert_eq!(second["processDefinitionVersion"], json!(1));
        assert_eq!(
            (&first["hasMoreOverdue"], &answer["hasMore"]),
            (&json!(false), &json!(false))
        );
    }
}

#[tokio::test]
async fn an_element_waiting_for_its_inner_elements_is_not_listed() {
    let mut rig = rig();
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .sub_process("all", |all| {
                all.start("first")
                    .service_task("each", "p")
                    .for_each("=items", "item")
                    .end("last")
            })
            .end("end"),
    );
    completed(&mut rig, "p", 20, 1_000);
    rig.create("p", r#"{"items":[1,2,3]}"#);
    let batches = std::mem::take(&mut rig.batches);
    for backend in BACKENDS {
        let gateway = over(&batches, backend, |_| {}).await;
        assert_eq!(
            listed(&found(&gateway).await),
            [("p", "each", 3)],
            "{backend:?}"
        );
    }
}

#[tokio::test]
async fn nothing_is_late_where_nothing_is_known() {
    let mut rig = rig();
    deploy(&mut rig, "new");
    rig.create("new", "{}");
    let batches = std::mem::take(&mut rig.batches);
    let gateway = over(&batches, Backend::Embedded, |_| {}).await;
    let answer = found(&gateway).await;
    assert_eq!(answer, json!({"items": [], "hasMore": false}));
}

#[tokio::test]
async fn ten_are_listed_with_a_note_that_there_are_more() {
    let mut rig = rig();
    let names: Vec<String> = (0..11).map(|n| format!("p{n}")).collect();
    for name in &names {
        deploy(&mut rig, name);
        completed(&mut rig, name, 20, 1_000);
        rig.create(name, "{}");
    }
    let batches = std::mem::take(&mut rig.batches);
    let gateway = over(&batches, Backend::Embedded, |_| {}).await;
    let answer = found(&gateway).await;
    let expected: Vec<_> = names[..10]
        .iter()
        .map(|name| (&**name, "charge", 1))
        .collect();
    assert_eq!(
        (listed(&answer), &answer["hasMore"]),
        (expected, &json!(true))
    );
}

fn granting(process: &str) -> Entry {
    Entry::Authorization(AuthorizationValue {
        authorization_key: Key::new(1, 40),
        owner_type: OwnerType::User,
        owner_id: "anna".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id(process.into()),
        permissions: vec![PermissionType::ReadProcessInstance],
    })
}

#[tokio::test]
async fn only_processes_whose_instances_the_caller_may_read_are_listed() {
    let mut rig = rig();
    for process in ["mine", "others"] {
        deploy(&mut rig, process);
        completed(&mut rig, process, 20, 1_000);
        rig.create(process, "{}");
    }
    let batches = std::mem::take(&mut rig.batches);
    let gateway = over(&batches, Backend::Embedded, protect).await;
    let cases = [("mine", vec![("mine", "charge", 1)]), ("none", vec![])];
    for (process, expected) in cases {
        let mut granted = directory().await;
        granted.add(Key::new(1, 40), &granting(process));
        let answer = found_by_anna(&gateway, granted).await;
        assert_eq!(listed(&answer), expected);
    }
}

/// What anna finds with the permissions of this directory.
async fn found_by_anna(gateway: &Running, directory: Directory) -> Value {
    *gateway.broker.directory.lock() = Arc::new(directory);
    let shown = basic("anna", "right");
    let headers = [("authorization", &*shown)];
    let answer = ask(gateway, ("GET", PATH), &headers, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    serde_json::from_str(&answer.text).expect("JSON")
}

#[tokio::test]
async fn only_elements_of_the_callers_tenants_are_listed() {
    let mut rig = rig();
    deploy(&mut rig, "mine");
    completed(&mut rig, "mine", 20, 1_000);
    rig.create("mine", "{}");
    let batches = std::mem::take(&mut rig.batches);
    let gateway = over(&batches, Backend::Embedded, |config| {
        protect(config);
        config.security.tenancy = Tenancy::On;
    })
    .await;
    let mut granted = directory().await;
    granted.add(Key::new(1, 40), &granting("mine"));
    let mut assigned = granted.clone();
    let tenant = ParentValue {
        key: Key::new(1, 41),
        id: DEFAULT_TENANT.into(),
        name: "Default".into(),
        description: "".into(),
        member: None,
    };
    assigned.add(tenant.key, &Entry::Tenant(tenant.clone()));
    let member = Entry::TenantMember {
        parent: tenant.id,
        member: Member::new(EntityType::User, "anna"),
    };
    assigned.add(Key(2), &member);
    let nothing = found_by_anna(&gateway, granted).await;
    assert!(listed(&nothing).is_empty(), "{nothing}");
    let answer = found_by_anna(&gateway, assigned).await;
    assert_eq!(listed(&answer), [("mine", "charge", 1)]);
}
