//! Deletion of history: with a resource, and by a filter. No filter may delete everything by mistake.

use std::sync::Arc;

use serde_json::json;
use skep_protocol::command::{BatchCommand, HistoryOf};
use skep_protocol::value::{BatchOperationType, HistoryDeletionType};
use skep_protocol::{Command, Key, Response, TenantId};
use skep_query::entities::{DECISION_INSTANCE, PROCESS_INSTANCE};
use skep_query::{
    Answer, BoxFuture, Consistency, Entity, Query, QueryError, ResultPage, Row, Storage, Value,
    selection,
};

use crate::fake::{KEY, start, start_over};
use crate::http::post;

#[tokio::test]
async fn a_resource_is_deleted_with_its_history() {
    let gateway = start().await;
    let (key, kind) = (Key(8), BatchOperationType::DeleteProcessInstance);
    let created = Response::BatchOperationCreated { key, kind };
    gateway.broker.answer(Ok(created));
    let answer = post(
        gateway.rest,
        &format!("/v2/resources/{KEY}/deletion"),
        r#"{"deleteHistory": true}"#,
    )
    .await;
    let batch = json!({"batchOperationKey": "8", "batchOperationType": "DELETE_PROCESS_INSTANCE"});
    assert_eq!(
        answer.json(),
        json!({"resourceKey": KEY.to_string(), "batchOperation": batch})
    );
    assert!(matches!(
        gateway.broker.last().command,
        Command::DeleteResource {
            resource_key: KEY,
            delete_history: true,
        }
    ));
}

