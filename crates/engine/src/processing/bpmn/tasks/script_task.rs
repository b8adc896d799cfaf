//! Script task: an expression, whose result becomes a variable.

use skep_model::{ElementKind, ScriptTask as Definition};

use crate::processing::bpmn::{
    ElementBehavior, Next, Problem, Subject, lifecycle, subscriptions, triggers,
};
use crate::processing::{Context, expression};

pub(crate) struct ScriptTask;

impl ElementBehavior for ScriptTask {
    /// The variable is set when the element completes, as if a worker had returned it.
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::ScriptTask(Definition::Expression {
            expression,
            result_variable,
        }) = &el.element().kind
        else {
            return Err(crate::processing::bpmn::wrong_kind(cx, el));
        };
        let most = cx.max_step_bytes();
        let result = expression::extract(cx, expression, el.key)?;
        let json = result.value.to_json_within(most as u64).ok_or_else(|| {
            result.problem(format!(
                "The result of the script has more than {most} bytes. Let it select less, then resolve the incident."
            ))
        })?;
        subscriptions::subscribe_boundary_events(cx, el)?;
        triggers::keep_result(cx, el, vec![(result_variable.clone(), json.into())]);
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }
}
