//! What callers see of a user task beyond the task itself: its variables, and its entries in the audit log.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_identity::Entry;
use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::login::{ask, basic, directory, protect};
use crate::searches::{BACKENDS, Stored};

/// A task of anna and one of bert, of processes with their names. Each instance has a secret.
struct Tasks {
    of_anna: Key,
    of_bert: Key,
    batches: Vec<(u32, Vec<u8>)>,
}

fn tasks() -> Tasks {
    let mut rig = Rig::new();
    rig.record_batches();
    let carl = Principal {
        id: "carl".into(),
        ..Principal::default()
    };
    rig.claims = Claims::User(carl.into());
    let [of_anna, of_bert] = ["anna", "bert"].map(|name| {
        rig.deploy(Bpmn::process(name).start("s").user_task("t").end("e"));
        rig.create(name, &json!({"secret": name}).to_string());
        let task = rig.user_task();
        rig.assign(task, name, "").unwrap();
        task
    });
    Tasks {
        of_anna,
        of_bert,
        batches: std::mem::take(&mut rig.batches),
    }
}

async fn over(tasks: &Tasks, backend: Backend) -> Running {
    let location = backend.config().location;
    let store = Filled::at(location, 1, Duration::from_millis(5));
    store.follow(&tasks.batches);
    start_over(Arc::new(Stored(store)), protect).await
}

/// Anna gets these permissions and has no others.
async fn grant(gateway: &Running, granted: &[(ResourceType, ResourceMatcher, PermissionType)]) {
    let mut users = directory().await;
    for (number, (resource_type, matcher, permission)) in (40..).zip(granted) {
        let key = Key::new(1, number);
        let authorization = AuthorizationValue {
            authorization_key: key,
            owner_type: OwnerType::User,
            owner_id: "anna".into(),
            resource_type: *resource_type,
            matcher: matcher.clone(),
            permissions: vec![*permission],
        };
        users.add(key, &Entry::Authorization(authorization));
    }
    *gateway.broker.directory.lock() = Arc::new(users);
}

/// The status of anna's search, and how much it finds.
async fn found(gateway: &Running, path: &str, body: &Value) -> (u16, Option<u64>) {
    let (shown, path) = (basic("anna", "right"), format!("/v2/{path}/search"));
    let headers = [("authorization", &*shown), crate::login::JSON];
    let answer = ask(gateway, ("POST", &path), &headers, &body.to_string()).await;
    let json: Value = serde_json::from_str(&answer.text).unwrap_or_default();
    (answer.status, json["page"]["totalItems"].as_u64())
}

async fn of_task(gateway: &Running, task: Key, what: &str) -> (u16, Option<u64>) {
    found(gateway, &format!("user-tasks/{task}/{what}"), &json!({})).await
}

const REFUSED: (u16, Option<u64>) = (403, None);
const ONE: (u16, Option<u64>) = (200, Some(1));
const NONE: (u16, Option<u64>) = (200, Some(0));
const VARIABLES: [&str; 2] = ["variables", "effective-variables"];

fn assignee() -> (ResourceType, ResourceMatcher, PermissionType) {
    let property = ResourceMatcher::Property("assignee".into());
    (ResourceType::UserTask, property, PermissionType::Read)
}

#[tokio::test]
async fn a_caller_who_may_read_a_task_reads_its_variables_and_audit_log_and_no_others() {
    let tasks = tasks();
    for backend in BACKENDS {
        let gateway = over(&tasks, backend).await;
        grant(&gateway, &[assignee()]).await;
        for what in [VARIABLES[0], VARIABLES[1], "audit-logs"] {
            let own = of_task(&gateway, tasks.of_anna, what).await;
            assert_eq!(own, ONE, "{backend:?} {what}");
            let other = of_task(&gateway, tasks.of_bert, what).await;
            assert_eq!(other, REFUSED, "{backend:?} {what}");
            let (status, _) = of_task(&gateway, Key::new(1, 1 << 40), what).await;
            assert_eq!(status, 404, "{backend:?} {what}");
        }
        for (whose, expected) in [("anna", ONE), ("bert", NONE)] {
            let secret = json!([{"name": "secret", "value": {"$like": format!("\"{whose}*")}}]);
            let body = json!({"filter": {"processInstanceVariables": secret}});
            let tasks = found(&gateway, "user-tasks", &body).await;
            assert_eq!(tasks, expected, "{backend:?} {whose}");
        }
        assert_eq!(found(&gateway, "variables", &json!({})).await, NONE);
    }
}

#[tokio::test]
async fn the_audit_log_has_the_tasks_that_name_the_caller() {
    let tasks = tasks();
    for backend in BACKENDS {
        let gateway = over(&tasks, backend).await;
        grant(&gateway, &[assignee()]).await;
        for (task, expected) in [(tasks.of_anna, ONE), (tasks.of_bert, NONE)] {
            let body = json!({"filter": {"userTaskKey": task.to_string()}});
            let entries = found(&gateway, "audit-logs", &body).await;
            assert_eq!(entries, expected, "{backend:?}");
        }
        let all = found(&gateway, "audit-logs", &json!({})).await;
        assert_eq!(all, ONE, "{backend:?}: nothing but that");
    }
}

#[tokio::test]
async fn reading_instances_of_a_process_is_enough_for_the_data_of_its_tasks() {
    let tasks = tasks();
    let gateway = over(&tasks, Backend::Embedded).await;
    let reads = (
        ResourceType::ProcessDefinition,
        ResourceMatcher::Id("bert".into()),
        PermissionType::ReadProcessInstance,
    );
    grant(&gateway, &[reads]).await;
    for what in [VARIABLES[0], VARIABLES[1], "audit-logs"] {
        assert_eq!(of_task(&gateway, tasks.of_bert, what).await, ONE, "{what}");
        let other = of_task(&gateway, tasks.of_anna, what).await;
        assert_eq!(other, REFUSED, "{what}");
    }
}

#[tokio::test]
async fn reading_the_audit_log_of_tasks_does_not_show_their_variables() {
    let tasks = tasks();
    let gateway = over(&tasks, Backend::Embedded).await;
    let category = ResourceMatcher::Id("USER_TASKS".into());
    let audits = (ResourceType::AuditLog, category, PermissionType::Read);
    grant(&gateway, &[audits]).await;
    assert_eq!(of_task(&gateway, tasks.of_bert, "audit-logs").await, ONE);
    for what in VARIABLES {
        let variables = of_task(&gateway, tasks.of_bert, what).await;
        assert_eq!(variables, REFUSED, "{what}");
    }
}
