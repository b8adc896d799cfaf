//! From the XML of a process to its executable graph.
//!
//! Three passes: name the elements (ids to indices), parse each where it stands, connect them. Then the rules over the
//! finished graph. What cannot be parsed leaves a placeholder, so that one mistake yields one finding and the other
//! elements are still checked; as there are findings then, such a graph never leaves this crate.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::context::Context;
use crate::element::{self, Role};
use crate::error::abbreviate;
use crate::graph::{Element, ElementIndex, ElementKind, ElementType, PinnedElement, Process};
use crate::resource::Options;
use crate::validate;
use crate::xml::{Node, bpmn_name};
use crate::zeebe;

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
        self.nodes[index.get()]
    }

    pub(crate) fn is_broken(&self, index: ElementIndex) -> bool {
        self.broken[index.get()]
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = ElementIndex> + use<> {
        (0..self.process.elements.len()).map(index)
    }

    /// The start events of a scope in document order.
    pub(crate) fn start_events(&self, scope: ElementIndex) -> &[ElementIndex] {
        self.start_events.get(&scope).map_or(&[], Vec::as_slice)
    }
}

/// An element as it was met in the XML, its parent as position in the same list.
struct Met<'x> {
    node: Node<'x>,
    id: &'x str,
    parent: usize,
    /// `None`: refused.
    element_type: Option<ElementType>,
}

/// What a process is compiled for.
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
    for (met, place) in met
        .iter()
        .zip(&places)
        .filter(|(met, _)| !met.id.is_empty())
    {
        context.indices.entry(met.id).or_insert(*place);
    }
    let mut compiled = Vec::with_capacity(met.len());
    for (met, place) in met.iter().zip(&places) {
        let before = context.findings.count();
        let parent = places
            .get(met.parent)
            .copied()
            .unwrap_or(ElementIndex::PROCESS);
        let element = parse_element(met, parent, context, purpose);
        let broken = context.findings.count() > before || met.element_type.is_none();
        compiled.push((*place, element, met.node, broken));
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
        spread_unusable(&mut draft.process, &draft.nodes, &context.indices);
    }
    connect(&mut draft.process, &places);
    if let Purpose::Deployment(options) = purpose {
        validate::check(&draft, options, context.findings);
    }
    Some(draft.process)
}

/// All elements of a process in document order, a sub-process before its content; the process itself is first.
///
/// The depth of the stack is bounded by the depth of the XML.
fn meet<'x>(process: Node<'x>, context: &mut Context<'_, 'x>) -> Vec<Met<'x>> {
    let mut met = vec![Met {
        node: process,
        id: id_of(process, context),
        parent: 0,
        element_type: Some(ElementType::Process),
    }];
    let mut stack = vec![(process.first_element_child(), 0)];
    while let Some((next, parent)) = stack.pop() {
        let Some(node) = next else { continue };
        stack.push((node.next_sibling_element(), parent));
        let element_type = match element::role(node) {
            Role::Element(element_type) => Some(element_type),
            Role::Drawn | Role::Part => continue,
            Role::Refused(reason) => {
                context.add(node, reason);
                if bpmn_name(node).is_none() {
                    continue;
                }
                None
            }
        };
        if element_type == Some(ElementType::SubProcess) {
            stack.push((node.first_element_child(), met.len()));
        }
        met.push(Met {
            node,
            id: id_of(node, context),
            parent,
            element_type,
        });
    }
    met
}

fn id_of<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> &'x str {
    let id = node.attribute("id").unwrap_or_default();
    if id.is_empty() {
        context.add(
            node,
            "The attribute 'id' is missing or empty. Every element of a process needs one",
        );
    }
    id
}

/// The index of each element: document order, or the pinned order. `None` if that is not possible.
fn assign_indices<'x>(
    met: &[Met<'x>],
    context: &mut Context<'_, 'x>,
    pinned: Option<&[PinnedElement]>,
) -> Option<Vec<ElementIndex>> {
    let before = context.findings.count();
    let mut seen = HashSet::with_capacity(met.len());
    for element in met {
        if !element.id.is_empty() && !seen.insert(element.id) {
            let message = format!(
                "The id '{}' is used by several elements of the process. Ids must be unique",
                abbreviate(element.id)
            );
            context.add(element.node, message);
        }
    }
    let Some(pinned) = pinned else {
        return Some((0..met.len()).map(index).collect());
    };
    let numbered = || pinned.iter().enumerate();
    let order: HashMap<(&str, ElementType), usize> = numbered()
        .map(|(position, pinned)| ((&*pinned.id, pinned.element_type), position))
        .collect();
    // Of what this release refuses it does not know the type.
    let by_id: HashMap<&str, usize> = numbered()
        .map(|(position, pinned)| (&*pinned.id, position))
        .collect();
    if order.len() != pinned.len() || order.len() != met.len() {
        let message = format!(
            "The stored process has {} elements, but {} are recorded for it",
            met.len(),
            pinned.len()
        );
        context.add(met.first()?.node, message);
    }
    let mut places = Vec::with_capacity(met.len());
    for element in met {
        let place = match element.element_type {
            Some(element_type) => order.get(&(element.id, element_type)),
            None => by_id.get(element.id),
        };
        match place {
            Some(position) => places.push(index(*position)),
            None => {
                let message = format!(
                    "The element '{}' is not among the recorded elements of the process",
                    abbreviate(element.id)
                );
                context.add(element.node, message);
            }
        }
    }
    (context.findings.count() == before).then_some(places)
}

