//! Records as JSON, in the format of exporters and documentation.

mod batch_operations;
mod conditional;
mod decision_evaluation;
mod definitions;
mod identity;
mod lineage;
mod messages;
mod migration;
mod modification;
mod names;
mod subscriptions;
mod values;

pub use lineage::{Ancestor, Lineage, Path, Started};
use serde_json::{Value, json};

use crate::key::Key;
use crate::record::{DecodeError, Record, RecordType};
use crate::tenant::TenantId;
use crate::value::RejectionValue;

/// Version of the format that readers see. The encoding of bodies in the log has its own version, which is internal.
const RECORD_VERSION: u16 = 1;

/// The release whose API and records this version has, unless a setting names another (`skep.api.version`). Clients choose
/// their expectations by it; Skep's own version means nothing to them.
pub const API_VERSION: &str = "8.9.0";

/// Looks up entities that records name by index.
pub trait Definitions {
    /// Process id, version, element id and element type of an element. Index 0 is the process itself.
    fn element(&self, process_definition_key: Key, element: u32) -> Option<ElementNames>;

    /// The place of a call activity among those of its file, in the order of their ids.
    fn calling_element(&self, process_definition_key: Key, element: u32) -> Option<u32>;

    /// The element instances that the records are about. Must learn each record before it is rendered.
    fn lineage(&self) -> &Lineage;

    /// The partition whose log the records stand in.
    fn partition_id(&self) -> u32;

    /// `brokerVersion` of the records.
    fn broker_version(&self) -> &str {
        API_VERSION
    }
}

#[derive(Clone, Debug, Default)]
pub struct ElementNames {
    pub bpmn_process_id: String,
    pub version: i32,
    pub element_id: String,
    pub element_type: &'static str,
    pub event_type: &'static str,
    /// Text of a JSON object; empty when the element has none.
    pub custom_headers: String,
    pub tenant: TenantId,
}

/// Sets a field of an object.
fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_string(), value);
    }
}

/// Renders a record; indices are resolved through `definitions`. Names that it does not know are empty.
pub fn render(record: &Record<'_>, definitions: &dyn Definitions) -> Result<Value, DecodeError> {
    let origin = record.origin();
    let mut out = json!({
        "position": record.position,
        "sourceRecordPosition": record.source.map_or(-1, |s| s as i64),
        "key": record.key.0,
        "timestamp": record.timestamp,
        "partitionId": definitions.partition_id(),
        "recordType": record.record_type.name(),
        "valueType": record.value_type.name(),
        "intent": record.intent_name(),
        "rejectionType": "NULL_VAL",
        "rejectionReason": "",
        "brokerVersion": definitions.broker_version(),
        "recordVersion": RECORD_VERSION,
        "authorizations": {},
        "operationReference": origin.operation_reference.map_or(json!(-1), |reference| json!(reference)),
        "batchOperationReference": origin.batch_operation_reference,
        "value": {},
    });
    match record.record_type {
        RecordType::Event => {
            set(&mut out, "authorizations", origin.claims.name_to_json());
            let value = values::render(record, definitions)?;
            // A batch operation's own records refer to that operation.
            if origin.batch_operation_reference.is_none()
                && let Some(key) = value.get("batchOperationKey")
            {
                set(&mut out, "batchOperationReference", key.clone());
            }
            set(&mut out, "value", value);
        }
        RecordType::Command => set(&mut out, "authorizations", origin.claims.to_json()),
        RecordType::CommandRejection => {
            set(&mut out, "authorizations", origin.claims.name_to_json());
            let rejection: RejectionValue = record.decode()?;
            let rejection_type = rejection.rejection_type.as_str();
            set(&mut out, "rejectionType", json!(rejection_type));
            set(
                &mut out,
                "rejectionReason",
                json!(rejection.rejection_reason),
            );
        }
    }
    Ok(out)
}
