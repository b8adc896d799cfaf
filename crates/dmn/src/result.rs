//! Result of an evaluation: the output, and how it was reached.

use std::sync::Arc;

use skep_feel::Value;

use crate::DecisionType;

/// A decision that was evaluated with success.
#[derive(Clone, Debug)]
pub struct DecisionResult {
    /// The output of the decision.
    pub output: Value,
    /// All decisions in the order of their evaluation: the required ones first, the one asked for last.
    pub evaluated: Vec<EvaluatedDecision>,
    /// The work that it took, in steps of FEEL.
    pub steps: u64,
}

/// An evaluation that did not come to its end.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct EvaluationFailure {
    /// The decision that failed: the one asked for, or one that it requires.
    pub decision_id: Arc<str>,
    /// Its name; empty when there is no such decision.
    pub decision_name: Arc<str>,
    /// Which expression or rule failed and why, as in `Expected to evaluate decision 'x', but …`.
    pub message: String,
    /// The decisions evaluated before, and the failed one with its partial results: its output is null.
    pub evaluated: Vec<EvaluatedDecision>,
    /// The work that it took, in steps of FEEL.
    pub steps: u64,
}

/// One decision of the audit.
#[derive(Clone, Debug)]
pub struct EvaluatedDecision {
    /// Id of the decision.
    pub id: Arc<str>,
    /// Name of the decision.
    pub name: Arc<str>,
    /// The kind of its logic.
    pub decision_type: DecisionType,
    /// Its output; null when it failed.
    pub output: Value,
    /// The inputs of a decision table, in order.
    pub inputs: Vec<EvaluatedInput>,
    /// The rules of a decision table that matched, in order.
    pub matched_rules: Vec<MatchedRule>,
}

/// The value of one input of a decision table.
#[derive(Clone, Debug)]
pub struct EvaluatedInput {
    /// Id of the input; empty when it has none.
    pub id: Arc<str>,
    /// Its label, or else its expression.
    pub name: Arc<str>,
    /// Its value.
    pub value: Value,
}

/// A rule whose cells all matched.
#[derive(Clone, Debug)]
pub struct MatchedRule {
    /// Id of the rule; empty when it has none.
    pub id: Arc<str>,
    /// From 1.
    pub index: usize,
    /// Its outputs, in order.
    pub outputs: Vec<EvaluatedOutput>,
}

/// The value of one output of a matched rule.
#[derive(Clone, Debug)]
pub struct EvaluatedOutput {
    /// Id of the output; empty when it has none.
    pub id: Arc<str>,
    /// Its label, or else its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Value,
}
