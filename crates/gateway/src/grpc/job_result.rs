//! Job results and the user task properties of a job, as gRPC messages.

use skep_proto::gateway_protocol as pb;
use skep_protocol::Failure;
use skep_protocol::user_task::UserTaskProperties;
use skep_protocol::value::{ActivateElement, Corrections, JobKind, JobResult, ListenerEvent};

use super::decode::variables;
use crate::check;

/// The result, unless it is empty.
pub fn decode(result: Option<pb::JobResult>) -> Result<Option<Box<JobResult>>, Failure> {
    let Some(result) = result else {
        return Ok(None);
    };
    let mut activate_elements = Vec::with_capacity(result.activate_elements.len());
    for element in &result.activate_elements {
        let field = "result.activateElements.elementId";
        check::not_blank(field, &element.element_id, "Name the element to activate.")?;
        let variables = variables("result.activateElements.variables", &element.variables)?;
        activate_elements.push(ActivateElement {
            element_id: element.element_id.as_str().into(),
            variables: variables.into_entries().collect(),
        });
    }
    let result = JobResult {
        kind: check::job_result_type(result.r#type())?,
        denied: result.denied(),
        denied_reason: result.denied_reason().into(),
        completion_condition_fulfilled: result.is_completion_condition_fulfilled(),
        cancel_remaining_instances: result.is_cancel_remaining_instances(),
        corrections: corrections(result.corrections.unwrap_or_default())?,
        activate_elements,
    };
    Ok((result != JobResult::default()).then(|| Box::new(result)))
}

fn corrections(corrections: pb::JobResultCorrections) -> Result<Corrections, Failure> {
    let texts = |list: Option<pb::StringList>| -> Option<Vec<_>> {
        list.map(|list| list.values.into_iter().map(Into::into).collect())
    };
    check::priority("result.corrections.priority", corrections.priority)?;
    Ok(Corrections {
        assignee: corrections.assignee.map(Into::into),
        candidate_groups: texts(corrections.candidate_groups),
        candidate_users: texts(corrections.candidate_users),
        due_date: corrections.due_date.map(Into::into),
        follow_up_date: corrections.follow_up_date.map(Into::into),
        priority: corrections.priority,
    })
}

pub fn kind(kind: JobKind) -> i32 {
    use pb::activated_job::JobKind as Kind;
    let kind = match kind {
        JobKind::BpmnElement => Kind::BpmnElement,
        JobKind::ExecutionListener(_) => Kind::ExecutionListener,
        JobKind::TaskListener(_) => Kind::TaskListener,
        JobKind::AdHocSubProcess => Kind::AdHocSubProcess,
    };
    kind as i32
}

pub fn listener_event(kind: JobKind) -> i32 {
    use pb::activated_job::ListenerEventType as Event;
    let event = match kind.listener_event() {
        None => Event::Unspecified,
        Some(ListenerEvent::Start) => Event::Start,
        Some(ListenerEvent::End) => Event::End,
        Some(ListenerEvent::Creating) => Event::Creating,
        Some(ListenerEvent::Assigning) => Event::Assigning,
        Some(ListenerEvent::Updating) => Event::Updating,
        Some(ListenerEvent::Completing) => Event::Completing,
        Some(ListenerEvent::Canceling) => Event::Canceling,
    };
    event as i32
}

pub fn user_task(task: UserTaskProperties) -> pb::UserTaskProperties {
    pb::UserTaskProperties {
        action: Some(task.action),
        assignee: task.assignee,
        candidate_groups: task.candidate_groups,
        candidate_users: task.candidate_users,
        changed_attributes: task.changed_attributes,
        due_date: task.due_date,
        follow_up_date: task.follow_up_date,
        form_key: task.form_key,
        priority: task.priority,
        user_task_key: task.user_task_key,
    }
}
