//! Where variables come from.

use std::collections::HashMap;

use crate::json::{self, JsonError};
use crate::value::Value;

/// The value that a name is bound to.
#[derive(Clone, Copy)]
pub enum Binding<'a> {
    /// JSON text that is known to be valid; only the part an expression needs is read.
    Json(&'a str),
    /// A value.
    Value(&'a Value),
}

/// The variables that an expression sees.
pub trait Scope {
    /// The variable of this name. Asked at most once per evaluation for each root name.
    fn get(&self, name: &str) -> Option<Binding<'_>>;
}

/// No variables.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyScope;

impl Scope for EmptyScope {
    fn get(&self, _name: &str) -> Option<Binding<'_>> {
        None
    }
}

/// Variables as values.
#[derive(Clone, Debug, Default)]
pub struct MapScope(pub HashMap<String, Value>);

impl Scope for MapScope {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        self.0.get(name).map(Binding::Value)
    }
}

/// The members of a JSON object as variables.
#[derive(Clone, Debug, Default)]
pub struct JsonScope {
    text: String,
    /// Name and where its value stands in the text, sorted by name.
    members: Vec<(Box<str>, std::ops::Range<usize>)>,
}

impl JsonScope {
    /// Checks the text and finds its members. Fails when it is not a JSON object.
    pub fn parse(text: &str) -> Result<JsonScope, JsonError> {
        let Value::Context(_) = Value::from_json(text)? else {
            return Err(JsonError {
                offset: 0,
                message: "expected an object",
            });
        };
        let start = text.as_ptr() as usize;
        let mut members: Vec<_> = json::members(text)
            .map(|(key, value)| {
                let name = json::unescape(key).unwrap_or_default();
                let at = value.as_ptr() as usize - start;
                (name.into_boxed_str(), at..at + value.len())
            })
            .collect();
        members.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(JsonScope {
            text: text.to_owned(),
            members,
        })
    }
}

impl Scope for JsonScope {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        let position = self
            .members
            .binary_search_by(|(key, _)| (**key).cmp(name))
            .ok()?;
        let (_, range) = self.members.get(position)?;
        self.text.get(range.clone()).map(Binding::Json)
    }
}

impl<S: Scope + ?Sized> Scope for &S {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        (**self).get(name)
    }
}
