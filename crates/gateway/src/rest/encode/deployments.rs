//! Deployed resources.

use skep_protocol::value::{
    DecisionRequirementsMetadata, DecisionValue, DefinitionMetadata, DeploymentValue,
};

use crate::rest::json::Object;

/// One deployed thing.
enum Item<'a> {
    Process(&'a DefinitionMetadata),
    Decision(&'a DecisionValue),
    DecisionRequirements(&'a DecisionRequirementsMetadata),
    Form(&'a DefinitionMetadata),
    Resource(&'a DefinitionMetadata),
}

pub fn deployment(out: &mut String, deployed: &DeploymentValue) {
    let requirements = deployed.decision_requirements.iter();
    let items = (deployed.processes.iter().map(Item::Process))
        .chain(deployed.decisions.iter().map(Item::Decision))
        .chain(requirements.map(Item::DecisionRequirements))
        .chain(deployed.forms.iter().map(Item::Form))
        .chain(deployed.resources.iter().map(Item::Resource));
    Object::write(out, |o| {
        o.key("deploymentKey", deployed.deployment_key);
        o.text("tenantId", deployed.tenant.as_str());
        o.array("deployments", items, |out, item| {
            Object::write(out, |o| entry(o, &item));
        });
    });
}

/// Every field is there, and one of them is not null.
fn entry(o: &mut Object, item: &Item<'_>) {
    match item {
        Item::Process(process) => o.object("processDefinition", |o| {
            o.text("processDefinitionId", &process.id);
            o.number("processDefinitionVersion", i64::from(process.version));
            o.text("resourceName", &process.resource_name);
            o.key("processDefinitionKey", process.key);
            o.text("tenantId", process.tenant.as_str());
        }),
        _ => o.raw("processDefinition", "null"),
    }
    match item {
        Item::Decision(decision) => o.object("decisionDefinition", |o| {
            o.text("decisionDefinitionId", &decision.id);
            o.number("version", i64::from(decision.version));
            o.text("name", &decision.name);
            o.text("tenantId", decision.tenant.as_str());
            o.text("decisionRequirementsId", &decision.decision_requirements_id);
            o.key("decisionDefinitionKey", decision.key);
            o.key(
                "decisionRequirementsKey",
                decision.decision_requirements_key,
            );
        }),
        _ => o.raw("decisionDefinition", "null"),
    }
    match item {
        Item::DecisionRequirements(file) => o.object("decisionRequirements", |o| {
            o.text("decisionRequirementsId", &file.id);
            o.text("decisionRequirementsName", &file.name);
            o.number("version", i64::from(file.version));
            o.text("resourceName", &file.resource_name);
            o.text("tenantId", file.tenant.as_str());
            o.key("decisionRequirementsKey", file.key);
        }),
        _ => o.raw("decisionRequirements", "null"),
    }
    match item {
        Item::Form(form) => o.object("form", |o| stored(o, ["formId", "formKey"], form)),
        _ => o.raw("form", "null"),
    }
    match item {
        Item::Resource(resource) => o.object("resource", |o| {
            stored(o, ["resourceId", "resourceKey"], resource);
        }),
        _ => o.raw("resource", "null"),
    }
}

fn stored(o: &mut Object, [id, key]: [&'static str; 2], stored: &DefinitionMetadata) {
    o.text(id, &stored.id);
    o.number("version", i64::from(stored.version));
    o.text("resourceName", &stored.resource_name);
    o.text("tenantId", stored.tenant.as_str());
    o.key(key, stored.key);
}
