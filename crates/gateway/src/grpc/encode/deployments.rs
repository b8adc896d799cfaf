//! Deployed resources.

use pb::deployment::Metadata;
use skep_proto::gateway_protocol as pb;
use skep_protocol::value::{
    DecisionRequirementsMetadata, DecisionValue, DefinitionMetadata, DeploymentValue,
};

pub fn process(process: DefinitionMetadata) -> pb::ProcessMetadata {
    pb::ProcessMetadata {
        bpmn_process_id: process.id.to_string(),
        version: process.version,
        process_definition_key: process.key.0,
        resource_name: process.resource_name.to_string(),
        tenant_id: process.tenant.to_string(),
    }
}

/// All but other resources, of which these messages know nothing.
pub fn deployments(deployed: DeploymentValue) -> Vec<pb::Deployment> {
    let processes = deployed.processes.into_iter().map(process);
    let decisions = deployed.decisions.into_iter().map(decision);
    let requirements = deployed.decision_requirements.into_iter().map(requirements);
    let forms = deployed.forms.into_iter().map(form);
    let all = (processes.map(Metadata::Process))
        .chain(decisions.map(Metadata::Decision))
        .chain(requirements.map(Metadata::DecisionRequirements))
        .chain(forms.map(Metadata::Form));
    let entry = |metadata| pb::Deployment {
        metadata: Some(metadata),
    };
    all.map(entry).collect()
}

fn decision(decision: DecisionValue) -> pb::DecisionMetadata {
    pb::DecisionMetadata {
        dmn_decision_id: decision.id.to_string(),
        dmn_decision_name: decision.name.to_string(),
        version: decision.version,
        decision_key: decision.key.0,
        dmn_decision_requirements_id: decision.decision_requirements_id.to_string(),
        decision_requirements_key: decision.decision_requirements_key.0,
        tenant_id: decision.tenant.to_string(),
    }
}

fn requirements(file: DecisionRequirementsMetadata) -> pb::DecisionRequirementsMetadata {
    pb::DecisionRequirementsMetadata {
        dmn_decision_requirements_id: file.id.to_string(),
        dmn_decision_requirements_name: file.name.to_string(),
        version: file.version,
        decision_requirements_key: file.key.0,
        resource_name: file.resource_name.to_string(),
        tenant_id: file.tenant.to_string(),
    }
}

fn form(form: DefinitionMetadata) -> pb::FormMetadata {
    pb::FormMetadata {
        form_id: form.id.to_string(),
        version: form.version,
        form_key: form.key.0,
        resource_name: form.resource_name.to_string(),
        tenant_id: form.tenant.to_string(),
    }
}
