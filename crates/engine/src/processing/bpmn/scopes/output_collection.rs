//! Output collections: a list variable of a scope to which each of its children adds a value.

use std::ops::Range;
use std::sync::Arc;

use skep_model::OutputCollection;
use skep_protocol::Key;
use skep_protocol::document::{JsonText, array_element, array_end, readable};
use skep_protocol::intent::VariableElementIntent;
use skep_protocol::value::{ErrorType, VariableElementValue};

use crate::processing::bpmn::{Problem, Subject};
use crate::processing::{Context, conditions, expression, variable};

/// Lists up to this many bytes are written whole with each new element. For longer lists only the elements are logged;
/// otherwise the log would grow with the square of their number.
const WRITTEN_WHOLE: usize = 1 << 10;

/// Evaluates the output element in the scope of the child.
pub(crate) fn element_of(
    cx: &mut Context<'_>,
    child: &Subject,
    output: &OutputCollection,
) -> Result<JsonText, Problem> {
    let most = cx.max_step_bytes();
    let result = expression::extract(cx, &output.element, child.key)?;
    let json = result.value.to_json_within(most as u64);
    let json = json.ok_or_else(|| {
        result.problem(format!(
            "Expected the output element for '{}' to have at most {most} bytes, but it has more.",
            output.collection
        ))
    })?;
    // The element is one level deeper in the list.
    readable(&output.collection, &format!("[{json}]")).map_err(|why| {
        result.problem(format!(
            "The output element for '{}' would turn it into a value that cannot be read: {why}.",
            output.collection
        ))
    })?;
    Ok(json.into())
}

/// Replaces one element of the list.
pub(crate) fn set(
    cx: &mut Context<'_>,
    scope: Key,
    name: &Arc<str>,
    index: u32,
    element: JsonText,
) -> Result<(), Problem> {
    let at = index as usize;
    let found = if let Some((key, list)) = cx.state.elements.long_list(scope, name) {
        let found = list.element(at);
        found.map(|(place, is)| (key, list.len(), place, is == &*element))
    } else {
        let (text, key) = list(cx, scope, name)?;
        cx.budget.take_bytes(text.len());
        let place = array_element(&text, at);
        place.map(|place| {
            let is = text.get(place.clone()) == Some(&*element);
            (key, text.len(), place, is)
        })
    };
    let Some((key, length, place, is_same)) = found else {
        return Err(no_place(name, &format!("no element at index {index}")));
    };
    if is_same {
        return Ok(());
    }
    let part = Part {
        index,
        length,
        place,
    };
    write(cx, (scope, key, name), &part, element)
}

/// Adds an element at the end of the list.
pub(crate) fn append(
    cx: &mut Context<'_>,
    scope: Key,
    name: &Arc<str>,
    element: JsonText,
) -> Result<(), Problem> {
    let found = if let Some((key, list)) = cx.state.elements.long_list(scope, name) {
        Some((key, list.len(), list.len() - 1, list.count()))
    } else {
        let (text, key) = list(cx, scope, name)?;
        cx.budget.take_bytes(text.len());
        array_end(&text).map(|(end, count)| (key, text.len(), end, count))
    };
    let Some((key, length, end, count)) = found else {
        return Err(no_place(name, "a value that is not a list"));
    };
    let element = match count {
        0 => element,
        _ => format!(",{element}").into(),
    };
    let part = Part {
        index: count as u32,
        length,
        place: end..end,
    };
    write(cx, (scope, key, name), &part, element)
}

/// The list as it will be once the element of the child has been appended. `None`: it is no list, or the child does not see it.
pub(crate) fn appended(
    cx: &mut Context<'_>,
    scope: Key,
    name: &Arc<str>,
    element: &JsonText,
) -> Option<JsonText> {
    let sees = cx.state.elements.scope_of_variable(scope, name) == Some(scope);
    let text = cx
        .state
        .elements
        .visible_variable(scope, name)
        .filter(|_| sees)?;
    cx.budget.take_bytes(text.len());
    let (end, count) = array_end(&text)?;
    let comma = if count == 0 { "" } else { "," };
    let (before, after) = text.split_at_checked(end)?;
    Some(format!("{before}{comma}{element}{after}").into())
}

/// Moves the list from its completing scope to the scope around it.
pub(crate) fn hand_over(cx: &mut Context<'_>, el: &Subject, output: &OutputCollection) {
    let row = cx.state.elements.get(el.key);
    let results = row.and_then(|row| row.variables.get(&output.collection));
    if let Some(results) = results.map(|variable| variable.value().clone()) {
        let results = [(output.collection.clone(), results)];
        variable::propagate(cx, el.flow_scope(), &results);
    }
}

/// The current list, and the key of its variable.
fn list(cx: &mut Context<'_>, scope: Key, name: &Arc<str>) -> Result<(JsonText, Key), Problem> {
    let row = cx.state.elements.get(scope);
    let variable = row.and_then(|row| row.variables.get(name));
    let variable = variable.map(|variable| (variable.value().clone(), variable.key));
    variable.ok_or_else(|| no_place(name, "no value"))
}

fn no_place(name: &str, found: &str) -> Problem {
    let message = format!(
        "Expected the output collection '{name}' to be the list to which each inner instance adds a value, but it has {found}. Check \
         whether something else sets a variable of this name. Set it to a list again, then resolve the incident."
    );
    Problem::new(ErrorType::ExtractValueError, message)
}

/// The part of a list that is being written.
struct Part {
    /// Index of the element.
    index: u32,
    /// Current bytes of the whole list.
    length: usize,
    place: Range<usize>,
}

fn write(
    cx: &mut Context<'_>,
    (scope, key, name): (Key, Key, &Arc<str>),
    part: &Part,
    element: JsonText,
) -> Result<(), Problem> {
    let place = &part.place;
    let length = part.length - place.len() + element.len();
    let most = cx.max_step_bytes();
    if length > most {
        let message = format!(
            "Expected the output collection '{name}' to have at most {most} bytes, but with the value of this instance it has \
             {length}. Let the output element select less, then resolve the incident."
        );
        return Err(Problem::new(ErrorType::ExtractValueError, message));
    }
    if length <= WRITTEN_WHOLE {
        let (text, _) = list(cx, scope, name)?;
        let whole = [&text[..place.start], &element, &text[place.end..]].concat();
        variable::set_local(cx, scope, name, &whole.into());
        return Ok(());
    }
    let Some(row) = cx.state.elements.get(scope) else {
        cx.broken(format_args!(
            "the scope {scope} of an output collection is gone"
        ));
        return Ok(());
    };
    let value = VariableElementValue {
        name: name.clone(),
        scope_key: scope,
        process_instance_key: row.process_instance_key,
        process_definition_key: row.process_definition_key,
        root_process_instance_key: row.root_process_instance_key(),
        index: part.index,
        begin: place.start as u32,
        end: place.end as u32,
        value: element,
    };
    cx.event(key, VariableElementIntent::Updated, &value);
    conditions::changed(cx, scope, name, false);
    Ok(())
}
