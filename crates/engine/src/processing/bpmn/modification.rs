//! The steps of a process instance's modification: scopes are created for the elements to activate, then element instances
//! terminate, then the instance is modified, and the elements are activated.
//!
//! The remaining work is a row ([`crate::state::Modification`]), so other commands get their turn however large it is.
//! Unlike a cancellation, a modification controls when the elements that it terminates end: no listeners run in them, and
//! they end from the inside out.

use std::sync::Arc;

use skep_model::ElementIndex;
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::intent::ProcessInstanceModificationIntent as Intent;
use skep_protocol::value::{
    ActivateInstruction, ProcessInstanceModificationValue, Step, VariableInstruction,
};

use super::{
    Subject, behavior_of, container, flows, incidents, lifecycle, start_instructions, triggers,
};
use crate::processing::{Context, variable};
use crate::state::{ElementInstance, ElementState};

/// Whether something can be activated in this scope now.
pub(crate) fn is_open(scope: &ElementInstance) -> bool {
    scope.state == ElementState::Activated && !scope.is_ending()
}

/// Carries out the next instruction: first the elements to activate, then those to terminate.
pub(super) fn carry_out(cx: &mut Context<'_>, instance: Key, next: u32) {
    // The instance has ended in the meantime.
    let Some(row) = cx.state.modifications.get(instance) else {
        return;
    };
    let value = &row.value;
    let place = next as usize;
    if let Some(instruction) = value.activate_instructions.get(place) {
        let instruction = instruction.clone();
        prepare(cx, instance, &instruction);
        return cx.steps.again(Step::Modify {
            instance,
            next: next + 1,
        });
    }
    let place = place.saturating_sub(value.activate_instructions.len());
    match value.terminate_instructions.get(place) {
        Some(instruction) => {
            let at = instruction.element_instance_key;
            terminate(cx, instance, next, at);
        }
        None => finish(cx, instance),
    }
}

/// Creates the scopes around an element to activate, and stores its activation in the innermost one.
fn prepare(cx: &mut Context<'_>, instance: Key, instruction: &ActivateInstruction) {
    let (trigger, scopes) = make_scopes(cx, instance, instruction).unwrap_or_default();
    let row = cx.state.elements.get(instance);
    let (definition, root) = row.map_or((Key::NONE, Key::NONE), |row| {
        (row.process_definition_key, row.root_process_instance_key())
    });
    let value = ProcessInstanceModificationValue {
        process_instance_key: instance,
        process_definition_key: definition,
        root_process_instance_key: root,
        activate_instructions: vec![ActivateInstruction {
            element_id: instruction.element_id.clone(),
            ancestor_scope_keys: scopes,
            ..ActivateInstruction::default()
        }],
        ..ProcessInstanceModificationValue::default()
    };
    cx.event(trigger, Intent::Prepared, &value);
}

type Variables<'a> = Vec<&'a (Arc<str>, JsonText)>;

/// The variables that an instruction has for the element or scope with this id.
fn variables_for<'a>(instruction: &'a ActivateInstruction, id: &str) -> Variables<'a> {
    let all = instruction.variable_instructions.iter();
    let for_it = all.filter(|VariableInstruction { element_id, .. }| **element_id == *id);
    for_it.flat_map(|all| &all.variables).collect()
}

/// Returns the trigger of the element, and the scopes around it from the innermost to the process. `None` when the chosen
/// scope no longer exists.
fn make_scopes(
    cx: &mut Context<'_>,
    instance: Key,
    instruction: &ActivateInstruction,
) -> Option<(Key, Vec<Key>)> {
    let scope = *instruction.ancestor_scope_keys.first()?;
    let mut innermost = Subject::load(cx, scope)?;
    if !is_open(cx.state.elements.get(scope)?) {
        return None;
    }
    let process = innermost.process.clone();
    let graph = &process.graph;
    let target = graph.find(&instruction.element_id)?;
    set_variables(cx, &innermost, instruction);
    for element in start_instructions::path(graph, innermost.index(), target) {
        innermost = scope_within(cx, instance, &innermost, element, instruction)?;
        let row = cx.state.elements.get(innermost.key)?;
        if row.state != ElementState::Activated {
            // It has an incident. The scopes inside it are created when that is resolved; they see their variables here.
            for inner in start_instructions::path(graph, innermost.index(), target) {
                let variables = variables_for(instruction, &graph.element(inner).id);
                set_all(cx, innermost.key, &variables);
            }
            break;
        }
    }
    let own = variables_for(instruction, &instruction.element_id);
    let own = own.into_iter().cloned().collect();
    let target = (innermost.key, start_instructions::entry(graph, target));
    let trigger = triggers::triggering(cx, &innermost, target, false, own);
    let mut scopes = vec![innermost.key];
    let mut outer = innermost.flow_scope();
    while let Some(row) = cx.state.elements.get(outer) {
        scopes.push(outer);
        outer = row.flow_scope_key;
    }
    Some((trigger, scopes))
}

