//! The result of a job of a task listener or an ad-hoc sub-process, beside its variables.

use serde::Deserialize;
use skep_protocol::value::{ActivateElement, Corrections, JobResult, JobResultType};
use skep_protocol::{Document, Failure};

use super::fields::{Object, Text, said};
use crate::check::{self, invalid};

/// Both types of results; each has fields of its own.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ResultBody<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    denied: Option<bool>,
    #[serde(borrow)]
    denied_reason: Option<Text<'a>>,
    #[serde(borrow)]
    corrections: Option<Object<CorrectionsBody<'a>>>,
    #[serde(borrow)]
    activate_elements: Option<Vec<Object<ElementBody<'a>>>>,
    is_completion_condition_fulfilled: Option<bool>,
    is_cancel_remaining_instances: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CorrectionsBody<'a> {
    #[serde(borrow)]
    assignee: Option<Text<'a>>,
    #[serde(borrow)]
    due_date: Option<Text<'a>>,
    #[serde(borrow)]
    follow_up_date: Option<Text<'a>>,
    #[serde(borrow)]
    candidate_users: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    candidate_groups: Option<Vec<Text<'a>>>,
    priority: Option<i32>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ElementBody<'a> {
    #[serde(borrow)]
    element_id: Option<Text<'a>>,
    variables: Option<Document>,
}

/// The result, unless it is empty.
pub fn decode(body: ResultBody) -> Result<Option<Box<JobResult>>, Failure> {
    let kind = check::job_result_type(body.kind.as_deref().unwrap_or_default())?;
    let (corrects, corrections) = match body.corrections {
        Some(Object(given)) => (true, corrections(given)?),
        None => (false, Corrections::default()),
    };
    let elements = body.activate_elements.unwrap_or_default().into_iter();
    let elements: Result<Vec<_>, _> = elements
        .map(|Object(e)| element(e, "result.activateElements.elementId"))
        .collect();
    let result = JobResult {
        kind,
        denied: body.denied.unwrap_or_default(),
        denied_reason: body
            .denied_reason
            .map_or_else(Default::default, |reason| reason.shared()),
        corrections,
        activate_elements: elements?,
        completion_condition_fulfilled: body.is_completion_condition_fulfilled.unwrap_or_default(),
        cancel_remaining_instances: body.is_cancel_remaining_instances.unwrap_or_default(),
    };
    if let Some((field, its_type)) = misplaced(&result, corrects) {
        return invalid(format!(
            "The field 'result.{field}' belongs to results of type {its_type}. Set 'result.type' to {its_type}, or leave the \
             field out."
        ));
    }
    Ok((result != JobResult::default()).then(|| Box::new(result)))
}

/// A field that is set but that results of this type do not have, with the type that has it.
fn misplaced(result: &JobResult, corrects: bool) -> Option<(&'static str, &'static str)> {
    let of_user_task = [
        ("denied", result.denied),
        ("deniedReason", !result.denied_reason.is_empty()),
        ("corrections", corrects),
    ];
    let of_ad_hoc = [
        ("activateElements", !result.activate_elements.is_empty()),
        (
            "isCompletionConditionFulfilled",
            result.completion_condition_fulfilled,
        ),
        (
            "isCancelRemainingInstances",
            result.cancel_remaining_instances,
        ),
    ];
    let (fields, its_type) = match result.kind {
        JobResultType::UserTask => (of_ad_hoc, "adHocSubProcess"),
        JobResultType::AdHocSubProcess => (of_user_task, "userTask"),
    };
    let given = fields.into_iter().find(|(_, given)| *given)?;
    Some((given.0, its_type))
}

fn corrections(body: CorrectionsBody) -> Result<Corrections, Failure> {
    let text = |text: Option<Text>| text.map(|text| text.shared());
    let texts = |list: Option<Vec<Text>>| -> Option<Vec<_>> {
        list.map(|list| list.iter().map(Text::shared).collect())
    };
    check::priority("result.corrections.priority", body.priority)?;
    Ok(Corrections {
        assignee: text(body.assignee),
        candidate_groups: texts(body.candidate_groups),
        candidate_users: texts(body.candidate_users),
        due_date: text(body.due_date),
        follow_up_date: text(body.follow_up_date),
        priority: body.priority,
    })
}

/// `field`: the field of its id.
pub(super) fn element(body: ElementBody, field: &'static str) -> Result<ActivateElement, Failure> {
    let what = "Name the element to activate.";
    let element_id = said(body.element_id, field, what)?;
    Ok(ActivateElement {
        element_id: element_id.shared(),
        variables: body.variables.unwrap_or_default().into_entries().collect(),
    })
}
