//! PROCESS_INSTANCE events: the life cycle of element instances, and the tokens on sequence flows.

use skep_model::{ElementIndex, ElementKind};
use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceIntent as Intent;
use skep_protocol::value::ProcessInstanceValue;

use crate::appliers::Apply;
use crate::state::{Called, ElementInstance, ElementState, Ended, JobState, ScopeVariables, State};

impl Apply<ProcessInstanceValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ProcessInstanceValue, _timestamp: i64) {
        match intent {
            Intent::ElementActivating => activating(self, key, value, ElementState::Activating),
            Intent::ElementActivated => set_state(self, key, ElementState::Activated),
            Intent::ElementCompleting => set_state(self, key, ElementState::Completing),
            Intent::ElementTerminating => set_state(self, key, ElementState::Terminating),
            Intent::ElementCompleted => ended(self, key, Ended::Completed),
            Intent::ElementTerminated => ended(self, key, Ended::Terminated),
            Intent::SequenceFlowTaken => {
                let towards = towards(self, value);
                flow_taken(self, value, towards);
            }
            Intent::SequenceFlowDeleted => flow_deleted(self, value),
            Intent::ElementMigrated => {
                if let Some(row) = self.elements.must_get_mut(key) {
                    row.element = value.element;
                    row.process_definition_key = value.process_definition_key;
                }
            }
            // The ancestors of a called instance are not stored.
            Intent::AncestorMigrated => {}
            Intent::Cancel
            | Intent::Canceling
            | Intent::ActivateElement
            | Intent::CompleteElement
            | Intent::TerminateElement => {}
        }
    }
}

pub(in crate::appliers) fn ended(state: &mut State, key: Key, how: Ended) {
    state.banned.remove(key);
    state.message_starts.end(key);
    state.slots.end_start(key);
    let Some(element) = state.elements.remove(key, how) else {
        return;
    };
    if element.element == ElementIndex::PROCESS.0 {
        state.give_up_migration(key);
        state.compensations.forget(key);
        state.modifications.end(key);
    }
    // A job whose error was caught is removed with its element. Any other has ended before by an event of its own, or those who follow
    // the records would never hear of its end.
    if let Some(job_key) = element.job_key.some() {
        let job = state.jobs.get(job_key);
        debug_assert!(
            job.is_none_or(|job| job.state == JobState::ErrorThrown),
            "the job {job_key} ends with its element {key}"
        );
        state.jobs.remove(job_key);
    }
    let Some(extra) = element.extra else {
        return;
    };
    if extra.repeats.is_some() {
        state.input_collections.table.remove(key);
    }
    // The pending activations in it will never happen: an incident or a ban has held them up.
    for trigger in extra.triggers {
        state.triggers.remove(trigger);
    }
}

/// Applies an element that activates and completes with nothing in between: all that remains is the consumption of its
/// tokens.
pub(in crate::appliers) fn passed_through(state: &mut State, value: &ProcessInstanceValue) {
    if value.consumed_flows > 0
        && let Some(scope) = state.elements.must_get_mut(value.flow_scope_key)
    {
        scope.activated_by(value.element, value.consumed_flows);
    }
}

/// Creates the row of an element. Its initial state is `Activating`, unless the caller knows the next one.
pub(in crate::appliers) fn activating(
    state: &mut State,
    key: Key,
    value: &ProcessInstanceValue,
    begins_as: ElementState,
) {
    if value.element == ElementIndex::PROCESS.0
        && let Some(call_activity) = state
            .elements
            .must_get_mut(value.parent_element_instance_key)
    {
        call_activity.extra().called_instance = key;
    }
    let instance = ElementInstance {
        element: value.element,
        state: begins_as,
        process_definition_key: value.process_definition_key,
        process_instance_key: value.process_instance_key,
        flow_scope_key: value.flow_scope_key,
        active_children: 0,
        active_flows: 0,
        first_child: Key::NONE,
        last_child: Key::NONE,
        next_sibling: Key::NONE,
        previous_sibling: Key::NONE,
        job_key: Key::NONE,
        variables: ScopeVariables::default(),
        called: Called::of(value),
        extra: None,
    };
    state.elements.insert(key, instance, value.consumed_flows);
    // The trigger of the start event that began this instance belongs to the process.
    if value.element == ElementIndex::PROCESS.0
        && let Some(trigger) = state.triggers.beginning(key)
    {
        state.elements.extra_of_process(key).triggers.push(trigger);
    }
}

pub(in crate::appliers) fn set_state(state: &mut State, key: Key, new: ElementState) {
    if let Some(instance) = state.elements.must_get_mut(key) {
        instance.enter(new);
    }
}

/// The destination of a token on a sequence flow, as far as its scope stores it.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::appliers) enum Towards {
    /// A gateway that joins the flow with others.
    Join(u32),
    /// An element in a scope whose inclusive gateways need to know about it.
    Element(u32),
    /// A destination that nothing asks about.
    Anything,
}

pub(in crate::appliers) fn towards(state: &State, value: &ProcessInstanceValue) -> Towards {
    let process = state.processes.get(value.process_definition_key);
    let graph = process.map(|process| &process.graph);
    let flow = graph.and_then(|graph| graph.elements.get(value.element as usize));
    let (Some(graph), Some(flow)) = (graph, flow) else {
        return Towards::Anything;
    };
    let ElementKind::SequenceFlow(sequence_flow) = &flow.kind else {
        return Towards::Anything;
    };
    let target = sequence_flow.target;
    if graph.element(target).joins() {
        return Towards::Join(target.0);
    }
    if graph.element(flow.parent).inclusive_joins.is_empty() {
        Towards::Anything
    } else {
        Towards::Element(target.0)
    }
}

/// Adds a token to the scope, and to the bookkeeping of its destination.
pub(in crate::appliers) fn flow_taken(
    state: &mut State,
    value: &ProcessInstanceValue,
    towards: Towards,
) {
    let Some(scope) = state.elements.must_get_mut(value.flow_scope_key) else {
        return;
    };
    scope.active_flows += 1;
    match towards {
        Towards::Join(gateway) => scope.extra().joins.add(gateway, value.element),
        Towards::Element(element) => scope.extra().joins.set_out(element),
        Towards::Anything => {}
    }
}

fn flow_deleted(state: &mut State, value: &ProcessInstanceValue) {
    let towards = towards(state, value);
    if let Some(scope) = state.elements.must_get_mut(value.flow_scope_key) {
        scope.take_flows(1);
        match towards {
            Towards::Join(gateway) => {
                scope.extra().joins.remove(gateway, value.element);
            }
            Towards::Element(element) => {
                scope.extra().joins.arrive(element);
            }
            Towards::Anything => {}
        }
    }
}
