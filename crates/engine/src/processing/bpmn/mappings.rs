//! Input and output mappings.

use std::sync::Arc;

use skep_model::{Mapping, TextValue};
use skep_protocol::document::{JsonText, write_json_string};
use skep_protocol::value::ErrorType;
use skep_protocol::{Document, Key};

use super::{Problem, Subject};
use crate::processing::{Context, expression, variable};

type Results = Vec<(Arc<str>, JsonText)>;

/// Creates local variables of the element. A later mapping sees the results of those before it.
pub(super) fn apply_inputs(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    let results = evaluate(cx, &el.element().inputs, el.key, false)?;
    for (name, value) in &results {
        variable::set_local(cx, el.key, name, value);
    }
    Ok(())
}

/// Sets variables of the flow scope, or of the nearest scope around it that has them.
pub(super) fn apply_outputs(cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
    let results = evaluate(cx, &el.element().outputs, el.key, true)?;
    let scope = match el.flow_scope().some() {
        Some(scope) => scope,
        None => el.key,
    };
    variable::propagate(cx, scope, &results);
    Ok(())
}

/// Evaluates all mappings before anything is set, so that a failing one leaves no trace.
fn evaluate(
    cx: &mut Context<'_>,
    mappings: &[Mapping],
    scope: Key,
    merge_existing: bool,
) -> Result<Results, Problem> {
    let mut results: Results = Vec::with_capacity(mappings.len());
    for mapping in mappings {
        let value: JsonText = match &mapping.source {
            TextValue::Static(text) => {
                let mut json = String::new();
                write_json_string(text, &mut json);
                json.into()
            }
            TextValue::Expression(source) => expression::evaluate(cx, source, scope, &results)
                .map_err(|message| Problem::new(ErrorType::IoMappingError, message))?
                .value
                .to_json()
                .into(),
        };
        let Some((name, path)) = mapping.target.split_first() else {
            continue;
        };
        let value = if path.is_empty() {
            value
        } else {
            let base = results
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, v)| v.clone());
            let base = match base {
                None if merge_existing => cx.state.elements.visible_variable(scope, name),
                base => base,
            };
            nested(base.as_deref(), path, &value).into()
        };
        match results.iter_mut().find(|(n, _)| n == name) {
            Some(result) => result.1 = value,
            None => results.push((name.clone(), value)),
        }
    }
    Ok(results)
}

/// Sets `value` at `path` within the object `base`; what is no object on the way is replaced by one. Other members keep
/// their place and their text.
fn nested(base: Option<&str>, path: &[Arc<str>], value: &str) -> String {
    let Some((name, rest)) = path.split_first() else {
        return value.to_string();
    };
    let mut members = base
        .and_then(|text| Document::parse(text).ok())
        .unwrap_or_default();
    let old = members.get(name).cloned();
    members.set(name.clone(), nested(old.as_deref(), rest, value));
    members.to_json()
}
