//! `zeebe:assignmentDefinition`, `zeebe:taskSchedule` and `zeebe:priorityDefinition`: whose a user task is, when it is due, and
//! how much it matters.

use std::sync::Arc;

use crate::context::Context;
use crate::error::abbreviate;
use crate::graph::{TextList, TextValue};
use crate::timer_value::parse_date;
use crate::value;
use crate::xml::{self, Node};

const DEFAULT_PRIORITY: &str = "50";

pub(crate) struct People {
    pub assignee: Option<TextValue>,
    pub candidate_groups: Option<TextList>,
    pub candidate_users: Option<TextList>,
}

pub(crate) fn people(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<People> {
    let definition = xml::extensions(node, "assignmentDefinition").next();
    let assignee = optional_text(definition, "assignee", context);
    let groups = text_list(definition, "candidateGroups", context);
    let users = text_list(definition, "candidateUsers", context);
    Some(People {
        assignee: assignee?,
        candidate_groups: groups?,
        candidate_users: users?,
    })
}

pub(crate) struct Schedule {
    pub due_date: Option<TextValue>,
    pub follow_up_date: Option<TextValue>,
}

pub(crate) fn schedule(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<Schedule> {
    let definition = xml::extensions(node, "taskSchedule").next();
    let due_date = date(definition, "dueDate", context);
    let follow_up_date = date(definition, "followUpDate", context);
    Some(Schedule {
        due_date: due_date?,
        follow_up_date: follow_up_date?,
    })
}

/// A whole number from 0 to 100, where that is known before the task is there.
pub(crate) fn priority(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<TextValue> {
    let definition = xml::extensions(node, "priorityDefinition").next();
    let priority = optional_text(definition, "priority", context)?;
    let Some(priority) = priority else {
        return Some(TextValue::Static(DEFAULT_PRIORITY.into()));
    };
    if let Some(text) = priority.as_static() {
        let number = text.trim().parse::<i32>().ok();
        if !number.is_some_and(|number| (0..=100).contains(&number)) {
            let message = format!(
                "The priority must be a whole number from 0 to 100, but is '{}'",
                abbreviate(text)
            );
            context.add(definition.unwrap_or(node), message);
            return None;
        }
    }
    Some(priority)
}

/// `None` after a finding; an attribute that is missing or empty has no value.
pub(super) fn optional_text(
    definition: Option<Node<'_>>,
    attribute: &str,
    context: &mut Context<'_, '_>,
) -> Option<Option<TextValue>> {
    let given = |node: &Node<'_>| {
        let text = node.attribute(attribute);
        text.is_some_and(|text| !text.trim().is_empty())
    };
    match definition.filter(given) {
        Some(node) => value::required_text(node, attribute, context.findings).map(Some),
        None => Some(None),
    }
}

/// Constant texts are separated by commas.
fn text_list(
    definition: Option<Node<'_>>,
    attribute: &str,
    context: &mut Context<'_, '_>,
) -> Option<Option<TextList>> {
    let list = optional_text(definition, attribute, context)?;
    Some(list.map(|list| match list {
        TextValue::Expression(expression) => TextList::Expression(expression),
        TextValue::Static(text) => {
            let items = text.split(',').map(str::trim);
            let items = items.filter(|item| !item.is_empty());
            TextList::Static(items.map(Arc::from).collect())
        }
    }))
}

fn date(
    definition: Option<Node<'_>>,
    attribute: &str,
    context: &mut Context<'_, '_>,
) -> Option<Option<TextValue>> {
    let date = optional_text(definition, attribute, context)?;
    if let (Some(node), Some(text)) = (definition, date.as_ref().and_then(TextValue::as_static))
        && let Err(error) = parse_date(text)
    {
        let message = format!(
            "The attribute '{attribute}' of 'zeebe:taskSchedule' is '{}': {error}",
            abbreviate(text)
        );
        context.add(node, message);
        return None;
    }
    Some(date)
}
