//! Entities that a command is about and that only secondary storage still has, because they have ended.

use std::sync::Arc;

use skep_protocol::command::{HistoryOf, Need, On};
use skep_protocol::origin::Claims;
use skep_protocol::value::HistoryDeletionType;
use skep_protocol::{Key, TenantId};
use skep_query::access::Sight;
use skep_query::entities::DECISION_INSTANCE;
use skep_query::{Condition, Consistency, Entity, MAX_LIMIT, Op, Row, Search, Value};

use super::ask::Ask;
use super::{not_found, text_of};
use crate::call::FrontEnd;
use crate::rest::decode::Decoded;
use crate::rest::problem::Problem;
use crate::rest::sight;

/// The rows that name the resource of an entity. The caller's grants are checked later, for each of them.
///
/// # Errors
/// The entity does not exist for the caller.
pub async fn must_exist(
    front: &FrontEnd,
    claims: &Claims,
    entity: &'static Entity,
    by: &'static str,
    key: Key,
) -> Result<Vec<Row>, Problem> {
    sight::is_known(front, claims)?;
    let sight = Sight {
        grants: None,
        ..sight::sight(front, claims)
    };
    let mut ask = Ask::of(front, sight, Consistency::ReadYourWrites);
    if entity.key().name == by {
        let row = ask.one(entity, key).await;
        return match row {
            Ok(row) => Ok(vec![row]),
            Err(problem) => Err(problem.read_behind(ask.behind)),
        };
    }
    let has_key = entity.index_of(by).map(|field| Condition::Field {
        field,
        op: Op::Eq(Value::Int(key.0)),
    });
    let search = Search::all(entity, has_key.into_iter().collect(), MAX_LIMIT);
    let mut rows = ask.found(search).await?;
    // An evaluation is one of the decision that was asked for. There is no row of that if one before it failed: then it is one of each.
    if let Some(at) = rows.iter().position(is_of_the_asked_decision) {
        return Ok(vec![rows.swap_remove(at)]);
    }
    if rows.is_empty() {
        return Err(not_found(entity, key).read_behind(ask.behind));
    }
    Ok(rows)
}

fn is_of_the_asked_decision(row: &Row) -> bool {
    const OWN: usize = DECISION_INSTANCE.column("decisionDefinitionKey");
    const ASKED: usize = DECISION_INSTANCE.column("rootDecisionDefinitionKey");
    row.get(OWN).is_some_and(|own| row.get(ASKED) == Some(own))
}

/// Checks whether the caller may do this to an entity that has ended, by the rows that were found.
///
/// # Errors
/// The caller may not.
pub fn may_command(
    front: &FrontEnd,
    claims: &Claims,
    (entity, rows): (&Entity, &[Row]),
    command: &Decoded,
) -> Result<(), Problem> {
    let (Some(grants), Decoded::Command { request, .. }) = (sight::grants(front, claims), command)
    else {
        return Ok(());
    };
    let (permissions, column) = match request.command.needs() {
        Need::AnyOf(permissions, On::ItsProcess | On::Instance(_)) => {
            (permissions, "processDefinitionId")
        }
        Need::AnyOf(permissions, On::DecisionOf(_)) => (permissions, "decisionDefinitionId"),
        // The engine checks.
        _ => return Ok(()),
    };
    let is_granted = |row: &Row| {
        let id = text_of(entity, row, column);
        id.is_some_and(|id| permissions.iter().any(|p| grants.allows(*p, id)))
    };
    if rows.iter().all(is_granted) {
        Ok(())
    } else {
        Err(sight::unauthorized(permissions))
    }
}

/// Adds to a deletion of history the owner that the rows name. The partition has no such entity any more, and checks the caller's rights of
/// that moment, which may be fewer than those that this node knows.
pub fn name_owner((entity, rows): (&Entity, &[Row]), command: &mut Decoded) {
    let Decoded::Command { request, .. } = command else {
        return;
    };
    request.command.complete_deletion(|deletion| {
        let column = match deletion.kind {
            HistoryDeletionType::ProcessInstance | HistoryDeletionType::ProcessDefinition => {
                "processDefinitionId"
            }
            HistoryDeletionType::DecisionInstance | HistoryDeletionType::DecisionRequirements => {
                "decisionDefinitionId"
            }
        };
        let ids = rows.iter().map(|row| text_of(entity, row, column));
        let mut resources: Vec<Arc<str>> = ids.map(|id| id.cloned().unwrap_or_default()).collect();
        resources.sort();
        resources.dedup();
        let tenant = rows.iter().find_map(|row| text_of(entity, row, "tenantId"));
        HistoryOf {
            deletion: deletion.clone(),
            resources,
            tenant: tenant.map(|id| TenantId::new(id)),
        }
    });
}
