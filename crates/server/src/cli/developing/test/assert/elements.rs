//! Assertions on elements of a process instance: which are active, completed or terminated, in which order, how many.

use serde_json::Value;

use super::process::{ended, first, none};
use crate::cli::search::word;
use crate::cli::test::instruction::{
    AssertElementInstance, AssertElementInstances, ElementState, ElementsState,
};
use crate::cli::test::selector::{ElementSelector, Selector};
use crate::cli::test::wait::{Look, Wrong, until};
use crate::cli::test::world::{Search, World};

/// The element instances of a process instance, in the order in which they began, without the instance itself.
pub async fn of(search: &Search, instance: &str) -> anyhow::Result<Vec<Value>> {
    let found = search.of_instance("element-instances/search", "elementInstanceKey", instance);
    let mut found = found.await?;
    found.retain(|element| element["type"] != "PROCESS");
    Ok(found)
}

pub fn is(selector: &ElementSelector, element: &Value) -> bool {
    let is = |field: &str, name: &str| {
        selector
            .get(field)
            .is_none_or(|wanted| element[name] == wanted)
    };
    is("elementId", "elementId") && is("elementName", "elementName")
}

/// Lists the elements with their states, in the order in which they began.
pub fn list(elements: &[Value]) -> String {
    if elements.is_empty() {
        return "no element was activated".into();
    }
    let each = elements
        .iter()
        .map(|element| format!("{} {}", word(element, "elementId"), word(element, "state")));
    let each: Vec<String> = each.collect();
    each.join(", ")
}

fn state_name(state: ElementState) -> &'static str {
    match state {
        ElementState::IsActive => "ACTIVE",
        ElementState::IsCompleted => "COMPLETED",
        ElementState::IsTerminated => "TERMINATED",
    }
}

pub async fn assert_one(world: &World, of: &AssertElementInstance) -> Result<(), Wrong> {
    let selector = &of.process_instance_selector;
    let amount = of.amount.map_or(1, |amount| amount.0);
    let expected = format!(
        "{} is {}{} in {selector}",
        of.element_selector,
        of.state.words(),
        match amount {
            1 => " once".to_string(),
            many => format!(" {many} times"),
        }
    );
    let search = world.search();
    until(world.timeout, &expected, async || {
        let Some(instance) = first(&search, selector).await? else {
            return Ok(Look::NotYet(none(selector)));
        };
        let elements = self::of(&search, &word(&instance, "processInstanceKey")).await?;
        let count = elements
            .iter()
            .filter(|element| is(&of.element_selector, element))
            .filter(|element| element["state"] == state_name(of.state))
            .count();
        Ok(Look::at(count == amount, ended(&instance), || {
            format!("{count} times; elements: {}", list(&elements))
        }))
    })
    .await
}

pub async fn assert_all(world: &World, of: &AssertElementInstances) -> Result<(), Wrong> {
    let selector = &of.process_instance_selector;
    let names: Vec<String> = of
        .element_selectors
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = format!("{}: {}, in {selector}", names.join(", "), of.state.words());
    let search = world.search();
    until(world.timeout, &expected, async || {
        let Some(instance) = first(&search, selector).await? else {
            return Ok(Look::NotYet(none(selector)));
        };
        let elements = self::of(&search, &word(&instance, "processInstanceKey")).await?;
        let holds = holds(of.state, &of.element_selectors, &elements);
        // An element that was activated once stays activated.
        let never = ended(&instance) || of.state == ElementsState::IsNotActivated;
        Ok(Look::at(holds, never, || {
            format!("elements: {}", list(&elements))
        }))
    })
    .await
}

fn holds(state: ElementsState, selectors: &[ElementSelector], elements: &[Value]) -> bool {
    let some = |selector: &ElementSelector, state: &str| {
        elements
            .iter()
            .any(|element| is(selector, element) && element["state"] == state)
    };
    let all = |state: &str| selectors.iter().all(|selector| some(selector, state));
    match state {
        ElementsState::IsActive => all("ACTIVE"),
        ElementsState::IsCompleted => all("COMPLETED"),
        ElementsState::IsTerminated => all("TERMINATED"),
        ElementsState::IsNotActive => !selectors.iter().any(|selector| some(selector, "ACTIVE")),
        ElementsState::IsNotActivated => !elements
            .iter()
            .any(|element| selectors.iter().any(|selector| is(selector, element))),
        ElementsState::IsActiveExactly => {
            let mut active = elements.iter().filter(|item| item["state"] == "ACTIVE");
            all("ACTIVE") && active.all(|item| selectors.iter().any(|wanted| is(wanted, item)))
        }
        ElementsState::IsCompletedInOrder => in_order(selectors, elements),
    }
}

/// Whether the elements were completed one after the other, in the order in which they began. Other elements may have completed in between.
fn in_order(selectors: &[ElementSelector], elements: &[Value]) -> bool {
    let named = |element: &&Value| selectors.iter().any(|selector| is(selector, element));
    let completed = elements
        .iter()
        .filter(|element| element["state"] == "COMPLETED")
        .filter(named);
    let completed: Vec<&Value> = completed.collect();
    selectors.is_empty()
        || completed.windows(selectors.len()).any(|window| {
            window
                .iter()
                .zip(selectors)
                .all(|(item, wanted)| is(wanted, item))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn element(id: &str, state: &str) -> Value {
        json!({"elementId": id, "elementName": id.to_uppercase(), "state": state})
    }

    fn selectors(ids: &[&str]) -> Vec<ElementSelector> {
        let read = |id: &&str| {
            let field = if id.chars().all(char::is_uppercase) {
                "elementName"
            } else {
                "elementId"
            };
            serde_json::from_value(json!({field: id})).unwrap()
        };
        ids.iter().map(read).collect()
    }

    #[test]
    fn each_state_of_elements_is_distinguished() {
        use ElementsState as E;
        let elements = [
            element("a", "COMPLETED"),
            element("sub", "COMPLETED"),
            element("b", "COMPLETED"),
            element("c", "TERMINATED"),
            element("d", "ACTIVE"),
            element("d", "COMPLETED"),
            element("e", "ACTIVE"),
        ];
        for (state, ids, expected) in [
            (E::IsActive, &["d", "e"][..], true),
            (E::IsActive, &["D", "c"], false),
            (E::IsCompleted, &["a", "B"], true),
            (E::IsCompleted, &["a", "c"], false),
            (E::IsTerminated, &["c"], true),
            (E::IsTerminated, &["x"], false),
            (E::IsNotActive, &["a", "x"], true),
            (E::IsNotActive, &["a", "d"], false),
            (E::IsNotActivated, &["x", "y"], true),
            (E::IsNotActivated, &["x", "c"], false),
            (E::IsActiveExactly, &["e", "d"], true),
            (E::IsActiveExactly, &["d"], false),
            (E::IsActiveExactly, &["d", "e", "c"], false),
            (E::IsCompletedInOrder, &["a", "sub", "b", "d"], true),
            (E::IsCompletedInOrder, &["a", "d"], true),
            (E::IsCompletedInOrder, &["a", "B", "d"], true),
            (E::IsCompletedInOrder, &["b", "sub"], false),
            (E::IsCompletedInOrder, &[], true),
            (E::IsCompletedInOrder, &["b", "a"], false),
            (E::IsCompletedInOrder, &["a", "a"], false),
            (E::IsCompletedInOrder, &["a", "e"], false),
        ] {
            let found = holds(state, &selectors(ids), &elements);
            assert_eq!(found, expected, "{state:?} {ids:?}");
        }
    }
}
