//! Tasks and events implemented by a job: the service task, and every other kind with a task definition.

use crate::processing::Context;
use crate::processing::bpmn::{
    ElementBehavior, Next, Problem, Subject, lifecycle, linked_resources, subscriptions,
};
use crate::processing::job::create;

pub(crate) struct JobTask;

impl ElementBehavior for JobTask {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let Some(definition) = el.element().job() else {
            return Err(crate::processing::bpmn::wrong_kind(cx, el));
        };
        let (job_type, retries) =
            create::type_and_retries(cx, el, &definition.job_type, &definition.retries)?;
        let headers = linked_resources::headers(cx, el, definition)?;
        subscriptions::subscribe_boundary_events(cx, el)?;
        let mut job = create::value(el, job_type, retries);
        if headers.is_some() {
            job.extra().headers = headers;
        }
        create::create(cx, &job);
        lifecycle::activated(cx, el);
        Ok(Next::Wait)
    }
}
