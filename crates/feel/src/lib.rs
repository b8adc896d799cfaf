//! FEEL, the expression language of DMN 1.5 in Camunda's dialect.
//!
//! Text is parsed and compiled once ([`Expression::parse`], [`UnaryTests::parse`]) and evaluated any number of times
//! against a [`Scope`] of variables, which may be raw JSON. Evaluation never fails: an operation that cannot be done
//! yields null and leaves a [`Warning`]. Time, zone, random seed and limits come in with the [`EvalContext`]; the crate
//! does no IO, has no clock, and does not panic, recurse or run without bound on any input.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod builtins;
mod compile;
mod context;
mod eval;
mod expression;
mod json;
mod number;
mod prices;
mod scope;
mod syntax;
mod temporal;
mod tool_parameters;
mod value;
mod warning;

pub use builtins::{FunctionInfo, functions};
pub use context::{EvalContext, Limits};
pub use expression::{Evaluation, Expression, UnaryTests, format_expression};
pub use json::{JsonError, MAX_JSON_DEPTH};
pub use number::{Number, ParseNumberError, Rounding};
pub use scope::{Binding, EmptyScope, JsonScope, MapScope, Scope};
pub use syntax::{HostType, HostTypes, MAX_NESTING, MAX_TEXT, ParseError, ParseOptions};
pub use temporal::{Date, DateTime, DayTimeDuration, MAX_YEAR, Time, YearMonthDuration, Zone};
pub use tool_parameters::{ToolParameter, tool_parameters};
pub use value::{Context, ContextBuilder, Function, HostFunction, List, Range, Value};
pub use warning::{Warning, WarningCode};
