//! Assertions on user tasks: their state and attributes.

use jiff::Timestamp;
use serde_json::Value;

use crate::cli::search::word;
use crate::cli::test::instruction::AssertUserTask;
use crate::cli::test::selector::Selector;
use crate::cli::test::wait::{Look, Wrong, until};
use crate::cli::test::world::World;

pub async fn assert(world: &World, of: &AssertUserTask) -> Result<(), Wrong> {
    let selector = &of.user_task_selector;
    let wanted = wanted(of);
    let said: Vec<String> = wanted
        .iter()
        .map(|(name, value)| format!("{name} {}", shown(value)))
        .collect();
    let expected = if said.is_empty() {
        format!("there is a {selector}")
    } else {
        format!("{selector}: {}", said.join(", "))
    };
    let search = world.search();
    until(world.timeout, &expected, async || {
        let found = search.user_tasks(selector.filter()).await?;
        let Some(task) = found.first() else {
            return Ok(Look::NotYet("there is none".into()));
        };
        let differs: Vec<String> = wanted
            .iter()
            .filter(|(name, value)| !fits(name, value, &task[*name]))
            .map(|(name, _)| format!("{name} {}", shown(&task[*name])))
            .collect();
        let ended = ["COMPLETED", "CANCELED", "FAILED"].contains(&&*word(task, "state"));
        Ok(Look::at(differs.is_empty(), ended, || differs.join(", ")))
    })
    .await
}

/// Fields of the task with their expected values.
fn wanted(of: &AssertUserTask) -> Vec<(&'static str, Value)> {
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let fields = [
        ("state", of.state.map(|state| Value::from(state.words()))),
        ("assignee", text(&of.assignee)),
        (
            "candidateGroups",
            of.candidate_groups.clone().map(Value::from),
        ),
        ("priority", of.priority.map(Value::from)),
        ("elementId", text(&of.element_id)),
        ("name", text(&of.name)),
        ("dueDate", text(&of.due_date)),
        ("followUpDate", text(&of.follow_up_date)),
    ];
    let given = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    given.collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

fn fits(name: &str, wanted: &Value, found: &Value) -> bool {
    match (name, wanted, found) {
        ("dueDate" | "followUpDate", Value::String(wanted), Value::String(found)) => {
            let time = |text: &str| text.parse::<Timestamp>().ok();
            wanted == found || time(wanted).is_some_and(|wanted| Some(wanted) == time(found))
        }
        // The task may have further groups.
        ("candidateGroups", Value::Array(wanted), Value::Array(found)) => {
            wanted.iter().all(|group| found.contains(group))
        }
        _ => wanted == found,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_compared_as_times_and_groups_may_be_among_others() {
        for (name, wanted, found, expected) in [
            ("assignee", json!("mia"), json!("mia"), true),
            ("assignee", json!("mia"), json!(null), false),
            (
                "dueDate",
                json!("2026-01-01T01:00:00+01:00"),
                json!("2026-01-01T00:00:00.000Z"),
                true,
            ),
            (
                "dueDate",
                json!("2026-01-01T01:00:00Z"),
                json!("2026-01-01T00:00:00.000Z"),
                false,
            ),
            (
                "dueDate",
                json!("soon"),
                json!("2026-01-01T00:00:00.000Z"),
                false,
            ),
            (
                "candidateGroups",
                json!(["a", "b"]),
                json!(["b", "a"]),
                true,
            ),
            ("candidateGroups", json!(["a"]), json!(["b", "a"]), true),
            ("candidateGroups", json!([]), json!([]), true),
        ] {
            assert_eq!(
                fits(name, &wanted, &found),
                expected,
                "{name} {wanted} {found}"
            );
        }
    }
}
