//! Errors of the parser for a text that is not an expression.

/// An expression that is not FEEL: the place, and the expected syntax.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column})")]
pub struct ParseError {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// The found and the expected syntax.
    pub message: String,
}

impl ParseError {
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> ParseError {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ParseError {
            line: before.matches('\n').count() as u32 + 1,
            column: before
                .get(line_start..)
                .map_or(0, |line| line.chars().count()) as u32
                + 1,
            message: message.into(),
        }
    }
}
