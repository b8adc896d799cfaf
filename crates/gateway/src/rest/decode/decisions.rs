//! Evaluating decisions.

use serde::Deserialize;
use skep_protocol::command::{Command, DecisionRef, EvaluateDecision};
use skep_protocol::{Document, Failure};

use super::fields::{KeyText, Text};
use super::{Decoded, of_tenant, required};
use crate::call::FrontEnd;
use crate::check::{self, invalid};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Evaluation<'a> {
    #[serde(borrow)]
    decision_definition_id: Option<Text<'a>>,
    decision_definition_key: Option<KeyText>,
    variables: Option<Document>,
    #[serde(borrow)]
    tenant_id: Option<Text<'a>>,
}

pub fn evaluate(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Evaluation = required(text)?;
    let tenancy = front.config.security.tenancy;
    let tenant = tenancy.tenant("Evaluate Decision", body.tenant_id.as_deref())?;
    let decision = match (body.decision_definition_key, body.decision_definition_id) {
        (Some(KeyText(key)), None) => DecisionRef::Key(key),
        (None, Some(id)) => {
            let what = "Name the decision to evaluate.";
            check::not_blank("decisionDefinitionId", &id, what)?;
            DecisionRef::Id(id.shared())
        }
        (None, None) => {
            return invalid(
                "Neither 'decisionDefinitionId' nor 'decisionDefinitionKey' is given. Give one of them.",
            );
        }
        (Some(_), Some(_)) => {
            return invalid(
                "Both 'decisionDefinitionId' and 'decisionDefinitionKey' are given. Give one of them.",
            );
        }
    };
    let evaluate = EvaluateDecision {
        decision,
        variables: body.variables.unwrap_or_default(),
    };
    let command = Command::EvaluateDecision(evaluate);
    Ok(of_tenant(command, tenant, front))
}
