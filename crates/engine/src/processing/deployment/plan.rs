//! Keys and versions of a deployment, and which of its resources are new.
//!
//! A resource is unchanged if its content and name are those of the latest version of everything it contains. If all
//! resources are unchanged, nothing is deployed again; if one is new, all get new versions, so that they belong together.

use std::sync::Arc;

use skep_dmn::Drg;
use skep_protocol::value::{
    DecisionRequirementsMetadata, DecisionRequirementsValue, DecisionValue, DefinitionMetadata,
    DeploymentValue, FormValue, ProcessValue, ResourceValue, StoredResource,
};
use skep_protocol::{Key, TenantId};

use super::parse::{Content, JsonResource, Parsed};
use crate::processing::Context;
use crate::remote::Definition;
use crate::state::{Definitions, Pin, Versioned};

/// Plan of a deployment.
pub(super) struct Plan {
    pub deployment: DeploymentValue,
    /// New definitions, in the order of the resources.
    pub created: Vec<Definition>,
}

pub(super) fn plan(cx: &mut Context<'_>, parsed: &[Parsed], deployment_key: Key) -> Plan {
    let duplicate = parsed.iter().all(|one| is_unchanged(cx, one));
    let mut planner = Planner {
        duplicate,
        next_key: deployment_key,
        plan: Plan {
            deployment: DeploymentValue {
                deployment_key,
                tenant: cx.tenant.clone(),
                ..DeploymentValue::default()
            },
            created: Vec::new(),
        },
    };
    for one in parsed {
        match &one.content {
            Content::Processes(model) => planner.processes(cx, one, model),
            Content::Decisions(graph) => planner.decisions(cx, one, graph),
            Content::Form(form) => planner.form(cx, one, form),
            Content::Script(script) => planner.script(cx, one, script),
        }
    }
    planner.plan
}

fn is_unchanged(cx: &mut Context<'_>, one: &Parsed) -> bool {
    let (state, tenant) = (&*cx.state, &cx.tenant);
    match &one.content {
        Content::Processes(model) => model.processes.iter().all(|process| {
            let definitions = &state.processes.definitions;
            definitions.is_unchanged(tenant, &process.id, &one.name, &one.checksum)
        }),
        Content::Decisions(graph) => {
            let requirements = &state.decisions.requirements;
            let latest = requirements.latest(tenant, graph.id());
            requirements.is_unchanged(tenant, graph.id(), &one.name, &one.checksum)
                // Another file may have deployed a newer version of one of its decisions.
                && latest.is_some_and(|key| {
                    let ours = state.decisions.of(key).iter();
                    let theirs = graph.decisions().iter();
                    let latest = theirs.map(|d| state.decisions.decisions.latest(tenant, d.id()));
                    ours.map(|key| Some(*key)).eq(latest)
                })
        }
        Content::Form(form) => state
            .forms
            .is_unchanged(tenant, &form.id, &one.name, &one.checksum),
        Content::Script(script) => {
            state
                .resources
                .is_unchanged(tenant, &script.id, &one.name, &one.checksum)
        }
    }
}

struct Planner {
    /// Nothing is new.
    duplicate: bool,
    /// The key that was assigned last.
    next_key: Key,
    plan: Plan,
}

impl Planner {
    fn tenant(&self) -> &TenantId {
        &self.plan.deployment.tenant
    }

    fn new_key(&mut self) -> Key {
        self.next_key = Key(self.next_key.0 + 1);
        self.next_key
    }

