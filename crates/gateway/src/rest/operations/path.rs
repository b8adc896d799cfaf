//! Parameters of paths: their formats, and how they are read.

use std::fmt;

use skep_protocol::value::KeptKind;
use skep_protocol::{Failure, Key};

use crate::check;
use crate::rest::decode;

/// The most parameters that a path has.
pub const MAX_PARAMETERS: usize = 2;

/// The texts of a path's parameters, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts<'p>([&'p str; MAX_PARAMETERS]);

impl<'p> Texts<'p> {
    /// A surplus parameter is left out: the table does not compile with such a path.
    pub fn set(&mut self, at: usize, text: &'p str) {
        if let Some(place) = self.0.get_mut(at) {
            *place = text;
        }
    }

    /// Those after the last are empty.
    pub fn iter(&self) -> impl Iterator<Item = &'p str> + use<'p> {
        self.0.into_iter()
    }

    pub fn first(&self) -> &'p str {
        self.0.first().copied().unwrap_or_default()
    }
}

/// A parameter of a path, as its row names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
}

/// The format of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A decimal number of 64 bits.
    Key,
    /// The key of a decision instance: that of the evaluation, and a number within it.
    EvaluationKey,
    /// Letters and digits of ASCII, and some signs.
    Name,
    Text,
    Number,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A type that a path parameter can be read as.
pub trait FromPath<'p>: Sized {
    const KIND: Kind;

    /// Refuses text of the wrong format; `name` is the parameter's name.
    fn read(name: &'static str, text: &'p str) -> Result<Self, Failure>;
}

impl FromPath<'_> for Key {
    const KIND: Kind = Kind::Key;

    fn read(name: &'static str, text: &str) -> Result<Key, Failure> {
        decode::key(name, text)
    }
}

/// A key that the API documents as any text; text that is not a key matches nothing.
#[derive(Clone, Copy, Debug)]
pub struct AnyKey<'p>(pub &'p str);

impl AnyKey<'_> {
    pub fn key(&self) -> Option<Key> {
        decode::parse_key(self.0)
    }
}

impl<'p> FromPath<'p> for AnyKey<'p> {
    const KIND: Kind = Kind::Key;

    fn read(_: &'static str, text: &'p str) -> Result<AnyKey<'p>, Failure> {
        Ok(AnyKey(text))
    }
}

/// Likewise, text that is not such a key matches nothing.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationKey<'p>(pub &'p str);

impl<'p> FromPath<'p> for EvaluationKey<'p> {
    const KIND: Kind = Kind::EvaluationKey;

    fn read(_: &'static str, text: &'p str) -> Result<EvaluationKey<'p>, Failure> {
        Ok(EvaluationKey(text))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Name<'p>(pub &'p str);

impl<'p> FromPath<'p> for Name<'p> {
    const KIND: Kind = Kind::Name;

    fn read(name: &'static str, text: &'p str) -> Result<Name<'p>, Failure> {
        check::name(name, text)?;
        Ok(Name(text))
    }
}

/// The id of a named entity: a user, a group, a tenant. The decoder checks its form, together with the rest of the request; a
/// request that only reads an impossible id gets a 404.
#[derive(Clone, Copy, Debug)]
pub struct Id<'p>(pub &'p str);

impl<'p> FromPath<'p> for Id<'p> {
    const KIND: Kind = Kind::Name;

    fn read(_: &'static str, text: &'p str) -> Result<Id<'p>, Failure> {
        Ok(Id(text))
    }
}

pub type Text<'p> = &'p str;

impl<'p> FromPath<'p> for Text<'p> {
    const KIND: Kind = Kind::Text;

    fn read(_: &'static str, text: &'p str) -> Result<Text<'p>, Failure> {
        Ok(text)
    }
}

impl FromPath<'_> for KeptKind {
    const KIND: Kind = Kind::Text;

    fn read(name: &'static str, text: &str) -> Result<KeptKind, Failure> {
        let found = KeptKind::ALL.into_iter().find(|kind| kind.name() == text);
        found.map_or_else(
            || {
                check::invalid(format!(
                    "The path names '{text}' as {name}: what is kept is views, drafts or models."
                ))
            },
            Ok,
        )
    }
}

/// The name that a user has given something.
#[derive(Clone, Copy, Debug)]
pub struct Title<'p>(pub &'p str);

/// Characters of a [`Title`].
const MAX_TITLE: usize = 200;

impl<'p> FromPath<'p> for Title<'p> {
    const KIND: Kind = Kind::Text;

    fn read(name: &'static str, text: &'p str) -> Result<Title<'p>, Failure> {
        let count = text.chars().count();
        if !(1..=MAX_TITLE).contains(&count) || text.chars().any(char::is_control) {
            return check::invalid(format!(
                "The {name} has {count} characters: it may have 1 to {MAX_TITLE}, and no control characters."
            ));
        }
        Ok(Title(text))
    }
}

/// Whether the braces of a template name these parameters, in this order, and no others.
pub const fn are_those_of(parameters: &[Parameter], template: &str) -> bool {
    let (mut rest, mut parameters) = (template.as_bytes(), parameters);
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'{' {
            continue;
        }
        let [parameter, others @ ..] = parameters else {
            return false;
        };
        parameters = others;
        let mut name = parameter.name.as_bytes();
        while let ([expected, names @ ..], [byte, after @ ..]) = (name, rest) {
            if *expected != *byte {
                return false;
            }
            (name, rest) = (names, after);
        }
        if !name.is_empty() || !matches!(rest, [b'}', ..]) {
            return false;
        }
    }
    parameters.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_template() {
        let named = |names: &[&'static str]| -> Vec<Parameter> {
            let kind = Kind::Text;
            names.iter().map(|&name| Parameter { name, kind }).collect()
        };
        for (template, names, same) in [
            ("/v2/topology", vec![], true),
            ("/v2/jobs/{jobKey}", vec!["jobKey"], true),
            ("/v2/{a}/{b}", vec!["a", "b"], true),
            ("/v2/{a}/{b}", vec!["b", "a"], false),
            ("/v2/{a}/{b}", vec!["a"], false),
            ("/v2/{a}", vec!["a", "b"], false),
            ("/v2/{ab}", vec!["a"], false),
            ("/v2/{a}", vec!["ab"], false),
        ] {
            assert_eq!(are_those_of(&named(&names), template), same, "{template}");
        }
    }
}
