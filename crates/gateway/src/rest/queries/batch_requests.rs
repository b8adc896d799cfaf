//! How a batch operation was requested. An addition of our own.

use skep_identity::Tenancy;
use skep_protocol::Key;
use skep_protocol::origin::Claims;
use skep_query::entities::{BATCH_OPERATION, BATCH_OPERATION_REQUEST};
use skep_query::{Answer, Query, Row, Value};

use super::{Ask, unexpected};
use crate::rest::problem::Problem;

const TYPE: usize = BATCH_OPERATION.column("batchOperationType");
const ACTOR_TYPE: usize = BATCH_OPERATION.column("actorType");
const ACTOR: usize = BATCH_OPERATION.column("actorId");
const FILTER: usize = BATCH_OPERATION_REQUEST.column("filter");
const MIGRATION: usize = BATCH_OPERATION_REQUEST.column("migrationPlan");
const MOVES: usize = BATCH_OPERATION_REQUEST.column("moveInstructions");

impl Ask<'_> {
    /// Members are null if the store does not have them, or if the caller may not see them.
    pub(super) async fn batch_request(
        &mut self,
        claims: &Claims,
        key: Key,
    ) -> Result<String, Problem> {
        let operation = self.one(&BATCH_OPERATION, key).await?;
        // Operations belong to no tenant, but filters have variables of one.
        let hidden = self.sight.tenancy != Tenancy::All && !is_by(claims, &operation);
        let request = if hidden {
            None
        } else {
            self.requested(key).await?
        };
        let member = |at: usize| {
            let row = request.as_ref();
            row.and_then(|row| row.get(at)).and_then(Value::as_text)
        };
        Ok(format!(
            r#"{{"batchOperationKey":"{key}","batchOperationType":"{}","filter":{},"migrationPlan":{},"moveInstructions":{}}}"#,
            text(&operation, TYPE).unwrap_or_default(),
            member(FILTER).unwrap_or("null"),
            member(MIGRATION).unwrap_or("null"),
            member(MOVES).unwrap_or("null"),
        ))
    }

    /// It belongs to the operation, which the caller may read.
    async fn requested(&mut self, key: Key) -> Result<Option<Row>, Problem> {
        let query = Query::Get {
            entity: &BATCH_OPERATION_REQUEST,
            key,
        };
        match self.whole_answer(query).await? {
            Answer::Row(row) => Ok(row),
            other => Err(unexpected(&other)),
        }
    }
}

fn text(row: &Row, at: usize) -> Option<&str> {
    row.get(at).and_then(Value::as_text)
}

/// Whether the caller requested the operation.
fn is_by(claims: &Claims, operation: &Row) -> bool {
    let (kind, id) = match claims {
        Claims::Anonymous => ("ANONYMOUS", None),
        Claims::User(principal) => ("USER", Some(&*principal.id)),
        Claims::Client(principal) => ("CLIENT", Some(&*principal.id)),
        Claims::Internal => ("UNKNOWN", None),
    };
    text(operation, ACTOR_TYPE) == Some(kind) && text(operation, ACTOR) == id
}