    /// The key and pin of an existing definition, if the deployment is a duplicate.
    fn existing<'d, V: Versioned>(
        &self,
        definitions: &'d Definitions<V>,
        id: &str,
    ) -> Option<(Key, &'d Pin)> {
        let key = definitions
            .latest(self.tenant(), id)
            .filter(|_| self.duplicate)?;
        Some((key, definitions.pin(key)?))
    }

    /// Builds the metadata of one version: the latest again, or the next.
    fn metadata<V: Versioned>(
        &mut self,
        definitions: &Definitions<V>,
        one: &Parsed,
        (id, version_tag): (&Arc<str>, &Option<Arc<str>>),
    ) -> DefinitionMetadata {
        let existing = self
            .existing(definitions, id)
            .map(|(key, pin)| (key, pin.version, pin.deployment_key));
        let (key, version, deployment_key) = existing.unwrap_or_else(|| {
            let version = definitions.next_version(self.tenant(), id);
            (self.new_key(), version, self.plan.deployment.deployment_key)
        });
        DefinitionMetadata {
            id: id.clone(),
            version,
            version_tag: version_tag.clone(),
            key,
            deployment_key,
            resource_name: one.name.clone(),
            checksum: one.checksum.clone(),
            duplicate: self.duplicate,
            tenant: self.tenant().clone(),
        }
    }

    fn processes(&mut self, cx: &Context<'_>, one: &Parsed, model: &skep_model::Resource) {
        for process in &model.processes {
            let definitions = &cx.state.processes.definitions;
            let named = (&process.id, &process.version_tag);
            let metadata = self.metadata(definitions, one, named);
            if !metadata.duplicate {
                self.plan.created.push(Definition::Process(ProcessValue {
                    bpmn_process_id: metadata.id.clone(),
                    version: metadata.version,
                    version_tag: metadata.version_tag.clone(),
                    process_definition_key: metadata.key,
                    deployment_key: metadata.deployment_key,
                    resource_name: metadata.resource_name.clone(),
                    checksum: metadata.checksum.clone(),
                    resource: one.resource.clone(),
                    elements: process.pinned_elements().collect(),
                    tenant: metadata.tenant.clone(),
                }));
            }
            self.plan.deployment.processes.push(metadata);
        }
    }

    fn decisions(&mut self, cx: &Context<'_>, one: &Parsed, graph: &Drg) {
        let state = &cx.state.decisions;
        let named = (&graph.id().into(), &None);
        let DefinitionMetadata {
            id,
            version,
            key,
            deployment_key,
            resource_name,
            checksum,
            duplicate,
            tenant,
            ..
        } = self.metadata(&state.requirements, one, named);
        let metadata = DecisionRequirementsMetadata {
            id,
            name: graph.name().into(),
            namespace: graph.namespace().into(),
            version,
            key,
            deployment_key,
            resource_name,
            checksum,
            duplicate,
            tenant,
        };
        if !duplicate {
            let value = DecisionRequirementsValue {
                metadata: metadata.clone(),
                resource: one.resource.clone(),
            };
            self.plan
                .created
                .push(Definition::DecisionRequirements(value));
        }
        for decision in graph.decisions() {
            let named = (
                &decision.id().into(),
                &decision.version_tag().map(Into::into),
            );
            let named = self.metadata(&state.decisions, one, named);
            let value = DecisionValue {
                id: named.id,
                name: decision.name().into(),
                version: named.version,
                version_tag: named.version_tag,
                key: named.key,
                decision_requirements_id: metadata.id.clone(),
                decision_requirements_key: metadata.key,
                deployment_key: named.deployment_key,
                duplicate,
                tenant: named.tenant,
            };
            if !duplicate {
                self.plan.created.push(Definition::Decision(value.clone()));
            }
            self.plan.deployment.decisions.push(value);
        }
        self.plan.deployment.decision_requirements.push(metadata);
    }

    fn form(&mut self, cx: &Context<'_>, one: &Parsed, form: &JsonResource) {
        let metadata = self.metadata(&cx.state.forms, one, (&form.id, &form.version_tag));
        if let Some(stored) = new_resource(one, &metadata) {
            self.plan.created.push(Definition::Form(FormValue(stored)));
        }
        self.plan.deployment.forms.push(metadata);
    }

    fn script(&mut self, cx: &Context<'_>, one: &Parsed, script: &JsonResource) {
        let metadata = self.metadata(&cx.state.resources, one, (&script.id, &script.version_tag));
        if let Some(stored) = new_resource(one, &metadata) {
            let value = ResourceValue(stored);
            self.plan.created.push(Definition::Resource(value));
        }
        self.plan.deployment.resources.push(metadata);
    }
}

fn new_resource(one: &Parsed, metadata: &DefinitionMetadata) -> Option<StoredResource> {
    (!metadata.duplicate).then(|| StoredResource {
        metadata: metadata.clone(),
        resource: one.resource.clone(),
    })
}
