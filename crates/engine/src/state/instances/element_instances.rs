//! Element instances: the tokens of running process instances, each with its variable scope.
//!
//! The children of a scope form a doubly linked list, newest first, so that adding and removing one of very many stays
//! cheap.

mod unborn;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_model::ElementIndex;
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::value::ProcessInstanceValue;

use self::unborn::Unborn;
use crate::state::joins::Joins;
use crate::state::long_list::LongList;
use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::variables::{FEW, ScopeVariables, Variable, VariableNames};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementState {
    Activating,
    Activated,
    Completing,
    Terminating,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementInstance {
    /// Index of the element in its process definition.
    pub element: u32,
    pub state: ElementState,
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub flow_scope_key: Key,
    /// Children that have not ended.
    pub active_children: u32,
    /// Number of sequence flows taken within this scope whose target is not activated yet (including tokens that wait at a
    /// join).
    pub active_flows: u32,
    /// The newest child.
    pub first_child: Key,
    /// The oldest child.
    pub last_child: Key,
    pub next_sibling: Key,
    pub previous_sibling: Key,
    pub job_key: Key,
    pub variables: ScopeVariables,
    /// The caller. None in an instance that began by itself.
    pub called: Option<Box<Called>>,
    pub extra: Option<Box<Extra>>,
}

/// The caller of a process instance, and its root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Called {
    pub root_process_instance_key: Key,
    pub parent_process_instance_key: Key,
    pub parent_element_instance_key: Key,
}

impl Called {
    pub(in crate::appliers) fn of(value: &ProcessInstanceValue) -> Option<Box<Called>> {
        let by_itself = value.root_process_instance_key == value.process_instance_key
            && value.parent_process_instance_key.is_none()
            && value.parent_element_instance_key.is_none();
        (!by_itself).then(|| {
            Box::new(Called {
                root_process_instance_key: value.root_process_instance_key,
                parent_process_instance_key: value.parent_process_instance_key,
                parent_element_instance_key: value.parent_element_instance_key,
            })
        })
    }
}

/// Optional data that only few element instances have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extra {
    /// Tokens that wait at the joining gateways of this scope.
    pub joins: Joins,
    pub timers: Vec<Key>,
    /// Keys of the process message subscriptions.
    pub subscriptions: Vec<Key>,
    /// Keys of the signal subscriptions.
    pub signals: Vec<Key>,
    /// Keys of the conditional subscriptions.
    pub conditions: Vec<Key>,
    pub incidents: Vec<Key>,
    /// The trigger that interrupts this element: of a boundary event, until the element has terminated; or of an event
    /// sub-process in this scope (it is then one of [`Extra::triggers`]), until everything that was active here has ended.
    pub interrupted_by: Key,
    /// An event sub-process has interrupted this scope: no other one may start any more.
    pub interrupted_inside: bool,
    /// Triggers whose targets are to be activated in this scope.
    pub triggers: Vec<Key>,
    /// A terminate end event was reached: nothing more is activated in this scope, and it completes when it is empty.
    pub ending: bool,
    /// The called instance that a call activity waits for.
    pub called_instance: Key,
    /// On a process: nesting of call activities, 1 for a root instance.
    pub depth: u32,
    pub tags: Vec<String>,
    pub business_id: Option<String>,
    /// Number of execution listeners of the current phase that have run.
    pub listeners_run: u32,
    /// On a multi-instance body, once its input collection is known.
    pub repeats: Option<Loop>,
    /// On an inner instance of a multi-instance body: its number, from 1.
    pub loop_counter: u32,
    /// On an ad-hoc sub-process: its job has decided that it completes once nothing runs in it.
    pub fulfilled: bool,
    /// On a process: elements after whose end the instance is terminated.
    pub terminate_after: Vec<u32>,
    /// The user task that a user task element waits for.
    pub user_task: Key,
}

/// Progress of a multi-instance body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// Number of items in the input collection.
    pub instances: u32,
    /// Number of inner instances that have begun, including those that have ended.
    pub begun: u32,
    pub completed: u32,
    pub terminated: u32,
    /// See [`skep_protocol::value::MultiInstanceValue::chain`].
    pub chain: u32,
}

