//! Business rule task: evaluates a decision immediately. With a task definition it is a job like any other.

use skep_model::{BusinessRuleTask as Definition, CalledDecision, ElementKind};
use skep_protocol::value::{DecisionValue, ErrorType};

use crate::processing::bpmn::{
    ElementBehavior, Next, Problem, Subject, binding, lifecycle, subscriptions, triggers,
    wrong_kind,
};
use crate::processing::{Context, decision, expression};

pub(crate) struct BusinessRuleTask;

impl ElementBehavior for BusinessRuleTask {
    /// The output becomes a variable when the element completes, as if a worker had returned it.
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::BusinessRuleTask(Definition::Decision(called)) = &el.element().kind else {
            return Err(wrong_kind(cx, el));
        };
        let decision = find(cx, el, called)?;
        let evaluation = decision::evaluate_for_element(cx, &decision, el);
        if let Some(failure) = evaluation.failure {
            let kind = ErrorType::DecisionEvaluationError;
            return Err(Problem::new(kind, failure.message));
        }
        subscriptions::subscribe_boundary_events(cx, el)?;
        let result = (called.result_variable.clone(), evaluation.output);
        triggers::keep_result(cx, el, vec![result]);
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }
}

fn find(
    cx: &mut Context<'_>,
    el: &Subject,
    called: &CalledDecision,
) -> Result<DecisionValue, Problem> {
    let id = expression::text(cx, &called.decision_id, el.key)?;
    let (tenant, deployment) = (&el.process.tenant, el.process.deployment_key);
    let decisions = &mut cx.state.decisions.decisions;
    let key = decisions.bound(tenant, &id, &called.binding, deployment);
    let found = key.and_then(|key| decisions.get(key)).cloned();
    found.ok_or_else(|| {
        let not_found = binding::not_found(&called.binding, deployment);
        let message = format!("Expected decision with id '{id}' {not_found}.");
        Problem::new(ErrorType::CalledDecisionError, message)
    })
}
