//! Sequence flows, and the gateways that join their tokens.

use skep_model::{Element, ElementIndex, ElementKind, Process};
use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceIntent as Intent;
use skep_protocol::value::{Activation, ErrorType, ProcessInstanceValue};

use super::container::{self, Rest};
use super::{Problem, Step, Subject, inclusive_gateway};
use crate::processing::Context;
use crate::state::DeployedProcess;
use crate::state::joins::Joins;

/// Price of looking at one element of a graph, or at the tokens of one gateway, in evaluation steps.
pub(super) const VISIT: u64 = 4;

/// Takes sequence flows. Whether a waiting token leaves its scope at rest is only known after all of them are taken.
pub(super) fn take_all(cx: &mut Context<'_>, el: &Subject, flows: &[ElementIndex]) {
    let mut all_go_on = true;
    for flow in flows {
        all_go_on &= take(cx, el, *flow);
    }
    if !all_go_on {
        container::child_ended(cx, el.flow_scope());
    }
}

/// Takes a sequence flow and, unless its target waits for other tokens, activates the target. `false` if the token waits or
/// ends.
fn take(cx: &mut Context<'_>, el: &Subject, flow: ElementIndex) -> bool {
    let ElementKind::SequenceFlow(sequence_flow) = &el.process.graph.element(flow).kind else {
        cx.broken(format_args!("element {} is no sequence flow", flow.0));
        return true;
    };
    let scope = el.flow_scope();
    let value = ProcessInstanceValue {
        element: flow.0,
        ..el.value.clone()
    };
    let key = cx.next_key();
    cx.event(key, Intent::SequenceFlowTaken, &value);

    let target = sequence_flow.target;
    let activation = Activation {
        scope,
        element: target.0,
        via: Some(flow.0),
        consumed_flows: 1,
    };
    let gateway = el.process.graph.element(target);
    if gateway.joins() {
        return arrive(cx, el, gateway, activation);
    }
    cx.steps.push(Step::Activate(activation));
    true
}

/// Handles a token at a gateway that joins it with others. `false` if it waits or ends there.
fn arrive(cx: &mut Context<'_>, el: &Subject, gateway: &Element, activation: Activation) -> bool {
    let (scope, flow) = (activation.scope, activation.via);
    let Some(row) = cx.state.elements.get(scope) else {
        cx.broken(format_args!("the scope {scope} of a token is gone"));
        return true;
    };
    let waits = match gateway.kind {
        ElementKind::ParallelGateway => row.flows_at(activation.element) < gateway.incoming.len(),
        // Whether more tokens can come is checked when its turn has come.
        _ => false,
    };
    if row.is_ending() {
        if let Some(flow) = flow {
            delete(cx, &el.value, flow);
        }
        return false;
    }
    if waits {
        return false;
    }
    // The token counts among those that the gateway consumes, whichever way it came.
    cx.steps.push(Step::Activate(Activation {
        via: None,
        ..activation
    }));
    true
}

/// As [`Activation::consumed_flows`]: an activation without a token of its own, which consumes those that wait at the
/// element. It is never queued, only carried out.
pub(super) const WAITING: u32 = u32::MAX;

/// Number of tokens that the activation of an element consumes when its turn has come. `None` for a gateway that waits for
/// more, or whose tokens are gone.
pub(super) fn tokens_for(
    cx: &mut Context<'_>,
    process: &DeployedProcess,
    activation: &Activation,
    count: u32,
) -> Option<u32> {
    let gateway = process.graph.element(ElementIndex(activation.element));
    if !gateway.joins() {
        return Some(if count == WAITING { 0 } else { count });
    }
    let row = cx.state.elements.get(activation.scope)?;
    let tokens = row.flows_at(activation.element);
    let is_ready = match gateway.kind {
        _ if count == WAITING => true,
        ElementKind::ParallelGateway => tokens >= gateway.incoming.len(),
        _ => tokens > 0 && !inclusive_gateway::waits(cx, process, activation),
    };
    is_ready.then_some(tokens as u32)
}

