//! What the parts of the parser share: the file's definitions, the indices of the process's elements, the findings.

use std::collections::HashMap;

use crate::error::Findings;
use crate::graph::ElementIndex;
use crate::xml::{Node, bpmn_name, local_reference};

/// What processes refer to in the file around them, by id.
#[derive(Default)]
pub(crate) struct Definitions<'x> {
    messages: HashMap<&'x str, Node<'x>>,
    errors: HashMap<&'x str, Node<'x>>,
}

impl<'x> Definitions<'x> {
    pub(crate) fn new(root: Node<'x>) -> Self {
        let mut definitions = Definitions::default();
        for node in root.children() {
            let map = match bpmn_name(node) {
                Some("message") => &mut definitions.messages,
                Some("error") => &mut definitions.errors,
                _ => continue,
            };
            if let Some(id) = node.attribute("id") {
                map.entry(id).or_insert(node);
            }
        }
        definitions
    }

    pub(crate) fn message(&self, reference: &str) -> Option<Node<'x>> {
        resolve(&self.messages, reference)
    }

    pub(crate) fn error(&self, reference: &str) -> Option<Node<'x>> {
        resolve(&self.errors, reference)
    }
}

fn resolve<'x>(map: &HashMap<&'x str, Node<'x>>, reference: &str) -> Option<Node<'x>> {
    map.get(reference)
        .or_else(|| map.get(local_reference(reference)))
        .copied()
}

/// The surroundings in which the elements of one process are parsed.
pub(crate) struct Context<'c, 'x> {
    pub definitions: &'c Definitions<'x>,
    pub findings: &'c mut Findings,
    /// The index of each element of the process, filled before the elements are parsed.
    pub indices: HashMap<&'x str, ElementIndex>,
}

impl<'c, 'x> Context<'c, 'x> {
    pub(crate) fn new(definitions: &'c Definitions<'x>, findings: &'c mut Findings) -> Self {
        Context {
            definitions,
            findings,
            indices: HashMap::new(),
        }
    }

    pub(crate) fn add(&mut self, node: Node<'_>, message: impl Into<String>) {
        self.findings.add(node, message);
    }

    /// The element named by a reference attribute; a finding when it is missing or names nothing in this process.
    pub(crate) fn reference(&mut self, node: Node<'x>, attribute: &str) -> Option<ElementIndex> {
        let Some(reference) = node.attribute(attribute).filter(|r| !r.is_empty()) else {
            self.add(
                node,
                format!("The attribute '{attribute}' is missing. Connect the element in the model"),
            );
            return None;
        };
        let found = self
            .indices
            .get(reference)
            .or_else(|| self.indices.get(local_reference(reference)))
            .copied();
        if found.is_none() {
            self.add(node, format!("The attribute '{attribute}' names '{reference}', which is not an element of this process"));
        }
        found
    }
}
