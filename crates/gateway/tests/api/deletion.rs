//! What leaves the history: with a resource, and by a filter.

use serde_json::json;
use skep_protocol::command::BatchCommand;
use skep_protocol::value::BatchOperationType;
use skep_protocol::{Command, Key, Response};

use crate::fake::{KEY, start};
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
