//! The value of PROCESS_INSTANCE_MIGRATION records.

use serde_json::{Value, json};

use super::names::Names;
use crate::value::ProcessInstanceMigrationValue;

pub(super) fn render(v: ProcessInstanceMigrationValue, names: &Names<'_>) -> Value {
    let process = names.of(v.process_definition_key, 0);
    json!({
        "processInstanceKey": v.process_instance_key,
        "elementInstanceKey": v.process_instance_key,
        "rootProcessInstanceKey": v.root_process_instance_key,
        "bpmnProcessId": process.bpmn_process_id,
        "processDefinitionKey": v.process_definition_key,
        "targetProcessDefinitionKey": v.target_process_definition_key,
        "mappingInstructions": v.mapping_instructions,
    })
}
