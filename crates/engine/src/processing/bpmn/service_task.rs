//! Service task: a job for a worker.

use std::sync::Arc;

use skep_model::ElementKind;
use skep_protocol::intent::JobIntent;
use skep_protocol::value::{ErrorType, JobValue};

use super::{ElementBehavior, Next, Problem, Subject, events, lifecycle};
use crate::processing::{Context, expression};

pub(crate) struct ServiceTask;

impl ElementBehavior for ServiceTask {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::ServiceTask(definition) = &el.element().kind else {
            return Err(super::wrong_kind(cx, el));
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
        let job = JobValue {
            job_type,
            process_definition_key: el.process.key,
            process_instance_key: el.value.process_instance_key,
            root_process_instance_key: el.value.root_process_instance_key,
            element: el.value.element,
            element_instance_key: el.key,
            retries,
            worker: Arc::default(),
            deadline: -1,
            retry_backoff: 0,
            recurring_time: -1,
            error_code: Arc::default(),
            error_message: Arc::default(),
            variables: Vec::new(),
        };
        let key = cx.next_key();
        cx.event(key, JobIntent::Created, &job);
        lifecycle::activated(cx, el);
        cx.new_jobs.push(key);
        Ok(Next::Wait)
    }
}
