//! Sequence flows, and the gateways that join their tokens.

use skep_model::{Element, ElementIndex, ElementKind};
use skep_protocol::intent::ProcessInstanceIntent as Intent;
use skep_protocol::value::{Activation, ErrorType, ProcessInstanceValue};

use super::container::{self, Rest};
use super::{Problem, Step, Subject};
use crate::processing::Context;
use crate::state::ElementInstance;

/// Takes a sequence flow and, where nothing else is awaited, activates its target.
pub(super) fn take(cx: &mut Context<'_>, el: &Subject, flow: ElementIndex) {
    let ElementKind::SequenceFlow(sequence_flow) = &el.process.graph.element(flow).kind else {
        return cx.broken(format_args!("element {} is no sequence flow", flow.0));
    };
    let scope = el.flow_scope();
    let value = ProcessInstanceValue {
        element: flow.0,
        ..el.value.clone()
    };
    let key = cx.next_key();
    cx.event(key, Intent::SequenceFlowTaken, &value);

    let target = sequence_flow.target;
    let target_element = el.process.graph.element(target);
    let incoming = &target_element.incoming;
    let (mut via, mut consumed_flows) = (Some(flow.0), 1);
    if matches!(target_element.kind, ElementKind::ParallelGateway) && incoming.len() > 1 {
        let Some(row) = cx.state.elements.get(scope) else {
            return cx.broken(format_args!("the scope {scope} of a token is gone"));
        };
        let is_ending = row.is_ending();
        if is_ending || !is_joined(row, target_element, target) {
            if is_ending {
                delete(cx, &el.value, flow.0);
            }
            container::child_ended(cx, scope);
            return;
        }
        (via, consumed_flows) = (None, incoming.len() as u32);
    }
    cx.steps.push(Step::Activate(Activation {
        scope,
        element: target.0,
        via,
        consumed_flows,
    }));
}

/// A token ends on a sequence flow. `of`: an element in the same scope.
pub(super) fn delete(cx: &mut Context<'_>, of: &ProcessInstanceValue, flow: u32) {
    let value = ProcessInstanceValue {
        element: flow,
        consumed_flows: 0,
        ..of.clone()
    };
    let key = cx.next_key();
    cx.event(key, Intent::SequenceFlowDeleted, &value);
}

/// Every incoming flow of the joining gateway has a token.
pub(super) fn is_joined(scope: &ElementInstance, gateway: &Element, index: ElementIndex) -> bool {
    scope.flows_at(index.0) >= gateway.incoming.len()
}

/// What becomes of a scope whose elements follow sequence flows, and in which nothing is active any more: it is done, unless
/// tokens wait at joins that nothing can bring the missing ones to.
pub(super) fn at_rest(cx: &mut Context<'_>, scope: &Subject) -> Rest {
    let row = cx.state.elements.get(scope.key);
    let extra = row.and_then(|row| row.extra.as_ref());
    let Some(extra) = extra.filter(|extra| extra.joins.tokens() > 0) else {
        return Rest::Done;
    };
    let graph = &scope.process.graph;
    let gateways: Vec<u32> = extra.joins.gateways().collect();
    let is_ready = |gateway: &u32| {
        let element = graph.element(ElementIndex(*gateway));
        extra.joins.flow_count(*gateway) >= element.incoming.len()
    };
    // One that has all its tokens is about to be activated.
    if gateways.iter().any(is_ready) {
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
