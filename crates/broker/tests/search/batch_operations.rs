//! Batch operations over a real store: items are chosen by a filter on every partition, and their outcome can be searched.

use std::sync::Arc;
use std::time::Duration;

use super::{open, with_one_task};
use crate::asking::{self, text};
use crate::support::Rig;
use skep_protocol::command::{
    BatchCommand, Command, CreateBatchOperation, DecisionRef, Deploy, EvaluateDecision, FailJob,
    Resource,
};
use skep_protocol::value::{BatchOperationType, BatchPlan};
use skep_protocol::{Document, Failure, Key, Response};
use skep_query::entities::{
    BATCH_OPERATION, BATCH_OPERATION_ITEM, DECISION_INSTANCE, DECISION_REQUIREMENTS,
    ELEMENT_INSTANCE, INCIDENT, PROCESS_DEFINITION, PROCESS_INSTANCE, VARIABLE,
};
use skep_query::{Answer, Consistency, Entity, ResultPage, Query, Row, Storage, Value};

async fn find(rig: &Rig, entity: &'static Entity, filter: &str) -> ResultPage {
    asking::find(rig, entity, &format!(r#"{{"filter": {filter}}}"#)).await
}

async fn begin(rig: &Rig, kind: BatchOperationType, filter: &str) -> Key {
    begin_by(rig, kind, BatchPlan::None, filter).await
}

async fn begin_by(rig: &Rig, kind: BatchOperationType, plan: BatchPlan, filter: &str) -> Key {
    let command = CreateBatchOperation {
        kind,
        filter: filter.into(),
        plan,
        follow_up: None,
    };
    let command = Command::Batch(BatchCommand::Create(Box::new(command)));
    match rig.send(command).await {
        Ok(Response::BatchOperationCreated { key, .. }) => key,
        other => panic!("{other:?}"),
    }
}

/// The row of an operation, if the operation has ended.
async fn has_ended(rig: &Rig, key: Key) -> Option<Row> {
    let entity = &BATCH_OPERATION;
    let query = Query::Get { entity, key };
    let answer = rig.broker.query(query, Consistency::ReadYourWrites).await;
    let Ok((Answer::Row(Some(row)), _)) = answer else {
        panic!("{answer:?}");
    };
    let end = entity.index_of("endDate").expect("a field");
    (row[end] != Value::Null).then_some(row)
}

/// The row of an operation once it has ended.
async fn ended(rig: &Rig, key: Key) -> Row {
    for _ in 0..2_000 {
        if let Some(row) = has_ended(rig, key).await {
            return row;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the batch operation {key} does not end");
}

fn counts(row: &Row) -> [String; 3] {
    let names = [
        "operationsTotalCount",
        "operationsCompletedCount",
        "operationsFailedCount",
    ];
    names.map(|name| text(&BATCH_OPERATION, row, name))
}

#[tokio::test]
async fn matching_instances_are_cancelled_on_all_partitions() {
    let rig = with_one_task(3).await;
    for n in 0..60 {
        let variables = format!(r#"{{"n": {}}}"#, n % 2);
        rig.create("one-task", &variables).await.unwrap();
    }
    let filter = r#"{"state": "COMPLETED", "variables": [{"name": "n", "value": "1"}]}"#;
    let key = begin(&rig, BatchOperationType::CancelProcessInstance, filter).await;
    let row = ended(&rig, key).await;
    assert_eq!(text(&BATCH_OPERATION, &row, "state"), "\"COMPLETED\"");
    assert_eq!(counts(&row), ["30", "30", "0"]);
    let of = |state: &str| format!(r#"{{"state": "{state}"}}"#);
    assert_eq!(
        find(&rig, &PROCESS_INSTANCE, &of("TERMINATED")).await.total,
        30
    );
    assert_eq!(find(&rig, &PROCESS_INSTANCE, &of("ACTIVE")).await.total, 30);
    let own = format!(r#"{{"batchOperationKey": "{key}"}}"#);
    let items = find(&rig, &BATCH_OPERATION_ITEM, &own).await;
    assert_eq!(items.total, 30);
    for item in &items.rows {
        assert_eq!(text(&BATCH_OPERATION_ITEM, item, "state"), "\"COMPLETED\"");
        assert_ne!(text(&BATCH_OPERATION_ITEM, item, "processedDate"), "null");
    }
    // The instances know which operation they were part of.
    assert_eq!(find(&rig, &PROCESS_INSTANCE, &own).await.total, 30);
}

/// A little more than two pages of instances.
async fn with_many_instances() -> Arc<Rig> {
    // Several clients: a single one would wait for the disk each time.
    let rig = Arc::new(with_one_task(1).await);
    let clients: Vec<_> = (0..30)
        .map(|_| {
            let rig = rig.clone();
            tokio::spawn(async move {
                for _ in 0..70 {
                    rig.create("one-task", "{}").await.unwrap();
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    rig
}

#[tokio::test]
async fn a_cancellation_does_not_wait_behind_others() {
    let rig = with_many_instances().await;
    let mut others = Vec::new();
    for _ in 0..12 {
        let moves = vec![("task".into(), "task".into())];
        let plan = BatchPlan::Modify { moves };
        others.push(begin_by(&rig, BatchOperationType::ModifyProcessInstance, plan, "{}").await);
    }
    let cancellation = begin(&rig, BatchOperationType::CancelProcessInstance, "{}").await;
    let end = BATCH_OPERATION.index_of("endDate").expect("a field");
    let cancelled = ended(&rig, cancellation).await[end].as_int();
    // In engine time: the searches take time, during which the others continue.
    let mut before = 0;
    for other in others {
        let row = has_ended(&rig, other).await;
        before += usize::from(row.is_some_and(|row| row[end].as_int() < cancelled));
    }
    assert!(before <= 6, "{before} of 12 ended before the cancellation");
}

#[tokio::test]
async fn a_batch_operation_may_have_more_items_than_a_page() {
    let rig = with_many_instances().await;
    let key = begin(&rig, BatchOperationType::CancelProcessInstance, "{}").await;
    let row = ended(&rig, key).await;
    let found = find(&rig, &PROCESS_INSTANCE, r#"{"state": "TERMINATED"}"#).await;
    assert_eq!(
        counts(&row),
        [found.total.to_string(), found.total.to_string(), "0".into()]
    );
    assert_eq!(
        find(&rig, &PROCESS_INSTANCE, r#"{"state": "ACTIVE"}"#)
            .await
            .total,
        0
    );
}

#[tokio::test]
async fn incidents_are_resolved_by_a_filter_on_instances() {
    let rig = with_one_task(2).await;
    for _ in 0..4 {
        rig.create("one-task", "{}").await.unwrap();
    }
    for job in rig.activate(10, Duration::ZERO).await {
        rig.send(Command::FailJob(FailJob {
            job_key: job.key,
            retries: 0,
            retry_back_off: 0,
            error_message: "broken".into(),
            variables: Document::new(),
        }))
        .await
        .unwrap();
    }
    let open = r#"{"state": "ACTIVE"}"#;
    assert_eq!(find(&rig, &INCIDENT, open).await.total, 4);
    let filter = r#"{"hasIncident": true, "$or": [{"errorMessage": "broken"}]}"#;
    let key = begin(&rig, BatchOperationType::ResolveIncident, filter).await;
    let row = ended(&rig, key).await;
    assert_eq!(counts(&row), ["4", "4", "0"]);
    assert_eq!(find(&rig, &INCIDENT, open).await.total, 0);
}

#[tokio::test]
async fn deleting_ended_instances_removes_all_their_history() {
    let rig = with_one_task(2).await;
    let mut keys = Vec::new();
    for _ in 0..4 {
        keys.push(rig.create("one-task", r#"{"v": 1}"#).await.unwrap());
    }
    for key in &keys[..3] {
        let cancel = Command::CancelProcessInstance {
            process_instance_key: *key,
        };
        rig.send(cancel).await.unwrap();
    }
    let key = begin(&rig, BatchOperationType::DeleteProcessInstance, "{}").await;
    assert_eq!(counts(&ended(&rig, key).await), ["3", "3", "0"]);
    assert_eq!(find(&rig, &PROCESS_INSTANCE, "{}").await.total, 1);
    assert_eq!(find(&rig, &VARIABLE, "{}").await.total, 1);
    assert_eq!(find(&rig, &ELEMENT_INSTANCE, "{}").await.total, 2);
}

/// A decision with a required decision: both are evaluated.
const DISH: &str = r##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="menu" name="menu" namespace="n">
  <decision id="season" name="season"><literalExpression><text>"winter"</text></literalExpression></decision>
  <decision id="dish" name="dish"><informationRequirement><requiredDecision href="#season"/></informationRequirement>
    <literalExpression><text>season + " soup"</text></literalExpression></decision></definitions>"##;

async fn with_evaluations(count: usize) -> (Rig, Key) {
    let rig = open(2).await;
    let resource = Resource {
        name: "dish.dmn".into(),
        content: DISH.into(),
    };
    let deploy = Deploy {
        resources: vec![resource],
    };
    let Ok(Response::Deployed(deployed)) = rig.send(Command::Deploy(deploy)).await else {
        panic!("not deployed");
    };
    for _ in 0..count {
        let evaluate = EvaluateDecision {
            decision: DecisionRef::Id("dish".into()),
            variables: Document::new(),
        };
        rig.send(Command::EvaluateDecision(evaluate)).await.unwrap();
    }
    let found = find(&rig, &DECISION_INSTANCE, "{}").await;
    assert_eq!(found.total, 2 * count as u64);
    (rig, deployed.decision_requirements[0].key)
}

#[tokio::test]
async fn evaluations_leave_the_history_with_all_their_decisions() {
    let (rig, _) = with_evaluations(6).await;
    let filter = r#"{"decisionDefinitionId": "season"}"#;
    let key = begin(&rig, BatchOperationType::DeleteDecisionInstance, filter).await;
    assert_eq!(counts(&ended(&rig, key).await), ["6", "6", "0"]);
    assert_eq!(find(&rig, &DECISION_INSTANCE, "{}").await.total, 0);
}

#[tokio::test]
async fn deleted_decisions_take_their_history_with_them() {
    let (rig, resource_key) = with_evaluations(3).await;
    let delete = Command::DeleteResource {
        resource_key,
        delete_history: true,
    };
    let Ok(Response::BatchOperationCreated { key, .. }) = rig.send(delete).await else {
        panic!("not deleted");
    };
    assert_eq!(counts(&ended(&rig, key).await), ["3", "3", "0"]);
    assert_eq!(find(&rig, &DECISION_INSTANCE, "{}").await.total, 0);
    // Every partition deletes it when it learns that the operation has ended.
    for _ in 0..2_000 {
        if find(&rig, &DECISION_REQUIREMENTS, "{}").await.total == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the decisions can still be found");
}

#[tokio::test]
async fn a_deleted_definition_takes_its_history_with_it() {
    let rig = with_one_task(2).await;
    let mut keys = Vec::new();
    for _ in 0..4 {
        keys.push(rig.create("one-task", r#"{"v": 1}"#).await.unwrap());
    }
    let cancel = |key: Key| Command::CancelProcessInstance {
        process_instance_key: key,
    };
    for key in &keys[..2] {
        rig.send(cancel(*key)).await.unwrap();
    }
    let definitions = find(&rig, &PROCESS_DEFINITION, "{}").await;
    let resource_key = Key(definitions.rows[0][0].as_int().unwrap());
    let delete = Command::DeleteResource {
        resource_key,
        delete_history: true,
    };
    let Ok(Response::BatchOperationCreated { key, .. }) = rig.send(delete).await else {
        panic!("not deleted");
    };
    assert_eq!(counts(&ended(&rig, key).await), ["2", "2", "0"]);
    // Running instances can be searched until their end.
    assert_eq!(find(&rig, &PROCESS_INSTANCE, "{}").await.total, 2);
    for key in &keys[2..] {
        rig.send(cancel(*key)).await.unwrap();
    }
    for entity in [&PROCESS_INSTANCE, &ELEMENT_INSTANCE, &VARIABLE] {
        assert_eq!(find(&rig, entity, "{}").await.total, 0, "{}", entity.title);
    }
}

#[tokio::test]
async fn a_batch_operation_without_secondary_storage_is_refused() {
    let rig = Rig::new(|config| config.secondary_storage = None).await;
    let command = CreateBatchOperation {
        kind: BatchOperationType::CancelProcessInstance,
        filter: "{}".into(),
        plan: BatchPlan::None,
        follow_up: None,
    };
    let answer = rig
        .send(Command::Batch(BatchCommand::Create(Box::new(command))))
        .await;
    match answer {
        Err(Failure::Rejected(rejection)) => {
            assert!(rejection.reason.contains("Secondary storage is off"));
        }
        other => panic!("{other:?}"),
    }
}
