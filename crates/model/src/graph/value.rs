//! Values of the graph: texts that may be expressions, bindings, mappings.

use std::sync::Arc;

use skep_feel::Expression;

/// The version of a called resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    Latest,
    Deployment,
    VersionTag(Arc<str>),
}

/// A constant text, or a FEEL expression (an attribute that starts with `=`).
#[derive(Clone, Debug)]
pub enum TextValue {
    Static(Arc<str>),
    Expression(Expression),
}

impl TextValue {
    /// The text, if it is constant.
    pub fn as_static(&self) -> Option<&str> {
        match self {
            TextValue::Static(text) => Some(text),
            TextValue::Expression(_) => None,
        }
    }
}

/// A constant list of texts (comma-separated in the model), or an expression that yields one.
#[derive(Clone, Debug)]
pub enum TextList {
    Static(Vec<Arc<str>>),
    Expression(Expression),
}

/// An input or output mapping: the value for one variable, or for one part of an object.
#[derive(Debug)]
pub struct Mapping {
    pub target: Arc<str>,
    pub source: MappingSource,
}

#[derive(Debug)]
pub enum MappingSource {
    /// The JSON text of a constant.
    Constant(Arc<str>),
    Expression(Expression),
    /// Mappings whose targets are parts of this one: `order.id` is a mapping `id` within the object `order`. Nested at most
    /// as deep as a target path may be long, 200 names.
    Object(Vec<Mapping>),
}
