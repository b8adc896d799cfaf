//! Decision evaluations: one row per decision evaluated.

use super::tenant;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

const STATES: &[&str] = &["EVALUATED", "FAILED", "UNSPECIFIED", "UNKNOWN"];

const TYPES: &[&str] = &[
    "DECISION_TABLE",
    "LITERAL_EXPRESSION",
    "UNSPECIFIED",
    "UNKNOWN",
];

pub static DECISION_INSTANCE: Entity = Entity {
    title: "Decision Instance",
    table: "decision_instance",
    fields: &[
        Field::new("decisionEvaluationInstanceKey", Kind::Text, Ops::BASIC_TEXT)
            .always_there()
            .sortable(),
        Field::new("state", Kind::Enum(STATES), Ops::ENUM_NOT_IN)
            .always_there()
            .sortable(),
        Field::new("evaluationFailure", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("evaluationDate", Kind::Time, Ops::ORDERED)
            .always_there()
            .sortable()
            .cluster_wide(),
        Field::new("decisionDefinitionId", Kind::Text, Ops::PLAIN)
            .always_there()
            .sortable(),
        Field::new("decisionDefinitionName", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("decisionDefinitionVersion", Kind::Int, Ops::PLAIN)
            .always_there()
            .sortable(),
        Field::new("decisionDefinitionType", Kind::Enum(TYPES), Ops::PLAIN)
            .always_there()
            .sortable(),
        tenant(Ops::PLAIN).sortable(),
        Field::new("decisionEvaluationKey", Kind::Key, Ops::PLAIN)
            .always_there()
            .sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::PLAIN)
            .sortable()
            .never_null(),
        Field::new("processInstanceKey", Kind::Key, Ops::PLAIN)
            .sortable()
            .sparse()
            .never_null(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("decisionDefinitionKey", Kind::Key, Ops::KEY)
            .always_there()
            .sortable(),
        Field::new("elementInstanceKey", Kind::Key, Ops::KEY)
            .sortable()
            .never_null(),
        Field::new("rootDecisionDefinitionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("decisionRequirementsKey", Kind::Key, Ops::KEY).hidden(),
        Field::new("result", Kind::Text, Ops::NONE),
        Field::new("evaluatedInputs", Kind::Json, Ops::NONE).detail(),
        Field::new("matchedRules", Kind::Json, Ops::NONE).detail(),
        // Added in 8.10: the business ID of the process instance.
        Field::new("businessId", Kind::Text, Ops::TEXT).sortable(),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["processInstanceKey"],
        &["decisionEvaluationKey"],
        &["decisionDefinitionKey", "evaluationDate"],
        &["evaluationDate"],
        &["tenantId", "decisionEvaluationInstanceKey"],
        &["tenantId", "evaluationDate"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstanceOrAt("evaluationDate"),
};