/// How an element instance has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended {
    Completed,
    Terminated,
}

impl ElementInstance {
    /// Enters another phase of the life cycle.
    pub(in crate::appliers) fn enter(&mut self, state: ElementState) {
        self.state = state;
        if let Some(extra) = &mut self.extra {
            extra.listeners_run = 0;
        }
    }

    /// The root process instance of this one.
    pub fn root_process_instance_key(&self) -> Key {
        let called = self.called.as_ref();
        called.map_or(self.process_instance_key, |c| c.root_process_instance_key)
    }

    pub fn parent_process_instance_key(&self) -> Key {
        let called = self.called.as_ref();
        called.map_or(Key::NONE, |c| c.parent_process_instance_key)
    }

    pub fn parent_element_instance_key(&self) -> Key {
        let called = self.called.as_ref();
        called.map_or(Key::NONE, |c| c.parent_element_instance_key)
    }

    pub(in crate::appliers) fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Whether it is in a scope within its process.
    fn is_nested(&self) -> bool {
        let scope = self.flow_scope_key;
        scope.some().is_some() && scope != self.process_instance_key
    }

    pub fn is_interrupted(&self) -> bool {
        let extra = self.extra.as_ref();
        extra.is_some_and(|extra| extra.interrupted_by.some().is_some())
    }

    /// The progress of a multi-instance body, if it is one.
    fn repeats(&mut self) -> Option<&mut Loop> {
        self.extra.as_mut()?.repeats.as_mut()
    }

    /// The user task that this element waits for.
    pub fn user_task(&self) -> Option<Key> {
        self.extra.as_ref().and_then(|extra| extra.user_task.some())
    }

    /// Whether triggers wait here: in a scope to activate something, in the start event of an event sub-process to be used
    /// up.
    pub fn has_triggers(&self) -> bool {
        let extra = self.extra.as_ref();
        extra.is_some_and(|extra| !extra.triggers.is_empty())
    }

    /// The trigger of the event sub-process that waits until everything active in this scope has ended.
    pub fn interrupted_within(&self) -> Option<Key> {
        let extra = self.extra.as_ref()?;
        let trigger = extra.interrupted_by.some()?;
        extra.triggers.contains(&trigger).then_some(trigger)
    }

    /// Whether an event sub-process has interrupted this scope, or is about to.
    pub fn is_interrupted_inside(&self) -> bool {
        let extra = self.extra.as_ref();
        extra.is_some_and(|extra| extra.interrupted_inside) || self.interrupted_within().is_some()
    }

    /// Whether nothing more is activated in this scope, or nothing before the interrupting event: tokens end when their
    /// turn comes.
    pub fn is_ending(&self) -> bool {
        let Some(extra) = &self.extra else {
            return false;
        };
        extra.ending || self.interrupted_within().is_some()
    }

    /// Whether something in this scope is about to be activated: a token is in transit on a sequence flow (not waiting at a
    /// join), or a trigger waits for its turn. A trigger that waits for everything else to end does not count.
    pub fn goes_on(&self) -> bool {
        let Some(extra) = &self.extra else {
            return self.active_flows > 0;
        };
        let mut triggers = extra.triggers.iter();
        self.active_flows > extra.joins.tokens() || triggers.any(|t| *t != extra.interrupted_by)
    }

    /// Number of sequence flows with tokens waiting at the joining `gateway` within this scope.
    pub fn flows_at(&self, gateway: u32) -> usize {
        let extra = self.extra.as_ref();
        extra.map_or(0, |extra| extra.joins.flow_count(gateway))
    }

    /// Records the activation of an element of this scope by the tokens of this many sequence flows.
    pub(in crate::appliers) fn activated_by(&mut self, element: u32, flows: u32) {
        if flows == 0 {
            return;
        }
        self.take_flows(flows);
        if let Some(extra) = &mut self.extra
            && !extra.joins.arrive(element)
        {
            extra.joins.consume(element);
        }
    }

    /// Removes tokens from this scope's sequence flows.
    pub(in crate::appliers) fn take_flows(&mut self, count: u32) {
        self.active_flows = less(self.active_flows, count, "sequence flows with a token");
    }
}

