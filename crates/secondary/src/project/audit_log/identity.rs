//! Audits operations on users, groups, roles, tenants, mapping rules and authorizations. These are identified by IDs and belong
//! to no tenant.

use std::sync::Arc;

use skep_protocol::intent::{AuthorizationIntent, MappingRuleIntent, UserIntent};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{AuthorizationValue, MappingRuleValue, UserValue};
use skep_protocol::{Key, ValueType};
use skep_query::Value;
use skep_query::entities::AUDIT_LOG;

use super::{Projection, done, entry, wanted};
use crate::changes::set;
use crate::project::identity::{Became, DECIDES, read_parent};
use crate::project::{intent_of, word};

const ADMIN: &str = "ADMIN";

/// An operation on an identity entity.
struct Done {
    entity: &'static str,
    operation: &'static str,
    id: Arc<str>,
    /// The member that was added or removed, or the owner of the authorization.
    related: Option<(&'static str, Arc<str>)>,
    description: Option<Arc<str>>,
}

/// Every partition receives these events, but only the partition that decides them audits them. The setup at the start of a
/// node has no actor, although its records look like those of anonymous callers.
pub fn event(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let is_set_up = to.cause.map(|(by, _)| by) == Some(ValueType::IdentitySetup);
    if to.partition != DECIDES || is_set_up {
        return Ok(());
    }
    let read = match record.value_type {
        ValueType::User => user(record)?,
        ValueType::MappingRule => mapping_rule(record)?,
        ValueType::Authorization => authorization(record)?,
        _ => parent(record)?,
    };
    if let Some(read) = read
        && let Some(origin) = wanted(to, record, ADMIN, read.entity)
    {
        let what = done(read.entity, read.operation, Key::NONE);
        let row = entry(to, record, &origin, (ADMIN, what), true);
        set!(to.changes, AUDIT_LOG, row, {
            "entityKey": Value::Text(read.id),
            "entityDescription": Value::opt_text(read.description.as_ref()),
        });
        if let Some((kind, id)) = read.related {
            set!(to.changes, AUDIT_LOG, row, {
                "relatedEntityType": word(kind),
                "relatedEntityKey": Value::Text(id),
            });
        }
    }
    Ok(())
}

fn user(record: &Record<'_>) -> Result<Option<Done>, DecodeError> {
    let operation = match intent_of::<UserValue>(record)? {
        UserIntent::Created => "CREATE",
        UserIntent::Updated => "UPDATE",
        UserIntent::Deleted => "DELETE",
        _ => return Ok(None),
    };
    let value: UserValue = record.value()?;
    Ok(Some(Done {
        entity: "USER",
        operation,
        id: value.username,
        related: None,
        description: None,
    }))
}

fn parent(record: &Record<'_>) -> Result<Option<Done>, DecodeError> {
    let Some((kind, became, value)) = read_parent(record)? else {
        return Ok(None);
    };
    let operation = match became {
        Became::Created => "CREATE",
        Became::Updated => "UPDATE",
        Became::Deleted => "DELETE",
        Became::Joined => "ASSIGN",
        Became::Left => "UNASSIGN",
    };
    let related = value.member.map(|who| (who.entity_type.name(), who.id));
    Ok(Some(Done {
        entity: kind.name(),
        operation,
        id: value.id,
        related,
        description: Some(value.name).filter(|name| !name.is_empty()),
    }))
}

fn mapping_rule(record: &Record<'_>) -> Result<Option<Done>, DecodeError> {
    let operation = match intent_of::<MappingRuleValue>(record)? {
        MappingRuleIntent::Created => "CREATE",
        MappingRuleIntent::Updated => "UPDATE",
        MappingRuleIntent::Deleted => "DELETE",
        _ => return Ok(None),
    };
    let value: MappingRuleValue = record.value()?;
    Ok(Some(Done {
        entity: "MAPPING_RULE",
        operation,
        id: value.mapping_rule_id,
        related: None,
        description: Some(value.name),
    }))
}

fn authorization(record: &Record<'_>) -> Result<Option<Done>, DecodeError> {
    let operation = match intent_of::<AuthorizationValue>(record)? {
        AuthorizationIntent::Created => "CREATE",
        AuthorizationIntent::Updated => "UPDATE",
        AuthorizationIntent::Deleted => "DELETE",
        _ => return Ok(None),
    };
    let value: AuthorizationValue = record.value()?;
    Ok(Some(Done {
        entity: "AUTHORIZATION",
        operation,
        id: value.authorization_key.to_string().into(),
        related: Some((value.owner_type.name(), value.owner_id)),
        description: None,
    }))
}
