//! The nodes of DMN models: names in all versions of the standard, extensions.

pub(crate) use skep_xml::{Node, Unreadable, parse, text};
use skep_xml::{ZEEBE, is_named};

/// The model namespaces of DMN 1.1, 1.2, 1.3, 1.4 and 1.5.
pub(crate) const DMN: [&str; 5] = [
    "http://www.omg.org/spec/DMN/20151101/dmn.xsd",
    "http://www.omg.org/spec/DMN/20180521/MODEL/",
    "https://www.omg.org/spec/DMN/20191111/MODEL/",
    "https://www.omg.org/spec/DMN/20211108/MODEL/",
    "https://www.omg.org/spec/DMN/20230324/MODEL/",
];

/// The bytes as text, at most `max_bytes` long.
pub(crate) fn decode(xml: &[u8], max_bytes: usize) -> Result<&str, Unreadable> {
    skep_xml::decode(xml, max_bytes, "Split the model into several files")
}

/// The local name of a DMN element, whatever the version.
pub(crate) fn dmn_name<'x>(node: Node<'x>) -> Option<&'x str> {
    let tag = node.tag_name();
    let is_dmn = node.is_element() && tag.namespace().is_some_and(|ns| DMN.contains(&ns));
    is_dmn.then(|| tag.name())
}

/// The DMN children with this local name.
pub(crate) fn children<'x>(
    node: Node<'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> + Clone {
    node.children()
        .filter(move |child| dmn_name(*child) == Some(name))
}

/// The first DMN child with this local name.
pub(crate) fn child<'x>(node: Node<'x>, name: &'static str) -> Option<Node<'x>> {
    children(node, name).next()
}

/// The attribute `value` of `zeebe:versionTag` in the extension elements.
pub(crate) fn version_tag<'x>(node: Node<'x>) -> Option<&'x str> {
    children(node, "extensionElements")
        .flat_map(|extensions| extensions.children())
        .find(|extension| is_named(*extension, ZEEBE, "versionTag"))
        .and_then(|tag| tag.attribute("value"))
        .filter(|value| !value.is_empty())
}