/// Decrements a counter of a scope. Panics if it would drop below zero: only what was counted up is counted down.
fn less(count: u32, by: u32, what: &str) -> u32 {
    let less = count.checked_sub(by);
    less.unwrap_or_else(|| panic!("a scope has {count} {what}, and {by} of them are to go"))
}

impl Row for ElementInstance {
    const TABLE: u8 = 2;

    fn weight(&self) -> usize {
        let variables = self.variables.weight();
        let called = self.called.as_ref().map_or(0, |_| size_of::<Called>());
        let extra = self.extra.as_ref().map_or(0, |_| size_of::<Extra>() + 64);
        size_of::<Self>() + variables + called + extra
    }

    /// There may be very many variables: changes to them are noted one by one.
    fn image(&self) -> ElementInstance {
        ElementInstance {
            variables: ScopeVariables::default(),
            called: self.called.clone(),
            extra: self.extra.clone(),
            ..*self
        }
    }

    fn restore(&mut self, image: ElementInstance) {
        let variables = std::mem::take(&mut self.variables);
        *self = ElementInstance { variables, ..image };
    }
}

/// Names and values, each name once.
pub type Visible = Vec<(Arc<str>, JsonText)>;

/// Number of running instances of a definition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub instances: u64,
}

impl Row for Running {
    const TABLE: u8 = 44;

    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

/// Number of active element instances of a process instance, without the direct children of the process: those are counted
/// there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nested {
    pub element_instances: u32,
}

impl Row for Nested {
    const TABLE: u8 = 66;

    fn weight(&self) -> usize {
        size_of::<Self>()
    }
}

pub struct ElementInstances {
    pub table: Table<ElementInstance>,
    /// By process definition; a missing row means 0.
    pub running: Table<Running>,
    /// By process instance; a missing row means 0.
    pub nested: Table<Nested>,
    unborn: Unborn,
}

