//! The functions that every expression can call.

mod arguments;
mod boolean;
mod context;
mod conversion;
mod cycle;
mod list;
mod numeric;
mod pattern;
mod range;
mod statistics;
mod string;
mod table;
mod temporal;

pub(crate) use pattern::Pattern;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::eval::Evaluator;
use crate::{Value, WarningCode, prices};
use arguments::paid;

/// Why a builtin yields null.
pub(crate) struct Failure {
    pub code: WarningCode,
    pub message: String,
    /// The message is complete: it does not get the name of the function in front.
    pub plain: bool,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        Failure {
            code: WarningCode::FunctionInvocationFailure,
            message: message.into(),
            plain: false,
        }
    }
}

pub(crate) type Outcome = Result<Value, Failure>;
type Run = fn(&mut Evaluator<'_>, &[Value]) -> Outcome;

/// The parameters of one overload.
pub(crate) struct Signature {
    pub parameters: &'static [&'static str],
    /// The last parameter may be given any number of times. By name it cannot be given.
    pub variadic: bool,
    /// The name under which all arguments can be given as one list.
    pub together: Option<&'static str>,
}

/// The cost of a call, in steps; some builtins charge more while they work.
#[derive(Clone, Copy)]
pub(crate) enum Price {
    /// Always the same.
    Flat(usize),
    /// Besides, the work of reading the arguments once, without the values inside.
    Read(usize),
    /// Besides, the work of walking through everything inside of the arguments.
    Walk(usize),
}

impl Price {
    fn of(self, arguments: &[Value]) -> usize {
        match self {
            Price::Flat(steps) => steps,
            Price::Read(steps) => steps + arguments.iter().map(prices::read).sum::<usize>(),
            Price::Walk(steps) => steps + arguments.iter().map(prices::walk).sum::<usize>(),
        }
    }
}

pub(crate) struct Builtin {
    name: &'static str,
    group: &'static str,
    summary: &'static str,
    signatures: &'static [Signature],
    run: Run,
    price: Price,
    /// The result depends on the arguments alone.
    pure: bool,
    /// An expression that shows the function, and its result.
    example: (&'static str, &'static str),
}

impl Builtin {
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn signatures(&self) -> &'static [Signature] {
        self.signatures
    }

    pub fn is_pure(&self) -> bool {
        self.pure
    }

    /// Whether it can be called with so many positional arguments.
    pub fn accepts(&self, count: usize) -> bool {
        self.signatures.iter().any(|signature| {
            if signature.variadic {
                count >= 1
            } else {
                signature.parameters.len() == count
            }
        })
    }

    /// Whether this name represents a list of all arguments.
    pub fn takes_together(&self, name: &str) -> bool {
        self.signatures
            .iter()
            .any(|signature| signature.together == Some(name))
    }

    /// For each parameter in order, which of the named arguments it gets.
    pub fn arrange(&self, names: &[&str]) -> Option<Vec<Option<usize>>> {
        let signature = self.signatures.iter().find(|signature| {
            !signature.variadic
                && signature.parameters.len() == names.len()
                && names.iter().all(|name| signature.parameters.contains(name))
        });
        let order = signature?
            .parameters
            .iter()
            .map(|p| names.iter().position(|name| name == p));
        Some(order.collect())
    }

    pub fn run(&self, evaluator: &mut Evaluator<'_>, arguments: &[Value]) -> Outcome {
        paid(evaluator, self.price.of(arguments))?;
        (self.run)(evaluator, arguments)
    }
}

/// The builtin of this name.
pub(crate) fn find(name: &str) -> Option<&'static Builtin> {
    static INDEX: OnceLock<HashMap<&'static str, &'static Builtin>> = OnceLock::new();
    INDEX
        .get_or_init(|| {
            table::all()
                .map(|builtin| (builtin.name, builtin))
                .collect()
        })
        .get(name)
        .copied()
}

/// The names of several words that begin with this word.
pub(crate) fn names_beginning_with(word: &str) -> impl Iterator<Item = &'static str> {
    table::all()
        .map(|builtin| builtin.name)
        .filter(move |name| {
            name.strip_prefix(word)
                .is_some_and(|rest| rest.starts_with(' '))
        })
}

/// A builtin, described for documentation and completion.
#[derive(Clone, Debug)]
pub struct FunctionInfo {
    /// The name, with spaces.
    pub name: &'static str,
    /// The kind of function, for example `string`.
    pub group: &'static str,
    /// Description of the function.
    pub summary: &'static str,
    /// Each overload as `name(parameter, parameter)`.
    pub signatures: Vec<String>,
    /// An expression that calls it.
    pub example: &'static str,
    /// Result of the example, as a FEEL expression.
    pub result: &'static str,
}

/// All builtins, in the order of the documentation.
pub fn functions() -> Vec<FunctionInfo> {
    table::all()
        .map(|builtin| FunctionInfo {
            name: builtin.name,
            group: builtin.group,
            summary: builtin.summary,
            signatures: builtin
                .signatures
                .iter()
                .map(|s| {
                    format!(
                        "{}({}{})",
                        builtin.name,
                        s.parameters.join(", "),
                        if s.variadic { ", …" } else { "" }
                    )
                })
                .collect(),
            example: builtin.example.0,
            result: builtin.example.1,
        })
        .collect()
}
