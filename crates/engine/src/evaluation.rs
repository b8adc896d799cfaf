//! Evaluations requested by clients. A short one runs in its turn. A long one leaves the partition's thread, which serves
//! everyone, and comes back as [prepared](Prepared) work for its command.
//!
//! As with all prepared work, the records are the same either way.

use std::sync::Arc;

use skep_dmn::{DecisionResult, EvaluationFailure};
use skep_feel::{EvalContext, Limits};
use skep_protocol::{Key, Rejection, Response};

use crate::prepared::{Kind, Prepared};
use crate::processing::Named;
use crate::processing::expression;
use crate::state::decisions::DeployedDecisions;

/// An evaluation with everything it needs: see [`Engine::take_evaluation`](crate::Engine::take_evaluation).
#[derive(Debug)]
pub struct Evaluation(pub(crate) PendingEvaluation);

#[derive(Debug)]
pub(crate) enum PendingEvaluation {
    Expression(AskedExpression),
    Decision(AskedDecision),
}

impl Evaluation {
    /// Evaluates. The result is for [`Engine::prepare`](crate::Engine::prepare), before the same command.
    pub fn carry_out(&self) -> Prepared {
        Prepared(match &self.0 {
            PendingEvaluation::Expression(asked) => Kind::Answer(asked.answer()),
            PendingEvaluation::Decision(asked) => Kind::Decision(asked.key, asked.result()),
        })
    }
}

/// The limits of a first attempt. `None`: those of the evaluation itself are not higher.
fn limits_within(context: &EvalContext, steps: u64) -> Option<Limits> {
    let limits = context.limits;
    (steps < limits.max_steps).then_some(Limits {
        max_steps: steps,
        ..limits
    })
}

#[derive(Debug)]
pub(crate) struct AskedExpression {
    /// As in models: a text without `=` is a constant.
    pub text: Arc<str>,
    pub variables: Named,
    pub context: EvalContext,
    /// Maximum bytes of the result.
    pub max_size: usize,
}

/// Bytes of an expression above which even parsing takes long.
const SHORT_TEXT: usize = 4 << 10;

impl AskedExpression {
    /// The response, or `None` if the evaluation takes more steps than this.
    pub fn answer_within(&self, steps: u64) -> Option<Result<Response, Rejection>> {
        let Some(limits) = limits_within(&self.context, steps) else {
            return Some(self.answer());
        };
        if self.text.len() > SHORT_TEXT {
            return None;
        }
        let context = EvalContext {
            limits,
            ..self.context.clone()
        };
        let (answer, taken) = expression::answer(self, &context);
        (taken < steps).then_some(answer)
    }

    pub fn answer(&self) -> Result<Response, Rejection> {
        expression::answer(self, &self.context).0
    }
}

#[derive(Debug)]
pub(crate) struct AskedDecision {
    pub key: Key,
    pub id: Arc<str>,
    pub deployed: Arc<DeployedDecisions>,
    pub variables: Named,
    pub context: EvalContext,
}

/// The outcome of a decision. `Err`: the reason why none of the decisions of its file can be evaluated.
pub(crate) type DecisionOutcome = Result<Result<DecisionResult, EvaluationFailure>, String>;

impl AskedDecision {
    /// The result, or `None` if the evaluation takes more steps than this.
    pub fn result_within(&self, steps: u64) -> Option<DecisionOutcome> {
        let Some(limits) = limits_within(&self.context, steps) else {
            return Some(self.result());
        };
        let context = EvalContext {
            limits,
            ..self.context.clone()
        };
        let result = self.result_with(&context);
        let taken = match &result {
            Ok(Ok(result)) => result.steps,
            Ok(Err(failure)) => failure.steps,
            Err(_) => 0,
        };
        (taken < steps).then_some(result)
    }

    pub fn result(&self) -> DecisionOutcome {
        self.result_with(&self.context)
    }

    fn result_with(&self, context: &EvalContext) -> DecisionOutcome {
        let graph = self.deployed.graph.as_ref().map_err(String::clone)?;
        Ok(graph.evaluate(&self.id, &self.variables, context))
    }
}
