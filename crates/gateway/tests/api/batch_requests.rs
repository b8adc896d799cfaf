//! How batch operations were requested, over a real store.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_gateway::{Login, Tenancy};
use skep_protocol::command::{BatchCommand, Command, CreateBatchOperation};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::{BatchOperationType, BatchPlan};
use skep_protocol::{Key, Response};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::http::send;
use crate::login::{ask, basic, directory};
use crate::searches::Stored;

const FILTER: &str =
    r#"{"processDefinitionId":"order","variables":[{"name":"n","value":"12345678901234567890"}]}"#;

fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig
}

fn begin(rig: &mut Rig, kind: BatchOperationType, plan: BatchPlan) -> Key {
    let command = CreateBatchOperation {
        kind,
        filter: FILTER.into(),
        plan,
        follow_up: None,
    };
    let command = Command::Batch(BatchCommand::Create(Box::new(command)));
    match rig.send(command) {
        Ok(Response::BatchOperationCreated { key, .. }) => key,
        other => panic!("{other:?}"),
    }
}

fn stored(rig: &mut Rig) -> Arc<Stored> {
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    Arc::new(Stored(store))
}

fn path(operation: &str) -> &'static str {
    format!("/skep/v1/batch-operations/{operation}/request").leak()
}

async fn request(gateway: &Running, operation: Key) -> Value {
    let path = path(&operation.to_string());
    let answer = send(gateway.rest, "GET", path, None, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

#[tokio::test]
async fn a_batch_operation_says_by_which_filter_and_plan_it_was_requested() {
    let mut rig = rig();
    let pair = || vec![("a \"quoted\"".into(), "b".into())];
    let cancel = begin(
        &mut rig,
        BatchOperationType::CancelProcessInstance,
        BatchPlan::None,
    );
    let migrate = begin(
        &mut rig,
        BatchOperationType::MigrateProcessInstance,
        BatchPlan::Migrate {
            target_process_definition_key: Key::new(1, 7),
            mapping: pair(),
        },
    );
    let modify = begin(
        &mut rig,
        BatchOperationType::ModifyProcessInstance,
        BatchPlan::Modify { moves: pair() },
    );
    let gateway = start_over(stored(&mut rig), |_| {}).await;
    let filter: Value = serde_json::from_str(FILTER).unwrap();
    let pairs = json!([{"sourceElementId": "a \"quoted\"", "targetElementId": "b"}]);
    let plan = json!({"targetProcessDefinitionKey": Key::new(1, 7).to_string(), "mappingInstructions": pairs});
    for (key, kind, migration, moves) in [
        (cancel, "CANCEL_PROCESS_INSTANCE", Value::Null, Value::Null),
        (migrate, "MIGRATE_PROCESS_INSTANCE", plan, Value::Null),
        (
            modify,
            "MODIFY_PROCESS_INSTANCE",
            Value::Null,
            pairs.clone(),
        ),
    ] {
        let expected = json!({
            "batchOperationKey": key.to_string(),
            "batchOperationType": kind,
            "filter": filter,
            "migrationPlan": migration,
            "moveInstructions": moves,
        });
        assert_eq!(request(&gateway, key).await, expected);
    }
}

#[tokio::test]
async fn a_batch_operation_that_does_not_exist_was_not_requested() {
    let gateway = start_over(stored(&mut rig()), |_| {}).await;
    for operation in ["5", "none"] {
        let answer = send(gateway.rest, "GET", path(operation), None, "").await;
        let (status, _, detail) = answer.problem();
        let expected = format!("Batch Operation with key '{operation}' not found");
        assert_eq!((status, detail), (404, expected));
    }
}

#[tokio::test]
async fn while_tenants_are_checked_the_filter_is_shown_to_its_author_alone() {
    let mut rig = rig();
    let mut begin_as = |name: &str| {
        rig.claims = Claims::User(Arc::new(Principal {
            id: name.into(),
            ..Principal::default()
        }));
        begin(
            &mut rig,
            BatchOperationType::CancelProcessInstance,
            BatchPlan::None,
        )
    };
    let (own, foreign) = (begin_as("anna"), begin_as("bert"));
    let gateway = start_over(stored(&mut rig), |config| {
        config.security.login = Login::Basic;
        config.security.tenancy = Tenancy::On;
    })
    .await;
    *gateway.broker.directory.lock() = directory().await.into();
    let shown = basic("anna", "right");
    for (operation, is_shown) in [(own, true), (foreign, false)] {
        let headers = [("authorization", &*shown)];
        let path = path(&operation.to_string());
        let answer = ask(&gateway, ("GET", path), &headers, "").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.text.contains("12345678901234567890"), is_shown);
        assert_eq!(answer.text.contains(r#""filter":null"#), !is_shown);
    }
}
