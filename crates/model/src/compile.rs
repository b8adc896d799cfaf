//! From the XML of a process to its executable graph.
//!
//! Three passes: name the elements (ids to indices), parse each in its place, connect them. Then the rules over the finished
//! graph. An element that cannot be parsed leaves a placeholder, so that one mistake yields one finding and the other
//! elements are still checked; as there are findings then, such a graph never leaves this crate.

mod ad_hoc_elements;
mod connect;
mod flow_order;
mod meet;

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::Context;
use crate::element;
use crate::graph::{self, Element, ElementIndex, ElementKind, ElementType, PinnedElement, Process};
use crate::resource::Options;
use crate::validate;
use crate::xml::{self, Node};
use crate::zeebe;
use crate::zeebe::listeners::{self, Listeners};
use meet::{Met, assign_indices, index, meet, register};

/// A graph in the making, with the XML of each element at hand for findings.
pub(crate) struct Draft<'x> {
    pub process: Process,
    /// By element index.
    pub nodes: Vec<Node<'x>>,
    /// By element index: not parsed, because it was refused.
    pub broken: Vec<bool>,
    start_events: HashMap<ElementIndex, Vec<ElementIndex>>,
}

impl<'x> Draft<'x> {
    pub(crate) fn element(&self, index: ElementIndex) -> &Element {
        self.process.element(index)
    }

    pub(crate) fn node(&self, index: ElementIndex) -> Node<'x> {
        *graph::of(&self.nodes, index)
    }

    pub(crate) fn is_broken(&self, index: ElementIndex) -> bool {
        *graph::of(&self.broken, index)
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = ElementIndex> + use<> {
        (0..self.process.elements.len()).map(index)
    }

    /// The start events of a scope in document order.
    pub(crate) fn start_events(&self, scope: ElementIndex) -> &[ElementIndex] {
        self.start_events.get(&scope).map_or(&[], Vec::as_slice)
    }
}

/// The place of an element among the others.
pub(crate) struct Location {
    pub element_type: ElementType,
    pub parent: ElementIndex,
    pub parent_type: ElementType,
    /// Of a multi-instance body its activity, of an ad-hoc sub-process its inner instance.
    pub inner: Option<ElementIndex>,
}

/// Purpose of compiling a process.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'p> {
    /// All rules are checked; the result is meaningful only if no finding was added.
    Deployment(&'p Options),
    /// It was accepted once and only has to be read, with these elements in index order. Findings matter where they
    /// leave an element unusable.
    Stored(&'p [PinnedElement]),
}

/// Compiles one process.
pub(crate) fn compile<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
    purpose: Purpose<'_>,
) -> Option<Process> {
    let met = meet(node, context);
    let pinned = match purpose {
        Purpose::Stored(elements) => Some(elements),
        Purpose::Deployment(_) => None,
    };
    let places = assign_indices(&met, context, pinned)?;
    register(&met, &places, context);
    let mut compiled = Vec::with_capacity(met.len());
    for (element, index) in met.iter().zip(&places) {
        let before = context.findings.count();
        let location = location_of(element, &met, &places);
        let parsed = parse_element(element, &location, context, purpose);
        let broken = context.findings.count() > before || element.element_type.is_none();
        compiled.push((*index, parsed, element.node, broken));
    }
    compiled.sort_by_key(|(place, ..)| *place);
    let mut draft = Draft {
        process: Process::empty(node.attribute("id").unwrap_or_default()),
        nodes: Vec::new(),
        broken: Vec::new(),
        start_events: HashMap::new(),
    };
    for (place, element, node, broken) in compiled {
        if element.element_type == ElementType::StartEvent {
            draft
                .start_events
                .entry(element.parent)
                .or_default()
                .push(place);
        }
        draft.process.elements.push(element);
        draft.nodes.push(node);
        draft.broken.push(broken);
    }
    draft.process.index();
    draft.process.version_tag = zeebe::version_tag::parse(node);
    if let Purpose::Stored(_) = purpose {
        connect::spread_unusable(&mut draft.process, &draft.nodes, &context.indices);
    }
    connect::connect(&mut draft.process, &places);
    if let Purpose::Deployment(options) = purpose {
        validate::check(&draft, options, context.findings);
    }
    Some(draft.process)
}

