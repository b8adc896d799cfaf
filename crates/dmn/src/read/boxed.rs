//! Boxed expressions.

use std::sync::Arc;

use super::Reader;
use crate::error::Rule;
use crate::model::{Boxed, Definition, Entry, Invocation, Iteration, Logic, Relation, Text};
use crate::xml::{self, Node, dmn_name};

/// Boxed expressions nested deeper than this are refused.
const MAX_DEPTH: usize = 40;

const KINDS: [&str; 12] = [
    "literalExpression",
    "decisionTable",
    "context",
    "invocation",
    "list",
    "relation",
    "functionDefinition",
    "conditional",
    "filter",
    "for",
    "every",
    "some",
];

/// The boxed expressions directly inside an element.
fn expressions<'x>(node: Node<'x>) -> impl Iterator<Item = Node<'x>> {
    node.children()
        .filter(|child| dmn_name(*child).is_some_and(|name| KINDS.contains(&name)))
}

impl Reader<'_> {
    /// The boxed expression inside an element, if there is one.
    pub(super) fn logic(&mut self, node: Node<'_>, depth: usize) -> Option<Boxed> {
        let mut found = expressions(node);
        let first = found.next()?;
        if found.next().is_some() {
            let message = format!(
                "'{}' contains more than one expression. Keep one of them",
                node.tag_name().name()
            );
            self.findings.add(node, Rule::OnlyOneAllowed, message);
        }
        Some(self.boxed(first, depth))
    }

    /// The boxed expression inside an element, which must have one.
    fn part(&mut self, node: Node<'_>, depth: usize) -> Boxed {
        match self.logic(node, depth) {
            Some(boxed) => boxed,
            None => {
                let message = format!(
                    "'{}' contains no expression. Add one",
                    node.tag_name().name()
                );
                self.findings.add(node, Rule::ExpressionMissing, message);
                Boxed {
                    logic: Logic::Literal(Text::Empty),
                    kind: None,
                }
            }
        }
    }

    /// The boxed expression in the child of this name, which must be there.
    fn child_part(&mut self, node: Node<'_>, name: &'static str, depth: usize) -> Boxed {
        match xml::child(node, name) {
            Some(child) => self.part(child, depth),
            None => {
                let message = format!("'{}' has no child '{name}'. Add it", node.tag_name().name());
                self.findings.add(node, Rule::ElementMissing, message);
                Boxed {
                    logic: Logic::Literal(Text::Empty),
                    kind: None,
                }
            }
        }
    }

    fn boxed(&mut self, node: Node<'_>, depth: usize) -> Boxed {
        let kind = self.type_ref(node);
        if depth > MAX_DEPTH {
            let message = format!(
                "Boxed expressions are nested more than {MAX_DEPTH} deep. Split the decision"
            );
            self.findings.add(node, Rule::ModelTooLarge, message);
            return Boxed {
                logic: Logic::Literal(Text::Empty),
                kind,
            };
        }
        let depth = depth + 1;
        self.height = self.height.max(depth);
        let logic = match dmn_name(node).unwrap_or_default() {
            "decisionTable" => Logic::Table(Box::new(self.table(node))),
            "context" => self.context(node, depth),
            "invocation" => self.invocation(node, depth),
            "list" => Logic::List(
                expressions(node)
                    .map(|item| self.boxed(item, depth))
                    .collect(),
            ),
            "relation" => self.relation(node, depth),
            "functionDefinition" => Logic::Function(Arc::new(self.function(node, depth))),
            "conditional" => Logic::Conditional(Box::new([
                self.child_part(node, "if", depth),
                self.child_part(node, "then", depth),
                self.child_part(node, "else", depth),
            ])),
            "filter" => Logic::Filter(Box::new([
                self.child_part(node, "in", depth),
                self.child_part(node, "match", depth),
            ])),
            "for" => Logic::For(self.iteration(node, "return", depth)),
            "every" => Logic::Every(self.iteration(node, "satisfies", depth)),
            "some" => Logic::Some(self.iteration(node, "satisfies", depth)),
            _ => Logic::Literal(self.text(node)),
        };
        Boxed { logic, kind }
    }

    fn context(&mut self, node: Node<'_>, depth: usize) -> Logic {
        let mut entries: Vec<Entry> = Vec::new();
        let mut names = Names::default();
        let mut ended = false;
        for entry in xml::children(node, "contextEntry") {
            let variable = xml::child(entry, "variable");
            let name = variable
                .map(|variable| self.name(variable))
                .filter(|name| !name.is_empty());
            if ended {
                self.findings.add(
                    entry, Rule::ResultNotLast,
                    "Nothing may follow the result of a context (the entry without variable). Move it to the end",
                );
            }
            ended |= name.is_none();
            if let Some(name) = &name
                && !names.insert(Arc::clone(name))
            {
                let message = format!("The context has two entries '{name}'. Rename one of them");
                self.findings.add(entry, Rule::DuplicateName, message);
            }
            entries.push(Entry {
                name,
                kind: variable.and_then(|variable| self.type_ref(variable)),
                value: self.part(entry, depth),
            });
        }
        Logic::Context(entries)
    }

    fn invocation(&mut self, node: Node<'_>, depth: usize) -> Logic {
        let callee = self.part(node, depth);
        let mut bindings: Vec<(Arc<str>, Boxed)> = Vec::new();
        let mut names = Names::default();
        for binding in xml::children(node, "binding") {
            let name = xml::child(binding, "parameter")
                .map(|parameter| self.name(parameter))
                .unwrap_or_default();
            if name.is_empty() {
                self.findings.add(
                    binding,
                    Rule::ValueMissing,
                    "The binding of an invocation names no parameter. Give it one",
                );
            } else if !names.insert(Arc::clone(&name)) {
                let message = format!("The parameter '{name}' is bound twice. Remove one binding");
                self.findings.add(binding, Rule::DuplicateName, message);
            }
            // A binding without expression passes null.
            let value = self.logic(binding, depth).unwrap_or(Boxed {
                logic: Logic::Literal(Text::Empty),
                kind: None,
            });
            bindings.push((name, value));
        }
        Logic::Invocation(Box::new(Invocation { callee, bindings }))
    }

    fn relation(&mut self, node: Node<'_>, depth: usize) -> Logic {
        let columns: Vec<Arc<str>> = xml::children(node, "column")
            .map(|column| self.name(column))
            .collect();
        let mut rows = Vec::new();
        for row in xml::children(node, "row") {
            let cells: Vec<Boxed> = expressions(row)
                .map(|cell| self.boxed(cell, depth))
                .collect();
            if cells.len() != columns.len() {
                let message = format!(
                    "A row of the relation has {} cells, but there are {} columns. Give it one cell per column",
                    cells.len(),
                    columns.len()
                );
                self.findings.add(row, Rule::ColumnsDiffer, message);
            }
            rows.push(cells);
        }
        Logic::Relation(Relation { columns, rows })
    }

    fn iteration(&mut self, node: Node<'_>, body: &'static str, depth: usize) -> Box<Iteration> {
        let variable = node.attribute("iteratorVariable").unwrap_or_default();
        if variable.is_empty() {
            self.findings.add(
                node,
                Rule::ValueMissing,
                "The iteration has no 'iteratorVariable'. Name the variable of the items",
            );
        }
        let list = self.child_part(node, "in", depth);
        let body = self.child_part(node, body, depth);
        let mut names = Names::default();
        body.names(&mut names);
        Box::new(Iteration {
            variable: Arc::from(variable),
            list,
            body,
            reads_partial: names.contains("partial"),
        })
    }

    /// A function definition, or the encapsulated logic of a business knowledge model.
    pub(super) fn function(&mut self, node: Node<'_>, depth: usize) -> Definition {
        let mut parameters: Vec<(Arc<str>, _)> = Vec::new();
        let mut names = Names::default();
        for parameter in xml::children(node, "formalParameter") {
            let name = self.name(parameter);
            if !names.insert(Arc::clone(&name)) {
                let message = format!("The function has two parameters '{name}'. Rename one");
                self.findings.add(parameter, Rule::DuplicateName, message);
            }
            let kind = self.type_ref(parameter);
            parameters.push((name, kind));
        }
        let language = node.attribute("kind").unwrap_or("FEEL");
        let body = if language == "FEEL" {
            self.logic(node, depth).unwrap_or(Boxed {
                logic: Logic::Literal(Text::Empty),
                kind: None,
            })
        } else {
            let message = format!(
                "Functions of the kind '{language}' are not supported. Define the function in FEEL"
            );
            if !self.standard() {
                self.findings
                    .add(node, Rule::NotSupported, message.as_str());
            }
            Boxed {
                logic: Logic::Literal(Text::Broken {
                    text: language.to_owned(),
                    message,
                }),
                kind: None,
            }
        };
        let mut free = Names::default();
        body.names(&mut free);
        for (name, _) in &parameters {
            free.remove(name);
        }
        let mut free: Vec<Arc<str>> = free.into_iter().collect();
        free.sort();
        Definition {
            parameters,
            body,
            free,
        }
    }
}

