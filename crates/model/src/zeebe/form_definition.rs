//! `zeebe:formDefinition`: the form of a user task or start event; `zeebe:userTaskForm`: a form within the process.

use crate::context::Context;
use crate::error::Rule;
use crate::graph::{Binding, FormReference};
use crate::value;
use crate::xml::{self, Node};

/// The form, if there is one. It has exactly one name: `formId` or the `other` attribute, which is `formKey` or
/// `externalReference`. `None` after a finding.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    other: &'static str,
    context: &mut Context<'_, 'x>,
) -> Option<Option<FormReference>> {
    let Some(form) = xml::extensions(node, "formDefinition").next() else {
        return Some(None);
    };
    let id = value::optional_text(form, "formId", context.findings);
    let name = value::optional_text(form, other, context.findings);
    let binding = super::binding(form, context);
    let (id, name, binding) = (id?, name?, binding?);
    let reference = match (id, name) {
        (Some(id), None) => FormReference::Id { id, binding },
        (None, Some(_)) if binding != Binding::Latest => {
            let message = format!(
                "The bindingType of 'zeebe:formDefinition' only applies to a formId, but the form has only '{other}'. Remove the bindingType"
            );
            context.add(form, Rule::SettingsConflict, message);
            return None;
        }
        (None, Some(key)) if other == "formKey" => FormReference::Key(key),
        (None, Some(name)) => FormReference::External(name),
        (one, _) => {
            let (rule, has) = match one {
                Some(_) => (Rule::OnlyOneAllowed, "both. Keep one"),
                None => (Rule::ValueMissing, "neither. Add one"),
            };
            let message =
                format!("A form must have either 'formId' or '{other}' here, but has {has}");
            context.add(form, rule, message);
            return None;
        }
    };
    Some(Some(reference))
}

/// Forms within the process have content.
pub(crate) fn check_embedded<'x>(process: Node<'x>, context: &mut Context<'_, 'x>) {
    for form in xml::extensions(process, "userTaskForm") {
        if xml::text(form).is_empty() {
            let id = form.attribute("id").unwrap_or_default();
            let message =
                format!("The form '{id}' of the process is empty. Give it its JSON, or remove it");
            context.add(process, Rule::ValueMissing, message);
        }
    }
}
