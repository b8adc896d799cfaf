//! The first pass: finds the elements, and the index of each.
//!
//! Not all elements have XML of their own: a multi-instance activity has a body around it, and an ad-hoc sub-process an inner
//! instance around its content.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::context::Context;
use crate::element::{self, Role, is_activity};
use crate::error::{Rule, abbreviate};
use crate::event;
use crate::graph::{ElementIndex, ElementType, PinnedElement};
use crate::xml::{self, Node, bpmn_name};

/// An element found in the XML; other elements are named by their positions in the same list.
pub(super) struct Met<'x> {
    pub node: Node<'x>,
    pub id: Cow<'x, str>,
    pub parent: usize,
    /// `None`: refused.
    pub element_type: Option<ElementType>,
    /// Of a body its activity, of an ad-hoc sub-process its inner instance.
    pub inner: Option<usize>,
}

/// Where the children of an element belong.
#[derive(Clone, Copy)]
struct Scope {
    parent: usize,
    /// In an ad-hoc sub-process: event sub-processes are beside the inner instances.
    event_sub_processes: usize,
}

/// All elements of a process in document order, a sub-process before its content; the process itself is first.
///
/// The depth of the stack is bounded by the depth of the XML.
pub(super) fn meet<'x>(process: Node<'x>, context: &mut Context<'_, 'x>) -> Vec<Met<'x>> {
    let mut met = vec![Met {
        node: process,
        id: Cow::Borrowed(id_of(process, context)),
        parent: 0,
        element_type: Some(ElementType::Process),
        inner: None,
    }];
    let scope = Scope {
        parent: 0,
        event_sub_processes: 0,
    };
    let mut stack = vec![(process.first_element_child(), scope)];
    while let Some((next, scope)) = stack.pop() {
        let Some(node) = next else { continue };
        stack.push((node.next_sibling_element(), scope));
        let element_type = match element::role(node) {
            Role::Element(element_type) => Some(element_type),
            Role::Drawn | Role::Part => continue,
            Role::Refused(rule, reason) => {
                context.add(node, rule, reason);
                if bpmn_name(node).is_none() {
                    continue;
                }
                None
            }
        };
        let id = id_of(node, context);
        if let Some(inside) = enter(&mut met, node, id, scope, element_type) {
            stack.push((node.first_element_child(), inside));
        }
    }
    met
}

/// Adds an element with its body or inner instance. Returns the parent of its children, if it can have any.
fn enter<'x>(
    met: &mut Vec<Met<'x>>,
    node: Node<'x>,
    id: &'x str,
    scope: Scope,
    element_type: Option<ElementType>,
) -> Option<Scope> {
    let is_event_sub_process = element_type == Some(ElementType::EventSubProcess);
    let mut parent = if is_event_sub_process {
        scope.event_sub_processes
    } else {
        scope.parent
    };
    let mut add = |id: Cow<'x, str>, parent, element_type| {
        met.push(Met {
            node,
            id,
            parent,
            element_type,
            inner: None,
        });
        met.len() - 1
    };
    let mut body = None;
    if element_type.is_some_and(is_activity) && is_multi_instance(node) {
        parent = add(id.into(), parent, Some(ElementType::MultiInstanceBody));
        body = Some(parent);
    }
    let this = add(id.into(), parent, element_type);
    let inside = match element_type? {
        ElementType::SubProcess | ElementType::EventSubProcess => Some(this),
        ElementType::AdHocSubProcess => {
            let id = Cow::Owned(format!("{id}#innerInstance"));
            let inner_type = ElementType::AdHocSubProcessInnerInstance;
            Some(add(id, this, Some(inner_type)))
        }
        _ => None,
    };
    if let Some(body) = body.and_then(|body| met.get_mut(body)) {
        body.inner = Some(this);
    }
    let inside = inside?;
    if let Some(this) = met.get_mut(this).filter(|_| inside != this) {
        this.inner = Some(inside);
    }
    Some(Scope {
        parent: inside,
        event_sub_processes: this,
    })
}

fn is_multi_instance(node: Node<'_>) -> bool {
    xml::bpmn_children(node, "multiInstanceLoopCharacteristics")
        .next()
        .is_some()
}

