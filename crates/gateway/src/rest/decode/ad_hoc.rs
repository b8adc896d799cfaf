//! Activities of ad-hoc sub-processes.

use serde::Deserialize;
use skep_protocol::command::{ActivateAdHoc, Command};
use skep_protocol::{Failure, Key};

use super::fields::{Object, present};
use super::job_result::{ElementBody, element};
use super::{Decoded, command, required};
use crate::call::FrontEnd;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Activation<'a> {
    #[serde(borrow)]
    elements: Option<Vec<Object<ElementBody<'a>>>>,
    cancel_remaining_instances: Option<bool>,
}

pub fn activate(
    ad_hoc_sub_process_instance_key: Key,
    text: &str,
    front: &FrontEnd,
) -> Result<Decoded, Failure> {
    let body: Activation = required(text)?;
    let what = "Give the elements to activate as a list.";
    let elements = present(body.elements, "elements", what)?.into_iter();
    let elements: Result<Vec<_>, _> = elements
        .map(|Object(body)| element(body, "elements.elementId"))
        .collect();
    let activate = ActivateAdHoc {
        ad_hoc_sub_process_instance_key,
        elements: elements?,
        cancel_remaining_instances: body.cancel_remaining_instances.unwrap_or_default(),
    };
    Ok(command(Command::ActivateAdHoc(activate), front))
}
