//! Deployed resources.

use skep_protocol::Rejection;
use skep_protocol::findings::{Finding, Invalid};
use skep_protocol::value::{
    DecisionRequirementsMetadata, DecisionValue, DefinitionMetadata, DeploymentValue,
};

use crate::rest::json::Object;

/// One deployed entity.
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

/// The result of checking a deployment without carrying it out.
pub fn checked(out: &mut String, checked: &Result<DeploymentValue, Rejection>) {
    Object::write(out, |o| {
        o.raw("deployable", if checked.is_ok() { "true" } else { "false" });
        let invalid = checked.as_ref().err();
        let findings = invalid.map_or(&[][..], |rejection| &rejection.findings);
        let further: usize = findings.iter().map(|invalid| invalid.further).sum();
        let each = findings.iter().flat_map(|invalid| {
            let of_resource = invalid.findings.iter();
            of_resource.map(move |finding| (Some(invalid), Some(finding)))
        });
        // A refusal that does not concern a particular element.
        let whole = invalid.filter(|rejection| rejection.findings.is_empty());
        let all = each.chain(whole.map(|_| (None, None)));
        let reason = invalid.map_or("", |rejection| &rejection.reason);
        o.array("findings", all, |out, (invalid, of)| {
            Object::write(out, |o| finding(o, invalid, of, reason));
        });
        o.number(
            "furtherFindings",
            i64::try_from(further).unwrap_or(i64::MAX),
        );
        let deployed = checked.as_ref().ok();
        o.array(
            "resources",
            deployed.into_iter().flat_map(versions),
            |out, one| {
                Object::write(out, |o| {
                    let (kind, id, version, resource_name, duplicate) = one;
                    o.text("type", kind);
                    o.text("id", id);
                    o.number("version", i64::from(version));
                    o.optional_text("resource", resource_name);
                    o.raw("changed", if duplicate { "false" } else { "true" });
                });
            },
        );
    });
}

fn finding(o: &mut Object, invalid: Option<&Invalid>, finding: Option<&Finding>, reason: &str) {
    o.optional_text("resource", invalid.map(|it| &*it.resource_name));
    o.optional_text("rule", finding.map(|it| it.rule.code()));
    o.optional_text("processId", finding.and_then(|it| it.process_id.as_deref()));
    o.optional_text("elementId", finding.and_then(|it| it.element_id.as_deref()));
    match finding.and_then(|it| it.line) {
        Some(line) => o.number("line", i64::from(line)),
        None => o.raw("line", "null"),
    }
    o.text("message", finding.map_or(reason, |it| &*it.message));
}

/// Type, id, version and file of each definition, and whether it is there already.
type Version<'a> = (&'static str, &'a str, i32, Option<&'a str>, bool);

fn versions(deployed: &DeploymentValue) -> impl Iterator<Item = Version<'_>> {
    fn of<'a>(kind: &'static str) -> impl Fn(&'a DefinitionMetadata) -> Version<'a> {
        move |it| {
            (
                kind,
                &*it.id,
                it.version,
                Some(&*it.resource_name),
                it.duplicate,
            )
        }
    }
    let requirements = deployed.decision_requirements.iter().map(|it| {
        let name = Some(&*it.resource_name);
        (
            "DECISION_REQUIREMENTS",
            &*it.id,
            it.version,
            name,
            it.duplicate,
        )
    });
    let file_of = |key| {
        let mut files = deployed.decision_requirements.iter();
        let file = files.find(|file| file.key == key)?;
        Some(&*file.resource_name)
    };
    let decisions = deployed.decisions.iter().map(move |it| {
        let name = file_of(it.decision_requirements_key);
        ("DECISION", &*it.id, it.version, name, it.duplicate)
    });
    (deployed.processes.iter().map(of("PROCESS")))
        .chain(decisions)
        .chain(requirements)
        .chain(deployed.forms.iter().map(of("FORM")))
        .chain(deployed.resources.iter().map(of("RESOURCE")))
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