/// Rechecks the inclusive gateways of the scope after something in it has ended: they may no longer have to wait for it.
pub(super) fn reconsider_joins(cx: &mut Context<'_>, of: &Subject) {
    let graph = &of.process.graph;
    let joins = &graph.element(of.element().parent).inclusive_joins;
    if joins.is_empty() {
        return;
    }
    let scope = of.flow_scope();
    for join in joins {
        let row = cx.state.elements.get(scope);
        if row.is_some_and(|row| row.flows_at(join.0) > 0) {
            join_again(cx, scope, join.0);
        }
    }
    cx.budget.take_work(VISIT * joins.len() as u64);
}

/// Checks again whether the gateway has all its tokens. A check that is still queued is enough.
pub(crate) fn join_again(cx: &mut Context<'_>, scope: Key, gateway: u32) {
    if cx.steps.checks_join(scope, gateway, cx.state) {
        return;
    }
    cx.steps.push(Step::Activate(Activation {
        scope,
        element: gateway,
        via: None,
        consumed_flows: 1,
    }));
}

/// Deletes a token on a sequence flow. `of`: an element in the same scope.
pub(super) fn delete(cx: &mut Context<'_>, of: &ProcessInstanceValue, flow: u32) {
    let value = ProcessInstanceValue {
        element: flow,
        consumed_flows: 0,
        ..of.clone()
    };
    let key = cx.next_key();
    cx.event(key, Intent::SequenceFlowDeleted, &value);
}

/// Whether a joining gateway has a token on each of its flows and so is about to be activated.
pub(super) fn one_is_complete(graph: &Process, joins: &Joins) -> bool {
    joins.gateways().any(|gateway| {
        let element = graph.element(ElementIndex(gateway));
        joins.flow_count(gateway) >= element.incoming.len()
    })
}

/// The tokens that wait at joins of this scope, if any do.
fn joins_in<'c>(cx: &'c mut Context<'_>, scope: Key) -> Option<&'c Joins> {
    let row = cx.state.elements.get(scope)?;
    let joins = &row.extra.as_ref()?.joins;
    (joins.tokens() > 0).then_some(joins)
}

/// The outcome for a scope with sequence flows in which nothing is active any more: it is done, unless tokens wait at joins
/// whose missing tokens can never arrive.
pub(super) fn at_rest(cx: &mut Context<'_>, scope: &Subject) -> Rest {
    if joins_in(cx, scope.key).is_none() {
        return Rest::Done;
    }
    // If the join cannot go on, the scope is looked at again.
    if cx.steps.checks_in(scope.key, cx.state) {
        return Rest::Waits;
    }
    let Some(joins) = joins_in(cx, scope.key) else {
        return Rest::Done;
    };
    let graph = &scope.process.graph;
    let gateways: Vec<u32> = joins.gateways().collect();
    let is_complete = one_is_complete(graph, joins);
    // Looked at here and by the search for the first one.
    cx.budget.take_work(2 * VISIT * gateways.len() as u64);
    if is_complete {
        return Rest::Waits;
    }
    // No other token can come: an inclusive gateway proceeds with the tokens it has.
    if let Some(gateway) = inclusive_gateway::first_at_rest(cx, graph, scope.key) {
        join_again(cx, scope.key, gateway);
        return Rest::Waits;
    }
    let id = |gateway: &u32| format!("'{}'", graph.element(ElementIndex(*gateway)).id);
    let ids: Vec<String> = gateways.iter().map(id).collect();
    let message = format!(
        "Tokens wait at the parallel gateway {} for others that can never come: nothing else is active in this scope. \
         Cancel the process instance and correct the model.",
        ids.join(", ")
    );
    Rest::Stuck(Problem::new(ErrorType::Unknown, message))
}
