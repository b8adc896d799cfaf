//! The syntax tree.

use std::sync::Arc;

use crate::number::Number;
use crate::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Null,
    Boolean(bool),
    Number(Number),
    String(Arc<str>),
    /// `@"…"` with the value of its text.
    Temporal(Arc<str>, Value),
    Name(Arc<str>),
    /// `?`, the value under test.
    Input,
    List(Vec<Expr>),
    Context(Vec<(Arc<str>, Expr)>),
    Range(Box<RangeExpr>),
    /// `(< 5)` as a value.
    Comparison(CompareOp, Box<Expr>),
    Negate(Box<Expr>),
    /// Operators of one precedence from left to right.
    Arithmetic(Box<Expr>, Vec<(ArithmeticOp, Expr)>),
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    Between(Box<Expr>, Box<Expr>, Box<Expr>),
    In(Box<Expr>, Vec<Test>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// Conditions with their results, and the last else.
    If(Vec<(Expr, Expr)>, Box<Expr>),
    For(Vec<Iterator>, Box<Expr>),
    Some(Vec<Iterator>, Box<Expr>),
    Every(Vec<Iterator>, Box<Expr>),
    InstanceOf(Box<Expr>, Type),
    Path(Box<Expr>, Arc<str>),
    Filter(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    CallNamed(Box<Expr>, Vec<(Arc<str>, Expr)>),
    Function(Vec<(Arc<str>, Option<Type>)>, Box<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RangeExpr {
    pub start: Expr,
    pub start_included: bool,
    pub end: Expr,
    pub end_included: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Iterator {
    pub name: Arc<str>,
    pub source: Source,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    List(Expr),
    Range(Expr, Expr),
}

/// One unary test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// `-`
    Any,
    /// `< 5`, `!= 3`
    Compare(CompareOp, Expr),
    /// A value to equal, a range or list to contain the input, or a condition on `?`.
    Value(Expr),
    /// `not(…)`
    Not(Vec<Test>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl CompareOp {
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Equal => "=",
            CompareOp::NotEqual => "!=",
            CompareOp::Less => "<",
            CompareOp::LessEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterEqual => ">=",
        }
    }

    pub fn from_symbol(symbol: &str) -> Option<CompareOp> {
        Some(match symbol {
            "=" => CompareOp::Equal,
            "!=" => CompareOp::NotEqual,
            "<" => CompareOp::Less,
            "<=" => CompareOp::LessEqual,
            ">" => CompareOp::Greater,
            ">=" => CompareOp::GreaterEqual,
            _ => return None,
        })
    }
}

impl ArithmeticOp {
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Subtract => "-",
            ArithmeticOp::Multiply => "*",
            ArithmeticOp::Divide => "/",
            ArithmeticOp::Power => "**",
        }
    }
}

/// A type after `instance of`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Any,
    Null,
    Boolean,
    Number,
    String,
    Date,
    Time,
    DateTime,
    YearMonthDuration,
    DayTimeDuration,
    List(Box<Type>),
    Context(Vec<(Arc<str>, Type)>),
    Range(Box<Type>),
    Function(Vec<Type>, Box<Type>),
    /// No type of the language: nothing is an instance of it.
    Other(Arc<str>),
}
