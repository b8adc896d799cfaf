//! `zeebe:versionTag` of a process.

use std::sync::Arc;

use crate::xml::{self, Node};

pub(crate) fn parse<'x>(process: Node<'x>) -> Option<Arc<str>> {
    let tag = xml::extensions(process, "versionTag").next()?;
    tag.attribute("value")
        .filter(|value| !value.trim().is_empty())
        .map(Arc::from)
}
