//! JOB COMPLETE.

use skep_protocol::intent::JobIntent;
use skep_protocol::value::JobValue;
use skep_protocol::{Document, Key, Response};

use super::{finishable, value_of};
use crate::processing::bpmn::{Subject, lifecycle};
use crate::processing::{Context, Outcome};

pub(crate) fn process(cx: &mut Context<'_>, key: Key, variables: &Document) -> Outcome {
    let value = JobValue {
        variables: variables.entries().to_vec(),
        ..value_of(finishable(cx, "COMPLETE", "complete", key)?)
    };
    cx.event(key, JobIntent::Completed, &value);
    if let Some(el) = Subject::load(cx, value.element_instance_key) {
        lifecycle::complete_with(cx, &el, &value.variables, None);
    }
    Ok(Some(Response::Empty))
}
