//! JOB COMPLETE.

use skep_protocol::intent::JobIntent;
use skep_protocol::{Document, Key, Response};

use super::{finishable, value_of};
use crate::processing::bpmn::{Step, Subject};
use crate::processing::{Context, Outcome, variable};

pub(crate) fn process(cx: &mut Context<'_>, key: Key, variables: &Document) -> Outcome {
    let value = value_of(finishable(cx, "COMPLETE", "complete", key)?);
    cx.event(key, JobIntent::Completed, &value);
    if !variables.is_empty()
        && let Some(el) = Subject::load(cx, value.element_instance_key)
    {
        variable::accept(cx, &el, variables.entries());
    }
    cx.steps.push(Step::Complete(value.element_instance_key));
    Ok(Some(Response::Empty))
}
