//! Deployed resources, and evaluations of decisions.

use super::*;

fn metadata(id: &str) -> DefinitionMetadata {
    DefinitionMetadata {
        id: id.into(),
        version: 3,
        version_tag: Some("stable".into()),
        key: key(2),
        deployment_key: key(3),
        resource_name: "order.bpmn".into(),
        checksum: vec![1, 2, 3].into(),
        duplicate: true,
        tenant: TenantId::new("acme"),
    }
}

fn requirements() -> DecisionRequirementsMetadata {
    DecisionRequirementsMetadata {
        id: "fees".into(),
        name: "Fees".into(),
        namespace: "n".into(),
        version: 2,
        key: key(4),
        deployment_key: key(3),
        resource_name: "fees.dmn".into(),
        checksum: vec![4, 5, 6].into(),
        duplicate: false,
        tenant: TenantId::new("acme"),
    }
}

pub fn deployment() -> DeploymentValue {
    DeploymentValue {
        deployment_key: key(1),
        processes: vec![metadata("order")],
        decision_requirements: vec![requirements()],
        decisions: vec![decision()],
        forms: vec![metadata("form")],
        resources: vec![metadata("robot")],
        tenant: TenantId::new("acme"),
    }
}

pub fn decision() -> DecisionValue {
    DecisionValue {
        id: "fee".into(),
        name: "Fee".into(),
        version: 5,
        version_tag: None,
        key: key(6),
        decision_requirements_id: "fees".into(),
        decision_requirements_key: key(4),
        deployment_key: key(3),
        duplicate: false,
        tenant: TenantId::new("acme"),
    }
}

pub fn decision_requirements() -> DecisionRequirementsValue {
    DecisionRequirementsValue {
        metadata: requirements(),
        resource: "<definitions/>".into(),
    }
}

pub fn form() -> FormValue {
    FormValue(StoredResource {
        metadata: metadata("form"),
        resource: r#"{"id":"form"}"#.into(),
    })
}

pub fn resource() -> ResourceValue {
    ResourceValue(StoredResource {
        metadata: metadata("robot"),
        resource: r#"{"id":"robot"}"#.into(),
    })
}

pub fn decision_evaluation() -> DecisionEvaluationValue {
    let value = |id: &str, value: &str| EvaluatedValue {
        id: id.into(),
        name: format!("name of {id}").into(),
        value: value.into(),
    };
    DecisionEvaluationValue {
        decision_key: key(6),
        decision_id: "fee".into(),
        decision_name: "Fee".into(),
        decision_version: 5,
        decision_requirements_id: "fees".into(),
        decision_requirements_key: key(4),
        output: "7.5".into(),
        evaluated_decisions: vec![EvaluatedDecision {
            key: key(6),
            id: "fee".into(),
            name: "Fee".into(),
            version: 5,
            decision_type: "DECISION_TABLE".into(),
            output: "7.5".into(),
            inputs: vec![value("in", "\"DE\"")],
            matched_rules: vec![MatchedRule {
                id: "rule".into(),
                index: 2,
                outputs: vec![value("out", "7.5")],
            }],
        }],
        failure: Some(DecisionFailure {
            decision_id: "other".into(),
            message: "it failed".into(),
        }),
        process_definition_key: key(7),
        process_instance_key: key(8),
        root_process_instance_key: key(9),
        element: 3,
        element_instance_key: key(10),
        tenant: TenantId::new("acme"),
    }
}
