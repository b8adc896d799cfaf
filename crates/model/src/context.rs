//! What the parts of the parser share: the file's definitions, the indices of the process's elements, the findings.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use skep_feel::Expression;

use crate::error::Findings;
use crate::graph::{ElementIndex, TextValue};
use crate::xml::{Node, bpmn_name, local_reference};

/// What processes refer to in the file around them, by id.
#[derive(Default)]
pub(crate) struct Definitions<'x> {
    messages: HashMap<&'x str, Message<'x>>,
    errors: HashMap<&'x str, Error<'x>>,
    /// Messages and errors whose id another one has before them.
    repeated: Vec<Node<'x>>,
}

/// A message. Its values are parsed once and shared, however many elements refer to it.
pub(crate) struct Message<'x> {
    pub node: Node<'x>,
    /// Name and correlation key; `None` after findings.
    pub values: OnceCell<Option<(TextValue, Expression)>>,
}

/// An error.
pub(crate) struct Error<'x> {
    pub node: Node<'x>,
    /// The code as a constant, not empty.
    pub code: Option<Arc<str>>,
    /// The code as it is thrown; `None` after findings.
    pub thrown: OnceCell<Option<TextValue>>,
}

impl<'x> Definitions<'x> {
    pub(crate) fn new(root: Node<'x>) -> Self {
        let mut definitions = Definitions::default();
        for node in root.children() {
            let Some(id) = node.attribute("id") else {
                continue;
            };
            match bpmn_name(node) {
                Some("message") => {
                    if definitions.messages.contains_key(id) {
                        definitions.repeated.push(node);
                        continue;
                    }
                    let values = OnceCell::new();
                    definitions.messages.insert(id, Message { node, values });
                }
                Some("error") => {
                    if definitions.errors.contains_key(id) {
                        definitions.repeated.push(node);
                        continue;
                    }
                    let code = node.attribute("errorCode").filter(|code| !code.is_empty());
                    let (code, thrown) = (code.map(Arc::from), OnceCell::new());
                    let error = Error { node, code, thrown };
                    definitions.errors.insert(id, error);
                }
                _ => {}
            }
        }
        definitions
    }

    /// Two definitions with one id: it could not be told which one an element means.
    pub(crate) fn check(&self, findings: &mut Findings) {
        for node in &self.repeated {
            let id = node.attribute("id").unwrap_or_default();
            let name = bpmn_name(*node).unwrap_or_default();
            let message = format!(
                "The id '{id}' is used by another {name} of this file. Give each {name} its own id"
            );
            findings.add(*node, message);
        }
    }

    pub(crate) fn message(&self, reference: &str) -> Option<&Message<'x>> {
        resolve(&self.messages, reference)
    }

    pub(crate) fn error(&self, reference: &str) -> Option<&Error<'x>> {
        resolve(&self.errors, reference)
    }
}

fn resolve<'d, T>(map: &'d HashMap<&str, T>, reference: &str) -> Option<&'d T> {
    map.get(reference)
        .or_else(|| map.get(local_reference(reference)))
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
