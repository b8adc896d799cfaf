//! Sets variables: local to a scope, or propagated to the scope that has them.

use std::sync::Arc;

use skep_protocol::document::JsonText;
use skep_protocol::intent::{VariableDocumentIntent, VariableIntent};
use skep_protocol::value::{ProcessInstanceValue, VariableDocumentValue, VariableValue};
use skep_protocol::{Document, Key, Rejection, RejectionType, Response};

use super::bpmn::Subject;
use super::{Context, Outcome, conditions, reject, user_task};

/// VARIABLE_DOCUMENT UPDATE.
pub(crate) fn update(
    cx: &mut Context<'_>,
    element_instance_key: Key,
    variables: &Document,
    local: bool,
) -> Outcome {
    let Some(row) = cx.state.elements.get(element_instance_key) else {
        return Err(not_found(element_instance_key));
    };
    if let Some(task) = row.user_task() {
        return user_task::update::variables(cx, task, variables, local);
    }
    set(cx, element_instance_key, variables.entries(), local);
    let key = cx.next_key();
    let value = VariableDocumentValue {
        scope_key: element_instance_key,
        local,
        variables: variables.entries().to_vec(),
    };
    cx.event(key, VariableDocumentIntent::Updated, &value);
    Ok(Some(Response::VariablesSet { key }))
}

pub(crate) fn not_found(element_instance_key: Key) -> Rejection {
    reject(
        RejectionType::NotFound,
        "UPDATE",
        format!(
            "Expected to update variables for element with key '{element_instance_key}', but no such element was found"
        ),
    )
}

/// Sets variables locally in this scope, or propagates them outwards.
pub(crate) fn set(
    cx: &mut Context<'_>,
    scope: Key,
    variables: &[(Arc<str>, JsonText)],
    local: bool,
) {
    if !local {
        return propagate(cx, scope, variables);
    }
    for (name, value) in variables {
        set_local(cx, scope, name, value);
    }
}

/// Sets a variable locally in this scope. Setting an unchanged value writes no event.
pub(crate) fn set_local(cx: &mut Context<'_>, scope: Key, name: &Arc<str>, value: &JsonText) {
    let Some(row) = cx.state.elements.get(scope) else {
        return;
    };
    let old = row.variables.get(name);
    if old.is_some_and(|v| v.is(value)) {
        return;
    }
    let old_key = old.map(|v| v.key);
    let record = VariableValue {
        name: name.clone(),
        value: value.clone(),
        scope_key: scope,
        process_instance_key: row.process_instance_key,
        process_definition_key: row.process_definition_key,
        root_process_instance_key: row.root_process_instance_key(),
    };
    match old_key {
        Some(key) => cx.event(key, VariableIntent::Updated, &record),
        None => {
            let key = cx.next_key();
            cx.event(key, VariableIntent::Created, &record);
        }
    }
    conditions::changed(cx, scope, name, old_key.is_none());
}

/// Creates a variable of a process instance that is about to begin.
pub(crate) fn create_before(
    cx: &mut Context<'_>,
    instance: &ProcessInstanceValue,
    name: &Arc<str>,
    value: &JsonText,
) {
    let record = VariableValue {
        name: name.clone(),
        value: value.clone(),
        scope_key: instance.process_instance_key,
        process_instance_key: instance.process_instance_key,
        process_definition_key: instance.process_definition_key,
        root_process_instance_key: instance.root_process_instance_key,
    };
    let key = cx.next_key();
    cx.event(key, VariableIntent::Created, &record);
}

/// Sets each variable in the nearest scope, from `scope` outwards, that has it with another value; otherwise in the
/// outermost scope. A scope that already has it with this value is skipped, because nothing would change there.
pub(crate) fn propagate(cx: &mut Context<'_>, scope: Key, variables: &[(Arc<str>, JsonText)]) {
    for (name, value) in variables {
        let target = target_scope(cx, scope, name, value);
        set_local(cx, target, name, value);
    }
}

fn target_scope(cx: &mut Context<'_>, from: Key, name: &str, value: &JsonText) -> Key {
    let mut scope = from;
    while let Some(row) = cx.state.elements.get(scope)
        && let Some(outer) = row.flow_scope_key.some()
    {
        if row.variables.get(name).is_some_and(|v| !v.is(value)) {
            break;
        }
        scope = outer;
    }
    scope
}

/// Propagates the variables of an event's trigger, which are local to the event, to the scope around it.
pub(crate) fn propagate_own(cx: &mut Context<'_>, el: &Subject) {
    let own = cx.state.elements.get(el.key);
    let own: Vec<_> = own
        .into_iter()
        .flat_map(|row| row.variables.iter())
        .map(|variable| (variable.name.clone(), variable.value().clone()))
        .collect();
    propagate(cx, el.flow_scope(), &own);
}

/// Accepts the variables of a completed job, a message or a called process. If there are output mappings, they become local
/// to the element and the mappings choose; otherwise they are propagated outwards.
pub(crate) fn accept(cx: &mut Context<'_>, el: &Subject, variables: &[(Arc<str>, JsonText)]) {
    if el.element().outputs.is_empty() {
        propagate(cx, el.key, variables);
    } else {
        for (name, value) in variables {
            set_local(cx, el.key, name, value);
        }
    }
}
