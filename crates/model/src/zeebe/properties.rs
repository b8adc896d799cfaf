//! `zeebe:properties`: names and values that are kept for readers.

use std::sync::Arc;

use crate::xml::{self, Node};

pub(crate) fn parse(node: Node<'_>) -> Vec<(Arc<str>, Arc<str>)> {
    let properties = xml::extensions(node, "properties")
        .flat_map(|properties| xml::zeebe_children(properties, "property"));
    let named = properties.filter_map(|property| {
        let value = property.attribute("value").unwrap_or_default();
        Some((property.attribute("name")?.into(), value.into()))
    });
    named.collect()
}