#[tokio::test]
async fn evaluations_of_decisions_are_deleted_by_a_filter() {
    let gateway = start().await;
    let (key, kind) = (Key(8), BatchOperationType::DeleteDecisionInstance);
    let created = Response::BatchOperationCreated { key, kind };
    gateway.broker.answer(Ok(created));
    let answer = post(
        gateway.rest,
        "/v2/decision-instances/deletion",
        r#"{"filter": {"decisionDefinitionId": "dish"}, "operationReference": 5}"#,
    )
    .await;
    assert_eq!(
        answer.json(),
        json!({"batchOperationKey": "8", "batchOperationType": "DELETE_DECISION_INSTANCE"})
    );
    let request = gateway.broker.last();
    assert_eq!(request.operation_reference, Some(5));
    let Command::Batch(BatchCommand::Create(create)) = request.command else {
        panic!("{:?}", request.command);
    };
    assert_eq!(create.kind, kind);
    assert_eq!(&*create.filter, r#"{"decisionDefinitionId":"dish"}"#);
}

#[tokio::test]
async fn the_incidents_of_one_instance_need_its_permission_and_a_filter_needs_that_of_batches() {
    let gateway = start().await;
    let (key, kind) = (Key(8), BatchOperationType::ResolveIncident);
    for (path, body, needs) in [
        (
            format!("process-instances/{KEY}/incident-resolution"),
            String::new(),
            "PROCESS_DEFINITION:UPDATE_PROCESS_INSTANCE",
        ),
        (
            "process-instances/incident-resolution".to_string(),
            format!(r#"{{"filter": {{"processInstanceKey": "{KEY}"}}}}"#),
            "BATCH:CREATE or BATCH:CREATE_BATCH_OPERATION_RESOLVE_INCIDENT",
        ),
    ] {
        let created = Response::BatchOperationCreated { key, kind };
        gateway.broker.answer(Ok(created));
        let answer = post(gateway.rest, &format!("/v2/{path}"), &body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        let command = gateway.broker.last().command;
        assert_eq!(command.needs().to_string(), needs, "{path}");
        let Command::Batch(BatchCommand::Create(create)) = command else {
            panic!("{command:?}");
        };
        let items = selection::items(create.kind, &create.filter, (Key(0), Key(1)), 1);
        let chosen = format!("{:?}", items.unwrap().filter);
        assert!(chosen.contains(&format!("Int({KEY})")), "{path}: {chosen}");
    }
}

#[tokio::test]
async fn a_filter_without_a_condition_is_refused_by_every_operation() {
    let gateway = start().await;
    let plan = r#""moveInstructions": [{"sourceElementId": "a", "targetElementId": "b"}]"#;
    let migration = r#""migrationPlan": {"targetProcessDefinitionKey": "5",
        "mappingInstructions": [{"sourceElementId": "a", "targetElementId": "b"}]}"#;
    let instances = [
        "{}",
        r#"{"processInstanceKey": null}"#,
        r#"{"processInstanceKey": {}}"#,
        r#"{"$or": []}"#,
        r#"{"$or": [{}]}"#,
        r#"{"variables": []}"#,
        r#"{"tags": []}"#,
        r#"{"processInstanceKey": {"$notIn": []}}"#,
    ];
    let decisions = ["{}", r#"{"decisionDefinitionKey": {"$notIn": []}}"#];
    for (path, filters, beside) in [
        ("process-instances/cancellation", &instances[..], ""),
        ("process-instances/incident-resolution", &instances, ""),
        ("process-instances/modification", &instances, plan),
        ("process-instances/migration", &instances, migration),
        ("process-instances/deletion", &instances, ""),
        ("decision-instances/deletion", &decisions, ""),
    ] {
        for filter in filters {
            let comma = if beside.is_empty() { "" } else { ", " };
            let body = format!(r#"{{"filter": {filter}{comma}{beside}}}"#);
            let answer = post(gateway.rest, &format!("/v2/{path}"), &body).await;
            let problem = answer.json();
            assert_eq!(problem["status"], 400, "{path} {body}: {problem}");
            let detail = problem["detail"].as_str().unwrap_or_default();
            assert!(detail.contains("Give it one"), "{path} {body}: {detail}");
        }
    }
}

fn row(entity: &Entity, fields: &[(&str, Value)]) -> Row {
    let mut row: Row = vec![Value::Null; entity.fields.len()];
    for (name, value) in fields {
        row[entity.index_of(name).unwrap()] = value.clone();
    }
    row
}

/// Every instance is one of the process "order" of the tenant "acme", and every evaluation failed before the decision that was asked for.
struct Ended;

impl Storage for Ended {
    fn query(
        &self,
        query: Query,
        _consistency: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        let of_tenant = ("tenantId", Value::text("acme"));
        let decision = |id: &str, key: i64| {
            let id = ("decisionDefinitionId", Value::text(id));
            let key = ("decisionDefinitionKey", Value::Int(key));
            let asked = ("rootDecisionDefinitionKey", Value::Int(30));
            row(&DECISION_INSTANCE, &[id, key, asked, of_tenant.clone()])
        };
        let answer = match query {
            Query::Get { entity, .. } => {
                assert!(std::ptr::eq(entity, &PROCESS_INSTANCE));
                let process = ("processDefinitionId", Value::text("order"));
                Answer::Row(Some(row(entity, &[process, of_tenant.clone()])))
            }
            _ => Answer::Page(ResultPage {
                rows: vec![
                    decision("season", 10),
                    decision("guests", 20),
                    decision("season", 10),
                ],
                total: 3,
                ..ResultPage::default()
            }),
        };
        Box::pin(async move { Ok((answer, 0)) })
    }
}

/// The partition no longer knows them, and checks the caller's rights by this.
#[tokio::test]
async fn a_deletion_names_the_owner_of_what_it_deletes() {
    let gateway = start_over(Arc::new(Ended), |_| {}).await;
    for (path, kind, owners) in [
        (
            "process-instances",
            HistoryDeletionType::ProcessInstance,
            &["order"][..],
        ),
        (
            "decision-instances",
            HistoryDeletionType::DecisionInstance,
            &["guests", "season"],
        ),
    ] {
        let path = format!("/v2/{path}/{KEY}/deletion");
        let answer = post(gateway.rest, &path, "").await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text);
        let command = gateway.broker.last().command;
        let Command::Batch(BatchCommand::DeleteHistoryOf(of)) = command else {
            panic!("{command:?}");
        };
        let HistoryOf {
            deletion,
            resources,
            tenant,
        } = of;
        assert_eq!((deletion.resource_key, deletion.kind), (KEY, kind));
        assert_eq!(
            resources,
            owners
                .iter()
                .map(|id| Arc::from(*id))
                .collect::<Vec<Arc<str>>>()
        );
        assert_eq!(tenant, Some(TenantId::new("acme")));
    }
}
