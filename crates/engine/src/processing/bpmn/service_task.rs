//! Service task: a job for a worker.

use skep_model::ElementKind;
use skep_protocol::value::{ErrorType, JobKind};

use super::{ElementBehavior, Next, Problem, Subject, events, lifecycle};
use crate::processing::job::{self, NewJob};
use crate::processing::{Context, expression};

pub(crate) struct ServiceTask;

impl ElementBehavior for ServiceTask {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::ServiceTask(definition) = &el.element().kind else {
            return Ok(Next::Complete);
        };
        let job_type = expression::text(cx, &definition.job_type, el.key)?;
        if job_type.is_empty() {
            return Err(Problem::new(
                ErrorType::ExtractValueError,
                "Expected the job type not to be empty, but its expression yields an empty text.",
            ));
        }
        let retries = expression::integer(cx, &definition.retries, el.key)?;
        let Some(retries) = i32::try_from(retries).ok().filter(|retries| *retries >= 0) else {
            return Err(Problem::new(
                ErrorType::ExtractValueError,
                format!(
                    "Expected the number of retries to be from 0 to {}, but it is {retries}.",
                    i32::MAX
                ),
            ));
        };
        events::subscribe_boundary_events(cx, el)?;
        let new = NewJob {
            job_type,
            retries,
            kind: JobKind::BpmnElement,
            headers: None,
        };
        job::create(cx, el, new);
        lifecycle::activated(cx, el);
        Ok(Next::Wait)
    }
}
