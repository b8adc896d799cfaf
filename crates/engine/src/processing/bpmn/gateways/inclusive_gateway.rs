//! Inclusive gateway: takes every sequence flow whose condition is true, or else the default flow. With several incoming
//! flows it waits as long as a token may still arrive on a flow that has none yet.

use skep_model::{ElementIndex, ElementKind, Process, ThrowEvent};
use skep_protocol::Key;
use skep_protocol::value::Activation;

use crate::processing::Context;
use crate::processing::bpmn::{
    ElementBehavior, Flows, Next, Problem, Subject, exclusive_gateway, flows, lifecycle,
};
use crate::state::DeployedProcess;
use crate::state::element_instances::Extra;

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
        return Err(crate::processing::bpmn::wrong_kind(cx, el));
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
    if chosen.is_empty() && !element.outgoing.is_empty() {
        Err(exclusive_gateway::no_way())
    } else {
        Ok(chosen)
    }
}

/// Whether a token of the scope may still reach the joining gateway on a flow that has none yet.
///
/// A single such token decides, so the search starts with the newest. Tokens that wait at other gateways count as well,
/// unless nothing else happens in the scope: then one of the gateways has to go first.
pub(crate) fn waits(
    cx: &mut Context<'_>,
    process: &DeployedProcess,
    activation: &Activation,
) -> bool {
    let scope = activation.scope;
    let graph = &process.graph;
    let mut search = Search {
        graph,
        gateway: ElementIndex(activation.element),
        seen: vec![false; graph.elements.len()],
        steps: 0,
    };
    let waits = comes_from_child(cx, scope, &mut search)
        || comes_from_elsewhere(cx, scope, &mut search)
        || comes_from_gateway(cx, scope, &mut search)
            && first_at_rest(cx, graph, scope) != Some(activation.element);
    cx.budget.take_work(flows::VISIT * search.steps);
    waits
}

fn comes_from_child(cx: &mut Context<'_>, scope: Key, search: &mut Search<'_>) -> bool {
    let row = cx.state.elements.get(scope);
    let mut child = row.map_or(Key::NONE, |row| row.first_child);
    while let Some(row) = child.some().and_then(|key| cx.state.elements.get(key)) {
        let element = row.element;
        child = row.next_sibling;
        search.steps += 1;
        if !search.has_seen(element) && reaches(cx, scope, search, element) {
            return true;
        }
    }
    false
}

/// Whether one may come from a token in transit on a sequence flow, or from a trigger that waits for its turn.
fn comes_from_elsewhere(cx: &mut Context<'_>, scope: Key, search: &mut Search<'_>) -> bool {
    let Some(extra) = extra_of(cx, scope) else {
        return false;
    };
    let mut elements: Vec<u32> = extra.joins.on_their_way().collect();
    for trigger in extra.triggers.clone() {
        let trigger = cx.state.triggers.get(trigger);
        elements.extend(trigger.map(|trigger| trigger.target_element));
    }
    let mut elements = elements.into_iter();
    elements.any(|element| reaches(cx, scope, search, element))
}

fn comes_from_gateway(cx: &mut Context<'_>, scope: Key, search: &mut Search<'_>) -> bool {
    let Some(extra) = extra_of(cx, scope) else {
        return false;
    };
    let gateways: Vec<u32> = extra.joins.gateways().collect();
    // A search never begins at the gateway itself.
    let mut gateways = gateways.into_iter();
    gateways.any(|other| reaches(cx, scope, search, other))
}

fn extra_of<'c>(cx: &'c mut Context<'_>, scope: Key) -> Option<&'c Extra> {
    cx.state.elements.get(scope)?.extra.as_deref()
}

/// The inclusive gateway that proceeds with the tokens it has, in a scope where nothing is active or in transit. No other
/// gateway with waiting tokens leads to it, except through itself.
pub(crate) fn first_at_rest(cx: &mut Context<'_>, graph: &Process, scope: Key) -> Option<u32> {
    let row = cx.state.elements.get(scope)?;
    if row.active_children > 0 || row.goes_on() {
        return None;
    }
    let joins = &row.extra.as_ref()?.joins;
    // An element that is about to be activated may bring a token here.
    if flows::one_is_complete(graph, joins) {
        return None;
    }
    let element = graph.element(ElementIndex(row.element));
    let mut inclusive = element.inclusive_joins.iter().map(|join| join.0);
    inclusive.find(|join| joins.flow_count(*join) > 0)
}

/// A search along the sequence flows, boundary events and links of a scope for a path to a gateway.
struct Search<'g> {
    graph: &'g Process,
    gateway: ElementIndex,
    /// By element. A set of hashes takes most of the time where hundreds of gateways are checked again and again.
    seen: Vec<bool>,
    /// Number of visited elements.
    steps: u64,
}

impl Search<'_> {
    fn has_seen(&self, element: u32) -> bool {
        self.seen.get(element as usize).is_some_and(|seen| *seen)
    }

    /// Whether the element is there and is seen for the first time.
    fn is_new(&mut self, element: u32) -> bool {
        let seen = self.seen.get_mut(element as usize);
        seen.is_some_and(|seen| !std::mem::replace(seen, true))
    }
}

/// Whether a token on this element can reach the gateway on a flow that has no token yet.
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
        // A path through the gateway itself does not count.
        if at == gateway.0 || !search.is_new(at) {
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
