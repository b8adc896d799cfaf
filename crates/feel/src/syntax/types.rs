//! Type names, after `instance of` and for parameters.

use std::sync::Arc;

use super::ParseError;
use super::ast::Type;
use super::lexer::Kind;
use super::parser::Parser;

/// Deepest nesting of a type.
const MAX_TYPE_DEPTH: u32 = 20;

impl Parser<'_> {
    /// A type and the height of its tree.
    pub(super) fn type_name(&mut self, depth: u32) -> Result<(Type, u32), ParseError> {
        if depth > MAX_TYPE_DEPTH {
            return Err(self.error_here(format!(
                "the type is nested more than {MAX_TYPE_DEPTH} levels"
            )));
        }
        let kind = match self.peek().clone() {
            Kind::Word(word) => match &*word {
                "list" if self.is_symbol_at(1, "<") => {
                    self.open_type();
                    let inner = self.type_name(depth + 1)?.0;
                    self.expect_symbol(">")?;
                    Type::List(Box::new(inner))
                }
                "range" if self.is_symbol_at(1, "<") => {
                    self.open_type();
                    let inner = self.type_name(depth + 1)?.0;
                    self.expect_symbol(">")?;
                    Type::Range(Box::new(inner))
                }
                "context" if self.is_symbol_at(1, "<") => {
                    self.open_type();
                    self.context_type(depth)?
                }
                "function" if self.is_symbol_at(1, "<") => {
                    self.open_type();
                    self.function_type(depth)?
                }
                _ => self.plain_type()?,
            },
            Kind::Name(name) => {
                self.advance();
                Type::Other(name)
            }
            // `instance of null`
            _ => return Err(self.unexpected("the name of a type")),
        };
        Ok((kind, MAX_TYPE_DEPTH - depth.min(MAX_TYPE_DEPTH - 1)))
    }

    fn open_type(&mut self) {
        self.advance();
        self.advance();
    }

    fn context_type(&mut self, depth: u32) -> Result<Type, ParseError> {
        let mut fields: Vec<(Arc<str>, Type)> = Vec::new();
        while !self.take_symbol(">") {
            let name = match self.peek().clone() {
                Kind::Word(name) | Kind::Name(name) | Kind::String(name) => name,
                _ => return Err(self.unexpected("a key")),
            };
            self.advance();
            self.expect_symbol(":")?;
            fields.push((name, self.type_name(depth + 1)?.0));
            if !self.take_symbol(",") {
                self.expect_symbol(">")?;
                break;
            }
        }
        Ok(Type::Context(fields))
    }

    fn function_type(&mut self, depth: u32) -> Result<Type, ParseError> {
        let mut parameters = Vec::new();
        while !self.take_symbol(">") {
            parameters.push(self.type_name(depth + 1)?.0);
            if !self.take_symbol(",") {
                self.expect_symbol(">")?;
                break;
            }
        }
        self.expect_symbol("->")?;
        let result = self.type_name(depth + 1)?.0;
        Ok(Type::Function(parameters, Box::new(result)))
    }

    fn plain_type(&mut self) -> Result<Type, ParseError> {
        const LONG: [(&[&str], Type); 4] = [
            (&["date", "and", "time"], Type::DateTime),
            (&["days", "and", "time", "duration"], Type::DayTimeDuration),
            (&["day", "and", "time", "duration"], Type::DayTimeDuration),
            (
                &["years", "and", "months", "duration"],
                Type::YearMonthDuration,
            ),
        ];
        for (words, kind) in LONG {
            if words
                .iter()
                .enumerate()
                .all(|(at, word)| self.is_word_at(at, word))
            {
                words.iter().for_each(|_| self.advance());
                return Ok(kind);
            }
        }
        // XML Schema's names with hyphens.
        const HYPHENATED: [([&str; 3], Type); 3] = [
            (["day", "time", "duration"], Type::DayTimeDuration),
            (["year", "month", "duration"], Type::YearMonthDuration),
            (["date", "time", ""], Type::DateTime),
        ];
        for (words, kind) in HYPHENATED {
            let count = words.iter().filter(|w| !w.is_empty()).count();
            let matches = (0..count).all(|at| {
                self.is_word_at(2 * at, words.get(at).copied().unwrap_or_default())
                    && (at + 1 == count || self.is_symbol_at(2 * at + 1, "-"))
            });
            if matches {
                (0..2 * count - 1).for_each(|_| self.advance());
                return Ok(kind);
            }
        }
        let Kind::Word(word) = self.peek().clone() else {
            return Err(self.unexpected("the name of a type"));
        };
        self.advance();
        Ok(match &*word {
            "Any" => Type::Any,
            "Null" | "null" => Type::Null,
            "boolean" => Type::Boolean,
            "number" => Type::Number,
            "string" => Type::String,
            "date" => Type::Date,
            "time" => Type::Time,
            "dateTime" => Type::DateTime,
            "list" => Type::List(Box::new(Type::Any)),
            "context" => Type::Context(Vec::new()),
            "range" => Type::Range(Box::new(Type::Any)),
            "function" => Type::Function(Vec::new(), Box::new(Type::Any)),
            _ => Type::Other(word),
        })
    }
}