/// The element as far as it can be read: what cannot is `Unusable`, with a finding for the reason.
fn parse_element<'x>(
    met: &Met<'x>,
    parent: ElementIndex,
    context: &mut Context<'_, 'x>,
    purpose: Purpose<'_>,
) -> Element {
    let (node, before) = (met.node, context.findings.count());
    let element_type = met.element_type.unwrap_or(ElementType::Task);
    let mut element = Element::new(met.id, element_type, parent);
    let name = node.attribute("name").filter(|name| !name.is_empty());
    element.name = name.map(Arc::from);
    if met.element_type.is_some() {
        if let Purpose::Deployment(_) = purpose {
            zeebe::check(node, context);
            element::check_content(node, element_type, context);
        }
        if let Some(kind) = parse_content(&mut element, node, context) {
            element.kind = kind;
            return element;
        }
    }
    element.kind = ElementKind::Unusable(context.findings.since(before).into());
    element
}

/// Mappings, and what is particular to the kind of element; `None` after a finding.
fn parse_content<'x>(
    element: &mut Element,
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<ElementKind> {
    let element_type = element.element_type;
    // All findings are wanted, also where the first alone decides.
    let mappings = match element::has_mappings(element_type) {
        true => zeebe::io_mapping::parse(node, context),
        false => Some((Vec::new(), Vec::new())),
    };
    let kind = element::parse(node, element_type, context);
    (element.inputs, element.outputs) = mappings?;
    if !element::has_inputs(element_type) {
        element.inputs.clear();
    }
    kind
}

/// A flow or boundary event that cannot be read is missed where it belongs: there, nothing may go on as if it was not meant.
fn spread_unusable(
    process: &mut Process,
    nodes: &[Node<'_>],
    indices: &HashMap<&str, ElementIndex>,
) {
    let mut marked: Vec<(ElementIndex, Arc<str>)> = Vec::new();
    for (element, node) in process.elements.iter().zip(nodes) {
        let ElementKind::Unusable(reason) = &element.kind else {
            continue;
        };
        let attribute = match element.element_type {
            ElementType::SequenceFlow => "sourceRef",
            ElementType::BoundaryEvent => "attachedToRef",
            _ => continue,
        };
        let owner = node.attribute(attribute).and_then(|id| indices.get(id));
        if let Some(owner) = owner {
            let reason = format!("its '{}' is not usable: {reason}", element.id);
            marked.push((*owner, reason.into()));
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

/// Enters flows, boundary events and start events at the elements they belong to: in document order, but
/// outgoing flows the other way round, as the reference engine takes them.
fn connect(process: &mut Process, document_order: &[ElementIndex]) {
    for this in document_order.iter().copied() {
        match &process.elements[this.get()].kind {
            ElementKind::SequenceFlow(flow) => {
                let (source, target) = (flow.source.get(), flow.target.get());
                process.elements[source].outgoing.push(this);
                process.elements[target].incoming.push(this);
            }
            ElementKind::BoundaryEvent(event) => {
                let activity = event.attached_to.get();
                process.elements[activity].boundary_events.push(this);
            }
            ElementKind::StartEvent(_) | ElementKind::Unusable(_)
                if process.elements[this.get()].element_type == ElementType::StartEvent =>
            {
                let element = &process.elements[this.get()];
                let (scope, has_trigger) = (element.parent.get(), element.caught().is_some());
                if !has_trigger {
                    process.elements[scope].none_start.get_or_insert(this);
                }
            }
            _ => {}
        }
    }
    for element in &mut process.elements {
        element.outgoing.reverse();
    }
}

fn index(position: usize) -> ElementIndex {
    // The size limit on files keeps the number of elements far below the range of u32.
    ElementIndex(u32::try_from(position).unwrap_or(u32::MAX))
}
