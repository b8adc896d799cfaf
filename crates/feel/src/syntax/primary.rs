//! Operands: literals, names, calls, paths, filters and the constructs that begin with a word.

use std::sync::Arc;

use super::ParseError;
use super::ast::{CompareOp, Expr, Iterator, RangeExpr, Source};
use super::lexer::Kind;
use super::names::is_reserved;
use super::parser::{Node, Parsed, Parser};
use crate::builtins;
use crate::temporal::parse_temporal;

/// Longest name without quotes, in tokens.
const MAX_NAME_TOKENS: usize = 16;
/// Properties whose names are two words.
const PROPERTIES: [(&str, &str, &str); 3] = [
    ("time", "offset", "time offset"),
    ("start", "included", "start included"),
    ("end", "included", "end included"),
];

impl Parser<'_> {
    /// An operand with the paths, filters and calls behind it.
    pub(super) fn postfix(&mut self) -> Parsed {
        self.descend()?;
        let node = self.primary();
        self.ascend();
        let mut node = node?;
        loop {
            if self.take_symbol(".") {
                let name = self.property_name()?;
                node = self.node(Expr::Path(Box::new(node.expr), name), node.height)?;
            } else if self.is_symbol("[") && !self.closes_range(&node.expr) {
                self.advance();
                let filter = self.expression()?;
                self.expect_symbol("]")?;
                let height = node.height.max(filter.height);
                node = self.node(
                    Expr::Filter(Box::new(node.expr), Box::new(filter.expr)),
                    height,
                )?;
            } else if self.is_symbol("(") && callable(&node.expr) {
                node = self.call(node)?;
            } else {
                return Ok(node);
            }
        }
    }

    /// In `]1..5[` the last bracket closes the range; in `[1..limits[1]]` it begins a filter.
    fn closes_range(&self, end: &Expr) -> bool {
        if !self.range_end {
            return false;
        }
        if matches!(end, Expr::Number(_) | Expr::String(_) | Expr::Temporal(..)) {
            return true;
        }
        match self.peek_at(1) {
            Kind::End => true,
            Kind::Symbol(symbol) => !matches!(*symbol, "(" | "[" | "{" | "@" | "?" | "-"),
            Kind::Word(word) => matches!(
                &**word,
                "and"
                    | "or"
                    | "then"
                    | "else"
                    | "return"
                    | "satisfies"
                    | "in"
                    | "between"
                    | "instance"
                    | "of"
            ),
            _ => false,
        }
    }

    fn property_name(&mut self) -> Result<Arc<str>, ParseError> {
        match self.peek().clone() {
            Kind::Word(word) => {
                self.advance();
                for (first, second, name) in PROPERTIES {
                    if &*word == first && self.is_word(second) {
                        self.advance();
                        return Ok(Arc::from(name));
                    }
                }
                Ok(word)
            }
            Kind::Name(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.unexpected("a name after '.'")),
        }
    }

    fn call(&mut self, callee: Node) -> Parsed {
        self.expect_symbol("(")?;
        let mut height = callee.height;
        let callee = Box::new(callee.expr);
        if self.take_symbol(")") {
            return self.node(Expr::Call(callee, Vec::new()), height);
        }
        if self.words_before_colon().is_some() {
            let mut arguments: Vec<(Arc<str>, Expr)> = Vec::new();
            loop {
                let Some((name, count)) = self.words_before_colon() else {
                    return Err(self.unexpected("the name of a parameter with ':'"));
                };
                if arguments.iter().any(|(other, _)| *other == name) {
                    return Err(self.error_here(format!("the parameter '{name}' is given twice")));
                }
                (0..=count).for_each(|_| self.advance());
                let value = self.expression()?;
                height = height.max(value.height);
                arguments.push((name, value.expr));
                if !self.take_symbol(",") {
                    break;
                }
            }
            self.expect_closing(")")?;
            return self.node(Expr::CallNamed(callee, arguments), height);
        }
        let mut arguments = Vec::new();
        loop {
            let value = self.expression()?;
            height = height.max(value.height);
            arguments.push(value.expr);
            if !self.take_symbol(",") {
                break;
            }
        }
        self.expect_closing(")")?;
        self.node(Expr::Call(callee, arguments), height)
    }

    fn expect_closing(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("',' or '{symbol}'")))
        }
    }

    /// `some words:` here: the name, and how many tokens it takes.
    fn words_before_colon(&self) -> Option<(Arc<str>, usize)> {
        if let Kind::Name(name) | Kind::String(name) = self.peek() {
            return self.is_symbol_at(1, ":").then(|| (Arc::clone(name), 1));
        }
        let mut count = 0;
        // DMN's names also hold `+ - * / .` and numbers behind the first word; and `?`, as in the reference.
        while matches!(self.peek_at(count), Kind::Word(_))
            || (count > 0
                && matches!(
                    self.peek_at(count),
                    Kind::Number(_) | Kind::Symbol("+" | "-" | "*" | "**" | "/" | "." | "?")
                ))
        {
            count += 1;
            if count > MAX_NAME_TOKENS {
                return None;
            }
        }
        if count == 0 || !self.is_symbol_at(count, ":") {
            return None;
        }
        Some((self.source_text(count), count))
    }

    /// The text of the next tokens, with single spaces where there is white space.
    fn source_text(&self, count: usize) -> Arc<str> {
        if let (1, Kind::Word(word)) = (count, self.peek()) {
            return Arc::clone(word);
        }
        let words: Vec<&str> = self.text_of(count).split_whitespace().collect();
        Arc::from(words.join(" "))
    }

    fn join_words(&self, count: usize) -> Arc<str> {
        if let (1, Kind::Word(word)) = (count, self.peek()) {
            return Arc::clone(word);
        }
        let words: Vec<&str> = (0..count)
            .filter_map(|ahead| match self.peek_at(ahead) {
                Kind::Word(word) => Some(&**word),
                _ => None,
            })
            .collect();
        Arc::from(words.join(" "))
    }

    fn primary(&mut self) -> Parsed {
        if let Some(node) = self.pending.take() {
            return Ok(node);
        }
        match self.peek().clone() {
            Kind::Number(number) => self.leaf(Expr::Number(number)),
            Kind::String(text) => self.leaf(Expr::String(text)),
            Kind::Name(name) => self.leaf(Expr::Name(name)),
            Kind::Word(word) => self.word(word),
            Kind::Symbol("?") => self.leaf(Expr::Input),
            Kind::Symbol("@") => {
                self.advance();
                match self.peek().clone() {
                    Kind::String(text) => {
                        let value = parse_temporal(&text).unwrap_or(crate::Value::Null);
                        self.leaf(Expr::Temporal(text, value))
                    }
                    _ => Err(self.unexpected("a string with a date, time or duration after '@'")),
                }
            }
            Kind::Symbol("(") => self.parenthesis(),
            Kind::Symbol("[") => self.list(),
            Kind::Symbol("]") => {
                self.advance();
                let start = self.expression()?;
                self.range(start, false)
            }
            Kind::Symbol("{") => self.context(),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn leaf(&mut self, expr: Expr) -> Parsed {
        self.advance();
        Ok(Node { expr, height: 1 })
    }

    fn parenthesis(&mut self) -> Parsed {
        self.expect_symbol("(")?;
        if let Some(op) = self.compare_op() {
            self.advance();
            let bound = self.bound()?;
            self.expect_symbol(")")?;
            return self.node(Expr::Comparison(op, Box::new(bound.expr)), bound.height);
        }
        let first = self.expression()?;
        self.after_parenthesis(first)
    }

    /// The operand of a comparison in brackets: a surrounding range does not end there.
    fn bound(&mut self) -> Parsed {
        let outer = std::mem::take(&mut self.range_end);
        let bound = self.sum();
        self.range_end = outer;
        bound
    }

    /// Behind `(value`: the end of a range, or of the parenthesis.
    pub(super) fn after_parenthesis(&mut self, first: Node) -> Parsed {
        if self.is_symbol("..") {
            return self.range(first, false);
        }
        self.expect_closing_or_range(")")?;
        Ok(first)
    }

    fn expect_closing_or_range(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{symbol}' or an operator")))
        }
    }

    fn range(&mut self, start: Node, start_included: bool) -> Parsed {
        self.expect_symbol("..")?;
        let outer = std::mem::replace(&mut self.range_end, true);
        let end = self.sum();
        self.range_end = outer;
        let end = end?;
        let end_included = if self.take_symbol("]") {
            true
        } else if self.take_symbol(")") || self.take_symbol("[") {
            false
        } else {
            return Err(self.unexpected("']', ')' or '[' at the end of the range"));
        };
        let height = start.height.max(end.height);
        let range = RangeExpr {
            start: start.expr,
            start_included,
            end: end.expr,
            end_included,
        };
        self.node(Expr::Range(Box::new(range)), height)
    }

    fn list(&mut self) -> Parsed {
        self.expect_symbol("[")?;
        let mut items = Vec::new();
        let mut height = 0;
        if self.take_symbol("]") {
            return self.node(Expr::List(items), height);
        }
        loop {
            let item = match self.compare_op() {
                // `[< 5, > 10]` is a list of comparisons.
                Some(op) => {
                    self.advance();
                    let bound = self.bound()?;
                    self.node(Expr::Comparison(op, Box::new(bound.expr)), bound.height)?
                }
                None => self.expression()?,
            };
            if items.is_empty() && self.is_symbol("..") {
                return self.range(item, true);
            }
            height = height.max(item.height);
            items.push(item.expr);
            if !self.take_symbol(",") {
                break;
            }
        }
        self.expect_closing("]")?;
        self.node(Expr::List(items), height)
    }

    fn context(&mut self) -> Parsed {
        self.expect_symbol("{")?;
        let mut entries: Vec<(Arc<str>, Expr)> = Vec::new();
        let mut height = 0;
        if self.take_symbol("}") {
            return self.node(Expr::Context(entries), height);
        }
        let mut seen = std::collections::HashSet::new();
        loop {
            let Some((key, count)) = self.words_before_colon() else {
                return Err(self.unexpected("a key with ':'"));
            };
            // A key is used as written, even with several spaces.
            let key = match self.peek() {
                Kind::Word(_) if count > 1 => Arc::from(self.text_of(count)),
                _ => key,
            };
            if !seen.insert(Arc::clone(&key)) {
                return Err(self.error_here(format!("the key '{key}' is given twice")));
            }
            (0..=count).for_each(|_| self.advance());
            let value = self.expression()?;
            height = height.max(value.height);
            entries.push((key, value.expr));
            if !self.take_symbol(",") {
                break;
            }
        }
        self.expect_closing("}")?;
        self.node(Expr::Context(entries), height)
    }

    fn word(&mut self, word: Arc<str>) -> Parsed {
        // A word of the language is a name where nothing of it can follow, but for a few.
        if is_reserved(&word) && self.ends_operand(1) && !is_never_a_name(&word) {
            return self.leaf(Expr::Name(word));
        }
        match &*word {
            "null" => self.leaf(Expr::Null),
            "true" => self.leaf(Expr::Boolean(true)),
            "false" => self.leaf(Expr::Boolean(false)),
            "if" => self.condition(),
            "for" => self.iteration(),
            "some" | "every" => self.quantified(&word),
            "function" => self.function(),
            _ => {
                if let Some((name, count)) = self.builtin_name() {
                    (0..count).for_each(|_| self.advance());
                    return Ok(Node {
                        expr: Expr::Name(Arc::from(name)),
                        height: 1,
                    });
                }
                let junction = matches!(&*word, "and" | "or") && self.is_symbol_at(1, "(");
                if is_reserved(&word) && !junction {
                    return Err(self.unexpected("an expression"));
                }
                let count = self.words_before_call();
                let name = self.join_words(count);
                (1..count).for_each(|_| self.advance());
                self.leaf(Expr::Name(name))
            }
        }
    }

    /// Counts the words in front of `(`: the name of an unknown function may have spaces. One, if it is no such name.
    fn words_before_call(&self) -> usize {
        let is_plain =
            |ahead: usize| matches!(self.peek_at(ahead), Kind::Word(word) if !is_reserved(word));
        let count = (0..MAX_NAME_TOKENS)
            .take_while(|ahead| is_plain(*ahead))
            .count();
        if count > 1 && self.is_symbol_at(count, "(") {
            count
        } else {
            1
        }
    }

    /// Whether the token that far ahead cannot continue the operand that begins here: the end, a closing bracket, a separator.
    fn ends_operand(&self, ahead: usize) -> bool {
        match self.peek_at(ahead) {
            Kind::End => true,
            Kind::Symbol(symbol) => matches!(*symbol, ")" | "]" | "}" | ","),
            _ => false,
        }
    }

    /// The longest builtin name of several words that stands here in front of `(`.
    fn builtin_name(&self) -> Option<(&'static str, usize)> {
        let Kind::Word(first) = self.peek() else {
            return None;
        };
        builtins::names_beginning_with(first)
            .filter(|name| {
                let mut count = 0;
                name.split(' ').all(|part| {
                    count += 1;
                    self.is_word_at(count - 1, part)
                }) && self.is_symbol_at(count, "(")
            })
            .map(|name| (name, name.split(' ').count()))
            .max_by_key(|(_, count)| *count)
    }

    fn condition(&mut self) -> Parsed {
        let mut branches = Vec::new();
        let mut height = 0;
        loop {
            self.expect_word("if")?;
            let condition = self.expression()?;
            self.expect_word("then")?;
            let then = self.expression()?;
            self.expect_word("else")?;
            height = height.max(condition.height).max(then.height);
            branches.push((condition.expr, then.expr));
            if !self.is_word("if") {
                break;
            }
        }
        let last = self.expression()?;
        self.node(
            Expr::If(branches, Box::new(last.expr)),
            height.max(last.height),
        )
    }

    fn iterators(&mut self) -> Result<(Vec<Iterator>, u32), ParseError> {
        let mut iterators = Vec::new();
        let mut height = 0;
        loop {
            let name = self.variable_name("in")?;
            self.expect_word("in")?;
            let first = self.expression()?;
            height = height.max(first.height);
            let source = if self.take_symbol("..") {
                let last = self.expression()?;
                height = height.max(last.height);
                Source::Range(first.expr, last.expr)
            } else {
                Source::List(first.expr)
            };
            iterators.push(Iterator { name, source });
            if !self.take_symbol(",") {
                return Ok((iterators, height));
            }
        }
    }

    /// A name that is introduced here; words up to `stop` form one name.
    fn variable_name(&mut self, stop: &str) -> Result<Arc<str>, ParseError> {
        if let Kind::Name(name) = self.peek().clone() {
            self.advance();
            return Ok(name);
        }
        let mut count = 0;
        while let Kind::Word(word) = self.peek_at(count) {
            if &**word == stop || count > 16 {
                break;
            }
            count += 1;
        }
        match self.peek() {
            Kind::Word(word) if count > 0 && !is_reserved(word) => {
                let name = self.join_words(count);
                (0..count).for_each(|_| self.advance());
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn iteration(&mut self) -> Parsed {
        self.expect_word("for")?;
        let (iterators, height) = self.iterators()?;
        self.expect_word("return")?;
        let body = self.expression()?;
        self.node(
            Expr::For(iterators, Box::new(body.expr)),
            height.max(body.height),
        )
    }

    fn quantified(&mut self, word: &str) -> Parsed {
        self.advance();
        let (iterators, height) = self.iterators()?;
        self.expect_word("satisfies")?;
        let body = self.expression()?;
        let height = height.max(body.height);
        let body = Box::new(body.expr);
        self.node(
            if word == "some" {
                Expr::Some(iterators, body)
            } else {
                Expr::Every(iterators, body)
            },
            height,
        )
    }

    fn function(&mut self) -> Parsed {
        self.expect_word("function")?;
        self.expect_symbol("(")?;
        let mut parameters: Vec<(Arc<str>, Option<super::ast::Type>)> = Vec::new();
        let mut height = 0;
        if !self.take_symbol(")") {
            loop {
                let name = self.variable_name("")?;
                let kind = if self.take_symbol(":") {
                    let (kind, above) = self.type_name(0)?;
                    height = height.max(above);
                    Some(kind)
                } else {
                    None
                };
                if parameters.iter().any(|(other, _)| *other == name) {
                    return Err(
                        self.error_here(format!("the parameter '{name}' is declared twice"))
                    );
                }
                parameters.push((name, kind));
                if !self.take_symbol(",") {
                    break;
                }
            }
            self.expect_closing(")")?;
        }
        if self.is_word("external") {
            return Err(self.error_here(
                "external functions are not supported: expected an expression as the body",
            ));
        }
        let body = self.expression()?;
        self.node(
            Expr::Function(parameters, Box::new(body.expr)),
            height.max(body.height),
        )
    }
}

/// As in the reference engine.
fn is_never_a_name(word: &str) -> bool {
    matches!(
        word,
        "null" | "true" | "false" | "function" | "then" | "else" | "and" | "or" | "in"
    )
}

fn callable(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Name(_)
            | Expr::Path(..)
            | Expr::Call(..)
            | Expr::CallNamed(..)
            | Expr::Filter(..)
            | Expr::Function(..)
            | Expr::Context(_)
            | Expr::If(..)
    )
}

impl CompareOp {
    /// The operator with its sides exchanged.
    pub fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessEqual => CompareOp::GreaterEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterEqual => CompareOp::LessEqual,
            other => other,
        }
    }
}