/// Sets the variables of existing scopes, outermost first.
fn set_variables(cx: &mut Context<'_>, scope: &Subject, instruction: &ActivateInstruction) {
    if instruction.variable_instructions.is_empty() {
        return;
    }
    let mut scopes = Vec::new();
    let mut at = scope.key;
    while let Some(row) = cx.state.elements.get(at) {
        scopes.push((at, row.element));
        at = row.flow_scope_key;
    }
    // A multi-instance body and its activity share their id: the inner one is meant.
    let mut seen: Vec<&str> = Vec::new();
    let mut meant = Vec::new();
    for (key, element) in scopes {
        let id = &*scope.process.graph.element(ElementIndex(element)).id;
        if !seen.contains(&id) {
            seen.push(id);
            meant.push((key, id));
        }
    }
    set_all(
        cx,
        scope.value.process_instance_key,
        &variables_for(instruction, ""),
    );
    for (key, id) in meant.into_iter().rev() {
        set_all(cx, key, &variables_for(instruction, id));
    }
}

fn set_all(cx: &mut Context<'_>, scope: Key, variables: &Variables<'_>) {
    for (name, value) in variables {
        variable::set_local(cx, scope, name, value);
    }
}

/// The instance of `element` in the scope `outer`: a new one, or the one created by an earlier instruction.
fn scope_within(
    cx: &mut Context<'_>,
    instance: Key,
    outer: &Subject,
    element: ElementIndex,
    instruction: &ActivateInstruction,
) -> Option<Subject> {
    let variables = variables_for(instruction, &outer.process.graph.element(element).id);
    let row = cx.state.modifications.get(instance);
    let known = row.and_then(|row| row.scope(outer.key, element.0));
    let known = known.filter(|_| !instruction.has_ancestor());
    if let Some(known) = known
        && cx.state.elements.get(known).is_some_and(is_open)
    {
        set_all(cx, known, &variables);
        return Subject::load(cx, known);
    }
    start_instructions::make_scope(cx, outer, element, &variables)
}

/// Begins the termination of the instruction's element instance and of everything in it, newest first. Each ends once its
/// content has ended.
pub(super) fn terminate(cx: &mut Context<'_>, instance: Key, next: u32, at: Key) {
    let Some(top) = top_of(cx, instance, next) else {
        return;
    };
    let Some(el) = Subject::load(cx, at) else {
        // It has ended in the meantime. Starting over skips those that are already terminating.
        let step = match cx.state.elements.get(top) {
            Some(_) if at != top => Step::ModifyTerminate {
                instance,
                next,
                at: top,
            },
            _ => Step::Modify {
                instance,
                next: next + 1,
            },
        };
        return cx.steps.again(step);
    };
    begin_termination(cx, &el);
    let step = match next_to_terminate(cx, top, at) {
        Some(at) => Step::ModifyTerminate { instance, next, at },
        None => Step::ModifyTerminated {
            instance,
            next,
            at: top,
        },
    };
    cx.steps.again(step);
}

/// The element instance named by the terminate instruction.
fn top_of(cx: &mut Context<'_>, instance: Key, next: u32) -> Option<Key> {
    let value = &cx.state.modifications.get(instance)?.value;
    let place = (next as usize).checked_sub(value.activate_instructions.len())?;
    let instruction = value.terminate_instructions.get(place)?;
    Some(instruction.element_instance_key)
}

/// Begins the termination of the element without running listeners.
fn begin_termination(cx: &mut Context<'_>, el: &Subject) {
    let row = cx.state.elements.get(el.key);
    if row.is_none_or(|row| row.state == ElementState::Terminating) {
        // Its listeners are no longer awaited.
        incidents::resolve_all(cx, el.key);
    } else {
        lifecycle::terminating(cx, el);
    }
    behavior_of(&el.element().kind).terminate_at_once(cx, el);
}

/// The content of an element instance: its children, or the instance that it has called.
fn inside(row: &ElementInstance, child: Key) -> Option<Key> {
    let called = row.extra.as_ref();
    let called = called.and_then(|extra| extra.called_instance.some());
    child.some().or(called)
}

