//! Assertions on variables of a process instance, or local ones of an element.

use std::collections::BTreeMap;

use serde_json::Value;

use super::elements;
use super::process::{ended, first, none};
use crate::cli::search::word;
use crate::cli::test::instruction::AssertVariables;
use crate::cli::test::value::parsed;
use crate::cli::test::wait::{Look, Wrong, until};
use crate::cli::test::world::{Search, World};

type Variables = BTreeMap<String, Value>;

/// The variables of a process instance, by scope.
pub async fn of(search: &Search, instance: &str) -> anyhow::Result<BTreeMap<String, Variables>> {
    let path = "variables/search?truncateValues=false";
    let found = search.of_instance(path, "variableKey", instance).await?;
    let mut scopes: BTreeMap<String, Variables> = BTreeMap::new();
    for variable in found {
        let scope = scopes.entry(word(&variable, "scopeKey")).or_default();
        scope.insert(word(&variable, "name"), parsed(&word(&variable, "value")));
    }
    Ok(scopes)
}

pub async fn assert(world: &World, of: &AssertVariables) -> Result<(), Wrong> {
    let selector = &of.process_instance_selector;
    let wanted = wanted(of);
    let said: Vec<String> = wanted
        .iter()
        .map(|(name, value)| shown(name, value))
        .collect();
    let place = match &of.element_selector {
        Some(element) => format!("{element} in {selector}"),
        None => selector.to_string(),
    };
    let expected = format!("variables of {place}: {}", said.join(", "));
    let search = world.search();
    until(world.timeout, &expected, async || {
        let Some(instance) = first(&search, selector).await? else {
            return Ok(Look::NotYet(none(selector)));
        };
        let key = word(&instance, "processInstanceKey");
        let scopes = match &of.element_selector {
            None => vec![key.clone()],
            Some(selector) => {
                let all = elements::of(&search, &key).await?;
                let chosen = all.iter().filter(|element| elements::is(selector, element));
                chosen
                    .map(|element| word(element, "elementInstanceKey"))
                    .collect()
            }
        };
        let all = self::of(&search, &key).await?;
        let nothing = Variables::new();
        let mut differs = "the element was not activated".to_string();
        // If the element was activated several times, any of its instances may have them.
        for scope in scopes {
            let found = all.get(&scope).unwrap_or(&nothing);
            let lacking: Vec<String> = wanted
                .iter()
                .map(|(name, value)| (*name, value, found.get(*name)))
                .filter(|(_, value, found)| !fits(value, *found))
                .map(|(name, _, found)| match found {
                    Some(found) => shown(name, &Some(found.clone())),
                    None => format!("no variable {name}"),
                })
                .collect();
            if lacking.is_empty() {
                return Ok(Look::Holds(()));
            }
            differs = lacking.join(", ");
        }
        Ok(Look::at(false, ended(&instance), || differs))
    })
    .await
}

/// Names with their expected values; `None` if only the name is expected.
fn wanted(of: &AssertVariables) -> BTreeMap<&str, Option<Value>> {
    let names = of.variable_names.iter().flatten();
    let mut wanted: BTreeMap<&str, Option<Value>> =
        names.map(|name| (name.as_str(), None)).collect();
    for (name, value) in of.variables.iter().flat_map(|variables| &variables.0) {
        wanted.insert(name, Some(parsed(value.get())));
    }
    wanted
}

fn fits(wanted: &Option<Value>, found: Option<&Value>) -> bool {
    match (wanted, found) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(wanted), Some(found)) => wanted == found,
    }
}

/// Renders a variable as one line.
fn shown(name: &str, value: &Option<Value>) -> String {
    match value {
        Some(value) => format!("{name} = {}", short(&value.to_string())),
        None => name.to_string(),
    }
}

/// Shortens a text that may be long.
pub fn short(text: &str) -> String {
    const MOST: usize = 200;
    if text.chars().count() > MOST {
        format!("{}…", text.chars().take(MOST).collect::<String>())
    } else {
        text.to_string()
    }
}
