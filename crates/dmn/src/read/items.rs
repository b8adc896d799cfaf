//! Item definitions.

use std::sync::Arc;

use skep_feel::UnaryTests;

use super::Reader;
use crate::error::Rule;
use crate::types::{ItemType, Shape, TypeId, Types};
use crate::xml::{self, Node};

/// Components nested deeper than this are refused.
const MAX_DEPTH: usize = 50;

impl Reader<'_> {
    /// Reads the item definitions, which may refer to each other in any order.
    pub(super) fn item_definitions(&mut self, root: Node<'_>) {
        if !self.standard() {
            return;
        }
        let mut types = Types::default();
        let mut declared: Vec<(TypeId, Node<'_>)> = Vec::new();
        for node in xml::children(root, "itemDefinition") {
            let name = node.attribute("name").unwrap_or_default();
            match types.declare(name) {
                Some(id) => declared.push((id, node)),
                None => self.findings.add(
                    node,
                    Rule::DuplicateName,
                    format!("The item definition '{name}' is declared twice. Rename one of them"),
                ),
            }
        }
        for (id, node) in declared {
            let kind = self.item_type(node, &mut types, 0);
            types.set(id, kind);
        }
        if let Some(name) = types.alias_cycle() {
            let message =
                format!("The item definition '{name}' refers to itself. Give it another type");
            self.findings.add(root, Rule::RequiresItself, message);
        }
        self.types = Arc::new(types);
        self.feel_types = self.types.for_feel();
    }

    fn item_type(&mut self, node: Node<'_>, types: &mut Types, depth: usize) -> ItemType {
        let mut kind = ItemType {
            shape: Shape::Any,
            collection: node.attribute("isCollection") == Some("true"),
            allowed: xml::child(node, "allowedValues").and_then(|values| self.values(values)),
        };
        if depth > MAX_DEPTH {
            let message =
                format!("Item components are nested more than {MAX_DEPTH} deep. Flatten the type");
            self.findings.add(node, Rule::ModelTooLarge, message);
            return kind;
        }
        if let Some(function) = xml::child(node, "functionItem") {
            let result = function
                .attribute("outputTypeRef")
                .and_then(|reference| types.find(reference));
            kind.shape = Shape::Function(result);
        } else if xml::child(node, "itemComponent").is_some() {
            let mut fields: Vec<(Arc<str>, TypeId)> = Vec::new();
            for component in xml::children(node, "itemComponent") {
                let field = self.item_type(component, types, depth + 1);
                let name = component.attribute("name").unwrap_or_default();
                fields.push((Arc::from(name), types.add(field)));
            }
            kind.shape = Shape::Context(fields);
        } else if let Some(reference) = xml::child(node, "typeRef").map(xml::text)
            && let Some(target) = types.find(&reference)
        {
            kind.shape = Shape::Alias(target);
        }
        kind
    }

    /// Allowed values, as unary tests.
    pub(super) fn values(&mut self, node: Node<'_>) -> Option<UnaryTests> {
        match self.cell(node) {
            crate::matcher::Cell::Tests(tests) => Some(tests),
            _ => None,
        }
    }
}
