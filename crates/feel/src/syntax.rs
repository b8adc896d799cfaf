//! Text to syntax tree, and back.

pub(crate) mod ast;
mod error;
mod lexer;
mod names;
mod parser;
mod primary;
mod print;
#[cfg(test)]
mod round_trip;
mod types;
mod visit;

pub use error::ParseError;
pub use parser::{HostType, HostTypes, ParseOptions};
pub(crate) use parser::{parse_expression, parse_unary_tests};

/// Longest text of one expression, in bytes.
pub const MAX_TEXT: usize = 1024 * 1024;
/// Deepest nesting of an expression.
pub const MAX_NESTING: u32 = 100;
