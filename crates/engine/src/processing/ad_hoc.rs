//! AD_HOC_SUB_PROCESS_INSTRUCTION ACTIVATE: a client activates elements of an ad-hoc sub-process.

use skep_model::ElementKind;
use skep_protocol::command::ActivateAdHoc;
use skep_protocol::value::AdHocSubProcessInstructionValue;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::bpmn::{Subject, ad_hoc_sub_process};
use super::{Context, Outcome, reject};
use crate::state::ElementState;

const INTENT: &str = "ACTIVATE";

pub(crate) fn activate(cx: &mut Context<'_>, command: &ActivateAdHoc) -> Outcome {
    let key = command.ad_hoc_sub_process_instance_key;
    let Some(el) = Subject::load(cx, key) else {
        return Err(not_found(key));
    };
    if !matches!(el.element().kind, ElementKind::AdHocSubProcess(_)) {
        return Err(reject(
            RejectionType::NotFound,
            INTENT,
            format!(
                "Expected to activate elements of the ad-hoc sub-process with key '{key}', but the element instance with this key \
                 is of '{}', which is none",
                el.element().id
            ),
        ));
    }
    let row = cx.state.elements.get(key);
    if row.is_none_or(|row| {
        row.state != ElementState::Activated || row.is_interrupted() || row.is_ending()
    }) {
        return Err(reject(
            RejectionType::InvalidState,
            INTENT,
            format!(
                "Expected to activate elements of the ad-hoc sub-process with key '{key}', but it has not begun yet, or is about \
                 to end"
            ),
        ));
    }
    let activities = ad_hoc_sub_process::check(cx, &el, &command.elements).map_err(|why| {
        let kind = if command.elements.len() > ad_hoc_sub_process::MAX_ACTIVATED {
            RejectionType::InvalidArgument
        } else {
            RejectionType::NotFound
        };
        let reason = format!(
            "Expected to activate elements of the ad-hoc sub-process with key '{key}', but {why}"
        );
        reject(kind, INTENT, reason)
    })?;
    let value = AdHocSubProcessInstructionValue {
        ad_hoc_sub_process_instance_key: key,
        activate_elements: command.elements.clone(),
        cancel_remaining_instances: command.cancel_remaining_instances,
        completion_condition_fulfilled: false,
    };
    ad_hoc_sub_process::activate_elements(cx, &el, Key::NONE, &value, &activities);
    Ok(Some(Response::Empty))
}

pub(crate) fn not_found(key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        INTENT,
        format!(
            "Expected to activate elements of the ad-hoc sub-process with key '{key}', but no such element instance was found"
        ),
    )
}
