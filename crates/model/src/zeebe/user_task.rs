//! Extensions of user tasks: assignment, due date and priority.

use std::sync::Arc;

use crate::context::Context;
use crate::error::{Rule, abbreviate};
use crate::graph::{TextList, TextValue};
use crate::timer_value;
use crate::value;
use crate::xml::{self, Node};

pub(crate) struct Assignment {
    pub assignee: Option<TextValue>,
    pub candidate_groups: Option<TextList>,
    pub candidate_users: Option<TextList>,
}

/// `zeebe:assignmentDefinition`; `None` after a finding.
pub(crate) fn assignment<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<Assignment> {
    let Some(definition) = xml::extensions(node, "assignmentDefinition").next() else {
        return Some(Assignment {
            assignee: None,
            candidate_groups: None,
            candidate_users: None,
        });
    };
    let assignee = value::optional_text(definition, "assignee", context.findings);
    let candidate_groups = text_list(definition, "candidateGroups", context);
    let candidate_users = text_list(definition, "candidateUsers", context);
    Some(Assignment {
        assignee: assignee?,
        candidate_groups: candidate_groups?,
        candidate_users: candidate_users?,
    })
}

/// A list with commas, or an expression.
fn text_list<'x>(
    node: Node<'x>,
    attribute: &str,
    context: &mut Context<'_, 'x>,
) -> Option<Option<TextList>> {
    let text = match value::optional_text(node, attribute, context.findings)? {
        None => return Some(None),
        Some(TextValue::Expression(expression)) => {
            return Some(Some(TextList::Expression(expression)));
        }
        Some(TextValue::Static(text)) => text,
    };
    // A trailing comma does not add an entry.
    let names = text.trim_end_matches([',', ' ']).split(',').map(str::trim);
    let names: Vec<Arc<str>> = names.map(Arc::from).collect();
    if names.iter().any(|name| name.is_empty()) {
        let message = format!(
            "{} '{}' has an empty place. Separate names by single commas",
            value::what(node, attribute),
            abbreviate(&text)
        );
        context.add(node, Rule::ValueInvalid, message);
        return None;
    }
    Some(Some(TextList::Static(names)))
}

/// Due date and follow-up date of `zeebe:taskSchedule`; `None` after a finding.
#[allow(clippy::type_complexity)] // Two optional values.
pub(crate) fn schedule<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<(Option<TextValue>, Option<TextValue>)> {
    let Some(schedule) = xml::extensions(node, "taskSchedule").next() else {
        return Some((None, None));
    };
    let due_date = date(schedule, "dueDate", context);
    let follow_up_date = date(schedule, "followUpDate", context);
    Some((due_date?, follow_up_date?))
}

fn date<'x>(
    schedule: Node<'x>,
    attribute: &str,
    context: &mut Context<'_, 'x>,
) -> Option<Option<TextValue>> {
    let date = value::optional_text(schedule, attribute, context.findings)?;
    if let Some(TextValue::Static(text)) = &date
        && let Err(error) = timer_value::parse_date(text)
    {
        let message = format!(
            "{} '{}' is not valid: {error}",
            value::what(schedule, attribute),
            abbreviate(text)
        );
        context.add(schedule, Rule::ValueInvalid, message);
        return None;
    }
    Some(date)
}

const DEFAULT_PRIORITY: &str = "50";

/// `zeebe:priorityDefinition`; `None` after a finding.
pub(crate) fn priority<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> Option<TextValue> {
    let definition = xml::extensions(node, "priorityDefinition").next();
    let priority = match definition {
        Some(definition) => value::optional_text(definition, "priority", context.findings)?,
        None => None,
    };
    let Some(priority) = priority else {
        return Some(TextValue::Static(DEFAULT_PRIORITY.into()));
    };
    let is_valid = |text: &str| matches!(text.trim().parse(), Ok(0..=100u8));
    if let TextValue::Static(text) = &priority
        && !is_valid(text)
    {
        let message = format!(
            "The priority '{}' of the user task is not a whole number from 0 to 100",
            abbreviate(text)
        );
        context.add(node, Rule::ValueInvalid, message);
        return None;
    }
    Some(priority)
}
