//! Service task: a job for a worker.

use skep_model::ElementKind;

use super::{ElementBehavior, Next, Problem, Subject, lifecycle, subscriptions};
use crate::processing::Context;
use crate::processing::job::create;

pub(crate) struct ServiceTask;

impl ElementBehavior for ServiceTask {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::ServiceTask(definition) = &el.element().kind else {
            return Err(super::wrong_kind(cx, el));
        };
        let (job_type, retries) =
            create::type_and_retries(cx, el, &definition.job_type, &definition.retries)?;
        subscriptions::subscribe_boundary_events(cx, el)?;
        create::create(cx, &create::value(el, job_type, retries));
        lifecycle::activated(cx, el);
        Ok(Next::Wait)
    }
}
