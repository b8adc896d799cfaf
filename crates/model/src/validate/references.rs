//! References that have no effect, but that the reference engine resolves: outgoing flows of an element, contents of lanes.

use std::collections::HashSet;

use crate::compile::Draft;
use crate::error::{Findings, Rule, abbreviate};
use crate::graph::{ElementIndex, ElementType};
use crate::xml::{self, Node, bpmn_name, local_reference};

pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    // The inner instance of an ad-hoc sub-process has no XML of its own.
    if draft.element(index).element_type == ElementType::AdHocSubProcessInnerInstance {
        return;
    }
    let node = draft.node(index);
    for outgoing in xml::bpmn_children(node, "outgoing") {
        check_outgoing(draft, outgoing, findings);
    }
    for lanes in xml::bpmn_children(node, "laneSet") {
        check_lanes(draft, lanes, findings);
    }
}

fn check_outgoing(draft: &Draft<'_>, outgoing: Node<'_>, findings: &mut Findings) {
    let name = xml::text(outgoing);
    if name.is_empty() {
        let message =
            "An 'outgoing' is empty. Name the sequence flow that leaves the element, or remove it";
        findings.add(outgoing, Rule::ReferenceMissing, message);
        return;
    }
    let find = |name: &str| draft.process.find(name);
    match find(&name).or_else(|| find(local_reference(&name))) {
        Some(flow) if draft.element(flow).element_type == ElementType::SequenceFlow => {}
        Some(_) => {
            let message = format!(
                "An 'outgoing' names '{}', which is not a sequence flow. Correct it, or remove it",
                abbreviate(&name)
            );
            findings.add(outgoing, Rule::ReferenceNotAllowed, message);
        }
        None => {
            let message = format!(
                "An 'outgoing' names '{}', which is not an element of this process. Correct it, or remove it",
                abbreviate(&name)
            );
            findings.add(outgoing, Rule::ReferenceNotFound, message);
        }
    }
}

fn check_lanes(draft: &Draft<'_>, lanes: Node<'_>, findings: &mut Findings) {
    // Elements without effect may be in a lane, too.
    let process = draft.node(ElementIndex::PROCESS);
    let ids: HashSet<&str> = process
        .descendants()
        .filter_map(|node| node.attribute("id"))
        .collect();
    let references = lanes
        .descendants()
        .filter(|node| bpmn_name(*node) == Some("flowNodeRef"));
    for reference in references {
        let name = xml::text(reference);
        let lane = reference.parent().unwrap_or(reference);
        if name.is_empty() {
            let message = "A 'flowNodeRef' of the lane is empty. Name an element, or remove it";
            findings.add_at(lane, Rule::ReferenceMissing, message);
        } else if !ids.contains(&*name) && !ids.contains(local_reference(&name)) {
            let message = format!(
                "A 'flowNodeRef' of the lane names '{}', which is not in this process. Remove it",
                abbreviate(&name)
            );
            findings.add_at(lane, Rule::ReferenceNotFound, message);
        }
    }
}