/// The next element instance to terminate after `at`: its content, else an older one.
fn next_to_terminate(cx: &mut Context<'_>, top: Key, at: Key) -> Option<Key> {
    let row = cx.state.elements.get(at)?;
    if let Some(inner) = inside(row, row.first_child)
        && cx.state.elements.get(inner).is_some()
    {
        return Some(inner);
    }
    let mut at = at;
    while at != top {
        let row = cx.state.elements.get(at)?;
        if let Some(older) = row.next_sibling.some() {
            return Some(older);
        }
        at = lifecycle::around(&Subject::load(cx, at)?);
    }
    None
}

/// Ends the oldest of the innermost instances in `at`, then the next one, until nothing is left.
pub(super) fn terminated(cx: &mut Context<'_>, instance: Key, next: u32, at: Key) {
    let Some(top) = top_of(cx, instance, next) else {
        return;
    };
    let go_on = Step::Modify {
        instance,
        next: next + 1,
    };
    let start = match cx.state.elements.get(at) {
        Some(_) => at,
        None => top,
    };
    let Some(el) = deepest(cx, start) else {
        return cx.steps.again(go_on);
    };
    let row = cx.state.elements.get(el.key);
    if row.is_some_and(|row| row.state != ElementState::Terminating) {
        begin_termination(cx, &el);
    }
    // The process instance itself ends with the modification.
    if el.key == instance {
        return cx.steps.again(go_on);
    }
    lifecycle::end(cx, &el);
    if el.key == top {
        leave(cx, instance, el);
        return cx.steps.again(go_on);
    }
    cx.steps.again(Step::ModifyTerminated {
        instance,
        next,
        at: lifecycle::around(&el),
    });
}

fn deepest(cx: &mut Context<'_>, from: Key) -> Option<Subject> {
    let mut at = from;
    loop {
        let row = cx.state.elements.get(at)?;
        match inside(row, row.last_child) {
            Some(inner) if cx.state.elements.get(inner).is_some() => at = inner,
            _ => return Subject::load(cx, at),
        }
    }
}

/// Ends the scopes around `el`, which was terminated, that have become empty.
fn leave(cx: &mut Context<'_>, instance: Key, mut el: Subject) {
    let scope = loop {
        let scope = el.flow_scope();
        if scope == instance || !is_empty(cx, scope) {
            break scope;
        }
        let Some(outer) = Subject::load(cx, scope) else {
            return;
        };
        begin_termination(cx, &outer);
        lifecycle::end(cx, &outer);
        el = outer;
    };
    // The process is checked when everything is done.
    if scope != instance {
        container::child_ended(cx, scope);
    }
    flows::reconsider_joins(cx, &el);
}

/// Whether nothing is in the scope, and nothing is about to be.
fn is_empty(cx: &mut Context<'_>, scope: Key) -> bool {
    let row = cx.state.elements.get(scope);
    row.is_some_and(|row| has_nothing_else(row, 0))
}

/// Whether this many children are all that is in the scope, and it was not about to end by itself.
pub(crate) fn has_nothing_else(row: &ElementInstance, children: u32) -> bool {
    row.active_children == children && row.active_flows == 0 && !row.has_triggers() && is_open(row)
}

/// Finishes after all instructions. An instance in which nothing is left ends.
fn finish(cx: &mut Context<'_>, instance: Key) {
    let Some(row) = cx.state.modifications.get(instance) else {
        return;
    };
    let (value, triggers) = (row.value.clone(), row.triggers.clone());
    let Some(el) = Subject::load(cx, instance) else {
        return;
    };
    let row = cx.state.elements.get(instance);
    // It was named itself, or has been cancelled meanwhile: then its last content ends it.
    let is_terminating =
        row.is_some_and(|row| row.state == ElementState::Terminating && row.active_children == 0);
    let was_called = el.value.parent_element_instance_key.some().is_some();
    if is_terminating || (is_empty(cx, instance) && !was_called) {
        if !is_terminating {
            begin_termination(cx, &el);
        }
        lifecycle::end(cx, &el);
    }
    cx.event(instance, Intent::Modified, &value);
    for trigger in triggers {
        // Activations in a scope with an incident continue when the incident is resolved.
        let scope = cx.state.triggers.get(trigger).map(|row| row.flow_scope_key);
        let scope = scope.and_then(|key| cx.state.elements.get(key));
        if scope.is_some_and(|row| row.state == ElementState::Activated) {
            cx.steps.push(Step::ActivateTriggered(trigger));
        }
    }
    if cx.state.elements.get(instance).is_some() {
        container::child_ended(cx, instance);
    }
}
