//! Records as JSON, in the shape that exporters and people see.

use serde_json::{Map, Value, json};

use crate::intent::ValueType;
use crate::key::Key;
use crate::record::{DecodeError, Record, RecordType};
use crate::value::*;

/// Looks up what records name by index.
pub trait Definitions {
    /// Process id, version, element id and element type of an element.
    fn element(&self, process_definition_key: Key, element: u32) -> Option<ElementNames>;
}

#[derive(Clone, Debug, Default)]
pub struct ElementNames {
    pub bpmn_process_id: String,
    pub version: i32,
    pub element_id: String,
    pub element_type: &'static str,
    pub event_type: &'static str,
}

/// Renders a record; indices are resolved through `definitions`.
pub fn render(record: &Record<'_>, definitions: &dyn Definitions) -> Result<Value, DecodeError> {
    let mut out = json!({
        "position": record.position,
        "sourceRecordPosition": record.source.map_or(-1, |s| s as i64),
        "key": record.key.0,
        "timestamp": record.timestamp,
        "recordType": record.record_type.name(),
        "valueType": record.value_type.name(),
        "intent": record.intent_name(),
        "rejectionType": "NULL_VAL",
        "rejectionReason": "",
        "recordVersion": record.version,
    });
    match record.record_type {
        RecordType::Event => out["value"] = event_value(record, definitions)?,
        RecordType::Command => {
            let head: CommandValue = record.decode()?;
            out["operationReference"] = json!(head.operation_reference.map_or(-1, |r| r as i64));
            out["value"] = json!({});
        }
        RecordType::CommandRejection => {
            let rejection: RejectionValue = record.decode()?;
            out["rejectionType"] = json!(rejection.rejection_type.as_str());
            out["rejectionReason"] = json!(rejection.rejection_reason);
            out["value"] = json!({});
        }
    }
    Ok(out)
}

fn event_value(record: &Record<'_>, definitions: &dyn Definitions) -> Result<Value, DecodeError> {
    fn plain<V: RecordValue>(record: &Record<'_>) -> Result<Value, DecodeError> {
        let value: V = record.value()?;
        serde_json::to_value(&value).map_err(|e| DecodeError::Body {
            value_type: record.value_type,
            version: record.version,
            reason: e.to_string(),
        })
    }
    let mut value = match record.value_type {
        ValueType::Job => plain::<JobValue>(record),
        ValueType::Deployment => plain::<DeploymentValue>(record),
        ValueType::ProcessInstance => plain::<ProcessInstanceValue>(record),
        ValueType::Incident => plain::<IncidentValue>(record),
        ValueType::Message => plain::<MessageValue>(record),
        ValueType::MessageSubscription => plain::<MessageSubscriptionValue>(record),
        ValueType::ProcessMessageSubscription => plain::<ProcessMessageSubscriptionValue>(record),
        ValueType::JobBatch => plain::<JobBatchValue>(record),
        ValueType::Timer => plain::<TimerValue>(record),
        ValueType::Variable => plain::<VariableValue>(record),
        ValueType::VariableDocument => plain::<VariableDocumentValue>(record),
        ValueType::ProcessInstanceCreation => plain::<ProcessInstanceCreationValue>(record),
        ValueType::Error => plain::<ErrorValue>(record),
        ValueType::ProcessInstanceResult => plain::<ProcessInstanceResultValue>(record),
        ValueType::Process => plain::<ProcessValue>(record),
        ValueType::ProcessEvent => plain::<ProcessEventValue>(record),
        ValueType::ResourceDeletion => plain::<ResourceDeletionValue>(record),
        ValueType::CommandDistribution => plain::<CommandDistributionValue>(record),
        ValueType::MessageCorrelation => plain::<MessageCorrelationValue>(record),
        ValueType::Clock => plain::<ClockValue>(record),
        ValueType::Expression => Ok(json!({})),
    }?;
    if let Some(fields) = value.as_object_mut() {
        name_elements(fields, definitions);
        inline_variables(fields);
        fields.insert("tenantId".into(), json!(crate::DEFAULT_TENANT));
    }
    Ok(value)
}

/// Replaces element indices by ids and adds what the definition knows.
fn name_elements(fields: &mut Map<String, Value>, definitions: &dyn Definitions) {
    let Some(definition) = fields.get("processDefinitionKey").and_then(Value::as_i64) else {
        return;
    };
    for (index_name, id_name) in [
        ("element", "elementId"),
        ("targetElement", "targetElementId"),
    ] {
        let Some(index) = fields.remove(index_name).and_then(|v| v.as_u64()) else {
            continue;
        };
        let names = definitions
            .element(Key(definition), index as u32)
            .unwrap_or_default();
        fields.insert(id_name.into(), json!(names.element_id));
        fields.insert("bpmnProcessId".into(), json!(names.bpmn_process_id));
        if fields.contains_key("flowScopeKey") {
            fields.insert("version".into(), json!(names.version));
            fields.insert("bpmnElementType".into(), json!(names.element_type));
            fields.insert("bpmnEventType".into(), json!(names.event_type));
        }
    }
    fields.remove("consumedFlows");
}

/// `[[name, json text], …]` becomes an object with the values inline.
fn inline_variables(fields: &mut Map<String, Value>) {
    let Some(Value::Array(pairs)) = fields.get("variables") else {
        return;
    };
    let object: Map<String, Value> = pairs
        .iter()
        .filter_map(|pair| {
            let name = pair.get(0)?.as_str()?.to_string();
            let text = pair.get(1)?.as_str()?;
            Some((name, serde_json::from_str(text).unwrap_or(Value::Null)))
        })
        .collect();
    fields.insert("variables".into(), Value::Object(object));
}
