//! Inclusive gateway: left by every sequence flow whose condition holds, else by the default. Where several flows lead to it,
//! it waits as long as a token may still come on one of them that has none yet.

use std::collections::HashSet;

use skep_model::{ElementIndex, ElementKind, Process, ThrowEvent};
use skep_protocol::Key;
use skep_protocol::value::Activation;

use super::{ElementBehavior, Flows, Next, Problem, Subject, exclusive_gateway, lifecycle};
use crate::processing::Context;
use crate::state::DeployedProcess;

pub(crate) struct InclusiveGateway;

impl ElementBehavior for InclusiveGateway {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let chosen = choose(cx, el)?;
        lifecycle::activated(cx, el);
        Ok(Next::Leave(Some(chosen)))
    }
}

/// The flows to leave by; none when the gateway is the last element.
fn choose(cx: &mut Context<'_>, el: &Subject) -> Result<Flows, Problem> {
    let element = el.element();
    let ElementKind::InclusiveGateway { default } = &element.kind else {
        return Err(super::wrong_kind(cx, el));
    };
    let mut chosen = Flows::new();
    for flow in &element.outgoing {
        if Some(*flow) == *default {
            continue;
        }
        let ElementKind::SequenceFlow(sequence_flow) = &el.process.graph.element(*flow).kind else {
            continue;
        };
        let is_taken = match &sequence_flow.condition {
            Some(condition) => exclusive_gateway::holds(cx, el, condition)?,
            None => true,
        };
        if is_taken {
            chosen.push(*flow);
        }
    }
    if chosen.is_empty() {
        chosen.extend(*default);
    }
    match chosen.is_empty() && !element.outgoing.is_empty() {
        true => Err(exclusive_gateway::no_way()),
        false => Ok(chosen),
    }
}

/// A token of the scope may still reach the joining gateway on a flow that has none yet.
pub(super) fn waits(
    cx: &mut Context<'_>,
    process: &DeployedProcess,
    activation: &Activation,
) -> bool {
    let gateway = ElementIndex(activation.element);
    let Some(row) = cx.state.elements.get(activation.scope) else {
        return false;
    };
    let mut tokens = HashSet::new();
    let mut triggers = Vec::new();
    if let Some(extra) = &row.extra {
        tokens.extend(extra.joins.on_their_way());
        tokens.extend(extra.joins.gateways().filter(|other| *other != gateway.0));
        triggers.clone_from(&extra.triggers);
    }
    // What waits at other gateways does so for this one, perhaps: nothing else happens.
    if row.active_children == 0 && !row.goes_on() {
        return false;
    }
    let extra = row.extra.as_ref();
    let have: Vec<u32> = extra.map_or(Vec::new(), |e| e.joins.flows(gateway.0).collect());
    for trigger in triggers {
        tokens.extend(cx.state.triggers.get(trigger).map(|t| t.target_element));
    }
    let mut child = cx.state.elements.child_after(activation.scope, Key::NONE);
    while let Some(row) = child.some().and_then(|key| cx.state.elements.get(key)) {
        tokens.insert(row.element);
        child = cx.state.elements.child_after(activation.scope, child);
    }
    let (reached, steps) = reaches(&process.graph, tokens, gateway, &have);
    cx.budget.take_evaluation(steps);
    reached
}

/// Whether a token on one of these elements can come to the gateway on a flow that is not one of those that it `has`, and how
/// many elements were looked at.
fn reaches(
    graph: &Process,
    tokens: HashSet<u32>,
    gateway: ElementIndex,
    has: &[u32],
) -> (bool, u64) {
    let mut next: Vec<u32> = tokens.iter().copied().collect();
    let mut seen = tokens;
    let mut steps = 0;
    while let Some(at) = next.pop() {
        steps += 1;
        // What has come through the gateway is behind it.
        if at == gateway.0 {
            continue;
        }
        let Some(element) = graph.elements.get(at as usize) else {
            continue;
        };
        let mut go_on = |element: ElementIndex| {
            if seen.insert(element.0) {
                next.push(element.0);
            }
        };
        for flow in &element.outgoing {
            let ElementKind::SequenceFlow(sequence_flow) = &graph.element(*flow).kind else {
                continue;
            };
            if sequence_flow.target == gateway && !has.contains(&flow.0) {
                return (true, steps);
            }
            go_on(sequence_flow.target);
        }
        element.boundary_events.iter().copied().for_each(&mut go_on);
        if let ElementKind::IntermediateThrowEvent(ThrowEvent::Link { target }) = element.kind {
            go_on(target);
        }
    }
    (false, steps)
}
