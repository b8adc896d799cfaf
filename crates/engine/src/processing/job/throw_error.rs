//! JOB THROW_ERROR: a worker throws a BPMN error.

use skep_protocol::Response;
use skep_protocol::command::ThrowError;
use skep_protocol::intent::JobIntent;
use skep_protocol::value::{ErrorType, JobValue, NO_CATCH_EVENT};

use super::{finishable, value_of, wrong_state};
use crate::processing::bpmn::catching::{self, Thrown};
use crate::processing::bpmn::{Problem, Subject, incidents, triggers};
use crate::processing::{Context, Outcome};

pub(crate) fn process(cx: &mut Context<'_>, command: &ThrowError) -> Outcome {
    let key = command.job_key;
    let job = value_of(finishable(cx, "THROW_ERROR", "throw an error for", key)?);
    if job.kind().is_listener() {
        let verb = "throw an error for";
        return Err(wrong_state(
            "THROW_ERROR",
            verb,
            key,
            "that of a listener: only the work of an element can throw errors. Fail the job instead",
        ));
    }
    let mut value = JobValue {
        error_message: command.error_message.as_str().into(),
        variables: command.variables.entries().to_vec(),
        ..job
    };
    value.extra().error_code = command.error_code.as_str().into();
    let element = value.element_instance_key;
    let catcher = catching::find(cx, element, Thrown::Error(&command.error_code));
    let value = match &catcher {
        Some(_) => value,
        None => JobValue {
            element: NO_CATCH_EVENT,
            ..value
        },
    };
    cx.event(key, JobIntent::ErrorThrown, &value);
    match catcher {
        Some(catcher) => {
            triggers::interrupt(cx, &catcher.element, catcher.event, value.variables);
        }
        None => {
            let Some(el) = Subject::load(cx, element) else {
                return Ok(Some(Response::Empty));
            };
            let said = if command.error_message.is_empty() {
                String::new()
            } else {
                format!(" with message '{}'", command.error_message)
            };
            let message = format!(
                "Expected to throw an error event with the code '{}'{said}, but it was not caught. {}",
                command.error_code,
                catching::how_to_catch(cx, element)
            );
            let problem = Problem::new(ErrorType::UnhandledErrorEvent, message);
            incidents::raise_for_job(cx, &el, problem, key);
        }
    }
    Ok(Some(Response::Empty))
}
