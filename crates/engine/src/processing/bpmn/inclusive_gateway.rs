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
///
/// One token that can is enough to know: of very many, the newest is looked at first.
pub(super) fn waits(
    cx: &mut Context<'_>,
    process: &DeployedProcess,
    activation: &Activation,
) -> bool {
    let scope = activation.scope;
    let row = cx.state.elements.get(scope);
    let Some(row) = row.filter(|row| row.active_children > 0 || row.goes_on()) else {
        // What waits at other gateways does so for this one, perhaps: nothing else happens.
        return false;
    };
    let mut child = row.first_child;
    let mut search = Search {
        graph: &process.graph,
        gateway: ElementIndex(activation.element),
        seen: HashSet::new(),
        steps: 0,
    };
    let mut found = false;
    while let Some(row) = child.some().and_then(|key| cx.state.elements.get(key)) {
        let element = row.element;
        child = row.next_sibling;
        search.steps += 1;
        found = !search.seen.contains(&element) && reaches(cx, scope, &mut search, element);
        if found {
            break;
        }
    }
    if !found {
        let mut others = others(cx, scope, search.gateway);
        found = others.any(|element| reaches(cx, scope, &mut search, element));
    }
    cx.budget.take_evaluation(search.steps);
    found
}

/// Elements that tokens of the scope are on the way to or wait at, other than at the gateway.
fn others(
    cx: &mut Context<'_>,
    scope: Key,
    gateway: ElementIndex,
) -> impl Iterator<Item = u32> + use<> {
    let row = cx.state.elements.get(scope);
    let extra = row.and_then(|row| row.extra.as_ref());
    let (mut elements, mut triggers) = (Vec::new(), Vec::new());
    if let Some(extra) = extra {
        elements.extend(extra.joins.on_their_way());
        elements.extend(extra.joins.gateways().filter(|other| *other != gateway.0));
        triggers.clone_from(&extra.triggers);
    }
    for trigger in triggers {
        let trigger = cx.state.triggers.get(trigger);
        elements.extend(trigger.map(|trigger| trigger.target_element));
    }
    elements.into_iter()
}

/// A look along the sequence flows, boundary events and links of a scope, for the way to a gateway.
struct Search<'g> {
    graph: &'g Process,
    gateway: ElementIndex,
    seen: HashSet<u32>,
    /// Elements that were looked at.
    steps: u64,
}

/// Whether a token on this element can come to the gateway on a flow that has no token yet.
fn reaches(cx: &mut Context<'_>, scope: Key, search: &mut Search<'_>, from: u32) -> bool {
    let row = cx.state.elements.get(scope);
    let joins = row
        .and_then(|row| row.extra.as_ref())
        .map(|extra| &extra.joins);
    let gateway = search.gateway;
    let has = |flow: u32| joins.is_some_and(|joins| joins.waits(gateway.0, flow));
    let graph = search.graph;
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        // What has come through the gateway is behind it.
        if at == gateway.0 || !search.seen.insert(at) {
            continue;
        }
        search.steps += 1;
        let Some(element) = graph.elements.get(at as usize) else {
            continue;
        };
        for flow in &element.outgoing {
            let ElementKind::SequenceFlow(sequence_flow) = &graph.element(*flow).kind else {
                continue;
            };
            if sequence_flow.target == gateway && !has(flow.0) {
                return true;
            }
            next.push(sequence_flow.target.0);
        }
        next.extend(element.boundary_events.iter().map(|event| event.0));
        if let ElementKind::IntermediateThrowEvent(ThrowEvent::Link { target }) = element.kind {
            next.push(target.0);
        }
    }
    false
}
