//! The nodes of BPMN models: names, extensions, references.

use skep_xml::children_of;
pub(crate) use skep_xml::{Document, Node, Unreadable, ZEEBE, parse, parse_stored, text};

pub(crate) const BPMN: &str = "http://www.omg.org/spec/BPMN/20100524/MODEL";
/// Extensions of the engine before this API.
pub(crate) const CAMUNDA_7: &str = "http://camunda.org/schema/1.0/bpmn";
/// Common prefix of the namespaces of the specification: of models, and of their drawings.
pub(crate) const SPECIFICATION: &str = "http://www.omg.org/spec/";

/// The bytes as text, at most `max_bytes` long.
pub(crate) fn decode(xml: &[u8], max_bytes: usize) -> Result<&str, Unreadable> {
    let advice = "Split the model into several processes, joined by call activities";
    skep_xml::decode(xml, max_bytes, advice)
}

/// The local name of an element of the BPMN namespace.
pub(crate) fn bpmn_name<'x>(node: Node<'x>) -> Option<&'x str> {
    let tag = node.tag_name();
    (node.is_element() && tag.namespace() == Some(BPMN)).then(|| tag.name())
}

/// The BPMN children with this local name.
pub(crate) fn bpmn_children<'x>(
    node: Node<'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> {
    children_of(node, BPMN, name)
}

/// All elements of the zeebe namespace in the `extensionElements` of this node.
pub(crate) fn all_extensions<'x>(node: Node<'x>) -> impl Iterator<Item = Node<'x>> {
    bpmn_children(node, "extensionElements")
        .flat_map(|extensions| extensions.children())
        .filter(|child| child.is_element() && child.tag_name().namespace() == Some(ZEEBE))
}

/// The extension elements of this node with this local name.
pub(crate) fn extensions<'x>(node: Node<'x>, name: &'static str) -> impl Iterator<Item = Node<'x>> {
    all_extensions(node).filter(move |child| child.tag_name().name() == name)
}

/// The zeebe children of an extension element with this local name.
pub(crate) fn zeebe_children<'x>(
    node: Node<'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> {
    children_of(node, ZEEBE, name)
}

/// Looks up by a reference that may carry a namespace prefix (references are qualified names in BPMN).
pub(crate) fn local_reference(reference: &str) -> &str {
    reference.rsplit(':').next().unwrap_or(reference)
}
