//! `zeebe:formDefinition`: where the form of a user task is. `zeebe:userTaskForm`: a form within the process.

use super::assignment::optional_text;
use crate::context::Context;
use crate::element::not_supported_yet;
use crate::graph::FormReference;
use crate::xml::{self, Node};

/// The form, if the task has one; `None` after a finding.
pub(crate) fn of_user_task(
    node: Node<'_>,
    is_native: bool,
    context: &mut Context<'_, '_>,
) -> Option<Option<FormReference>> {
    let Some(definition) = xml::extensions(node, "formDefinition").next() else {
        return Some(None);
    };
    let other = match is_native {
        true => "externalReference",
        false => "formKey",
    };
    let id = optional_text(Some(definition), "formId", context)?;
    let name = optional_text(Some(definition), other, context)?;
    let binding = super::binding(definition, context)?;
    match (id, name) {
        (Some(id), None) => {
            let _ = FormReference::Id { id, binding };
            context.add(
                definition,
                not_supported_yet("A form that a user task names by its 'formId'"),
            );
            None
        }
        (None, Some(name)) if is_native => Some(Some(FormReference::External(name))),
        (None, Some(name)) => Some(Some(FormReference::Key(name))),
        (id, _) => {
            let found = if id.is_some() { "both" } else { "none" };
            let message = format!(
                "The 'zeebe:formDefinition' of this user task must have exactly one of 'formId' and '{other}', but has {found}. \
                 Keep one"
            );
            context.add(definition, message);
            None
        }
    }
}

/// A form within a process says something.
pub(super) fn check_embedded(form: Node<'_>, context: &mut Context<'_, '_>) {
    if xml::text(form).trim().is_empty() {
        context.add(
            form,
            "The 'zeebe:userTaskForm' is empty. Put the JSON of the form into it, or remove it",
        );
    }
}
