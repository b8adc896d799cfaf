//! State shared by the parts of the parser: the file's definitions, the indices of the process's elements, the findings.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use skep_feel::Expression;

use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, TextValue};
use crate::xml::{Node, bpmn_name, local_reference};

/// Definitions in the file that processes refer to, by id.
#[derive(Default)]
pub(crate) struct Definitions<'x> {
    messages: HashMap<&'x str, Message<'x>>,
    signals: HashMap<&'x str, NamedNode<'x>>,
    errors: HashMap<&'x str, Coded<'x>>,
    escalations: HashMap<&'x str, Coded<'x>>,
    /// Definitions whose id another one of their kind has before them.
    repeated: Vec<Node<'x>>,
}

/// A message or signal by its name, parsed once and shared, however many elements refer to it.
pub(crate) struct NamedNode<'x> {
    pub node: Node<'x>,
    /// `None` after findings.
    pub name: OnceCell<Option<TextValue>>,
    /// The name without variables, for start events; `None` after findings.
    pub constant_name: OnceCell<Option<Arc<str>>>,
}

pub(crate) struct Message<'x> {
    pub named: NamedNode<'x>,
    /// `None` after findings.
    pub correlation_key: OnceCell<Option<Expression>>,
}

/// An error or escalation.
pub(crate) struct Coded<'x> {
    pub node: Node<'x>,
    /// The code as a constant, not empty.
    pub code: Option<Arc<str>>,
    /// The thrown code; `None` after findings.
    pub thrown: OnceCell<Option<TextValue>>,
}

impl<'x> NamedNode<'x> {
    fn new(node: Node<'x>) -> Self {
        NamedNode {
            node,
            name: OnceCell::new(),
            constant_name: OnceCell::new(),
        }
    }
}

impl<'x> Coded<'x> {
    fn new(node: Node<'x>, attribute: &str) -> Self {
        let code = node.attribute(attribute).filter(|code| !code.is_empty());
        Coded {
            node,
            code: code.map(Arc::from),
            thrown: OnceCell::new(),
        }
    }
}

impl<'x> Definitions<'x> {
    pub(crate) fn new(root: Node<'x>) -> Self {
        let mut definitions = Definitions::default();
        for node in root.children() {
            let (Some(id), Some(name)) = (node.attribute("id"), bpmn_name(node)) else {
                continue;
            };
            if !definitions.insert(id, name, node) {
                definitions.repeated.push(node);
            }
        }
        definitions
    }

    /// `false` when there is one of this kind with this id already.
    fn insert(&mut self, id: &'x str, name: &str, node: Node<'x>) -> bool {
        fn new<'x, T>(map: &mut HashMap<&'x str, T>, id: &'x str, value: T) -> bool {
            let is_new = !map.contains_key(id);
            if is_new {
                map.insert(id, value);
            }
            is_new
        }
        let named = || NamedNode::new(node);
        match name {
            "message" => {
                let (named, correlation_key) = (named(), OnceCell::new());
                let message = Message {
                    named,
                    correlation_key,
                };
                new(&mut self.messages, id, message)
            }
            "signal" => new(&mut self.signals, id, named()),
            "error" => new(&mut self.errors, id, Coded::new(node, "errorCode")),
            "escalation" => {
                let escalation = Coded::new(node, "escalationCode");
                new(&mut self.escalations, id, escalation)
            }
            _ => true,
        }
    }

    /// Reports definitions that share an id: a reference to it would be ambiguous.
    pub(crate) fn check(&self, findings: &mut Findings) {
        for node in &self.repeated {
            let id = node.attribute("id").unwrap_or_default();
            let name = bpmn_name(*node).unwrap_or_default();
            let message = format!(
                "The id '{id}' is used by another {name} of this file. Give each {name} its own id"
            );
            findings.add(*node, Rule::DuplicateId, message);
        }
    }

    pub(crate) fn message(&self, reference: &str) -> Option<&Message<'x>> {
        resolve(&self.messages, reference)
    }

    pub(crate) fn signal(&self, reference: &str) -> Option<&NamedNode<'x>> {
        resolve(&self.signals, reference)
    }

    pub(crate) fn error(&self, reference: &str) -> Option<&Coded<'x>> {
        resolve(&self.errors, reference)
    }

    pub(crate) fn escalation(&self, reference: &str) -> Option<&Coded<'x>> {
        resolve(&self.escalations, reference)
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
    /// The index of each element of the process, filled before the elements are parsed. A multi-instance activity is known
    /// by its body, which has its place.
    pub indices: HashMap<&'x str, ElementIndex>,
    /// Targets of the process's associations by their sources.
    pub associations: HashMap<&'x str, Vec<&'x str>>,
    /// Link catch events by their scope and link name.
    pub links: HashMap<(ElementIndex, &'x str), ElementIndex>,
}

impl<'c, 'x> Context<'c, 'x> {
    pub(crate) fn new(definitions: &'c Definitions<'x>, findings: &'c mut Findings) -> Self {
        Context {
            definitions,
            findings,
            indices: HashMap::new(),
            associations: HashMap::new(),
            links: HashMap::new(),
        }
    }

    pub(crate) fn add(&mut self, node: Node<'_>, rule: Rule, message: impl Into<String>) {
        self.findings.add(node, rule, message);
    }

    /// The element named by a reference attribute; a finding when it is missing or names nothing in this process.
    pub(crate) fn reference(&mut self, node: Node<'x>, attribute: &str) -> Option<ElementIndex> {
        let Some(reference) = node.attribute(attribute).filter(|r| !r.is_empty()) else {
            self.add(
                node,
                Rule::ReferenceMissing,
                format!("The attribute '{attribute}' is missing. Connect the element in the model"),
            );
            return None;
        };
        let found = self.find(reference);
        if found.is_none() {
            self.add(node, Rule::ReferenceNotFound, format!("The attribute '{attribute}' names '{reference}', which is not an element of this process. Correct it, or add the element"));
        }
        found
    }

    /// The element of the process that a reference names.
    pub(crate) fn find(&self, reference: &str) -> Option<ElementIndex> {
        self.indices
            .get(reference)
            .or_else(|| self.indices.get(local_reference(reference)))
            .copied()
    }
}
