//! Text to tokens.

use std::sync::Arc;

use super::names::{is_name_part, is_name_start, is_space};
use super::{MAX_TEXT, ParseError};
use crate::number::Number;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word(Arc<str>),
    /// A name in backticks, or one of the names given to the parser.
    Name(Arc<str>),
    Number(Number),
    String(Arc<str>),
    /// An operator or bracket.
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// Longer symbols first.
const SYMBOLS: [&str; 26] = [
    "**", "..", "!=", "<=", ">=", "->", "+", "-", "*", "/", "(", ")", "[", "]", "{", "}", ",", ":",
    ".", "=", "<", ">", "?", "@", ";", "|",
];

pub(super) fn tokens(text: &str, known: &[Arc<str>]) -> Result<Vec<Token>, ParseError> {
    if text.len() > MAX_TEXT {
        return Err(ParseError::at(
            text,
            0,
            format!(
                "the expression is {} bytes long; the limit is {MAX_TEXT}",
                text.len()
            ),
        ));
    }
    let mut lexer = Lexer { text, at: 0, known };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space()?;
        let start = lexer.at;
        let kind = lexer.next()?;
        let end = kind == Kind::End;
        tokens.push(Token {
            kind,
            start,
            end: lexer.at,
        });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    known: &'a [Arc<str>],
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn error(&self, offset: usize, message: impl Into<String>) -> ParseError {
        ParseError::at(self.text, offset, message)
    }

    fn skip_space(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(is_space);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                match trimmed.get(2..).and_then(|rest| rest.find("*/")) {
                    Some(end) => self.at += end + 4,
                    None => {
                        return Err(self.error(self.at, "the comment does not end: expected '*/'"));
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Kind, ParseError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(Kind::End);
        };
        if let Some(name) = self.known_name(rest) {
            return Ok(Kind::Name(name));
        }
        if is_name_start(first) {
            let end = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
            self.at += end;
            return Ok(Kind::Word(Arc::from(rest.get(..end).unwrap_or_default())));
        }
        let second_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        if first.is_ascii_digit() || (first == '.' && second_digit) {
            return self.number(rest);
        }
        match first {
            '"' => self.string(rest),
            '`' => match rest.get(1..).and_then(|rest| rest.split_once('`')) {
                Some((name, _)) if !name.is_empty() => {
                    self.at += name.len() + 2;
                    Ok(Kind::Name(Arc::from(name)))
                }
                Some(_) => Err(self.error(self.at, "a name in backticks cannot be empty")),
                None => Err(self.error(self.at, "the name does not end: expected '`'")),
            },
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    Ok(Kind::Symbol(symbol))
                }
                None => Err(self.error(self.at, format!("unexpected character '{first}'"))),
            },
        }
    }

    /// The longest of the names given to the parser that stands here.
    fn known_name(&mut self, rest: &str) -> Option<Arc<str>> {
        let mut best: Option<(&Arc<str>, usize)> = None;
        for name in self.known {
            if let Some(length) = match_name(rest, name)
                && best.is_none_or(|(_, longest)| length > longest)
            {
                best = Some((name, length));
            }
        }
        let (name, length) = best?;
        self.at += length;
        Some(Arc::clone(name))
    }

    fn number(&mut self, rest: &str) -> Result<Kind, ParseError> {
        let bytes = rest.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let digits = |mut at: usize| {
            while digit(at) {
                at += 1;
            }
            at
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') && digit(end + 1) {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if digit(end + 1 + sign) {
                end = digits(end + 1 + sign);
            }
        }
        let text = rest.get(..end).unwrap_or_default();
        let number = text
            .parse()
            .map_err(|_| self.error(self.at, format!("the number {text:.40} is too large")))?;
        self.at += end;
        Ok(Kind::Number(number))
    }

    fn string(&mut self, rest: &str) -> Result<Kind, ParseError> {
        let mut out = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(Kind::String(Arc::from(out)));
                }
                '\\' => {
                    let tail = rest.get(at + 1..).unwrap_or_default();
                    let (c, length) = escape(tail);
                    match c {
                        Some(c) => out.push(c),
                        // Unknown escapes are kept as they are, so that "\d" is a usable pattern.
                        None => {
                            out.push('\\');
                            out.extend(tail.chars().next());
                        }
                    }
                    for _ in 0..length {
                        chars.next();
                    }
                }
                c => out.push(c),
            }
        }
        Err(self.error(self.at, "the string does not end: expected '\"'"))
    }
}

/// Length in bytes of `name` at the start of `text`; any white space in the text stands for one space of the name.
fn match_name(text: &str, name: &str) -> Option<usize> {
    let mut rest = text;
    for (index, part) in name.split(' ').enumerate() {
        if index > 0 {
            let trimmed = rest.trim_start_matches(is_space);
            if trimmed.len() == rest.len() {
                return None;
            }
            rest = trimmed;
        }
        rest = rest.strip_prefix(part)?;
    }
    let ends_in_word = name.chars().next_back().is_some_and(is_name_part);
    if ends_in_word && rest.chars().next().is_some_and(is_name_part) {
        return None;
    }
    Some(text.len() - rest.len())
}

/// The character behind a backslash, and how many characters of the text it takes.
fn escape(tail: &str) -> (Option<char>, usize) {
    let code = |digits: usize| {
        let text = tail.get(1..1 + digits)?;
        if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        u32::from_str_radix(text, 16).ok()
    };
    match tail.chars().next() {
        Some('n') => (Some('\n'), 1),
        Some('t') => (Some('\t'), 1),
        Some('r') => (Some('\r'), 1),
        Some('f') => (Some('\u{c}'), 1),
        Some('"') => (Some('"'), 1),
        Some('\'') => (Some('\''), 1),
        Some('\\') => (Some('\\'), 1),
        Some('u') => match code(4) {
            Some(high @ 0xD800..=0xDBFF) => {
                let low = tail
                    .get(5..11)
                    .and_then(|t| t.strip_prefix("\\u"))
                    .and_then(|t| u32::from_str_radix(t, 16).ok());
                match low {
                    Some(low @ 0xDC00..=0xDFFF) => (
                        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)),
                        11,
                    ),
                    _ => (Some(char::REPLACEMENT_CHARACTER), 5),
                }
            }
            Some(code) => (
                Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
                5,
            ),
            None => (None, 1),
        },
        Some('U') => match code(6) {
            Some(code) => (
                Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
                7,
            ),
            None => (None, 1),
        },
        Some(_) => (None, 1),
        None => (None, 0),
    }
}