fn id_of<'x>(node: Node<'x>, context: &mut Context<'_, 'x>) -> &'x str {
    let id = node.attribute("id").unwrap_or_default();
    if id.is_empty() {
        context.add(
            node,
            Rule::IdMissing,
            "The attribute 'id' is missing or empty. Every element of a process needs one",
        );
    }
    id
}

/// The index of each element: document order, or the pinned order. `None` if that is not possible.
pub(super) fn assign_indices<'x>(
    met: &[Met<'x>],
    context: &mut Context<'_, 'x>,
    pinned: Option<&[PinnedElement]>,
) -> Option<Vec<ElementIndex>> {
    let before = context.findings.count();
    check_unique(met, context);
    let Some(pinned) = pinned else {
        return Some((0..met.len()).map(index).collect());
    };
    let numbered = || pinned.iter().enumerate();
    let order: HashMap<(&str, ElementType), usize> = numbered()
        .map(|(position, pinned)| ((&*pinned.id, pinned.element_type), position))
        .collect();
    // The type of elements that this release refuses is unknown to it.
    let by_id: HashMap<&str, usize> = numbered()
        .map(|(position, pinned)| (&*pinned.id, position))
        .collect();
    if order.len() != pinned.len() || order.len() != met.len() {
        let message = format!(
            "The stored process has {} elements, but {} are recorded for it",
            met.len(),
            pinned.len()
        );
        context.add(met.first()?.node, Rule::DefinitionNotUsable, message);
    }
    let mut places = Vec::with_capacity(met.len());
    for element in met {
        let place = match element.element_type {
            Some(element_type) => order.get(&(&*element.id, element_type)),
            None => by_id.get(&*element.id),
        };
        match place {
            Some(position) => places.push(index(*position)),
            None => {
                let message = format!(
                    "The element '{}' is not among the recorded elements of the process",
                    abbreviate(&element.id)
                );
                context.add(element.node, Rule::DefinitionNotUsable, message);
            }
        }
    }
    (context.findings.count() == before).then_some(places)
}

fn check_unique<'x>(met: &[Met<'x>], context: &mut Context<'_, 'x>) {
    let mut seen = HashSet::with_capacity(met.len());
    for element in met {
        // The activity inside of a body has its id.
        let shares = element.element_type != Some(ElementType::MultiInstanceBody);
        if shares && !element.id.is_empty() && !seen.insert(&*element.id) {
            let message = format!(
                "The id '{}' is used by several elements of the process. Give each its own id",
                abbreviate(&element.id)
            );
            context.add(element.node, Rule::DuplicateId, message);
        }
    }
}

/// Makes elements, associations and links available to references.
pub(super) fn register<'x>(
    met: &[Met<'x>],
    places: &[ElementIndex],
    context: &mut Context<'_, 'x>,
) {
    for (met, place) in met.iter().zip(places) {
        if let Cow::Borrowed(id) = &met.id
            && !id.is_empty()
        {
            context.indices.entry(id).or_insert(*place);
        }
        if met.element_type == Some(ElementType::IntermediateCatchEvent) {
            let scope = places.get(met.parent).copied();
            register_link(met.node, scope, *place, context);
        }
    }
    let Some(process) = met.first().map(|met| met.node) else {
        return;
    };
    for node in process.descendants() {
        if bpmn_name(node) == Some("association")
            && let (Some(source), Some(target)) =
                (node.attribute("sourceRef"), node.attribute("targetRef"))
        {
            let targets = context.associations.entry(source).or_default();
            targets.push(target);
        }
    }
}

fn register_link<'x>(
    node: Node<'x>,
    scope: Option<ElementIndex>,
    place: ElementIndex,
    context: &mut Context<'_, 'x>,
) {
    let mut links = node
        .children()
        .filter(|child| bpmn_name(*child).is_some() && event::kind(*child) == "link");
    let name = links.next().and_then(|link| link.attribute("name"));
    let (Some(name), Some(scope)) = (name.filter(|name| !name.is_empty()), scope) else {
        return;
    };
    if *context.links.entry((scope, name)).or_insert(place) != place {
        let message = format!(
            "Another link catch event in this scope is named '{}' too. Rename or remove one of them",
            abbreviate(name)
        );
        context.add(node, Rule::DuplicateName, message);
    }
}

pub(super) fn index(position: usize) -> ElementIndex {
    // The size limit on files keeps the number of elements far below the range of u32.
    ElementIndex(u32::try_from(position).unwrap_or(u32::MAX))
}
