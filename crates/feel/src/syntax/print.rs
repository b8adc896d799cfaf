//! Syntax tree to text that reads back as the same tree.

use std::fmt::{self, Display, Formatter};

use super::ast::{Expr, Iterator, Source, Test, Type};
use super::names::is_plain_name;
use crate::builtins;
use crate::value::write_quoted;

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Null => f.write_str("null"),
            Expr::Boolean(value) => write!(f, "{value}"),
            Expr::Number(value) => write!(f, "{value}"),
            Expr::String(text) => write_quoted(f, text),
            Expr::Temporal(text, _) => {
                f.write_str("@")?;
                write_quoted(f, text)
            }
            Expr::Name(name) => write_name(f, name),
            Expr::Input => f.write_str("?"),
            Expr::List(items) => {
                f.write_str("[")?;
                separated(f, items, |f, item| write!(f, "{item}"))?;
                f.write_str("]")
            }
            Expr::Context(entries) => {
                f.write_str("{")?;
                separated(f, entries, |f, (key, value)| {
                    write_key(f, key)?;
                    write!(f, ": {value}")
                })?;
                f.write_str("}")
            }
            Expr::Range(range) => write!(
                f,
                "{}{}..{}{}",
                if range.start_included { '[' } else { '(' },
                Operand(&range.start),
                RangeEnd(&range.end),
                if range.end_included { ']' } else { ')' }
            ),
            Expr::Comparison(op, bound) => write!(f, "({} {})", op.symbol(), Operand(bound)),
            Expr::Negate(operand) => write!(f, "-{}", Operand(operand)),
            Expr::Arithmetic(first, rest) => {
                write!(f, "{}", Operand(first))?;
                rest.iter().try_for_each(|(op, operand)| {
                    write!(f, " {} {}", op.symbol(), Operand(operand))
                })
            }
            Expr::Compare(op, left, right) => {
                write!(f, "{} {} {}", Operand(left), op.symbol(), Operand(right))
            }
            Expr::Between(value, low, high) => {
                write!(
                    f,
                    "{} between {} and {}",
                    Operand(value),
                    Operand(low),
                    Operand(high)
                )
            }
            Expr::In(value, tests) => {
                write!(f, "{} in (", Operand(value))?;
                separated(f, tests, |f, test| write!(f, "{test}"))?;
                f.write_str(")")
            }
            Expr::And(terms) => junction(f, terms, " and "),
            Expr::Or(terms) => junction(f, terms, " or "),
            Expr::If(branches, last) => {
                for (condition, then) in branches {
                    write!(f, "if {} then {} else ", Operand(condition), Operand(then))?;
                }
                write!(f, "{}", Operand(last))
            }
            Expr::For(iterators, body) => {
                f.write_str("for ")?;
                separated(f, iterators, |f, iterator| write!(f, "{iterator}"))?;
                write!(f, " return {}", Operand(body))
            }
            Expr::Some(iterators, body) => {
                f.write_str("some ")?;
                separated(f, iterators, |f, iterator| write!(f, "{iterator}"))?;
                write!(f, " satisfies {}", Operand(body))
            }
            Expr::Every(iterators, body) => {
                f.write_str("every ")?;
                separated(f, iterators, |f, iterator| write!(f, "{iterator}"))?;
                write!(f, " satisfies {}", Operand(body))
            }
            Expr::InstanceOf(value, kind) => write!(f, "{} instance of {kind}", Operand(value)),
            Expr::Path(base, name) => {
                write!(f, "{}.", Operand(base))?;
                write_property(f, name)
            }
            Expr::Filter(list, filter) => write!(f, "{}[{filter}]", Operand(list)),
            Expr::Call(callee, arguments) => {
                write_callee(f, callee)?;
                f.write_str("(")?;
                separated(f, arguments, |f, argument| write!(f, "{argument}"))?;
                f.write_str(")")
            }
            Expr::CallNamed(callee, arguments) => {
                write_callee(f, callee)?;
                f.write_str("(")?;
                separated(f, arguments, |f, (name, argument)| {
                    write_key(f, name)?;
                    write!(f, ": {argument}")
                })?;
                f.write_str(")")
            }
            Expr::Function(parameters, body) => {
                f.write_str("function(")?;
                separated(f, parameters, |f, (name, kind)| {
                    write_name(f, name)?;
                    match kind {
                        Some(kind) => write!(f, ": {kind}"),
                        None => Ok(()),
                    }
                })?;
                write!(f, ") {}", Operand(body))
            }
        }
    }
}

