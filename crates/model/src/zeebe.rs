//! Extension elements of the zeebe namespace, one file each.
//!
//! A known extension on an element where it has no meaning is accepted without effect, as modelers leave such remains
//! behind when the type of an element is changed. One that is not known has no effect either, as in the reference engine: later
//! releases bring theirs (`jobPriorityDefinition`, `agentDefinition`), and a model that has them runs. Attributes of the zeebe
//! namespace (`modelerTemplate` …) only serve modelers.

pub(crate) mod ad_hoc;
pub(crate) mod called_decision;
pub(crate) mod called_element;
pub(crate) mod form_definition;
pub(crate) mod io_mapping;
pub(crate) mod job;
pub(crate) mod linked_resources;
pub(crate) mod listeners;
pub(crate) mod loop_characteristics;
pub(crate) mod properties;
pub(crate) mod script;
pub(crate) mod subscription;
pub(crate) mod task_definition;
pub(crate) mod task_headers;
pub(crate) mod user_task;
pub(crate) mod version_tag;

use crate::context::Context;
use crate::error::Rule;
use crate::graph::Binding;
use crate::xml::{self, Node};

/// Extensions that are allowed at most once per element.
const SINGLE: [&str; 19] = [
    "adHoc",
    "assignmentDefinition",
    "calledDecision",
    "calledElement",
    "executionListeners",
    "formDefinition",
    "ioMapping",
    "linkedResources",
    "loopCharacteristics",
    "priorityDefinition",
    "publishMessage",
    "script",
    "subscription",
    "taskDefinition",
    "taskHeaders",
    "taskListeners",
    "taskSchedule",
    "userTask",
    "versionTag",
];

/// Refuses extensions that occur more than once.
pub(crate) fn check(node: Node<'_>, context: &mut Context<'_, '_>) {
    let mut single = SINGLE.map(|name| (name, 0));
    for extension in xml::all_extensions(node) {
        let name = extension.tag_name().name();
        if let Some((_, seen)) = single.iter_mut().find(|(single, _)| *single == name) {
            *seen += 1;
            if *seen == 2 {
                context.add(
                    node,
                    Rule::OnlyOneAllowed,
                    format!("The element has more than one 'zeebe:{name}'. Keep one"),
                );
            }
        }
    }
}

/// The one extension of this name that the element must have.
fn exactly_one<'x>(
    node: Node<'x>,
    name: &'static str,
    of: &str,
    context: &mut Context<'_, 'x>,
) -> Option<Node<'x>> {
    let first = xml::extensions(node, name).next();
    if first.is_none() {
        context.add(
            node,
            Rule::ExtensionMissing,
            format!("A {of} must have exactly one 'zeebe:{name}', but has none. Add it"),
        );
    }
    first
}

/// The attributes `bindingType` and `versionTag` of a reference to another resource.
fn binding(reference: Node<'_>, context: &mut Context<'_, '_>) -> Option<Binding> {
    let tag = reference
        .attribute("versionTag")
        .filter(|tag| !tag.trim().is_empty());
    let binding = match reference.attribute("bindingType") {
        None | Some("" | "latest") => Binding::Latest,
        Some("deployment") => Binding::Deployment,
        Some("versionTag") => match tag {
            Some(tag) => return Some(Binding::VersionTag(tag.into())),
            None => {
                context.add(reference, Rule::ValueMissing, "The bindingType is 'versionTag', but the attribute 'versionTag' is missing or empty. Give it the tag of the version to use");
                return None;
            }
        },
        Some(other) => {
            context.add(
                reference,
                Rule::ValueInvalid,
                format!(
                    "The bindingType '{other}' is not known. Use latest, deployment or versionTag"
                ),
            );
            return None;
        }
    };
    if tag.is_some() {
        context.add(reference, Rule::SettingsConflict, "The attribute 'versionTag' needs the bindingType 'versionTag'. Set it, or remove the tag");
        return None;
    }
    Some(binding)
}
