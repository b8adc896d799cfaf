//! `zeebe:ioMapping`: input and output mappings between scopes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::Context;
use crate::error::Rule;
use crate::graph::{Mapping, MappingSource, TextValue};
use crate::value;
use crate::xml::{self, Node};

/// Inputs and outputs, one per variable. `None` after a mapping that could not be read.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    context: &mut Context<'_, 'x>,
) -> Option<(Vec<Mapping>, Vec<Mapping>)> {
    let (mut inputs, mut outputs) = (Targets::default(), Targets::default());
    let children = xml::extensions(node, "ioMapping")
        .flat_map(|mapping| mapping.children())
        .filter(|child| child.is_element());
    for child in children {
        match child.tag_name().name() {
            "input" => inputs.set(target(child, context), input(child, context)),
            "output" => outputs.set(target(child, context), output(child, context)),
            other => context.add(
                child,
                Rule::UnknownElement,
                format!(
                    "The element '{other}' is not known inside of 'zeebe:ioMapping'. Remove it"
                ),
            ),
        }
    }
    let complete = !inputs.incomplete && !outputs.incomplete;
    complete.then(|| (inputs.into_mappings(), outputs.into_mappings()))
}

fn target(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<Vec<Arc<str>>> {
    value::path(node, "target", context.findings)
}

/// The source of an input may be constant; without one, or with an empty one, the variable is null.
fn input(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<MappingSource> {
    let source = node.attribute("source").unwrap_or_default();
    let what = "The source of the input mapping";
    match value::text_value(node, what, source, context.findings)? {
        TextValue::Expression(expression) => Some(MappingSource::Expression(expression)),
        TextValue::Static(text) if text.is_empty() => Some(MappingSource::Constant("null".into())),
        TextValue::Static(text) => {
            let json = serde_json::Value::from(&*text).to_string();
            Some(MappingSource::Constant(json.into()))
        }
    }
}

/// The source of an output is an expression.
fn output(node: Node<'_>, context: &mut Context<'_, '_>) -> Option<MappingSource> {
    let source = value::required_expression(node, "source", context.findings);
    source.map(MappingSource::Expression)
}

/// The targets of one element as a tree, in the order of their first occurrence. A repeated target replaces the previous one
/// and keeps its place, whether that was a value or an object.
#[derive(Default)]
struct Targets {
    list: Vec<(Arc<str>, Target)>,
    /// By name: there may be very many.
    places: HashMap<Arc<str>, usize>,
    /// A mapping is missing.
    incomplete: bool,
}

enum Target {
    Value(MappingSource),
    Object(Targets),
}

impl Targets {
    fn set(&mut self, path: Option<Vec<Arc<str>>>, source: Option<MappingSource>) {
        match (path, source) {
            (Some(path), Some(source)) => self.set_at(&path, source),
            _ => self.incomplete = true,
        }
    }

    fn set_at(&mut self, path: &[Arc<str>], source: MappingSource) {
        let Some((name, rest)) = path.split_first() else {
            return;
        };
        let next = self.list.len();
        let place = *self.places.entry(name.clone()).or_insert(next);
        if place == next {
            self.list
                .push((name.clone(), Target::Object(Targets::default())));
        }
        let Some((_, target)) = self.list.get_mut(place) else {
            return;
        };
        match target {
            target if rest.is_empty() => *target = Target::Value(source),
            Target::Object(inner) => inner.set_at(rest, source),
            Target::Value(_) => {
                let mut inner = Targets::default();
                inner.set_at(rest, source);
                *target = Target::Object(inner);
            }
        }
    }

    fn into_mappings(self) -> Vec<Mapping> {
        let mapping = |(name, target)| Mapping {
            target: name,
            source: match target {
                Target::Value(source) => source,
                Target::Object(inner) => MappingSource::Object(inner.into_mappings()),
            },
        };
        self.list.into_iter().map(mapping).collect()
    }
}