impl ElementInstances {
    pub fn open(tables: &Arc<Tables>) -> Result<Self, StoreError> {
        Ok(ElementInstances {
            table: Table::open(tables)?,
            running: Table::open(tables)?,
            nested: Table::open(tables)?,
            unborn: Unborn::default(),
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&ElementInstance> {
        self.table.get(key)
    }

    pub(in crate::appliers) fn get_mut(&mut self, key: Key) -> Option<&mut ElementInstance> {
        self.table.get_mut(key)
    }

    /// See [`Table::must_get_mut`].
    #[track_caller]
    pub(in crate::appliers) fn must_get_mut(&mut self, key: Key) -> Option<&mut ElementInstance> {
        self.table.must_get_mut(key)
    }

    /// See [`Table::should_get_mut`].
    #[track_caller]
    pub(in crate::appliers) fn should_get_mut(&mut self, key: Key) -> Option<&mut ElementInstance> {
        self.table.should_get_mut(key)
    }

    /// Adds a variable to a scope; a process instance may get it before it begins.
    pub(in crate::appliers) fn add_variable(&mut self, scope: Key, variable: Variable) {
        self.table.changes_part(scope, |_| {
            |row: &mut ElementInstance| row.variables.forget_last()
        });
        match self.table.get_mut(scope) {
            Some(scope) => {
                let weight = scope.variables.add(variable);
                self.table.add_weight(weight);
            }
            None => drop(self.unborn.of(scope).variables.add(variable)),
        }
    }

    /// The optional data of a process instance, also of one that begins after its creation.
    pub(in crate::appliers) fn extra_of_process(&mut self, key: Key) -> &mut Extra {
        match self.table.get_mut(key) {
            Some(process) => process.extra(),
            None => self.unborn.of(key).extra.get_or_insert_default(),
        }
    }

    /// Sets another value for a variable of a scope.
    pub(in crate::appliers) fn set_variable(&mut self, scope: Key, name: &str, value: &JsonText) {
        self.table.changes_part(scope, |row| {
            let before = row.variables.get(name).cloned();
            move |row: &mut ElementInstance| {
                if let Some(before) = before {
                    row.variables.set(&before.name, before.value());
                }
            }
        });
        if let Some(scope) = self.table.must_get_mut(scope) {
            let grown = scope.variables.set(name, value);
            self.table.add_weight(grown);
        }
    }

    /// The variable of a scope as a list with fast access to single elements, with its key. `None` if the list is short, or
    /// is not a list.
    pub fn long_list(&mut self, scope: Key, name: &str) -> Option<(Key, &LongList)> {
        self.table.keep_otherwise(scope)?.variables.long_list(name)
    }

    /// Replaces a part of the value of a scope's variable.
    pub(in crate::appliers) fn splice_variable(
        &mut self,
        scope: Key,
        name: &Arc<str>,
        place: Range<usize>,
        by: &str,
    ) {
        let after = place.start..place.start + by.len();
        self.table.changes_part(scope, |row| {
            let variable = row.variables.get(name);
            let before = variable.map(|variable| variable.part(&place).to_string());
            let (name, before) = (name.clone(), before.unwrap_or_default());
            move |row: &mut ElementInstance| {
                row.variables.splice(&name, after, &before);
            }
        });
        if let Some(scope) = self.table.must_get_mut(scope) {
            let grown = scope.variables.splice(name, place, by);
            self.table.add_weight(grown);
        }
    }

    /// Adds an instance as the newest child of its flow scope.
    pub(in crate::appliers) fn insert(
        &mut self,
        key: Key,
        mut instance: ElementInstance,
        consumed_flows: u32,
    ) {
        if self.unborn.key == Some(key) {
            let unborn = std::mem::take(&mut self.unborn);
            instance.variables = unborn.variables;
            instance.extra = unborn.extra;
        }
        if instance.element == ElementIndex::PROCESS.0 {
            self.begins(instance.process_definition_key);
        }
        let scope_key = instance.flow_scope_key;
        if instance.is_nested() {
            self.nested_begins(instance.process_instance_key);
        }
        if let Some(scope) = self.table.must_get_mut(scope_key) {
            scope.active_children += 1;
            scope.activated_by(instance.element, consumed_flows);
            if let Some(repeats) = scope.repeats() {
                repeats.begun += 1;
                instance.extra().loop_counter = repeats.begun;
            }
            let next = std::mem::replace(&mut scope.first_child, key);
            if next.is_none() {
                scope.last_child = key;
            }
            instance.next_sibling = next;
            if next.some().is_some()
                && let Some(next) = self.table.must_get_mut(next)
            {
                next.previous_sibling = key;
            }
        }
        self.table.insert(key, instance);
    }

    fn nested_begins(&mut self, process_instance: Key) {
        match self.nested.get_mut(process_instance) {
            Some(nested) => nested.element_instances += 1,
            None => {
                let first = Nested {
                    element_instances: 1,
                };
                self.nested.insert(process_instance, first);
            }
        }
    }

    /// Counts down a nested instance. Instances begun by an earlier release were not counted.
    fn nested_ends(&mut self, process_instance: Key) {
        let Some(nested) = self.nested.get(process_instance) else {
            return;
        };
        if nested.element_instances <= 1 {
            self.nested.remove(process_instance);
        } else if let Some(nested) = self.nested.get_mut(process_instance) {
            nested.element_instances -= 1;
        }
    }

    /// Number of active element instances of this process instance.
    pub fn count_of(&mut self, process_instance: Key) -> u32 {
        let nested = self.nested.get(process_instance);
        let nested = nested.map_or(0, |nested| nested.element_instances);
        let process = self.table.get(process_instance);
        nested.saturating_add(process.map_or(0, |process| process.active_children))
    }

    fn begins(&mut self, definition: Key) {
        match self.running.get_mut(definition) {
            Some(running) => running.instances += 1,
            None => self.running.insert(definition, Running { instances: 1 }),
        }
    }

    pub(in crate::appliers::state) fn undo(&mut self, position: u64) {
        self.unborn = Unborn::default();
        self.table.undo(position, |_, _| {});
        self.running.undo(position, |_, _| {});
        self.nested.undo(position, |_, _| {});
    }

    /// Records an instance that has begun and ended: all that remains is the row of its definition's counter.
    pub(in crate::appliers) fn has_run(&mut self, definition: Key) {
        if self.running.get(definition).is_none() {
            self.running.insert(definition, Running::default());
        }
    }

    /// Moves an instance in the counters from one definition to another.
    pub(in crate::appliers) fn count_as_of(&mut self, before: Key, after: Key) {
        if let Some(running) = self.running.get_mut(before) {
            running.instances = running.instances.saturating_sub(1);
        }
        self.begins(after);
    }

    /// Number of running instances of the definition on this partition.
    pub fn running_of(&mut self, definition: Key) -> u64 {
        self.running.get(definition).map_or(0, |row| row.instances)
    }

    /// Removes an instance and takes it out of its flow scope.
    pub(in crate::appliers) fn remove(&mut self, key: Key, how: Ended) -> Option<ElementInstance> {
        let instance = self.table.remove(key)?;
        if instance.element == ElementIndex::PROCESS.0
            && let Some(running) = self.running.get_mut(instance.process_definition_key)
        {
            running.instances = running.instances.saturating_sub(1);
        }
        if instance.is_nested() {
            self.nested_ends(instance.process_instance_key);
        }
        let (previous, next) = (instance.previous_sibling, instance.next_sibling);
        if let Some(scope) = self.table.must_get_mut(instance.flow_scope_key) {
            scope.active_children = less(scope.active_children, 1, "children");
            if let Some(repeats) = scope.repeats() {
                match how {
                    Ended::Completed => repeats.completed += 1,
                    Ended::Terminated => repeats.terminated += 1,
                }
            }
            if scope.first_child == key {
                scope.first_child = next;
            }
            if scope.last_child == key {
                scope.last_child = previous;
            }
        }
        if previous.some().is_some()
            && let Some(row) = self.table.must_get_mut(previous)
        {
            row.next_sibling = next;
        }
        if next.some().is_some()
            && let Some(row) = self.table.must_get_mut(next)
        {
            row.previous_sibling = previous;
        }
        Some(instance)
    }

    /// The child of `scope` that was created after `child`; with none, the oldest.
    pub fn child_after(&mut self, scope: Key, child: Key) -> Key {
        let next = match child.some() {
            Some(child) => self.get(child).map(|row| row.previous_sibling),
            None => self.get(scope).map(|row| row.last_child),
        };
        next.unwrap_or(Key::NONE)
    }

    /// The scopes whose variables are visible at `key`, from the innermost to the process.
    pub(in crate::appliers) fn scopes_from(&mut self, key: Key) -> Vec<Key> {
        let mut scopes = Vec::new();
        let mut scope = key;
        while let Some(instance) = self.get(scope) {
            scopes.push(scope);
            scope = instance.flow_scope_key;
        }
        scopes
    }

    /// The scope affected by a change of `name` at `key`: the nearest one that has it.
    pub fn scope_of_variable(&mut self, key: Key, name: &str) -> Option<Key> {
        let mut scope = key;
        loop {
            let instance = self.get(scope)?;
            if instance.variables.get(name).is_some() {
                return Some(scope);
            }
            scope = instance.flow_scope_key;
        }
    }

    /// The variable of this name as an expression at `key` sees it.
    pub fn visible_variable(&mut self, key: Key, name: &str) -> Option<JsonText> {
        let scope = self.scope_of_variable(key, name)?;
        let row = self.get(scope)?;
        row.variables.get(name).map(|v| v.value().clone())
    }

    /// The requested variables visible at `key`: inner scopes hide outer ones.
    pub fn visible_variables(&mut self, key: Key, names: &VariableNames) -> Visible {
        let mut found: Visible = Vec::new();
        let mut hidden = HashSet::new();
        let mut scope = key;
        while let Some(instance) = self.get(scope) {
            let (inner, known) = (found.len(), hidden.len());
            if inner > FEW {
                hidden.extend(found.iter().skip(known).map(|(name, _)| name.clone()));
            }
            for variable in instance.variables.select(names) {
                let hides = if inner > FEW {
                    hidden.contains(&variable.name)
                } else {
                    found.iter().take(inner).any(|(n, _)| *n == variable.name)
                };
                if !hides {
                    found.push((variable.name.clone(), variable.value().clone()));
                }
            }
            scope = instance.flow_scope_key;
        }
        found
    }
}
