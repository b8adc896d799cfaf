//! DECISION_EVALUATION: the result of a decision, and how it was reached.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::JsonText;
use crate::key::Key;
use crate::tenant::TenantId;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionEvaluationValue {
    pub decision_key: Key,
    pub decision_id: Arc<str>,
    pub decision_name: Arc<str>,
    pub decision_version: i32,
    pub decision_requirements_id: Arc<str>,
    pub decision_requirements_key: Key,
    /// `null` when it failed.
    pub output: JsonText,
    /// In the order of their evaluation: required ones first. Of a failed evaluation, those until the one that failed.
    pub evaluated_decisions: Vec<EvaluatedDecision>,
    /// On FAILED.
    pub failure: Option<DecisionFailure>,
    /// The process that requested it; all unset for a request of a client.
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    pub element: u32,
    pub element_instance_key: Key,
    /// That of the decision.
    pub tenant: TenantId,
}

/// The decision that failed: the one asked for or one that it requires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionFailure {
    pub decision_id: Arc<str>,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedDecision {
    pub key: Key,
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub version: i32,
    /// For instance `DECISION_TABLE`.
    pub decision_type: Arc<str>,
    pub output: JsonText,
    pub inputs: Vec<EvaluatedValue>,
    pub matched_rules: Vec<MatchedRule>,
}

impl EvaluatedDecision {
    /// Its public key: the evaluation's key and its place in it, from 1.
    pub fn instance_key(&self, evaluation: Key, at: usize) -> String {
        format!("{evaluation}-{}", at + 1)
    }
}

/// An input of a decision table, or an output of one of its rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedValue {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub value: JsonText,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchedRule {
    pub id: Arc<str>,
    /// From 1.
    pub index: u32,
    pub outputs: Vec<EvaluatedValue>,
}
