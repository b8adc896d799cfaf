//! Tasks and events whose work is a job for a worker: the service task, and every other kind in its job form.

use super::{ElementBehavior, Next, Problem, Subject, lifecycle, subscriptions};
use crate::processing::Context;
use crate::processing::job::create;

pub(crate) struct JobTask;

impl ElementBehavior for JobTask {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let Some(definition) = el.element().job() else {
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
