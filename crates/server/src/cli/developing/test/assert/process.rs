//! Assertions on process instances: their states, and whether they have incidents.

use serde_json::Value;

use crate::cli::search::word;
use crate::cli::test::instruction::{AssertProcessInstance, ProcessInstanceState};
use crate::cli::test::selector::{ProcessInstanceSelector, Selector};
use crate::cli::test::wait::{Look, Wrong, until};
use crate::cli::test::world::{Search, World};

/// The first process instance of the case that a selector selects.
pub async fn first(
    search: &Search,
    selector: &ProcessInstanceSelector,
) -> anyhow::Result<Option<Value>> {
    let found = search.process_instances(selector.filter()).await?;
    Ok(found.into_iter().next())
}

/// Whether the instance has ended, so that nothing about it changes any more.
pub fn ended(instance: &Value) -> bool {
    instance["state"] == "COMPLETED" || instance["state"] == "TERMINATED"
}

pub fn none(selector: &ProcessInstanceSelector) -> String {
    format!("there is no {selector}")
}

pub async fn assert(world: &World, of: &AssertProcessInstance) -> Result<(), Wrong> {
    let selector = &of.process_instance_selector;
    let search = world.search();
    // Without another expectation, the instance must exist.
    let state = match of.has_active_incidents {
        None => Some(of.state.unwrap_or(ProcessInstanceState::IsCreated)),
        Some(_) => of.state,
    };
    if let Some(state) = state {
        let expected = format!("{selector} is {}", state.words());
        until(world.timeout, &expected, async || {
            let Some(instance) = first(&search, selector).await? else {
                return Ok(Look::NotYet(none(selector)));
            };
            let found = word(&instance, "state");
            let holds = match state {
                ProcessInstanceState::IsCreated => true,
                ProcessInstanceState::IsActive => found == "ACTIVE",
                ProcessInstanceState::IsCompleted => found == "COMPLETED",
                ProcessInstanceState::IsTerminated => found == "TERMINATED",
            };
            Ok(Look::at(holds, ended(&instance), || {
                format!("it is {found}")
            }))
        })
        .await?;
    }
    if let Some(wanted) = of.has_active_incidents {
        let expected = if wanted {
            format!("{selector} has an active incident")
        } else {
            format!("{selector} has no active incident")
        };
        until(world.timeout, &expected, async || {
            let Some(instance) = first(&search, selector).await? else {
                return Ok(Look::NotYet(none(selector)));
            };
            let key = word(&instance, "processInstanceKey");
            let all = search.of_instance("incidents/search", "incidentKey", &key);
            let mut all = all.await?;
            all.retain(|incident| incident["state"] == "ACTIVE");
            Ok(Look::at(
                all.is_empty() != wanted,
                ended(&instance),
                || match all.len() {
                    0 => "it has none".into(),
                    1 => "it has one".into(),
                    many => format!("it has {many}"),
                },
            ))
        })
        .await?;
    }
    Ok(())
}