/// The names that expressions may read.
pub(super) type Names = rustc_hash::FxHashSet<Arc<str>>;

impl Boxed {
    /// Adds the names that the expression may read.
    pub(super) fn names(&self, out: &mut Names) {
        match &self.logic {
            Logic::Literal(text) => text.names(out),
            Logic::Table(table) => {
                for text in table
                    .inputs
                    .iter()
                    .map(|input| &input.value)
                    .chain(table.outputs.iter().filter_map(|o| o.default.as_ref()))
                    .chain(table.rules.iter().flat_map(|rule| &rule.outputs))
                {
                    text.names(out);
                }
                for column in &table.columns {
                    out.extend(column.variables().cloned());
                }
            }
            Logic::Invocation(invocation) => {
                invocation.callee.names(out);
                for (_, value) in &invocation.bindings {
                    value.names(out);
                }
            }
            Logic::Context(entries) => entries.iter().for_each(|entry| entry.value.names(out)),
            Logic::List(items) => items.iter().for_each(|item| item.names(out)),
            Logic::Relation(relation) => {
                relation.rows.iter().flatten().for_each(|c| c.names(out));
            }
            Logic::Function(definition) => out.extend(definition.free.iter().cloned()),
            Logic::Conditional(parts) => parts.iter().for_each(|part| part.names(out)),
            Logic::Filter(parts) => parts.iter().for_each(|part| part.names(out)),
            Logic::For(iteration) | Logic::Every(iteration) | Logic::Some(iteration) => {
                iteration.list.names(out);
                iteration.body.names(out);
            }
        }
    }
}

impl Text {
    fn names(&self, out: &mut Names) {
        if let Text::Feel(expression) = self {
            out.extend(expression.variables().iter().cloned());
        }
    }
}
