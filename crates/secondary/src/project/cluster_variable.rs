//! Cluster variables.

use skep_protocol::intent::ClusterVariableIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::ClusterVariableValue;
use skep_query::Value;
use skep_query::entities::CLUSTER_VARIABLE;

use super::{Projection, intent_of, variable, word};
use crate::changes::set;

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let is_deleted = intent_of::<ClusterVariableValue>(record)? == Intent::Deleted;
    let value: ClusterVariableValue = record.value()?;
    let (text, is_long) = variable::shown(&value.value);
    set!(to.changes, CLUSTER_VARIABLE, record.key, {
        "name": Value::Text(value.name),
        "value": Value::Text(text),
        "scope": word(if value.tenant.is_some() { "TENANT" } else { "GLOBAL" }),
        "tenantId": value.tenant.map_or(Value::Null, |tenant| Value::text(tenant.as_str())),
        "isTruncated": Value::from(is_long),
        "isDeleted": Value::from(is_deleted),
        "kind": word("JSON"),
    });
    Ok(())
}