/// Puts everything that is not a single operand in parentheses.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let single = match self.0 {
            Expr::Number(number) => !number.is_negative(),
            Expr::Null
            | Expr::Boolean(_)
            | Expr::String(_)
            | Expr::Temporal(..)
            | Expr::Name(_)
            | Expr::Input
            | Expr::List(_)
            | Expr::Context(_)
            | Expr::Range(_)
            | Expr::Comparison(..)
            | Expr::Path(..)
            | Expr::Filter(..)
            | Expr::Call(..)
            | Expr::CallNamed(..) => true,
            _ => false,
        };
        if single {
            write!(f, "{}", self.0)
        } else {
            write!(f, "({})", self.0)
        }
    }
}

/// A filter at the end of a range is put in parentheses, so that its bracket does not close the range.
struct RangeEnd<'a>(&'a Expr);

impl Display for RangeEnd<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Filter(..) | Expr::Path(..) | Expr::Call(..) | Expr::CallNamed(..) => {
                write!(f, "({})", self.0)
            }
            other => write!(f, "{}", Operand(other)),
        }
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Test::Any => f.write_str("-"),
            Test::Compare(op, bound) => write!(f, "{} {}", op.symbol(), Operand(bound)),
            Test::Value(value) => write!(f, "{}", Operand(value)),
            Test::Not(tests) => {
                f.write_str("not(")?;
                separated(f, tests, |f, test| write!(f, "{test}"))?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Iterator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_name(f, &self.name)?;
        match &self.source {
            Source::List(list) => write!(f, " in {}", Operand(list)),
            Source::Range(first, last) => write!(f, " in {}..{}", Operand(first), Operand(last)),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("Any"),
            Type::Null => f.write_str("Null"),
            Type::Boolean => f.write_str("boolean"),
            Type::Number => f.write_str("number"),
            Type::String => f.write_str("string"),
            Type::Date => f.write_str("date"),
            Type::Time => f.write_str("time"),
            Type::DateTime => f.write_str("date and time"),
            Type::YearMonthDuration => f.write_str("years and months duration"),
            Type::DayTimeDuration => f.write_str("days and time duration"),
            Type::List(inner) => write!(f, "list<{inner}>"),
            Type::Range(inner) => write!(f, "range<{inner}>"),
            Type::Context(fields) => {
                f.write_str("context<")?;
                separated(f, fields, |f, (key, kind)| {
                    write_key(f, key)?;
                    write!(f, ": {kind}")
                })?;
                f.write_str(">")
            }
            Type::Function(parameters, result) => {
                f.write_str("function<")?;
                separated(f, parameters, |f, kind| write!(f, "{kind}"))?;
                write!(f, "> -> {result}")
            }
            Type::Other(name) => write!(f, "`{name}`"),
        }
    }
}

fn separated<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    mut write: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}

fn junction(f: &mut Formatter<'_>, terms: &[Expr], word: &str) -> fmt::Result {
    for (index, term) in terms.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        write!(f, "{}", Operand(term))?;
    }
    Ok(())
}

/// With backticks where the plain word would read as something else.
fn write_name(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    let begins_builtin = builtins::names_beginning_with(name).next().is_some();
    if is_plain_name(name) && name != "external" && !begins_builtin {
        f.write_str(name)
    } else {
        write!(f, "`{name}`")
    }
}

fn write_property(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    if is_plain_name(name) && !matches!(name, "time" | "start" | "end") {
        f.write_str(name)
    } else {
        write!(f, "`{name}`")
    }
}

fn write_key(f: &mut Formatter<'_>, key: &str) -> fmt::Result {
    if is_plain_name(key) {
        f.write_str(key)
    } else {
        write_quoted(f, key)
    }
}

fn write_callee(f: &mut Formatter<'_>, callee: &Expr) -> fmt::Result {
    match callee {
        // Builtin names of several words are read as one in front of a call.
        Expr::Name(name) if builtins::find(name).is_some() => f.write_str(name),
        other => write!(f, "{}", Operand(other)),
    }
}
