//! JOB COMPLETE.

use skep_model::ElementIndex;
use skep_protocol::intent::JobIntent;
use skep_protocol::value::{JobKind, JobResult, JobValue};
use skep_protocol::{Document, Key, Rejection, RejectionType, Response};

use super::{finishable, value_of};
use crate::processing::bpmn::{Subject, ad_hoc_sub_process, lifecycle, listeners};
use crate::processing::user_task::listener;
use crate::processing::{Context, Outcome, reject};

pub(crate) fn process(
    cx: &mut Context<'_>,
    key: Key,
    variables: &Document,
    result: Option<&JobResult>,
) -> Outcome {
    let mut value = JobValue {
        variables: variables.entries().to_vec(),
        ..value_of(finishable(cx, "COMPLETE", "complete", key)?)
    };
    if let Some(result) = result {
        check(key, result)?;
        value.extra().result = Some(result.clone());
    }
    if let JobKind::TaskListener(_) = value.kind() {
        return listener::complete(cx, key, &value);
    }
    let activities = activities_of(cx, &value)?;
    cx.event(key, JobIntent::Completed, &value);
    let Some(el) = Subject::load(cx, value.element_instance_key) else {
        cx.broken(format_args!("the element of job {key} is gone"));
        return Ok(Some(Response::Empty));
    };
    match value.kind() {
        JobKind::ExecutionListener(_) => listeners::completed(cx, &el, &value.variables),
        JobKind::AdHocSubProcess => {
            let result = value.result().cloned().unwrap_or_default();
            let variables = &value.variables;
            ad_hoc_sub_process::job_completed(cx, &el, variables, &result, &activities);
        }
        _ => lifecycle::complete_with(cx, &el, &value.variables, None),
    }
    Ok(Some(Response::Empty))
}

/// Refuses a result that both denies and corrects: a denied transition does not happen, so there is nothing to correct.
fn check(key: Key, result: &JobResult) -> Result<(), Rejection> {
    if !result.denied || result.corrections.is_empty() {
        return Ok(());
    }
    let attributes: Vec<&str> = result.corrections.attributes().collect();
    Err(reject(
        RejectionType::InvalidArgument,
        "COMPLETE",
        format!(
            "Expected to complete job with key '{key}' with corrections or denied, but it is denied and corrects {}. Leave one of \
             the two out",
            attributes.join(", ")
        ),
    ))
}

/// The activities that the result of an ad-hoc sub-process job activates; empty for other jobs.
fn activities_of(cx: &mut Context<'_>, job: &JobValue) -> Result<Vec<ElementIndex>, Rejection> {
    let elements = match (job.kind(), job.result()) {
        (JobKind::AdHocSubProcess, Some(result)) => &result.activate_elements,
        _ => return Ok(Vec::new()),
    };
    let Some(el) = Subject::load(cx, job.element_instance_key) else {
        return Ok(Vec::new());
    };
    ad_hoc_sub_process::check(cx, &el, elements).map_err(|why| {
        let kind = if elements.len() > ad_hoc_sub_process::MAX_ACTIVATED { RejectionType::InvalidArgument } else { RejectionType::NotFound };
        let reason = format!(
            "Expected to complete the job of the ad-hoc sub-process '{}' and to activate elements, but {why}",
            el.element().id
        );
        reject(kind, "COMPLETE", reason)
    })
}
