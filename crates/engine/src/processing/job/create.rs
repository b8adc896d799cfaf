//! Creates jobs, for the work of an element or for a listener.

use std::sync::Arc;

use skep_model::TextValue;
use skep_protocol::intent::JobIntent;
use skep_protocol::value::{ErrorType, JobExtra, JobValue};
use skep_protocol::{Key, TenantId};

use crate::processing::bpmn::{Problem, Subject};
use crate::processing::{Context, expression};

/// Evaluates the properties that every job needs.
pub(crate) fn type_and_retries(
    cx: &mut Context<'_>,
    el: &Subject,
    job_type: &TextValue,
    retries: &TextValue,
) -> Result<(Arc<str>, i32), Problem> {
    let job_type = expression::text(cx, job_type, el.key)?;
    if job_type.is_empty() {
        return Err(Problem::new(
            ErrorType::ExtractValueError,
            "Expected the job type not to be empty, but its expression yields an empty text.",
        ));
    }
    expression::not_too_long("job type", &job_type)?;
    let retries = expression::integer(cx, retries, el.key)?;
    let Some(retries) = i32::try_from(retries).ok().filter(|retries| *retries >= 0) else {
        return Err(Problem::new(
            ErrorType::ExtractValueError,
            format!(
                "Expected the number of retries to be from 0 to {}, but it is {retries}.",
                i32::MAX
            ),
        ));
    };
    Ok((job_type, retries))
}

/// A job value for this element.
pub(crate) fn value(el: &Subject, job_type: Arc<str>, retries: i32) -> JobValue {
    JobValue {
        job_type,
        process_definition_key: el.process.key,
        process_instance_key: el.value.process_instance_key,
        root_process_instance_key: el.value.root_process_instance_key,
        element: el.value.element,
        element_instance_key: el.key,
        retries,
        extra: extra_of(&el.process.tenant),
        worker: Arc::default(),
        deadline: -1,
        error_message: Arc::default(),
        variables: Vec::new(),
    }
}

/// Extra data for a tenant. The default tenant needs none.
fn extra_of(tenant: &TenantId) -> Option<Box<JobExtra>> {
    let extra = || {
        Box::new(JobExtra {
            tenant: tenant.clone(),
            ..JobExtra::default()
        })
    };
    (!tenant.is_default()).then(extra)
}

/// JOB CREATED. Workers get the job at the end of the turn.
pub(crate) fn create(cx: &mut Context<'_>, job: &JobValue) -> Key {
    let key = cx.next_key();
    cx.event(key, JobIntent::Created, job);
    cx.new_jobs.push(key);
    key
}
