//! Deployments and the resources in them.

use serde_json::{Map, Value, json};

use super::values::base64;
use crate::value::{
    DecisionRequirementsMetadata, DecisionRequirementsValue, DecisionValue, DefinitionMetadata,
    DeploymentValue, FormValue, ResourceValue,
};

pub(super) fn deployment(v: DeploymentValue) -> Value {
    let all = |list: &[DefinitionMetadata], names| -> Vec<Value> {
        list.iter().map(|one| definition(one, names)).collect()
    };
    let requirements = v.decision_requirements.iter().map(requirements);
    json!({
        "deploymentKey": v.deployment_key,
        "processesMetadata": all(&v.processes, ["bpmnProcessId", "processDefinitionKey"]),
        "decisionRequirementsMetadata": requirements.collect::<Vec<_>>(),
        "decisionsMetadata": v.decisions.iter().map(decision).collect::<Vec<_>>(),
        "formMetadata": all(&v.forms, FORM),
        "resourceMetadata": all(&v.resources, RESOURCE),
        "resources": [],
        "tenantId": v.tenant.as_str(),
    })
}

/// Names of the id and the key of forms and other resources.
const FORM: [&str; 2] = ["formId", "formKey"];
const RESOURCE: [&str; 2] = ["resourceId", "resourceKey"];

fn definition(m: &DefinitionMetadata, [id, key]: [&str; 2]) -> Value {
    json!({
        id: m.id,
        key: m.key,
        "version": m.version,
        "versionTag": m.version_tag.as_deref().unwrap_or(""),
        "resourceName": m.resource_name,
        "checksum": base64(&m.checksum),
        "duplicate": m.duplicate,
        "deploymentKey": m.deployment_key,
        "tenantId": m.tenant.as_str(),
    })
}

fn requirements(m: &DecisionRequirementsMetadata) -> Value {
    json!({
        "decisionRequirementsId": m.id,
        "decisionRequirementsName": m.name,
        "decisionRequirementsVersion": m.version,
        "decisionRequirementsKey": m.key,
        "namespace": m.namespace,
        "resourceName": m.resource_name,
        "checksum": base64(&m.checksum),
        "duplicate": m.duplicate,
        "deploymentKey": m.deployment_key,
        "tenantId": m.tenant.as_str(),
    })
}

pub(super) fn decision(v: &DecisionValue) -> Value {
    json!({
        "decisionId": v.id,
        "decisionName": v.name,
        "version": v.version,
        "versionTag": v.version_tag.as_deref().unwrap_or(""),
        "decisionKey": v.key,
        "decisionRequirementsId": v.decision_requirements_id,
        "decisionRequirementsKey": v.decision_requirements_key,
        "deploymentKey": v.deployment_key,
        "duplicate": v.duplicate,
        "tenantId": v.tenant.as_str(),
    })
}

pub(super) fn decision_requirements(v: &DecisionRequirementsValue) -> Value {
    with(requirements(&v.metadata), "resource", base64(&v.resource))
}

pub(super) fn form(v: &FormValue) -> Value {
    with(
        definition(&v.0.metadata, FORM),
        "resource",
        base64(&v.0.resource),
    )
}

/// Their content is rendered as text.
pub(super) fn resource(v: &ResourceValue) -> Value {
    let text = String::from_utf8_lossy(&v.0.resource).into_owned();
    with(definition(&v.0.metadata, RESOURCE), "resourceProp", text)
}

fn with(value: Value, name: &str, text: String) -> Value {
    let mut fields = match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.insert(name.to_string(), Value::String(text));
    Value::Object(fields)
}
