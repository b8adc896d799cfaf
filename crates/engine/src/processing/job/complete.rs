//! JOB COMPLETE.

use skep_protocol::intent::JobIntent;
use skep_protocol::value::{JobKind, JobResult, JobValue};
use skep_protocol::{Document, Key, Rejection, RejectionType, Response};

use super::{finishable, value_of};
use crate::processing::bpmn::{Subject, lifecycle};
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
    cx.event(key, JobIntent::Completed, &value);
    if let Some(el) = Subject::load(cx, value.element_instance_key) {
        lifecycle::complete_with(cx, &el, &value.variables, None);
    }
    Ok(Some(Response::Empty))
}

/// What is denied does not happen, so that there is nothing to correct.
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