fn location_of(element: &Met<'_>, met: &[Met<'_>], places: &[ElementIndex]) -> Location {
    let index = |position: usize| places.get(position).copied();
    let parent_type = met.get(element.parent).and_then(|m| m.element_type);
    Location {
        element_type: element.element_type.unwrap_or(ElementType::Task),
        parent: index(element.parent).unwrap_or(ElementIndex::PROCESS),
        parent_type: parent_type.unwrap_or(ElementType::Process),
        inner: element.inner.and_then(index),
    }
}

/// The element as far as it can be read; otherwise `Unusable`, with a finding for the reason.
fn parse_element<'x>(
    met: &Met<'x>,
    location: &Location,
    context: &mut Context<'_, 'x>,
    purpose: Purpose<'_>,
) -> Element {
    let (node, before) = (met.node, context.findings.count());
    let element_type = location.element_type;
    let mut element = Element::new(&met.id, element_type, location.parent);
    if element_type == ElementType::AdHocSubProcessInnerInstance {
        element.kind = ElementKind::AdHocSubProcessInnerInstance;
        return element;
    }
    describe(&mut element, node);
    if met.element_type.is_some() {
        let is_deployment = matches!(purpose, Purpose::Deployment(_));
        // A body and its activity share their XML, so it is checked once.
        if is_deployment && element_type != ElementType::MultiInstanceBody {
            zeebe::check(node, context);
            element::check_content(node, element_type, context);
            if element_type == ElementType::Process {
                zeebe::form_definition::check_embedded(node, context);
            }
        }
        if let Some(kind) = parse_content(&mut element, node, location, context) {
            element.kind = kind;
            if is_deployment && element_type != ElementType::MultiInstanceBody {
                listeners::check_place(node, &element, context);
            }
            return element;
        }
    }
    element.kind = ElementKind::Unusable(context.findings.since(before).into());
    element
}

/// Reads the parts that have no effect but are kept, such as the name.
fn describe(element: &mut Element, node: Node<'_>) {
    let name = node.attribute("name").filter(|name| !name.is_empty());
    element.name = name.map(Arc::from);
    let documentation = xml::bpmn_children(node, "documentation").map(xml::text);
    let mut documentation = documentation.filter(|text| !text.is_empty());
    element.documentation = documentation.next().map(Arc::from);
    element.properties = zeebe::properties::parse(node);
}

/// Reads mappings, listeners, and the part specific to the kind of element; `None` after a finding.
fn parse_content<'x>(
    element: &mut Element,
    node: Node<'x>,
    location: &Location,
    context: &mut Context<'_, 'x>,
) -> Option<ElementKind> {
    let element_type = element.element_type;
    // On a multi-instance activity these belong to the body, which others refer to ...
    if location.parent_type != ElementType::MultiInstanceBody {
        element.is_for_compensation = element::is_for_compensation(node, element_type, context);
    }
    // ... and these to the activity. All findings are wanted, even if the first alone decides.
    let mappings = if element::has_mappings(element_type) {
        zeebe::io_mapping::parse(node, context)
    } else {
        Some((Vec::new(), Vec::new()))
    };
    let listeners = match element_type {
        ElementType::MultiInstanceBody => Some(Listeners::default()),
        _ => listeners::execution(node, context),
    };
    let kind = element::parse(node, location, context);
    (element.inputs, element.outputs) = mappings?;
    let listeners = listeners?;
    (element.start_listeners, element.end_listeners) = (listeners.start, listeners.end);
    let kind = kind?;
    if !element::has_inputs(&kind) {
        element.inputs.clear();
    }
    Some(kind)
}
