//! The last pass: enters elements where others look for them.

use super::{ad_hoc_elements, flow_order};
use std::collections::HashMap;
use std::sync::Arc;

use crate::element::{is_event, is_gateway};
use crate::graph::{
    CatchEvent, Element, ElementIndex, ElementKind, ElementType, Process, StartEvent,
};
use crate::xml::Node;

/// An unreadable flow or boundary event also makes its owner unusable: execution must not pass there as if it did not exist.
pub(super) fn spread_unusable(
    process: &mut Process,
    nodes: &[Node<'_>],
    indices: &HashMap<&str, ElementIndex>,
) {
    let mut marked: Vec<(ElementIndex, Arc<str>)> = Vec::new();
    for (element, node) in process.elements.iter().zip(nodes) {
        let ElementKind::Unusable(reason) = &element.kind else {
            continue;
        };
        let owner = match element.element_type {
            ElementType::SequenceFlow => named(*node, "sourceRef", indices),
            ElementType::BoundaryEvent => named(*node, "attachedToRef", indices),
            // Its content would run without it.
            ElementType::AdHocSubProcessInnerInstance | ElementType::EventSubProcess => {
                Some(element.parent)
            }
            _ if process.element(element.parent).element_type == ElementType::MultiInstanceBody => {
                Some(element.parent)
            }
            _ => continue,
        };
        if let Some(owner) = owner {
            let reason = format!("its '{}' is not usable: {reason}", element.id);
            marked.push((owner, reason.into()));
        }
    }
    for (owner, reason) in marked {
        if owner != ElementIndex::PROCESS
            && let Some(element) = process.elements.get_mut(owner.get())
        {
            element.kind = ElementKind::Unusable(reason);
        }
    }
}

fn named(
    node: Node<'_>,
    attribute: &str,
    indices: &HashMap<&str, ElementIndex>,
) -> Option<ElementIndex> {
    indices.get(node.attribute(attribute)?).copied()
}

/// Enters flows, events and the content of scopes at the elements they belong to: in document order, but outgoing flows in
/// reverse, as the reference engine takes them.
pub(super) fn connect(process: &mut Process, document_order: &[ElementIndex]) {
    for this in document_order.iter().copied() {
        let element = process.element(this);
        let parent = element.parent;
        match &element.kind {
            ElementKind::SequenceFlow(flow) => {
                let (source, target) = (flow.source, flow.target);
                let scope = process.element(source).parent;
                // It belongs to the scope of its ends, wherever it is written.
                if process.element(target).parent == scope {
                    process.element_mut(this).parent = scope;
                }
                process.element_mut(target).incoming.push(this);
                let source = process.element_mut(source);
                source.outgoing.push(this);
                if let ElementKind::EventBasedGateway { events } = &mut source.kind {
                    events.push(target);
                }
            }
            ElementKind::BoundaryEvent(event) => {
                let activity = event.attached_to;
                process.element_mut(activity).boundary_events.push(this);
            }
            ElementKind::StartEvent(StartEvent { event: Some(_), .. }) => {
                starts(process, this, parent);
            }
            ElementKind::EventSubProcess { .. } => {
                process.element_mut(parent).event_sub_processes.push(this);
            }
            ElementKind::StartEvent(_) | ElementKind::Unusable(_)
                if element.element_type == ElementType::StartEvent =>
            {
                starts(process, this, parent);
                process.element_mut(parent).none_start.get_or_insert(this);
            }
            _ => {}
        }
    }
    for element in &mut process.elements {
        element.outgoing.reverse();
    }
    enter_inclusive_joins(process, document_order);
    enter_activities(process, document_order);
    ad_hoc_elements::describe(process);
}

fn starts(process: &mut Process, start: ElementIndex, scope: ElementIndex) {
    if scope == ElementIndex::PROCESS {
        process.start_events.push(start);
    }
    if let ElementKind::EventSubProcess { start: first } = &mut process.element_mut(scope).kind
        && *first == ElementIndex::PROCESS
    {
        *first = start;
    }
}

/// In the order in which tokens reach them.
fn enter_inclusive_joins(process: &mut Process, document_order: &[ElementIndex]) {
    let is_join = |this: &ElementIndex| {
        let element = process.element(*this);
        matches!(element.kind, ElementKind::InclusiveGateway { .. }) && element.joins()
    };
    let mut joins: Vec<_> = document_order.iter().copied().filter(is_join).collect();
    if joins.is_empty() {
        return;
    }
    let ranks = flow_order::ranks(process);
    joins.sort_by_key(|this| ranks.get(this.get()).copied());
    for this in joins {
        let scope = process.element(this).parent;
        process.element_mut(scope).inclusive_joins.push(this);
    }
}

/// With the flows known, enters the activities that an ad-hoc sub-process can activate.
fn enter_activities(process: &mut Process, document_order: &[ElementIndex]) {
    for this in document_order.iter().copied() {
        let element = process.element(this);
        let inner_instance = process.element(element.parent);
        let is_inside = inner_instance.element_type == ElementType::AdHocSubProcessInnerInstance;
        if !is_inside || !can_be_activated(element) {
            continue;
        }
        let sub_process = inner_instance.parent;
        if let ElementKind::AdHocSubProcess(ad_hoc) = &mut process.element_mut(sub_process).kind {
            ad_hoc.activities.push(this);
        }
    }
}

fn can_be_activated(element: &Element) -> bool {
    let is_flow_node = match element.element_type {
        ElementType::SequenceFlow
        | ElementType::BoundaryEvent
        | ElementType::StartEvent
        | ElementType::EndEvent => false,
        _ if is_event(element.element_type) => {
            !matches!(element.caught(), Some(CatchEvent::Link { .. }))
        }
        _ => !is_gateway(element.element_type) || element.incoming.is_empty(),
    };
    is_flow_node && element.incoming.is_empty() && !element.is_for_compensation
}
